"""Trees and their sums where cells are missing: exact answers against all boxes and the library's own predictions."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rows_with_holes import assert_reached
from shiftmetrics.models import Perturbation, Search, model_stability
from shiftmetrics.models.domain.domain import differs
from shiftmetrics.models.forests import exact, forest_of
from shiftmetrics.models.forests.bounds import Budget, certified_distances
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.forests.loss_bounds import lower_loss
from shiftmetrics.models.forests.standing import Standing
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.model import problem_of
from shiftmetrics.stability import CandidateLoss, stability_criterion
from walked_trees import leaves_of, outputs_of

FREE = Perturbation(bounds=None, integer=())

NAMES = ["tree", "forest", "extra", "histogram", "xgboost", "lightgbm"]
ALL = slice(None)


def model_named(name):
    if name in ("xgboost", "lightgbm"):
        module = pytest.importorskip(name)
        options = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1, "random_state": 0}
        if name == "xgboost":
            return module.XGBClassifier(**options)
        return module.LGBMClassifier(**options, min_child_samples=5, verbose=-1)
    return {
        "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
        "forest": RandomForestClassifier(6, max_depth=4, random_state=0),
        "extra": ExtraTreesClassifier(6, max_depth=4, random_state=0),
        "histogram": HistGradientBoostingClassifier(
            max_iter=12, min_samples_leaf=5, random_state=0
        ),
    }[name]


def table(n=140, p=2, share=0.25, seed=0, n_classes=2):
    """Rows with missing cells that say something about the label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    score = X[:, 0] + X[:, 1] ** 2 - 0.8 + 0.3 * rng.normal(size=n)
    gone = rng.random((n, p)) < share * (1.0 + 0.8 * (score > 0))[:, None]
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return np.where(gone, np.nan, X), y


def values_of(model, n_features):
    """All values where a model may change its mind, and the next floats, for each column."""
    forest = forest_of(model)
    at = [np.unique(forest.threshold[forest.feature == column]) for column in range(n_features)]
    at = [column[np.isfinite(column) & (np.abs(column) < 1e30)] for column in at]
    return [np.concatenate([column, np.nextafter(column, np.inf)]) for column in at]


def boxes_of(x, values):
    """A point in every box of cells that a row can reach: what is missing stays missing."""
    sides = [
        np.array([own]) if np.isnan(own) else np.append(column, own)
        for own, column in zip(x, values, strict=True)
    ]
    return np.array(list(itertools.product(*sides)))


def squared_distances(points, x, unit):
    return (np.where(np.isnan(x), 0.0, points - x) ** 2 / unit**2).sum(axis=1)


def nearest_errors(model, X, y, values, unit):
    found = np.full(len(X), np.inf)
    for row, (x, label) in enumerate(zip(X, y, strict=True)):
        points = boxes_of(x, values)
        wrong = points[model.predict(points) != label]
        if len(wrong):
            found[row] = np.sqrt(squared_distances(wrong, x, unit).min())
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_the_forest_says_what_the_library_says_of_random_rows(name, n_classes) -> None:
    X, y = table(n=300, p=4, n_classes=n_classes)
    model = model_named(name).fit(X, y)
    rng = np.random.default_rng(1)
    points = rng.normal(size=(2000, 4)) * 1.5
    values = values_of(model, 4)
    for column, at in enumerate(values):  # on thresholds and right beside them, too
        if len(at):
            on = rng.random(2000) < 0.3
            points[on, column] = rng.choice(at, int(on.sum()))
    points[rng.random(points.shape) < 0.3] = np.nan
    forest = forest_of(model)
    rtol = 1e-6 if name == "xgboost" else 1e-12
    said = forest.probabilities(outputs_of(forest, points))
    np.testing.assert_allclose(said, model.predict_proba(points), rtol=rtol, atol=rtol)
    problem = problem_of(model, X, y, perturbation=FREE)
    grid = grid_of_problem(problem)
    near = points[~np.isnan(points[:, 0])]
    np.testing.assert_array_equal(grid.leaves(grid.cells(near)), leaves_of(forest, near))


@pytest.mark.parametrize("name", NAMES)
def test_nearest_errors_are_those_of_all_boxes(name) -> None:
    X, y = table()
    model = model_named(name).fit(X, y)
    problem = problem_of(model, X[:40], y[:40], perturbation=FREE)
    found = find_worst_case(problem)[1]
    assert found.kind == "exact"
    assert_reached(problem, found)
    expected = nearest_errors(model, X[:40], y[:40], values_of(model, 2), problem.domain.unit)
    np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(problem.domain.unit, np.nanstd(X[:40], axis=0))


