"""The gate: its statistics by slow definitions, and what leaves them unchanged."""

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty.modes.gate import descending, likelihood_ratio


def normal(seed: int, n: int = 400, columns: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, columns))


@pytest.mark.slow
def test_both_sides_share_one_level() -> None:
    called = 0
    for seed in range(120):
        x, y = normal(1000 + seed, 80, 3), normal(2000 + seed, 120, 3)
        result = novelty(x, y, n_resamples=99, rng=seed)
        called += min(result.p_value, result.test.missing_p_value) <= 0.05
    assert called <= 12  # at a rate of 5 % more have a chance of 1 in 100


def test_the_likelihood_ratio_is_that_of_two_fractions() -> None:
    from scipy.stats import binom

    def loglik(inside: int, size: int, total: int, n: int) -> float:
        within = binom.logpmf(inside, size, inside / size)
        outside = binom.logpmf(total - inside, n - size, (total - inside) / (n - size))
        null = binom.logpmf(inside, size, total / n)
        return within + outside - null - binom.logpmf(total - inside, n - size, total / n)

    counts = [np.array([float(value)]) for value in (9, 12, 40, 100)]
    assert likelihood_ratio(*counts)[0] == pytest.approx(loglik(9, 12, 40, 100))
    few = [np.array([float(value)]) for value in (2, 12, 40, 100)]
    assert likelihood_ratio(*few)[0] == 0.0


def test_descending_scores_are_ordered_as_a_stable_sort_does() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(5, 300)).round(1).astype(np.float32)
    scores[:, :6] = [np.inf, -np.inf, -0.0, 0.0, 1e-42, -1e-42]
    np.testing.assert_array_equal(descending(scores), np.argsort(-scores, axis=1, kind="stable"))
