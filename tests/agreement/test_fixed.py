"""Agreement at a given beta: the curve point by point, its ends, and the prior of another fit."""

import math

import numpy as np
import pytest

import oracles
from shiftmetrics._core.result import Result
from shiftmetrics.agreement import posterior_agreement


@pytest.fixture
def pairs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(80, 5)) * 2
    return reference + rng.normal(size=(80, 5)), reference


@pytest.mark.parametrize("beta", [0.0, 0.01, 0.5, 1.0, 3.0, 40.0])
def test_it_is_the_curve(pairs: tuple[np.ndarray, np.ndarray], beta: float) -> None:
    result = posterior_agreement(*pairs, beta=beta)
    assert result.value == pytest.approx(oracles.agreement(*pairs, beta), abs=1e-11)
    np.testing.assert_allclose(
        result.per_sample, oracles.agreement_rows(*pairs, beta).astype(float), atol=1e-11
    )
    assert result.status.code == "evaluated"
    assert result.log_pa == pytest.approx(80 * (result.value - math.log(5)))
    assert result.normalized == pytest.approx(result.value / math.log(5))
    assert 0.0 < result.error_bound < 1e-10
    assert result.value <= posterior_agreement(*pairs).value + 1e-6


def test_at_the_best_beta_it_is_posterior_agreement(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    for prior in (None, "predicted"):
        best = posterior_agreement(*pairs, prior=prior)
        assert posterior_agreement(*pairs, beta=best.beta, prior=best.prior).value == pytest.approx(
            best.value, abs=1e-13
        )
        np.testing.assert_allclose(
            posterior_agreement(*pairs, beta=best.beta, prior=prior).per_sample, best.per_sample
        )


def test_infinite_beta(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    scores, reference = pairs
    result = posterior_agreement(scores, reference, beta=math.inf)
    disagrees = scores.argmax(axis=1) != reference.argmax(axis=1)
    assert disagrees.any()
    assert result.value == -math.inf
    assert result.status.code == "contradiction"
    assert not result.status.ok
    np.testing.assert_array_equal(np.isneginf(result.per_sample), disagrees)
    agreeing = posterior_agreement(scores[~disagrees], reference[~disagrees], beta=math.inf)
    assert agreeing.value == pytest.approx(math.log(5))
    assert agreeing.status.ok
    assert Result.from_json(result.to_json()).equals(result)


def test_options(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    weights = np.arange(80.0)
    result = posterior_agreement(*pairs, beta=0.7, sample_weight=weights)
    assert result.value == pytest.approx(oracles.agreement(*pairs, 0.7, weights=weights), abs=1e-12)
    huge = posterior_agreement(pairs[0] * 1e200, pairs[1] * 1e200, beta=0.7e-200)
    assert huge.value == pytest.approx(posterior_agreement(*pairs, beta=0.7).value, abs=1e-11)
    assert "beta = 0.7" in result.summary()


@pytest.mark.parametrize("beta", [-1.0, math.nan])
def test_bad_beta(pairs: tuple[np.ndarray, np.ndarray], beta: float) -> None:
    with pytest.raises(ValueError, match="beta must be"):
        posterior_agreement(*pairs, beta=beta)
    with pytest.raises(TypeError, match="beta must be a real number"):
        posterior_agreement(*pairs, beta="inf")
