"""Agreement at a given beta: the curve point by point, its ends, and the prior of another fit."""

import math

import numpy as np
import pytest

import oracles
from shiftmetrics._core.result import Result
from shiftmetrics.agreement import FixedAgreementStatus, agreement_at, posterior_agreement


@pytest.fixture
def pairs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(80, 5)) * 2
    return reference + rng.normal(size=(80, 5)), reference


@pytest.mark.parametrize("beta", [0.0, 0.01, 0.5, 1.0, 3.0, 40.0])
def test_it_is_the_curve(pairs: tuple[np.ndarray, np.ndarray], beta: float) -> None:
    result = agreement_at(*pairs, beta)
    assert result.value == pytest.approx(oracles.agreement(*pairs, beta), abs=1e-11)
    np.testing.assert_allclose(
        result.per_sample, oracles.agreement_rows(*pairs, beta).astype(float), atol=1e-11
    )
    assert result.status is FixedAgreementStatus.evaluated
    assert result.log_pa == pytest.approx(80 * (result.value - math.log(5)))
    assert result.normalized == pytest.approx(result.value / math.log(5))
    assert 0.0 < result.error_bound < 1e-10
    assert result.value <= posterior_agreement(*pairs).value + 1e-6


def test_at_the_best_beta_it_is_posterior_agreement(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    for prior in (None, "predicted"):
        best = posterior_agreement(*pairs, prior=prior)
        assert agreement_at(*pairs, best.beta, prior=best.prior).value == pytest.approx(best.value, abs=1e-13)
        np.testing.assert_allclose(agreement_at(*pairs, best.beta, prior=prior).per_sample, best.per_sample)


def test_infinite_beta(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    scores, reference = pairs
    result = agreement_at(scores, reference, math.inf)
    disagrees = scores.argmax(axis=1) != reference.argmax(axis=1)
    assert disagrees.any()
    assert result.value == -math.inf
    assert result.status is FixedAgreementStatus.contradiction
    assert not result.status.ok
    np.testing.assert_array_equal(np.isneginf(result.per_sample), disagrees)
    agreeing = agreement_at(scores[~disagrees], reference[~disagrees], math.inf)
    assert agreeing.value == pytest.approx(math.log(5))
    assert agreeing.status.ok
    assert Result.from_json(result.to_json()).equals(result)


def test_options(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    weights = np.arange(80.0)
    result = agreement_at(*pairs, 0.7, sample_weight=weights, keep_rows=False)
    assert result.per_sample is None
    assert result.value == pytest.approx(oracles.agreement(*pairs, 0.7, weights=weights), abs=1e-12)
    huge = agreement_at(pairs[0] * 1e200, pairs[1] * 1e200, 0.7e-200)
    assert huge.value == pytest.approx(agreement_at(*pairs, 0.7).value, abs=1e-11)
    assert "beta = 0.7" in result.summary()


@pytest.mark.parametrize("beta", [-1.0, math.nan])
def test_bad_beta(pairs: tuple[np.ndarray, np.ndarray], beta: float) -> None:
    with pytest.raises(ValueError, match="beta must be"):
        agreement_at(*pairs, beta)
    with pytest.raises(TypeError, match="beta must be a real number"):
        agreement_at(*pairs, "inf")
