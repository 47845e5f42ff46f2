"""The channels: agreement at a share of flips, its inverse, and their ends."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.agreement.channel import Channel, SymmetricChannel, channel_of


@given(st.floats(0.0, 1.0), st.integers(2, 10_000))
def test_the_inverse_inverts(share: float, n_classes: int) -> None:
    channel = SymmetricChannel(n_classes)
    capacity = channel.capacity(share * (1 - 1 / n_classes))
    assert 0.0 <= capacity <= math.log(n_classes)
    assert channel.capacity(channel.error(capacity)) == pytest.approx(capacity, abs=1e-13)


@given(st.floats(1e-6, 0.999), st.integers(2, 100))
def test_the_error_comes_back(share: float, n_classes: int) -> None:
    error = share * (1 - 1 / n_classes)
    channel = SymmetricChannel(n_classes)
    found = channel.error(channel.capacity(error))
    assert found == pytest.approx(error, rel=1e-6)


@given(st.floats(-1.0, 5.0), st.floats(-1.0, 5.0), st.integers(2, 100))
def test_more_agreement_is_less_error(first: float, second: float, n_classes: int) -> None:
    low, high = sorted([first, second])
    channel = SymmetricChannel(n_classes)
    assert channel.error(low) >= channel.error(high)


@pytest.mark.parametrize("n_classes", [2, 3, 1000])
def test_ends(n_classes: int) -> None:
    channel = SymmetricChannel(n_classes)
    assert channel.capacity(0.0) == math.log(n_classes)
    assert channel.capacity(1 - 1 / n_classes) == pytest.approx(0.0, abs=1e-15)
    assert channel.error(math.log(n_classes)) == 0.0
    assert channel.error(0.0) == 1 - 1 / n_classes
    assert channel.error(100.0) == 0.0
    assert channel.error(-0.1) == 1 - 1 / n_classes


def test_binary_entropy() -> None:
    e = 0.11
    entropy = -e * math.log(e) - (1 - e) * math.log(1 - e)
    assert SymmetricChannel(2).capacity(e) == pytest.approx(math.log(2) - entropy, rel=1e-14)


# --- at any prior ----------------------------------------------------------------------------------------

RARE = np.array([0.95, 0.05])
UNEQUAL = np.array([0.5, 0.3, 0.15, 0.05])


def channel_pairs(eps: float, shares: np.ndarray, prior: np.ndarray) -> float:
    """Measure the agreement of one pair of each kind, weighted as the channel has it."""
    k = len(shares)
    weights = ((1 - eps) * np.diag(shares) + eps * np.outer(shares, shares)).ravel()
    before, after = np.divmod(np.arange(k * k), k)
    one_hot = np.eye(k)
    return posterior_agreement(
        one_hot[after], one_hot[before], sample_weight=weights, prior=prior
    ).value


@pytest.mark.parametrize("eps", [1e-4, 0.02, 0.3, 0.9, 1.0])
@pytest.mark.parametrize(
    ("shares", "prior"),
    [(RARE, RARE), (UNEQUAL, UNEQUAL), (UNEQUAL, UNEQUAL[::-1]), (UNEQUAL, np.full(4, 0.25))],
)
def test_the_channel_is_a_sample_of_that_kind(
    eps: float, shares: np.ndarray, prior: np.ndarray
) -> None:
    flips = eps * (1 - float(shares @ shares))
    capacity = channel_of(prior, shares).capacity(flips)
    assert capacity == pytest.approx(channel_pairs(eps, shares, prior), abs=2e-6)


@pytest.mark.parametrize("share", [1e-5, 0.01, 0.2, 0.7, 0.99])
@pytest.mark.parametrize("shares", [RARE, UNEQUAL, np.array([0.4, 0.4, 0.1, 0.1])])
def test_the_inverse_inverts_at_any_prior(share: float, shares: np.ndarray) -> None:
    channel, flips = channel_of(shares, shares), share * (1 - float(shares @ shares))
    assert channel.error(channel.capacity(flips)) == pytest.approx(flips, rel=1e-3)


def test_ends_at_an_unequal_prior() -> None:
    channel, one_class = channel_of(RARE, RARE), np.array([1.0, 0.0])
    assert channel.capacity(0.0) == pytest.approx(0.1985, abs=5e-5)
    assert channel.error(0.1985153) == 0.0
    assert channel.error(0.0) == pytest.approx(1 - 0.95**2 - 0.05**2)  # independent draws
    assert channel_of(one_class, one_class).error(0.1) == 0.0  # one class: nothing can flip


def test_a_uniform_prior_makes_the_channel_symmetric() -> None:
    channel, flips = Channel(np.full(4, 0.25), UNEQUAL), 0.2
    assert channel.capacity(flips) == pytest.approx(SymmetricChannel(4).capacity(flips), abs=1e-8)
    assert channel.error(channel.capacity(flips)) == pytest.approx(flips, abs=1e-7)