@pytest.mark.parametrize("name", NAMES)
def test_one_column_is_exact_by_every_threshold(name) -> None:
    X, y = table(n=200, p=4, n_classes=3)
    model = model_named(name).fit(X, y)
    rows, values = slice(0, 60), values_of(model, 4)
    for column in range(4):
        problem = problem_of(
            model,
            X[rows],
            y[rows],
            perturbation=Perturbation(features=[column], bounds=None, integer=()),
        )
        found = find_worst_case(problem)[1]
        assert found.kind == "exact"
        assert_reached(problem, found)
        alone = [values[k] if k == column else np.empty(0) for k in range(4)]
        expected = nearest_errors(model, X[rows], y[rows], alone, problem.domain.unit)
        np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-9, atol=1e-12)
        assert (found.loss.distances[np.isnan(X[rows, column]) & (expected > 0)] == np.inf).all()


@pytest.mark.parametrize("name", NAMES)
def test_smooth_losses_are_exact_against_all_boxes(name) -> None:
    X, y = table(n=120)
    model = model_named(name).fit(X, y)
    rows = slice(0, 30)
    problem = problem_of(model, X[rows], y[rows], loss="log_loss", perturbation=FREE)
    found = find_worst_case(problem)[1]
    assert found.kind == "exact"
    values = values_of(model, 2)
    width = max(len(boxes_of(x, values)) for x in X[rows])
    losses, distances = np.zeros((30, width)), np.full((30, width), np.inf)
    for row, x in enumerate(X[rows]):
        points = boxes_of(x, values)
        losses[row, : len(points)] = problem.losses(points, np.full(len(points), row))
        distances[row, : len(points)] = np.sqrt(squared_distances(points, x, problem.domain.unit))
    order = np.argsort(distances, axis=1, kind="stable")
    losses, distances = (np.take_along_axis(part, order, axis=1) for part in (losses, distances))
    dense = CandidateLoss(losses, distances)
    threshold = 1.5 * losses[:, 0].mean() + 0.2
    ours = stability_criterion(found.loss, threshold)
    theirs = stability_criterion(dense, threshold)
    np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-6 if name == "xgboost" else 1e-9)


@pytest.mark.parametrize("loss", ["zero_one", "log_loss"])
@pytest.mark.parametrize("name", NAMES[1:])
def test_search_and_certificate_enclose_the_exact_value(name, loss, monkeypatch) -> None:
    X, y = table()
    model = model_named(name).fit(X, y)
    threshold = {"zero_one": 0.45, "log_loss": 1.1}[loss]
    known = model_stability(model, X, y, threshold, loss=loss, perturbation=FREE)
    monkeypatch.setattr(exact, "MOST_VISITS", -1)
    searched = model_stability(model, X, y, threshold, loss=loss, perturbation=FREE)
    assert known.kind == "exact"
    # Where both bounds meet the search is exact.
    least = searched.value if searched.kind == "exact" else searched.lower_bound
    assert least <= known.value * (1 + 1e-6)
    assert known.value <= searched.value * (1 + 1e-9)
    assert searched.value <= 1.15 * known.value
    assert least > (0.3 if loss == "zero_one" else 0.05) * known.value
    for result in (searched, known):
        np.testing.assert_array_equal(np.isnan(result.changed_rows()), np.isnan(X))
        np.testing.assert_allclose(
            np.sqrt(squared_distances(result.changed_rows(), X, result.changed.units)),
            result.plan.distances, atol=1e-12,
        )  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_certified_distances_are_not_beyond_an_error(name, n_classes) -> None:
    X, y = table(n_classes=n_classes)
    model = model_named(name).fit(X, y)
    X, y = X[::3], y[::3]
    problem = problem_of(model, X, y, perturbation=FREE)
    upper = find_worst_case(problem)[1].loss.distances ** 2
    grid = grid_of_problem(problem)
    losses, distances = lower_loss(grid, X, problem.y, "zero_one")
    known = np.where(losses > 0.0, distances**2, np.inf).min(axis=1)
    standing = Standing.of(grid, X)
    assert (known <= upper * (1 + 1e-9) + 1e-15).all()
    # The small budgets look less far again and again.
    budgets = [Budget.of(1.0, len(X)), Budget(600, 4, 0), Budget(600, 8, 10**6)]
    for reached, budget in itertools.product(
        (upper, 4.0 * upper, np.full(len(X), np.inf)), budgets
    ):
        sharper, _ = certified_distances(standing, problem.y, known, reached, budget)
        assert (sharper >= known).all()
        assert (sharper <= upper * (1 + 1e-9) + 1e-15).all()


