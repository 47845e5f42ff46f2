"""Dependence between rows is said: copies and order, and none where there is none."""

import numpy as np

from calls import novelty
from shiftmetrics.novelty.dependence import duplicate_warnings, order_warnings


def normal(seed: int, n: int = 400, columns: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, columns))


def test_copies_are_said_before_the_verdict_and_groups_make_it_right() -> None:
    x = np.repeat(normal(29, 60), 3, axis=0)
    y = np.repeat(normal(30, 60), 3, axis=0)
    result = novelty(x, y, n_resamples=59)
    assert result.headline().startswith("Every row of features stands 3 times")
    assert "independent samples" in result.warnings[0]
    groups = np.repeat(np.arange(60), 3)
    grouped = novelty(x, y, n_resamples=59, groups=(groups, groups + 60))
    assert grouped.p_value > 0.05
    assert grouped.test.dependence == ()


def test_copies_within_and_across_samples_are_told_from_tables_of_few_values() -> None:
    x, y = normal(21, 200), normal(22, 200)
    assert duplicate_warnings(x, y) == ()
    assert "40 rows stand in both" in duplicate_warnings(np.concatenate([x, y[:40]]), y)[0]
    assert duplicate_warnings(np.sign(x), np.sign(y)) == ()


def test_an_order_is_told_from_none() -> None:
    rng = np.random.default_rng(23)
    noise = rng.normal(size=(2, 300))
    walk = np.cumsum(noise, axis=1)
    assert order_warnings((noise[0], noise[1])) == ()
    assert "as in a time series" in order_warnings((noise[0], walk[1]))[0]


def test_copies_of_the_other_sample_are_told_where_rows_repeat_within_one() -> None:
    x = normal(21)
    rng = np.random.default_rng(0)
    # a bootstrap sample of the reference repeats rows, and has no row of its own
    resampled = x[rng.integers(len(x), size=len(x))]
    assert "rows stand in both samples (100 %" in duplicate_warnings(resampled, x)[0]
    tripled = np.repeat(x, 3, axis=0)
    assert "Every row of features stands 3 times" in duplicate_warnings(tripled, tripled)[0]
    # rows of few values repeat by chance, within a sample and across two
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.choice(8, (1200, 6), p=rng.dirichlet(np.full(8, 0.2))).astype(float)
        assert duplicate_warnings(rows[:500], rows[500:]) == ()
