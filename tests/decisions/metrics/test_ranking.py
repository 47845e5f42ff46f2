"""Areas under curves, and what each row adds to them."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from shiftmetrics.decisions.metrics.ranking import effects_on_area, effects_on_average_precision


@pytest.fixture(scope="module")
def ranked():
    rng = np.random.default_rng(0)
    positive = rng.random(80) < 0.3
    return np.round(rng.normal(size=80) + positive, 1), positive


def left_out(function, scores, positive):
    n = len(scores)
    whole = function(positive, scores)
    parts = [function(np.delete(positive, i), np.delete(scores, i)) for i in range(n)]
    return (n - 1) * (whole - np.array(parts))


def test_area_has_the_jackknife_as_its_effects(ranked):
    found = effects_on_area(*ranked)
    assert found.score == pytest.approx(roc_auc_score(ranked[1], ranked[0]))
    assert found.effects == pytest.approx(left_out(roc_auc_score, *ranked))


def test_average_precision_has_its_derivative_as_effects(ranked):
    found = effects_on_average_precision(*ranked)
    assert found.score == pytest.approx(average_precision_score(ranked[1], ranked[0]))
    jackknife = left_out(average_precision_score, *ranked)
    assert np.corrcoef(found.effects, jackknife)[0, 1] > 0.99
    assert found.effects.mean() == pytest.approx(0.0, abs=1e-9)


def test_average_precision_matches_weights_a_little_larger(ranked):
    scores, positive = ranked
    found = effects_on_average_precision(scores, positive)
    for row in (0, 50, 79):
        weights = np.ones(80)
        weights[row] += 1e-5
        rise = average_precision_score(positive, scores, sample_weight=weights) - found.score
        assert found.effects[row] == pytest.approx(80 * rise / 1e-5, rel=1e-2, abs=1e-3)
