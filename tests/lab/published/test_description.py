"""Out-of-sample description length: the definition by a loop, its bound, its edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.lab.published import description_length

RNG = np.random.default_rng(0)
REFERENCE = 2 * RNG.normal(size=(200, 4))
SCORES = REFERENCE + RNG.normal(size=(200, 4))


def by_definition(
    scores: np.ndarray, reference: np.ndarray, beta: float, prior: np.ndarray
) -> float:
    """Mean over rows of E_q[-log p / pi]."""
    total = 0.0
    for a, b in zip(scores, reference, strict=True):
        p, q = (prior * np.exp(beta * (s - s.max())) for s in (a, b))
        p, q = p / p.sum(), q / q.sum()
        total += float(-(q * np.log(p / prior)).sum())
    return total / len(scores)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("prior", [None, [0.1, 0.2, 0.3, 0.4]])
def test_the_definition(beta: float, prior: list[float] | None) -> None:
    result = description_length(SCORES, REFERENCE, beta=beta, prior=prior)
    expected = by_definition(
        SCORES, REFERENCE, beta, np.full(4, 0.25) if prior is None else np.array(prior)
    )
    assert result.value == pytest.approx(expected, abs=1e-12)
    assert result.bits == pytest.approx(expected / math.log(2), abs=1e-12)
    assert result.per_sample.mean() == pytest.approx(result.value)
    assert result.value >= -result.agreement - 1e-12


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 20.0))
def test_agreement_bounds_it_below(seed: int, beta: float) -> None:
    rng = np.random.default_rng(seed)
    scores, reference = rng.normal(size=(2, 20, 3)) * 10.0 ** rng.uniform(-2, 2)
    result = description_length(scores, reference, beta=beta)
    assert result.value >= -result.agreement - 1e-9
    assert result.value >= -math.log(3) - 1e-9  # "non-negative" in the thesis, which does not hold


def test_the_default_beta_is_that_of_posterior_agreement() -> None:
    result = description_length(SCORES, REFERENCE)
    whole = posterior_agreement(SCORES, REFERENCE)
    assert result.beta == whole.beta
    assert result.agreement == pytest.approx(whole.value, abs=1e-12)
    assert result.value < 0.0
    assert "less than by the prior" in str(result)


def test_infinite_beta() -> None:
    perfect = description_length(2 * REFERENCE, REFERENCE)
    assert perfect.beta == math.inf
    assert perfect.value == pytest.approx(-math.log(4))
    broken = description_length(SCORES, REFERENCE, beta=math.inf)
    assert broken.value == math.inf
    assert broken.status.code == "unbounded"
    assert not broken.status.ok


def test_weights_count_as_repeated_rows() -> None:
    weights = RNG.integers(0, 4, size=200)
    rows = np.repeat(np.arange(200), weights)
    weighted = description_length(SCORES, REFERENCE, beta=0.7, sample_weight=weights)
    repeated = description_length(SCORES[rows], REFERENCE[rows], beta=0.7)
    assert weighted.value == pytest.approx(repeated.value)


@pytest.mark.parametrize("beta", [-1.0, math.nan, "1"])
def test_bad_beta(beta: object) -> None:
    with pytest.raises((TypeError, ValueError), match="beta must be"):
        description_length(SCORES, REFERENCE, beta=beta)
