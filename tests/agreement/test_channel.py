"""The channels: agreement at a share of flips, its inverse, and their ends."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.agreement import equivalent_error, posterior_agreement
from shiftmetrics.agreement.channel import Channel, channel_capacity


@given(st.floats(0.0, 1.0), st.integers(2, 10_000))
def test_the_inverse_inverts(share: float, n_classes: int) -> None:
    error = share * (1 - 1 / n_classes)
    capacity = channel_capacity(error, n_classes)
    assert 0.0 <= capacity <= math.log(n_classes)
    assert channel_capacity(equivalent_error(capacity, n_classes), n_classes) == pytest.approx(
        capacity, abs=1e-13
    )


@given(st.floats(1e-6, 0.999), st.integers(2, 100))
def test_the_error_comes_back(share: float, n_classes: int) -> None:
    error = share * (1 - 1 / n_classes)
    found = equivalent_error(channel_capacity(error, n_classes), n_classes)
    assert found == pytest.approx(error, rel=1e-6)


@given(st.floats(-1.0, 5.0), st.floats(-1.0, 5.0), st.integers(2, 100))
def test_more_agreement_is_less_error(first: float, second: float, n_classes: int) -> None:
    low, high = sorted([first, second])
    assert equivalent_error(low, n_classes) >= equivalent_error(high, n_classes)


@pytest.mark.parametrize("n_classes", [2, 3, 1000])
def test_ends(n_classes: int) -> None:
    assert channel_capacity(0.0, n_classes) == math.log(n_classes)
    assert channel_capacity(1 - 1 / n_classes, n_classes) == pytest.approx(0.0, abs=1e-15)
    assert equivalent_error(math.log(n_classes), n_classes) == 0.0
    assert equivalent_error(0.0, n_classes) == 1 - 1 / n_classes
    assert equivalent_error(100.0, n_classes) == 0.0
    assert equivalent_error(-0.1, n_classes) == 1 - 1 / n_classes


def test_binary_entropy() -> None:
    e = 0.11
    entropy = -e * math.log(e) - (1 - e) * math.log(1 - e)
    assert channel_capacity(e, 2) == pytest.approx(math.log(2) - entropy, rel=1e-14)


@pytest.mark.parametrize(
    ("error", "n_classes", "message"),
    [
        (0.6, 2, "error must be a number at least 0 and at most 0.5"),
        (-0.1, 2, "error must be"),
        (math.nan, 2, "error must be"),
        (0.1, 1, "n_classes must be an integer at least 2"),
    ],
)
def test_bad_input(error: float, n_classes: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        channel_capacity(error, n_classes)


def test_bad_types() -> None:
    with pytest.raises(TypeError, match="n_classes must be an integer"):
        equivalent_error(0.1, 2.5)
    with pytest.raises(TypeError, match="agreement must be a real number"):
        equivalent_error("high", 2)


# --- at any prior ----------------------------------------------------------------------------------------

RARE = np.array([0.95, 0.05])
UNEQUAL = np.array([0.5, 0.3, 0.15, 0.05])


def channel_pairs(eps: float, shares: np.ndarray, prior: np.ndarray) -> float:
    """Measure the agreement of one pair of each kind, weighted as the channel has it."""
    k = len(shares)
    weights = ((1 - eps) * np.diag(shares) + eps * np.outer(shares, shares)).ravel()
    before, after = np.divmod(np.arange(k * k), k)
    one_hot = np.eye(k)
    return posterior_agreement(one_hot[after], one_hot[before], sample_weight=weights, prior=prior).value


@pytest.mark.parametrize("eps", [1e-4, 0.02, 0.3, 0.9, 1.0])
@pytest.mark.parametrize(
    ("shares", "prior"),
    [(RARE, RARE), (UNEQUAL, UNEQUAL), (UNEQUAL, UNEQUAL[::-1]), (UNEQUAL, np.full(4, 0.25))],
)
def test_the_channel_is_a_sample_of_that_kind(eps: float, shares: np.ndarray, prior: np.ndarray) -> None:
    flips = eps * (1 - float(shares @ shares))
    capacity = channel_capacity(flips, len(shares), prior=prior, shares=shares)
    assert capacity == pytest.approx(channel_pairs(eps, shares, prior), abs=2e-6)


@pytest.mark.parametrize("share", [1e-5, 0.01, 0.2, 0.7, 0.99])
@pytest.mark.parametrize("shares", [RARE, UNEQUAL, np.array([0.4, 0.4, 0.1, 0.1])])
def test_the_inverse_inverts_at_any_prior(share: float, shares: np.ndarray) -> None:
    k, flips = len(shares), share * (1 - float(shares @ shares))
    capacity = channel_capacity(flips, k, prior=shares)
    assert equivalent_error(capacity, k, prior=shares) == pytest.approx(flips, rel=1e-3)


def test_ends_at_an_unequal_prior() -> None:
    assert channel_capacity(0.0, 2, prior=RARE) == pytest.approx(0.1985, abs=5e-5)
    assert equivalent_error(0.1985153, 2, prior=RARE) == 0.0
    assert equivalent_error(0.0, 2, prior=RARE) == pytest.approx(1 - 0.95**2 - 0.05**2)  # independent draws
    assert equivalent_error(0.1, 2, prior=[1.0, 0.0]) == 0.0  # one class: nothing can flip


def test_a_uniform_prior_makes_the_channel_symmetric() -> None:
    channel, flips = Channel(np.full(4, 0.25), UNEQUAL), 0.2
    assert channel.capacity(flips) == pytest.approx(channel_capacity(flips, 4), abs=1e-8)
    assert channel.error(channel.capacity(flips)) == pytest.approx(flips, abs=1e-7)


def test_shares_outside_the_prior_are_refused() -> None:
    with pytest.raises(ValueError, match="shares must be 0 where the prior is 0"):
        channel_capacity(0.1, 2, prior=[1.0, 0.0], shares=[0.5, 0.5])
