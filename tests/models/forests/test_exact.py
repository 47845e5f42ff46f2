"""Exact worst cases of trees and their sums: against brute force over grids and all thresholds."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rows_with_holes import assert_reached
from shiftmetrics.models import Perturbation, model_stability
from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.model import problem_of
from shiftmetrics.stability import CandidateLoss, stability_criterion

MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(7, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0),
}


ALL = slice(None)


@pytest.fixture(scope="module")
def moons():
    return make_moons(90, noise=0.3, random_state=0)


def thresholds_of(model, n_features):
    """All values where a model made of trees may change its mind, and the next floats, for each column."""
    forest = forest_of(model)
    values = []
    for column in range(n_features):
        at = np.unique(forest.threshold[forest.feature == column])
        values.append(np.concatenate([at, np.nextafter(at, np.inf)]))
    return values


def brute_force(model, X, y, values, unit):
    """Nearest error of each row among all combinations of its own values and the given ones."""
    distances = np.full(len(X), np.inf)
    for row, (x, label) in enumerate(zip(X, y, strict=True)):
        points = np.array(
            list(
                itertools.product(
                    *[np.append(column, own) for column, own in zip(values, x, strict=True)]
                )
            )
        )
        wrong = points[model.predict(points) != label]
        if len(wrong):
            distances[row] = np.sqrt((((wrong - x) / unit) ** 2).sum(axis=1)).min()
    return distances


@pytest.mark.parametrize("name", MODELS)
def test_nearest_errors_are_those_of_brute_force(name, moons) -> None:
    X, y = moons
    model = MODELS[name].fit(X, y)
    problem = problem_of(model, X[:25], y[:25])
    route, found = find_worst_case(problem)
    assert route == ("tree" if name == "tree" else "ensemble")
    assert found.kind == "exact"
    assert_reached(problem, found)
    expected = brute_force(model, X[:25], y[:25], thresholds_of(model, 2), problem.domain.unit)
    np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_nearest_errors_of_other_libraries(library, moons) -> None:
    module = pytest.importorskip(library)
    X, y = moons
    options = {"n_estimators": 12, "max_depth": 3, "n_jobs": 1}
    if library == "xgboost":
        model = module.XGBClassifier(**options)
    else:
        model = module.LGBMClassifier(**options, min_child_samples=5, verbose=-1)
    model.fit(X, y)
    problem = problem_of(model, X[:25], y[:25])
    found = find_worst_case(problem)[1]
    assert found.kind == "exact"
    assert_reached(problem, found)
    expected = brute_force(model, X[:25], y[:25], thresholds_of(model, 2), problem.domain.unit)
    np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_one_column_is_exact_by_every_threshold(name) -> None:
    X, y = load_iris(return_X_y=True)
    model = MODELS[name].fit(X, y)
    values = thresholds_of(model, 4)
    for column in range(4):
        problem = problem_of(model, X[::4], y[::4], perturbation=Perturbation(features=[column]))
        found = find_worst_case(problem)[1]
        assert found.kind == "exact"
        assert_reached(problem, found)
        alone = [values[k] if k == column else np.empty(0) for k in range(4)]
        expected = brute_force(model, X[::4], y[::4], alone, problem.domain.unit)
        np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_smooth_losses_are_exact_against_all_cells(name, moons) -> None:
    X, y = moons
    model = MODELS[name].fit(X, y)
    rows = slice(0, 40)
    problem = problem_of(model, X[rows], y[rows], loss="log_loss")
    found = find_worst_case(problem)[1]
    assert found.kind == "exact"
    values = thresholds_of(model, 2)
    losses, distances = [problem.losses(X[rows], ALL)], [np.zeros(40)]
    grid = np.array(list(itertools.product(*values)))
    for point in [
        *grid,
        *((value, None) for value in values[0]),
        *((None, value) for value in values[1]),
    ]:
        points = X[rows].copy()
        for column, value in enumerate(point):
            if value is not None:
                points[:, column] = value
        losses.append(problem.losses(points, ALL))
        distances.append(problem.domain.distances(points, X[rows]))
    # A point of the grid may overshoot: rows that need not move in a column were tried there, too.
    dense = CandidateLoss(np.stack(losses, axis=1), np.stack(distances, axis=1))
    threshold = 1.5 * problem.losses(X[rows], ALL).mean() + 0.3
    ours = stability_criterion(found.loss, threshold)
    np.testing.assert_allclose(ours.value, stability_criterion(dense, threshold).value, rtol=1e-7)
    choices = ours.plan.choices
    points = found.points(np.arange(40), ours.plan.distances, choices)
    np.testing.assert_allclose(problem.losses(points, ALL), ours.plan.losses, rtol=1e-9)
    np.testing.assert_allclose(
        problem.domain.distances(points, X[rows]), ours.plan.distances, atol=1e-9
    )


@pytest.mark.parametrize("make", [DecisionTreeRegressor, GradientBoostingRegressor])
def test_regressions_against_all_cells(make, moons) -> None:
    X, _ = moons
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    model = make(max_depth=3, random_state=0).fit(X, y)
    result = model_stability(model, X, y, 0.3, loss="squared")
    assert result.kind == "exact"
    np.testing.assert_allclose(
        (model.predict(result.changed_rows()) - y) ** 2, result.plan.losses, rtol=1e-9
    )
    problem = problem_of(model, X, y, loss="squared", perturbation=Perturbation(features=[0]))
    found = find_worst_case(problem)[1]
    values = np.concatenate([thresholds_of(model, 2)[0], [X[:, 0].min() - 9, X[:, 0].max() + 9]])
    best = np.max(
        [problem.losses(np.column_stack([np.full(90, v), X[:, 1]]), ALL) for v in values]
        + [problem.losses(X, ALL)],
        axis=0,
    )
    np.testing.assert_allclose(found.loss.reach(1.0, slice(0, 90)).loss, best)