@pytest.mark.parametrize("name", NAMES)
def test_outputs_and_costs_at_every_cell(name) -> None:
    X, y = table(p=3, n_classes=3)
    model = model_named(name).fit(X, y)
    problem = problem_of(model, X, y, perturbation=FREE)
    grid = grid_of_problem(problem)
    own = grid.cells(X)
    base = grid.outputs(own)
    all_squared = [grid.axes[axis].costs(X) for axis in grid.active]
    all_outputs = grid.along(own, grid.active)
    for position, outputs, squared in zip(grid.active, all_outputs, all_squared, strict=True):
        axis = grid.axes[position]
        gone = np.isnan(X[:, position])
        assert np.isinf(squared[gone][:, : axis.n_open]).all()  # nothing that is missing moves
        assert (np.isfinite(squared[~gone]) == (np.arange(axis.n_cells) < axis.n_open)).all()
        np.testing.assert_allclose(outputs[gone, own[gone, position]], base[gone], atol=1e-12)
        for cell in range(axis.n_open):
            points = X.copy()
            axis.put(points, X, np.full(len(X), cell))
            expected = outputs_of(forest_of(model), points)
            np.testing.assert_allclose(outputs[~gone, cell], expected[~gone], rtol=1e-9, atol=1e-9)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.05, 0.5, 0.9]), bounds=st.booleans())
def test_any_tree_with_any_holes(seed, share, bounds) -> None:
    X, y = table(n=60, p=2, share=share, seed=seed)
    model = DecisionTreeClassifier(max_depth=4, random_state=seed).fit(X, y)
    bounded = bounds and not np.isnan(X).all(axis=0).any()
    problem = problem_of(model, X, y, perturbation=Perturbation(bounds="data" if bounded else None))
    found = find_worst_case(problem)[1]
    assert_reached(problem, found)
    values = values_of(model, 2)
    if bounded:
        values = [
            at[(at >= np.nanmin(held)) & (at <= np.nanmax(held))]
            for at, held in zip(values, X.T, strict=True)
        ]
    expected = nearest_errors(model, X, y, values, problem.domain.unit)
    np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["tree", "histogram"])
@pytest.mark.parametrize("add_indicator", [False, True])
def test_imputers_before_trees(name, add_indicator) -> None:
    X, y = table()
    model = make_pipeline(SimpleImputer(add_indicator=add_indicator), model_named(name)).fit(X, y)
    problem = problem_of(model, X[:40], y[:40], perturbation=FREE)
    route, found = find_worst_case(problem)
    assert (route, found.kind) == ("tree" if name == "tree" else "ensemble", "exact")
    assert_reached(problem, found)
    values = values_of(model[-1], model[-1].n_features_in_)[:2]
    expected = nearest_errors(model, X[:40], y[:40], values, problem.domain.unit)
    np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["tree", "forest", "histogram"])
def test_scalers_before_trees_that_split_off_what_is_missing(name) -> None:
    X, y = table(p=2)
    y = np.isnan(X[:, 0]).astype(int) ^ (X[:, 1] > 1)  # the first split has an infinite threshold
    plain = model_named(name).fit(X, y)
    scaled = make_pipeline(StandardScaler(), model_named(name)).fit(X, y)
    assert np.isinf(forest_of(scaled[-1]).threshold).any() or name == "forest"
    for model in (plain, scaled):
        problem = problem_of(model, X[:40], y[:40], perturbation=FREE)
        found = find_worst_case(problem)[1]
        assert found.kind == "exact"
        assert_reached(problem, found)
    expected = nearest_errors(plain, X[:40], y[:40], values_of(plain, 2), problem.domain.unit)
    plain_distances = find_worst_case(problem_of(plain, X[:40], y[:40], perturbation=FREE))[
        1
    ].loss.distances
    np.testing.assert_allclose(plain_distances, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=4, random_state=0),
        HistGradientBoostingRegressor(max_iter=10),
    ],
    ids=["tree", "histogram"],
)
def test_regressions(model) -> None:
    X, _ = table(n=100)
    y = np.nan_to_num(X[:, 0]) + np.isnan(X[:, 1])
    model.fit(X, y)
    result = model_stability(model, X, y, 1.5, loss="squared", perturbation=FREE)
    assert result.kind == "exact"
    np.testing.assert_allclose(
        (model.predict(result.changed_rows()) - y) ** 2, result.plan.losses, rtol=1e-9
    )
    problem = problem_of(model, X, y, loss="squared", perturbation=FREE)
    best = find_worst_case(problem)[1].loss.reach(1.0, slice(0, 100)).loss
    values = values_of(model, 2)
    for row in range(0, 100, 9):
        points = boxes_of(X[row], values)
        np.testing.assert_allclose(
            best[row], ((model.predict(points) - y[row]) ** 2).max(), rtol=1e-9
        )


