"""Forests of an even number of trees with pure leaves: half the votes for each class at many points."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rows_with_holes import assert_reached
from shiftmetrics.models import Decision, Perturbation, feature_stability
from shiftmetrics.models.forests import exact, forest_of
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.model import problem_of

FREE = Perturbation(bounds=None)
MODELS = {
    "forest": RandomForestClassifier(10, random_state=0),
    "extra": ExtraTreesClassifier(6, bootstrap=True, max_depth=7, random_state=0),
}


def table(n_classes):
    X, y = make_moons(80, noise=0.35, random_state=1)
    if n_classes == 3:
        y = y + (X[:, 0] > 1.2)
    return X, y


def values_of(model):
    forest = forest_of(model)
    at = [np.unique(forest.threshold[forest.feature == column]) for column in range(2)]
    return [np.concatenate([column, np.nextafter(column, np.inf)]) for column in at]


def nearest_errors(rule, X, y, values, unit, columns):
    """All values of the columns that move, beside each threshold, as the model itself predicts them."""
    found = np.full(len(X), np.inf)
    for row, x in enumerate(X):
        sides = [np.append(values[k], x[k]) if k in columns else x[[k]] for k in range(2)]
        points = np.array(list(itertools.product(*sides)))
        wrong = points[rule.predict(points) != y[row]]
        if len(wrong):
            found[row] = np.sqrt((((wrong - x) / unit) ** 2).sum(axis=1).min())
    return found


@pytest.mark.parametrize("threshold", [None, 0.5, 0.3])
@pytest.mark.parametrize("columns", [[0], [1], [0, 1]])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_nearest_errors_are_those_of_the_model(name, n_classes, columns, threshold) -> None:
    if threshold is not None and n_classes == 3:
        pytest.skip("a threshold is of two classes")
    X, y = table(n_classes)
    model = MODELS[name].fit(X, y)
    rule = model if threshold is None else Decision(model, threshold=threshold)
    problem = problem_of(rule, X[:40], y[:40], perturbation=replace(FREE, features=columns))
    found = find_worst_case(problem)[1]
    assert found.kind == "exact"
    assert_reached(problem, found)
    values = values_of(model)
    expected = nearest_errors(rule, X[:40], y[:40], values, problem.domain.unit, columns)
    np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-9, atol=1e-12)
    if n_classes == 2:  # there are ties, and the model is not asked at each of them
        points = np.array(list(itertools.product(*values)))
        assert (model.predict_proba(points)[:, 0] == 0.5).sum() > 100
        assert problem.count.rows < 12 * len(problem.y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_a_search_lies_between_bounds(name, n_classes, monkeypatch) -> None:
    monkeypatch.setattr(exact, "MOST_VISITS", -1)
    X, y = table(n_classes)
    model = MODELS[name].fit(X, y)
    problem = problem_of(model, X[:40], y[:40], perturbation=FREE)
    found = find_worst_case(problem)[1].at_any_price()
    assert_reached(problem, found)
    expected = nearest_errors(model, X[:40], y[:40], values_of(model), problem.domain.unit, [0, 1])
    lower = (found.lower or found.loss).distances
    assert (lower <= expected * (1 + 1e-9)).all()
    assert (found.loss.distances >= expected * (1 - 1e-9)).all()
    right = expected > 0
    assert (found.loss.distances[right] <= 1.02 * expected[right]).mean() > 0.6


def test_votes_with_fractions_are_asked_point_by_point() -> None:
    X, y = table(2)
    X = np.round(X, 1)  # equal rows of both classes: leaves with fractions
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    assert not forest_of(model).adds_exactly
    problem = problem_of(model, X[:40], y[:40], perturbation=FREE)
    found = find_worst_case(problem)[1]
    expected = nearest_errors(model, X[:40], y[:40], values_of(model), problem.domain.unit, [0, 1])
    np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-9, atol=1e-12)


def _tied_models():
    yield "forest", RandomForestClassifier(4, random_state=0)
    yield "extra trees", ExtraTreesClassifier(4, random_state=0)
    yield "bagging", BaggingClassifier(DecisionTreeClassifier(), 4, random_state=0)
    yield (
        "scaled forest",
        make_pipeline(StandardScaler(), RandomForestClassifier(4, random_state=0)),
    )
    yield "shallow forest", RandomForestClassifier(4, max_depth=2, random_state=0)
    yield "threshold", "one half"
    yield "lightgbm", "lightgbm"
    yield "xgboost", "xgboost"


@pytest.mark.parametrize(("name", "model"), list(_tied_models()))
def test_importance_breaks_ties_as_the_model_does(name, model) -> None:
    """The mean over all pairs of a row and a value, which the model itself predicts."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 6, size=(60, 3)).astype(float), columns=list("abc"))
    y = (X["a"] + rng.normal(size=60) > 2.5).astype(int).to_numpy()
    if model == "lightgbm":
        model = pytest.importorskip("lightgbm").LGBMClassifier(
            n_estimators=3, min_child_samples=5, verbose=-1
        )
    if model == "xgboost":
        model = pytest.importorskip("xgboost").XGBClassifier(n_estimators=3, max_depth=2)
    if model == "one half":
        fitted = RandomForestClassifier(4, random_state=0).fit(X[:30], y[:30])
        model = Decision(fitted, threshold=0.5)
        predict = lambda rows: (fitted.predict_proba(rows)[:, 1] >= 0.5).astype(int)  # noqa: E731
    else:
        model = model.fit(X[:30], y[:30])
        predict = model.predict
    rows, truth = X[30:].reset_index(drop=True), y[30:]
    found = feature_stability(model, rows, truth, 0.9, resampling=None).to_frame()
    found = found.set_index("feature")["permutation_importance"]
    now = np.mean(predict(rows) != truth)
    for column in "abc":
        risks = [
            np.mean(predict(rows.assign(**{column: value})) != truth) for value in rows[column]
        ]
        assert found[column] == pytest.approx(np.mean(risks) - now, abs=1e-9)
