"""From a pipeline of trees to a grid in raw columns; steps that mix columns have none."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rows_with_holes import assert_reached
from shiftmetrics.models import Perturbation, Search, model_stability
from shiftmetrics.models.forests import exact
from shiftmetrics.models.forests.from_model import grid_of_problem
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
    found = find_worst_case(problem)[1].at_any_price()
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


def test_a_power_that_numbers_below_0_do_not_have() -> None:
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(80, 2)))
    y = (X[:, 0] * X[:, 1] > 1.0).astype(int)
    powers = PowerTransformer(method="box-cox")
    model = make_pipeline(powers, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    result = model_stability(model, X, y, 0.3, resampling=None)
    assert result.kind == "exact"
    changed = np.asarray(result.plan.distances)[:80] > 0.0
    assert (model.predict(result.changed_rows()) != y)[changed].all()


def test_a_zero_that_a_sparse_step_leaves_out_is_missing_for_xgboost() -> None:
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(3)
    n = 160
    X = pd.DataFrame({"a": rng.normal(size=n).round(3), "b": rng.choice(["x", "y"], n)})
    X.loc[rng.random(n) < 0.3, "a"] = 0.0
    y = ((X["a"] == 0.0) | ((X["a"] > 1.0) & (X["b"] == "x"))).to_numpy().astype(int)
    encode = make_column_transformer(
        (MaxAbsScaler(), ["a"]), (OneHotEncoder(), ["b"]), sparse_threshold=1.0
    )
    model = make_pipeline(encode, xgboost.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1))
    model.fit(X, y)
    # No row that is kept holds a zero: nothing but the kind of step says that one is different.
    kept = (X["a"] != 0.0).to_numpy()
    X = X[kept].reset_index(drop=True)
    y = y[kept]
    only = Perturbation(features=["a"])
    result = model_stability(model, X, y, 0.6, resampling=None, perturbation=only)
    assert (result.search.route, result.kind) == ("ensemble", "exact")
    at_zero = model.predict(X.assign(a=0.0)) != y
    apart = X["a"].abs().to_numpy() / X["a"].std(ddof=0)
    distances = np.asarray(result.loss.distances)
    assert at_zero.sum() > len(y) / 2
    assert (distances[at_zero] <= apart[at_zero] + 1e-12).all()
    changed = np.asarray(result.plan.distances)[: len(y)] > 0.0
    wrong = model.predict(result.changed_rows())[: len(y)] != y
    assert wrong[changed].all()