def test_one_hot_groups_with_a_missing_cell_stay() -> None:
    rng = np.random.default_rng(1)
    state = rng.integers(0, 3, 200)
    X = np.column_stack([np.eye(3)[state], rng.normal(size=200)])
    y = ((state == 1) + X[:, 3] > 0.5).astype(int)
    X[rng.random(200) < 0.2, 0] = np.nan
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    problem = problem_of(
        model, X, y, perturbation=Perturbation(one_hot=[[0, 1, 2]], features=[0], cost="unit")
    )
    found = find_worst_case(problem)[1]
    assert found.kind == "exact"
    stuck = np.isnan(X[:, 0])
    others = np.stack(
        [model.predict(np.column_stack([np.tile(p, (200, 1)), X[:, 3]])) != y for p in np.eye(3)]
    )
    wrong = model.predict(X) != y
    expected = np.where(wrong, 0.0, np.where(others.any(axis=0) & ~stuck, 1.0, np.inf))
    np.testing.assert_array_equal(found.loss.distances, expected)
    result = model_stability(model, X, y, 0.3, perturbation=Perturbation(one_hot=[[0, 1, 2]]))
    moved = result.changed_rows()
    np.testing.assert_array_equal(np.isnan(moved), np.isnan(X))
    np.testing.assert_array_equal(moved[stuck, :3], X[stuck, :3])
    assert (moved[~stuck, :3].sum(axis=1) == 1.0).all()


def test_lightgbm_that_takes_zeros_for_missing_is_left_to_queries() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = table()
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, zero_as_missing=True, n_jobs=1).fit(
        X, y
    )
    result = model_stability(model, X, y, 0.5, computing=Search(n_queries=60))
    assert (result.search.route, result.kind) == ("blackbox", "upper_bound")
    np.testing.assert_array_equal(np.isnan(result.changed_rows()), np.isnan(X))


@pytest.mark.parametrize("name", NAMES)
def test_holes_that_the_model_never_saw(name) -> None:
    """Trees fitted on complete rows have a side for missing values, too: of most rows, of 0 (LightGBM), any."""
    X, y = table(share=0.0)
    holes, _ = table(share=0.4)
    model = model_named(name).fit(X, y)
    problem = problem_of(model, holes[:30], y[:30], perturbation=FREE)
    found = find_worst_case(problem)[1]
    assert_reached(problem, found)
    expected = nearest_errors(model, holes[:30], y[:30], values_of(model, 2), problem.domain.unit)
    np.testing.assert_allclose(found.loss.distances, expected, rtol=1e-9, atol=1e-12)


def test_missing_categories_stay_in_a_table() -> None:
    rng = np.random.default_rng(0)
    n = 240
    frame = pd.DataFrame(
        {
            "town": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "dose": rng.integers(0, 9, n).astype(float),
            "age": rng.normal(50, 20, n),
            "smoker": pd.Series(rng.random(n) < 0.4, dtype=object),
        }
    )
    y = (frame["age"] / 40 + (frame["town"] == "b") + frame["smoker"].astype(float) > 2).astype(int)
    for column in frame:
        frame.loc[rng.random(n) < 0.15, column] = None
    steps = make_column_transformer((OneHotEncoder(), ["town", "smoker"]), remainder="passthrough")
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(frame, y)
    result = model_stability(model, frame, y, 0.4, perturbation=Perturbation(integer=["dose"]))
    assert (result.search.route, result.kind) == ("tree", "exact")
    moved = result.changed_rows()
    pd.testing.assert_frame_equal(moved.isna(), frame.isna())
    pd.testing.assert_series_equal(moved.dtypes, frame.dtypes)
    away = result.plan.distances > 0
    assert away.any()
    assert (model.predict(moved)[away] != y[away]).all()
    assert (model.predict(moved)[~away] == model.predict(frame)[~away]).all()
    codes = result.changed.table.codes
    apart = differs(result.changed.codes, codes).any(axis=1)
    np.testing.assert_array_equal(apart, away)
