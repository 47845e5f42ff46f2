"""Metrics of sums against scikit-learn, and their jackknife against leaving out each row in turn."""

import numpy as np
import pytest
from sklearn import metrics

from shiftmetrics.decisions.metrics.sums import (
    MarginRows,
    added_effects,
    coefficient_of_determination,
    effects_of_sums,
    grade_features,
    margin_features,
    margins_metric,
    mean_score,
    minus_root_mean,
    quadratic_kappa,
)

K = 3
KNOWN = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "matthews_corrcoef": metrics.matthews_corrcoef,
    "f1_macro": lambda y, p: metrics.f1_score(y, p, average="macro"),
    "precision_weighted": lambda y, p: metrics.precision_score(y, p, average="weighted"),
    "jaccard_micro": lambda y, p: metrics.jaccard_score(y, p, average="micro"),
}


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, 60)
    return y, np.where(rng.random(60) < 0.7, y, rng.integers(0, K, 60))


def left_out(function, y, p):
    n = len(y)
    score = function(y, p)
    return [(n - 1) * (score - function(np.delete(y, i), np.delete(p, i))) for i in range(n)]


@pytest.mark.parametrize("name", KNOWN)
def test_margins_and_their_jackknife_are_those_of_scikit_learn(name, answers):
    y, p = answers
    found = effects_of_sums(margins_metric(name, K), margin_features(y, p, K), np.arange(len(y)))
    assert found.score == pytest.approx(KNOWN[name](y, p))
    assert found.effects == pytest.approx(left_out(KNOWN[name], y, p))


def test_kappa_is_that_of_scikit_learn(answers):
    y, p = answers

    def known(y, p):
        return metrics.cohen_kappa_score(y, p, weights="quadratic")

    features = grade_features(y.astype(float), p.astype(float))
    found = effects_of_sums(quadratic_kappa, features, np.arange(len(y)))
    assert found.score == pytest.approx(known(y, p))
    assert found.effects == pytest.approx(left_out(known, y, p))
    more = grade_features(np.array([0.0]), np.array([2.0]))
    added = added_effects(quadratic_kappa, features, np.arange(len(y)), more)
    rise = known(np.append(y, 0), np.append(p, 2)) - known(y, p)
    assert added == pytest.approx([61 * rise])


def test_regression_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    y = rng.normal(size=40)
    p = y + rng.normal(size=40)
    ones = np.ones(40)
    squared = (y - p) ** 2
    rows = np.arange(40)
    r2 = np.stack([ones, squared, y, y**2], axis=1)
    assert effects_of_sums(coefficient_of_determination, r2, rows).effects == pytest.approx(
        left_out(metrics.r2_score, y, p)
    )
    pairs = np.stack([ones, squared], axis=1)
    assert effects_of_sums(minus_root_mean, pairs, rows).effects == pytest.approx(
        left_out(lambda y, p: -np.sqrt(np.mean((y - p) ** 2)), y, p)
    )
    # What a row adds to a mean is its own value less the mean.
    assert effects_of_sums(mean_score, pairs, rows).effects == pytest.approx(
        squared - squared.mean()
    )


def test_unknown_names_are_none():
    assert margins_metric("roc_auc", 2) is None


def test_rows_of_margins_are_their_features_a_block_at_a_time(answers):
    y, p = answers
    rows = MarginRows(y, p, K)
    whole = margin_features(y, p, K)
    np.testing.assert_array_equal(rows[7:19], whole[7:19])
    counts = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    np.testing.assert_allclose(rows.total(counts), counts @ whole)
    of_sums = margins_metric("f1_macro", K)
    every = np.arange(len(y))
    assert effects_of_sums(of_sums, rows, every).effects == pytest.approx(
        effects_of_sums(of_sums, whole, every).effects
    )
