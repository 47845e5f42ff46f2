"""The samples of the golden numbers, and small losses of every kind, as fixtures."""

from collections.abc import Callable

import pytest

from sample_losses import KINDS, golden_loss, middle_threshold, random_loss
from shiftmetrics.stability.losses import Loss


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Loss]:
    return golden_loss


@pytest.fixture(params=KINDS)
def make_loss(request: pytest.FixtureRequest) -> Callable[..., Loss]:
    return lambda seed=0, n=40: random_loss(request.param, seed, n)


@pytest.fixture(scope="session")
def loss_of() -> Callable[..., Loss]:
    return random_loss


@pytest.fixture(scope="session")
def between() -> Callable[..., float]:
    return middle_threshold
