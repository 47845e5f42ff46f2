"""Trees and their sums: exact moves against brute force over grids and all thresholds, bounds on both sides of it."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_moons
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rows_with_holes import assert_reached
from shiftmetrics import Computing
from shiftmetrics.models import Perturbation, Search, model_stability
from shiftmetrics.models.forests import exact, forest_of
from shiftmetrics.models.forests.from_model import grid_of_problem
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


@pytest.mark.parametrize("loss", ["zero_one", "log_loss", "hinge"])
@pytest.mark.parametrize("name", ["boosting", "histogram", "forest"])
def test_search_and_certificate_enclose_the_exact_value(name, loss, moons, monkeypatch) -> None:
    X, y = moons
    model = MODELS[name].fit(X, y)
    if loss == "hinge" and not hasattr(model, "decision_function"):
        pytest.skip("no decision function")
    threshold = {"zero_one": 0.4, "log_loss": 1.0, "hinge": 1.5}[loss]
    known = model_stability(model, X, y, threshold, loss=loss)
    monkeypatch.setattr(exact, "MOST_VISITS", -1)
    searched = model_stability(model, X, y, threshold, loss=loss)
    assert known.kind == "exact"
    # Where both bounds meet the search is exact.
    least = searched.value if searched.kind == "exact" else searched.lower_bound
    assert least <= known.value * (1 + 1e-6)
    assert known.value <= searched.value * (1 + 1e-9)
    assert searched.value <= 1.15 * known.value
    assert least > 0.4 * known.value


def test_searched_distances_are_near_the_exact_ones(monkeypatch) -> None:
    monkeypatch.setattr(exact, "MOST_VISITS", -1)
    X, y = make_moons(150, noise=0.3, random_state=1)
    model = MODELS["boosting"].fit(X, y)
    problem = problem_of(model, X, y)
    found = find_worst_case(problem)[1]
    assert found.kind == "upper_bound"
    assert_reached(problem, found)
    expected = brute_force(model, X[:40], y[:40], thresholds_of(model, 2), problem.domain.unit)
    right = expected > 0
    ratio = found.loss.distances[:40][right] / expected[right]
    assert ratio.min() > 1 - 1e-9
    assert np.median(ratio) < 1.01
    lower = found.lower.transform(1.0, 1.0, ALL)
    assert lower.value.shape == (150,)


@pytest.mark.slow
def test_several_classes_and_a_certificate() -> None:
    X, y = load_iris(return_X_y=True)
    for name in ("boosting", "histogram", "forest"):
        model = MODELS[name].fit(X, y)
        result = model_stability(model, X, y, 0.4)
        assert result.kind in ("exact", "upper_bound")
        moved = np.flatnonzero(result.plan.distances > 0)
        assert (model.predict(result.changed_rows()[moved]) != y[moved]).all()
        if result.kind == "upper_bound":
            assert 0 < result.lower_bound <= result.value


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


# --- the domain ------------------------------------------------------------------------------------------


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


@pytest.mark.slow
@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_categories_flip_in_the_raw_columns_of_a_pipeline(name, search, monkeypatch) -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "town": rng.choice(["a", "b", "c", "d"], 150),
            "age": rng.normal(50, 20, 150),
            "smoker": rng.random(150) < 0.4,
        }
    )
    y = (
        ((table["town"] == "b") * 1.0 + table["age"] / 40 + table["smoker"] > 2.0)
        .astype(int)
        .to_numpy()
    )
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), ["town"]), (StandardScaler(), ["age"]), remainder="passthrough"
        ),
        MODELS[name],
    ).fit(table, y)
    if search:
        monkeypatch.setattr(exact, "MOST_VISITS", -1)
    some = table.iloc[:40]
    moves = Perturbation(cost={"town": 1.0, "smoker": 1.0}, bounds=None)
    problem = problem_of(model, some, y[:40], perturbation=moves)
    found = find_worst_case(problem)[1]
    assert found.kind == "exact" or (search and name != "tree")
    assert_reached(problem, found)
    # Flips exactly, ages on a fine grid: never much nearer than what was found.
    ages = np.linspace(0.0, 110.0, 1500)
    unit = problem.domain.unit[1]
    for row in range(12):
        states = list(itertools.product("abcd", [False, True]))
        grid = pd.DataFrame(
            {
                "town": np.repeat([state[0] for state in states], len(ages)),
                "age": np.tile(ages, len(states)),
                "smoker": np.repeat([state[1] for state in states], len(ages)),
            }
        )
        wrong = grid[model.predict(grid) != y[row]]
        own = some.iloc[row]
        squared = ((wrong["age"] - own["age"]) / unit) ** 2
        squared += (wrong["town"] != own["town"]) * 1.0 + (wrong["smoker"] != own["smoker"]) * 1.0
        nearest = np.sqrt(squared.min()) if len(wrong) else np.inf
        if model.predict(some.iloc[[row]])[0] != y[row]:
            nearest = 0.0
        assert found.loss.distances[row] <= nearest + (0.2 if found.kind == "upper_bound" else 1e-9)
        assert found.loss.distances[row] >= nearest - 0.01


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


def test_columns_of_rare_categories_are_found() -> None:
    """More categories than rows that are tried: each has an encoded column of its own."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"code": rng.choice([f"c{k:02}" for k in range(40)], 800), "age": rng.normal(size=800)}
    )
    y = (table["code"].isin(["c03", "c17", "c39"]) | (table["age"] > 1)).astype(int).to_numpy()
    steps = make_column_transformer((OneHotEncoder(), ["code"]), remainder="passthrough")
    model = make_pipeline(steps, DecisionTreeClassifier(random_state=0)).fit(table, y)
    # Rows whose category is the one that would be tried on them.
    some = table.sort_values("code").drop_duplicates("code")
    grid = grid_of_problem(problem_of(model, some, y[some.index]))
    np.testing.assert_allclose(
        grid.outputs(grid.cells(problem_of(model, table, y).codes)),
        model.predict_proba(table),
        atol=1e-12,
    )
    result = model_stability(model, table[:50], y[:50], 0.4)
    assert (result.search.route, result.kind) == ("tree", "exact")
    moved = np.flatnonzero(result.plan.distances > 0)
    assert (model.predict(result.changed_rows().iloc[moved]) != y[:50][moved]).all()


