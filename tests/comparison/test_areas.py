"""Areas under curves of several columns at once, against counting pairs and rows."""

import numpy as np
import pytest

from shiftmetrics.comparison.areas import ScoreLevels


def columns(n_rows: int = 40):
    """Return columns of some rows each, with equal scores."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(3):
        rows = np.flatnonzero(rng.random(n_rows) < 0.7)
        found.append((rows, rng.normal(size=len(rows)).round(1), rng.random(len(rows)) < 0.4))
    return found


@pytest.fixture
def weights():
    return np.random.default_rng(1).exponential(size=40)


def test_area_is_the_fraction_of_pairs_in_order(weights) -> None:
    found = ScoreLevels(columns()).area_under_roc(weights)
    for area, (rows, scores, positive) in zip(found, columns(), strict=True):
        won = total = 0.0
        for i in np.flatnonzero(positive):
            for j in np.flatnonzero(~positive):
                pair = weights[rows[i]] * weights[rows[j]]
                total += pair
                won += pair * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]))
        assert area == pytest.approx(won / total, rel=1e-12)


def test_average_precision_is_the_mean_precision_at_positive_rows(weights) -> None:
    found = ScoreLevels(columns()).average_precision(weights)
    for average, (rows, scores, positive) in zip(found, columns(), strict=True):
        w = weights[rows]
        precision = [
            w[positive & (scores >= level)].sum() / w[scores >= level].sum() for level in scores
        ]
        expected = (w * positive * precision).sum() / w[positive].sum()
        assert average == pytest.approx(expected, rel=1e-12)


def test_totals_are_weights_of_both_sides(weights) -> None:
    positive, negative = ScoreLevels(columns()).totals(weights)
    for number, (rows, _, chosen) in enumerate(columns()):
        assert positive[number] == pytest.approx(weights[rows[chosen]].sum())
        assert negative[number] == pytest.approx(weights[rows[~chosen]].sum())


def test_a_side_without_weight_has_no_area() -> None:
    levels = ScoreLevels([(np.arange(3), np.arange(3.0), np.array([True, False, False]))])
    assert np.isnan(levels.area_under_roc(np.array([0.0, 1.0, 1.0]))).all()
    assert np.isnan(levels.average_precision(np.array([0.0, 1.0, 1.0]))).all()
