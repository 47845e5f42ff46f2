"""Members that do not depend on their own labels, and the bound on their fraction."""

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty.modes.fraction_bound import crossfitted, lower_bound


def normal(seed: int, n: int = 400, columns: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, columns))


def with_mode(rows: np.ndarray, fraction: float, column: int, sign: float, seed: int) -> np.ndarray:
    """Replace the first rows by a mode far along a column."""
    rng = np.random.default_rng(seed)
    rows = rows.copy()
    size = round(fraction * len(rows))
    rows[:size] = 0.7 * rng.normal(size=(size, rows.shape[1]))
    rows[:size, column] += 6.0 * sign
    return rows


@pytest.mark.slow
def test_the_lower_bound_holds() -> None:
    held = []
    for seed in range(60):
        fraction = (0.0, 0.1, 0.3)[seed % 3]
        sample = with_mode(normal(3000 + seed, 150, 3), fraction, 0, 0.6, seed)
        result = novelty(sample, normal(4000 + seed, 200, 3), n_resamples=59, rng=seed)
        held.append(result.fraction_interval.low <= fraction)
    assert np.mean(held) >= 0.9


def test_crossfitted_members_do_not_depend_on_their_own_labels() -> None:
    rng = np.random.default_rng(24)
    values = rng.normal(size=(300, 4))
    labels = np.arange(300) < 150
    values[:40] += 6.0
    folds = rng.permutation(np.arange(300) % 10)
    members = crossfitted([(values, 10.0)], labels, folds, np.ones(300), 0.95).members
    assert members[:40].mean() > 0.9
    assert members[40:].mean() < 0.05
    swapped = np.where(folds == 3, ~labels, labels)
    again = crossfitted([(values, 10.0)], swapped, folds, np.ones(300), 0.95).members
    np.testing.assert_array_equal(members[folds == 3], again[folds == 3])
    bound = lower_bound(np.array(0.3), np.array(0.0), 1000, 1000, 0.95)
    assert 0.25 < float(bound) < 0.3