def test_steps_that_mix_columns_are_left_to_other_routes(moons) -> None:
    X, y = moons
    model = make_pipeline(PCA(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    assert grid_of_problem(problem_of(model, X, y)) is None
    with pytest.raises(ValueError, match="route"):
        model_stability(model, X, y, 0.4, computing=Search(method="tree"))
    scaled = make_pipeline(
        StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)
    ).fit(X, y)
    assert model_stability(scaled, X, y, 0.4).search.route == "tree"


def test_scaling_a_column_changes_nothing(moons) -> None:
    X, y = moons
    scales = np.array([1e3, -1e-2])
    for name in ("tree", "boosting"):
        one = model_stability(MODELS[name].fit(X, y), X, y, 0.4)
        raw = make_pipeline(StandardScaler(), MODELS[name])
        other = model_stability(raw.fit(X * scales, y), X * scales, y, 0.4)
        np.testing.assert_allclose(one.value, other.value, rtol=1e-3)
        assert one.kind == other.kind == "exact"


def test_more_freedom_never_makes_a_model_more_stable(moons) -> None:
    X, y = moons
    model = MODELS["boosting"].fit(X, y)
    narrow = model_stability(
        model, X, y, 0.4, perturbation=Perturbation(features=[0], bounds=(-0.5, 0.5))
    ).value
    wide = model_stability(model, X, y, 0.4, perturbation=Perturbation(features=[0])).value
    both = model_stability(model, X, y, 0.4).value
    assert both <= wide <= narrow


def test_whole_numbers_move_by_whole_steps(moons) -> None:
    X, y = moons
    rounded = np.round(X * 3)
    model = MODELS["tree"].fit(rounded, y)
    steps = model_stability(model, rounded, y, 0.6)
    assert (steps.changed_rows() == np.rint(steps.changed_rows())).all()
    fractions = model_stability(model, rounded, y, 0.6, perturbation=Perturbation(integer=()))
    assert steps.value > fractions.value


@pytest.mark.realdata
def test_hospital_records(data_folder) -> None:
    table = pd.read_csv(data_folder / "covid_sivep" / "covid_sivep.csv.gz").sample(
        1200, random_state=0
    )
    y = table.pop("is_dead").to_numpy()
    table = table.drop(columns="Days_hospital_to_outcome").astype(
        {"Region": "category", "Ethnicity": "category"}
    )
    steps = make_column_transformer(
        (OneHotEncoder(), ["Region", "Ethnicity"]), remainder="passthrough"
    )
    model = make_pipeline(steps, GradientBoostingClassifier(n_estimators=30, random_state=0)).fit(
        table[:600], y[:600]
    )
    result = model_stability(
        model, table[600:], y[600:], 0.4, perturbation=Perturbation(integer=["Age"])
    )
    assert result.search.route == "ensemble"
    assert 0 < result.lower_bound <= result.value
    moved = np.flatnonzero(result.plan.distances > 0)
    assert (model.predict(result.changed_rows().iloc[moved]) != y[600:][moved]).all()
