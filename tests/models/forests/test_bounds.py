"""Certified distances of boxes that trees reach together: never beyond an error, and beyond those of single boxes."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from shiftmetrics.models import Perturbation, Search, model_stability
from shiftmetrics.models.forests import exact
from shiftmetrics.models.forests.bounds import (
    Budget,
    certified_distances,
    least_distances,
)
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.forests.loss_bounds import lower_loss
from shiftmetrics.models.forests.standing import Standing
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.model import problem_of

MODELS = {
    "forest": RandomForestClassifier(9, random_state=0),
    "shallow": RandomForestClassifier(20, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0),
}


def single_bounds(grid, problem):
    losses, distances = lower_loss(grid, problem.codes, problem.y, "zero_one")
    return np.where(losses > 0.0, distances**2, np.inf).min(axis=1)


@pytest.mark.parametrize("options", [{}, {"integer": [0]}, {"bounds": {0: (-0.5, 1.0)}}])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_no_error_is_nearer(name, n_classes, options) -> None:
    if n_classes == 2:
        X, y = make_moons(120, noise=0.3, random_state=0)
    else:
        X, y = load_iris(return_X_y=True)
        X = X[:, :2]
    if "integer" in options:
        X = np.column_stack([np.round(4 * X[:, 0]), X[:, 1]])
    if "bounds" in options:
        options = {"bounds": {"x0": (X[:, 0].min(), np.median(X[:, 0]))}}
    model = MODELS[name].fit(X, y)
    X, y = X[::3], y[::3]
    problem = problem_of(model, X, y, perturbation=Perturbation(**options))
    exact = find_worst_case(problem)[1]
    assert exact.kind == "exact"
    upper = exact.loss.distances**2
    grid = grid_of_problem(problem)
    known = single_bounds(grid, problem)
    standing = Standing.of(grid, problem.codes)
    least, _ = least_distances(standing, problem.y, n_wanted=5)
    np.testing.assert_allclose(least, known, rtol=1e-9)
    sharpest = []
    for reached in (upper, 4.0 * upper, np.full(len(X), np.inf)):
        sharper, _ = certified_distances(
            standing, problem.y, known, reached, Budget.of(1.0, len(X))
        )
        assert (sharper >= known).all()
        assert (sharper <= upper * (1 + 1e-9) + 1e-15).all()
        sharpest.append(sharper)
    right = (upper > 0) & np.isfinite(upper)
    # Single boxes may be as good where ties are all that is near.
    if name != "forest" and not options:
        assert (sharpest[0][right] > known[right]).any()


def nearest_by_enumeration(model, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the distance of each row to the nearest cell, between thresholds of any tree, that is an error."""
    edges = [
        np.unique(
            np.concatenate(
                [tree.tree_.threshold[tree.tree_.feature == k] for tree in model.estimators_]
            )
        )
        for k in range(X.shape[1])
    ]
    lows = [np.concatenate([[-np.inf], edge]) for edge in edges]
    highs = [np.concatenate([edge, [np.inf]]) for edge in edges]
    inside = [
        np.concatenate([[edge[0] - 1], 0.5 * (edge[1:] + edge[:-1]), [edge[-1] + 1]])
        for edge in edges
    ]
    points, low, high = (np.array(list(itertools.product(*part))) for part in (inside, lows, highs))
    labels = model.predict(points)
    nearest = np.zeros(len(X))
    for row in np.flatnonzero(model.predict(X) == y):
        gap = np.clip(X[row], low[labels != y[row]], high[labels != y[row]]) - X[row]
        nearest[row] = np.linalg.norm(gap / X.std(axis=0), axis=1).min()
    return nearest


def test_a_small_forest_is_exact_without_trying_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MOST_VISITS", 0)
    X, y = load_iris(return_X_y=True)
    X = X[:, 1:] + np.random.default_rng(0).normal(scale=0.2, size=(len(X), 3))
    model = RandomForestClassifier(9, max_depth=4, random_state=0).fit(X, y)
    found = find_worst_case(
        problem_of(
            model,
            X,
            y,
            perturbation=Perturbation(bounds=None),
            search=Search(n_queries=50_000, progress=False),
        )
    )[1].at_any_price()
    assert found.kind == "exact"
    np.testing.assert_allclose(
        found.loss.distances, nearest_by_enumeration(model, X, y), rtol=1e-6, atol=1e-6
    )


def test_more_queries_bring_both_bounds_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MOST_VISITS", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = (X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.3 * rng.normal(size=120) > 1.0).astype(int)
    model = RandomForestClassifier(12, max_depth=5, random_state=0).fit(X, y)
    results = [
        model_stability(
            model, X, y, 0.4, resampling=None, computing=Search(n_queries=n, progress=False)
        )
        for n in (500, 5_000, 50_000)
    ]
    upper = [result.value for result in results]
    lower = [result.lower_bound or result.value for result in results]
    assert (np.diff(upper) <= 1e-12 * upper[0]).all()
    assert (np.diff(lower) >= -1e-12 * upper[0]).all()
    gaps = np.subtract(upper, lower) / upper
    assert gaps[2] < 0.5 * gaps[0]
    assert (gaps >= -1e-12).all()
