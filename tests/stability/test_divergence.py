"""The price of reweighting: conjugates, weights and statistics against their definitions."""

import functools
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from shiftmetrics.stability.divergence import (
    Divergence,
    ExponentialStatistic,
    FixedWeights,
    divergence_of,
)

INF = np.inf


def moment_of(
    name: str, theta2: float, value: np.ndarray, loss: np.ndarray, weights=None, start: float = 0.0
):
    divergence = divergence_of(name, theta2)
    passes = []

    def evaluate(normaliser: float):
        passes.append(normaliser)
        return divergence.statistic(value, loss, weights, normaliser)

    return divergence, divergence.solve(0.5, evaluate, start), passes


@pytest.mark.parametrize("theta2", [0.01, 0.4, 7.0, 1e6])
@pytest.mark.parametrize("name", ["kl", "chi2"])
def test_the_conjugate_by_definition(name: str, theta2: float) -> None:
    rng = np.random.default_rng(0)
    value, loss, weights = (
        rng.exponential(size=60),
        rng.exponential(size=60),
        rng.uniform(0.1, 2, size=60),
    )
    divergence, moment, _ = moment_of(name, theta2, value, loss, weights)
    mean = functools.partial(np.average, weights=weights)
    density = divergence.density(value, moment)
    assert mean(density) == pytest.approx(1, abs=1e-12)
    assert moment.risk == pytest.approx(mean(density * loss), rel=1e-10)
    cost = theta2 * mean(divergence.penalty(density))
    assert moment.conjugate == pytest.approx(mean(density * value) - cost, rel=1e-9)
    if name == "kl":
        assert moment.conjugate == pytest.approx(
            theta2 * np.log(mean(np.exp((value - 2) / theta2))) + 2, rel=1e-8
        )
    else:  # c of the textbook: mean (v - c)_+ = 2 theta2
        c = brentq(
            lambda x: mean(np.maximum(value - x, 0)) - 2 * theta2,
            value.min() - 4 * theta2 - 1,
            value.max(),
        )
        np.testing.assert_allclose(
            density, np.maximum(value - c, 0) / (2 * theta2), rtol=1e-6, atol=1e-9
        )
        alpha = -(c + 2 * theta2)
        assert -moment.conjugate == pytest.approx(
            alpha + theta2 - theta2 * mean(density**2), rel=1e-5, abs=1e-8
        )
    # Any other weights are worse.
    for _ in range(20):
        other = density * rng.uniform(0.5, 1.5, size=60)
        other /= mean(other)
        assert (
            mean(other * value) - theta2 * mean(divergence.penalty(other))
            <= moment.conjugate + 1e-9
        )


def test_the_base_is_no_divergence_and_an_infinite_price_has_its_own() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Divergence(0.4)
    for name in ("kl", "chi2"):
        assert type(divergence_of(name, INF)) is FixedWeights
        assert type(divergence_of(name, 0.4)) is not FixedWeights


def test_without_reweighting_means_are_plain() -> None:
    value, loss = np.array([1.0, 2.0, 6.0]), np.array([0.5, 0.5, 2.0])
    divergence, moment, passes = moment_of("kl", INF, value, loss)
    assert (moment.conjugate, moment.risk, len(passes)) == (3.0, 1.0, 1)
    np.testing.assert_array_equal(divergence.density(value, moment), 1.0)
    np.testing.assert_array_equal(divergence.penalty(np.array([0.0, 2.0])), 0.0)


@pytest.mark.parametrize("start", [-50.0, 0.0, 3.0, 1e4])
def test_chi2_finds_its_level_from_anywhere(start: float) -> None:
    rng = np.random.default_rng(1)
    value, loss = rng.exponential(size=500) * 10, rng.exponential(size=500)
    _, expected, _ = moment_of("chi2", 0.3, value, loss)
    _, moment, passes = moment_of("chi2", 0.3, value, loss, start=start)
    assert moment.conjugate == pytest.approx(expected.conjugate, rel=1e-13)
    assert moment.normaliser == pytest.approx(expected.normaliser, rel=1e-10)
    assert len(passes) < 40


def test_rows_at_minus_infinity_have_no_weight() -> None:
    value, loss = np.array([-1.0, -INF, -3.0]), np.array([2.0, 5.0, 2.0])
    for name in ("kl", "chi2"):
        divergence, moment, _ = moment_of(name, 0.4, value, loss)
        density = divergence.density(value, moment)
        assert density[1] == 0.0
        assert density.mean() == pytest.approx(1.0, abs=1e-12)
        assert moment.risk == pytest.approx(2.0)
        np.testing.assert_array_equal(divergence.penalty(np.zeros(1)), 1.0)


@given(excess=st.floats(-1e-6, 1e-6))
def test_the_penalty_is_accurate_near_one(excess: float) -> None:
    density = np.array([1.0 + excess])
    exact = (density - 1.0) ** 2
    assert divergence_of("chi2", 1.0).penalty(density)[0] == exact[0]
    assert divergence_of("kl", 1.0).penalty(density)[0] == pytest.approx(
        exact[0] / 2, rel=1e-5, abs=1e-22
    )


@given(shift=st.floats(-1e5, 1e5), seed=st.integers(0, 100))
def test_shards_merge_whatever_their_magnitude(shift: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    value = np.concatenate(
        [rng.normal(size=5), rng.normal(size=7) + shift, rng.normal(size=3) - shift]
    )
    loss = rng.exponential(size=15)
    divergence = divergence_of("kl", 0.4)
    cuts = [slice(0, 0), slice(0, 5), slice(5, 12), slice(12, 12), slice(12, 15)]
    shards = [divergence.statistic(value[cut], loss[cut], None, 0.0) for cut in cuts]
    whole = divergence.statistic(value, loss, None, 0.0)
    for order in (shards, shards[::-1]):
        total = functools.reduce(operator.add, order)
        assert isinstance(total, ExponentialStatistic)
        assert total.weight == 15
        assert total.shift == whole.shift
        assert total.total == pytest.approx(whole.total, rel=1e-13)
        assert total.loss == pytest.approx(whole.loss, rel=1e-13)


def test_divergences_travel_between_processes() -> None:
    for name, theta2 in (("kl", 0.4), ("chi2", 0.2), ("kl", INF)):
        copy = pickle.loads(pickle.dumps(divergence_of(name, theta2)))
        assert type(copy) is type(divergence_of(name, theta2))
        assert copy.theta2 == theta2
