"""Log-partition functions of blocks of scores: against sums in full, at any scale."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from shiftmetrics.agreement.scores import prepare_pairs
from shiftmetrics.agreement.statistic import evaluator, row_agreement


def sample(seed: int = 0, n: int = 50, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Scores on a grid of eighths, exact in every format, with ties, identical rows and a contradiction."""
    rng = np.random.default_rng(seed)
    reference = np.round(rng.normal(size=(n, k)) * 24) / 8
    shifted = reference + np.round(rng.normal(size=(n, k)) * 8) / 8
    shifted[:3] = reference[:3]
    shifted[3], reference[3] = 0.0, [1.0] + [0.0] * (k - 1)
    shifted[4] = -100 * reference[4]
    return shifted, reference


def textbook(
    shifted: np.ndarray, reference: np.ndarray, beta: float
) -> tuple[float, float, float, float]:
    """Sums of L(a + b), its slope, L(a) + L(b), its slope, with rows centred, by SciPy."""
    a, b = (x - x.max(axis=1, keepdims=True) for x in (shifted, reference))

    def part(s: np.ndarray) -> tuple[float, float]:
        value = logsumexp(beta * s, axis=1) - math.log(s.shape[1])
        return value.sum(), np.sum(softmax(beta * s, axis=1) * s)

    pair, first, second = part(a + b), part(a), part(b)
    return pair[0], pair[1], first[0] + second[0], first[1] + second[1]


@pytest.mark.parametrize("beta", [1.0, 100.0, 1e4, 1e8])
def test_products_that_underflow_are_summed_with_their_own_shift(beta: float) -> None:
    shifted, reference = sample(3, n=30)
    shifted[10:20] = -reference[10:20] * 3  # exp(beta (a + b)) vanishes in doubles
    pairs = prepare_pairs(shifted, reference)
    found = evaluator(pairs)([1e-3, beta])
    expected = textbook(shifted, reference, beta)
    parts = found.pair[1], found.pair_slope[1], found.single[1], found.single_slope[1]
    np.testing.assert_allclose(parts, expected, rtol=1e-12, atol=1e-11)
    assert np.isfinite(row_agreement(pairs, beta)).all()
