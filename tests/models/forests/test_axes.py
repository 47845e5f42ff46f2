"""The axes of a forest: whole steps, thresholds beside whole numbers, groups that move as a whole."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from rows_with_holes import assert_reached
from shiftmetrics import Computing
from shiftmetrics.models import Perturbation, model_stability
from shiftmetrics.models.domain.arguments import domain_of
from shiftmetrics.models.domain.table import CodedTable
from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.forests.axes import PieceAxis
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.model import problem_of

MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(7, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0),
}


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


@pytest.mark.parametrize("name", MODELS)
def test_bounds_whole_steps_and_frozen_columns(name) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.integers(0, 8, 120), rng.normal(size=120), rng.normal(size=120)]
    ).astype(float)
    y = (X[:, 0] + 2 * X[:, 1] + X[:, 2] + rng.normal(size=120) > 4).astype(int)
    model = MODELS[name].fit(X, y)
    rows = slice(0, 30)
    problem = problem_of(
        model,
        X[rows],
        y[rows],
        perturbation=Perturbation(
            integer=[0], immutable=[2], bounds={"x0": (1, 6), "x1": (-1.0, 1.0)}
        ),
    )
    found = find_worst_case(problem)[1]
    assert found.kind == "exact"
    assert_reached(problem, found)
    at = thresholds_of(model, 3)[1]
    distances = np.full(30, np.inf)
    for row in range(30):
        x = X[row]
        whole = np.unique(np.append(np.arange(1.0, 7.0), x[0]))
        free = np.append(at[(at >= min(-1, x[1])) & (at <= max(1, x[1]))], x[1])
        points = np.array([[a, b, x[2]] for a in whole for b in free])
        wrong = points[model.predict(points) != y[row]]
        if len(wrong):
            distances[row] = (((wrong - x) / problem.domain.unit) ** 2).sum(axis=1).min() ** 0.5
    np.testing.assert_allclose(found.loss.distances, distances, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_whole_steps_cross_a_threshold_beside_a_whole_number(library) -> None:
    """XGBoost splits right below 0, and LightGBM 1e-35 beside it: a whole step that ends at 0 is not across."""
    made = pytest.importorskip(library)
    x = np.tile(np.arange(-3.0, 4.0), 20)[:, None]
    if library == "xgboost":
        y, steps = (x[:, 0] >= 0.0).astype(int), [3.0, 2.0, 1.0, 1.0, 2.0, 3.0, 4.0]
        model = made.XGBClassifier(n_estimators=1, max_depth=1, n_jobs=1)
    else:
        y, steps = (x[:, 0] > 0.0).astype(int), [4.0, 3.0, 2.0, 1.0, 1.0, 2.0, 3.0]
        model = made.LGBMClassifier(
            n_estimators=5, num_leaves=2, learning_rate=1.0, verbose=-1, n_jobs=1
        )
    model.fit(x, y)
    result = model_stability(
        model,
        x[:7],
        y[:7],
        0.9,
        perturbation=Perturbation(integer=[0]),
        computing=Computing(progress=False),
    )
    assert result.kind == "exact"
    np.testing.assert_allclose(result.loss.distances * x[:7].std(), steps)


@pytest.mark.parametrize("name", MODELS)
def test_one_hot_groups_move_as_a_whole(name) -> None:
    rng = np.random.default_rng(1)
    state = rng.integers(0, 3, 120)
    X = np.column_stack([np.eye(3)[state], rng.normal(size=120)])
    y = ((state == 1) + X[:, 3] > 0.5).astype(int)
    model = MODELS[name].fit(X, y)
    problem = problem_of(
        model,
        X[:40],
        y[:40],
        perturbation=Perturbation(one_hot=[[0, 1, 2]], features=[0], cost="unit"),
    )
    found = find_worst_case(problem)[1]
    assert found.kind == "exact"
    others = np.stack(
        [
            model.predict(np.column_stack([np.tile(p, (40, 1)), X[:40, 3]])) != y[:40]
            for p in np.eye(3)
        ]
    )
    wrong = model.predict(X[:40]) != y[:40]
    expected = np.where(wrong, 0.0, np.where(others.any(axis=0), 1.0, np.inf))
    np.testing.assert_array_equal(found.loss.distances, expected)


def test_whole_numbers_move_by_whole_steps(moons) -> None:
    X, y = moons
    rounded = np.round(X * 3)
    model = MODELS["tree"].fit(rounded, y)
    steps = model_stability(model, rounded, y, 0.6)
    assert (steps.changed_rows() == np.rint(steps.changed_rows())).all()
    fractions = model_stability(model, rounded, y, 0.6, perturbation=Perturbation(integer=()))
    assert steps.value > fractions.value


def test_a_column_in_pieces_has_a_point_of_each_cell() -> None:
    X = np.array([[0.0, 5.0], [2.0, np.nan]])
    domain = domain_of(CodedTable.of(X), Perturbation(bounds=None, integer=()))
    axis = PieceAxis(1, np.array([1.0, 3.0]), domain, True, some_missing=True)
    points = axis.samples(X[:1])
    np.testing.assert_array_equal(axis.cells(points), [0, 1, 2, 3])
    np.testing.assert_array_equal(points[:, 0], 0.0)
    assert axis.by_state
