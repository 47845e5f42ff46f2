"""Trees that split categories themselves, and dropout: read as their libraries do, exact against all combinations."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from shiftmetrics import feature_stability, model_stability
from shiftmetrics.models import Perturbation, Search
from shiftmetrics.models.forests import exact, forest_of
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.estimators import encoded_categories, known_categories
from shiftmetrics.models.reading.model import problem_of
from walked_trees import outputs_of

FREE = Perturbation(bounds=None, integer=(), cost={"town": 1.0, "ward": 1.0})

NAMES = ["histogram", "xgboost", "lightgbm"]
TOWNS, WARDS = list("pqrstuvwxy"), [3, 5, 8]


def table(n=260, seed=0, share=0.1):
    """Two columns of categories, one of them of many, and one of numbers; some cells are missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=n),
            "town": pd.Categorical(rng.choice(TOWNS, n), categories=TOWNS[::-1]),
            "ward": pd.Categorical(rng.choice(WARDS, n)),
        }
    )
    score = frame["town"].isin(["p", "s", "u", "x"]) * 1.5 + frame["dose"] + (frame["ward"] == 5)
    y = (score + 0.3 * rng.normal(size=n) > 1.0).astype(int).to_numpy()
    for name in frame:
        frame.loc[rng.random(n) < share, name] = None
    return frame, y


def model_named(name, **more):
    if name == "histogram":
        return HistGradientBoostingClassifier(
            max_iter=8, min_samples_leaf=5, random_state=0, **more
        )
    module = pytest.importorskip(name)
    options = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1, "random_state": 0, **more}
    if name == "xgboost":
        return module.XGBClassifier(**options, enable_categorical=True, max_cat_to_onehot=4)
    return module.LGBMClassifier(
        **options, min_child_samples=5, min_data_per_group=5, cat_smooth=1, verbose=-1
    )


def splits_categories(model):
    subset = forest_of(model).subset
    return subset is not None and (subset >= 0).any()


@pytest.mark.parametrize("name", NAMES)
def test_the_grid_says_what_the_library_says(name) -> None:
    X, y = table()
    model = model_named(name).fit(X, y)
    assert splits_categories(model)
    other, labels = table(seed=1, share=0.3)
    problem = problem_of(model, other, labels, perturbation=FREE)
    grid = grid_of_problem(problem)
    assert grid is not None
    outputs = grid.outputs(grid.cells(problem.codes))
    np.testing.assert_allclose(
        grid.forest.probabilities(outputs), model.predict_proba(other), rtol=1e-6, atol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.15])
@pytest.mark.parametrize("name", NAMES)
def test_nearest_errors_are_those_of_all_combinations(name, share) -> None:
    X, y = table(share=share)
    model = model_named(name).fit(X, y)
    rows = slice(0, 25)
    problem = problem_of(model, X[rows], y[rows], perturbation=FREE)
    route, found = find_worst_case(problem)
    assert (route, found.kind) == ("ensemble", "exact")
    at = np.unique(forest_of(model).threshold[forest_of(model).subset < 0])
    doses = np.concatenate([at, np.nextafter(at, np.inf)])
    doses = doses[np.abs(doses) < 1e30]
    unit = X["dose"][rows].std(ddof=0)
    for row, (dose, town, ward) in enumerate(X[rows].itertuples(index=False)):
        some = list(
            itertools.product(
                [dose] if pd.isna(dose) else [dose, *doses],
                [town] if pd.isna(town) else TOWNS,
                [ward] if pd.isna(ward) else WARDS,
            )
        )
        points = pd.DataFrame(some, columns=X.columns).astype(X.dtypes)
        squared = np.square((points["dose"] - dose) / unit).fillna(0.0)
        squared += ((points["town"] != town) & points["town"].notna()).astype(float)
        squared += ((points["ward"] != ward) & points["ward"].notna()).astype(float)
        wrong = model.predict(points) != y[row]
        nearest = np.sqrt(squared[wrong].min()) if wrong.any() else np.inf
        assert found.loss.distances[row] == pytest.approx(nearest, rel=1e-7, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["zero_one", "log_loss"])
@pytest.mark.parametrize("name", NAMES)
def test_results_reach_what_they_say(name, loss, monkeypatch) -> None:
    X, y = table(n=160)
    model = model_named(name).fit(X, y)
    threshold = {"zero_one": 0.4, "log_loss": 0.9}[loss]
    known = model_stability(model, X, y, threshold, loss=loss, perturbation=FREE)
    assert (known.search.route, known.kind) == ("ensemble", "exact")
    moved = known.changed_rows()
    pd.testing.assert_frame_equal(moved.isna(), X.isna())
    assert set(moved["town"].dropna()) <= set(TOWNS)
    away = known.plan.distances > 0
    if loss == "zero_one":
        assert (model.predict(moved)[away] != y[away]).all()
    monkeypatch.setattr(exact, "MOST_VISITS", -1)
    searched = model_stability(model, X, y, threshold, loss=loss, perturbation=FREE)
    assert searched.lower_bound <= known.value * (1 + 1e-6)
    assert known.value * (1 - 1e-9) <= searched.value <= 1.2 * known.value
    alone = feature_stability(model, X, y, threshold, loss=loss)
    assert {part.kind for part in alone.features} == {"exact"}
    assert alone.features[0].value >= known.value * (1 - 1e-9)


def test_columns_that_are_marked_as_categories_flip() -> None:
    """Arrays, and texts: what histogram gradient boosting takes as categories are categories here."""
    X, y = table(share=0.0)
    codes = np.column_stack([X["dose"], X["town"].cat.codes, X["ward"].astype(int)]).astype(float)
    model = HistGradientBoostingClassifier(max_iter=10, categorical_features=[1, 2]).fit(codes, y)
    assert encoded_categories(model, range(3)) == {1: list(range(10)), 2: [3, 5, 8]}
    result = model_stability(model, codes, y, 0.4)
    assert (result.search.route, result.kind) == ("ensemble", "exact")
    assert set(np.unique(result.changed_rows()[:, 2])) <= {3.0, 5.0, 8.0}
    texts = X.astype({"town": str, "ward": float})
    model = HistGradientBoostingClassifier(max_iter=10, categorical_features=["town"]).fit(texts, y)
    assert model_stability(model, texts, y, 0.4).search.route == "ensemble"
    steps = make_column_transformer((OrdinalEncoder(), ["town"]), remainder="passthrough")
    inner = HistGradientBoostingClassifier(max_iter=10, categorical_features=[0])
    model = make_pipeline(steps, inner).fit(texts, y)
    assert model_stability(model, texts, y, 0.4).search.route == "ensemble"


def test_lightgbm_with_categories_in_an_array() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = table(share=0.0)
    codes = np.column_stack([X["dose"], X["town"].cat.codes])
    model = lightgbm.LGBMClassifier(
        n_estimators=8,
        min_child_samples=5,
        min_data_per_group=5,
        cat_smooth=1,
        verbose=-1,
        n_jobs=1,
    ).fit(codes, y, categorical_feature=[1])
    assert splits_categories(model)
    known = model_stability(model, codes, y, 0.4, perturbation=Perturbation(categorical=[1]))
    assert (known.search.route, known.kind) == ("ensemble", "exact")
    as_numbers = model_stability(
        model, codes, y, 0.4, computing=Search(n_queries=60)
    )  # between two codes there is no category
    assert as_numbers.search.route == "blackbox"


def test_categories_that_the_model_never_saw() -> None:
    X, y = table(share=0.0)
    seen = X["town"].isin(TOWNS[:7])
    small = X[seen].assign(town=X["town"][seen].cat.remove_unused_categories())
    for name in ("histogram", "lightgbm"):  # they count as missing
        model = model_named(name).fit(small, y[seen])
        grid = grid_of_problem(problem_of(model, X, y))
        outputs = grid.outputs(grid.cells(problem_of(model, X, y).codes))
        np.testing.assert_allclose(
            grid.forest.probabilities(outputs), model.predict_proba(X), atol=1e-12
        )
    model = model_named("xgboost").fit(small, y[seen])
    rows = small.assign(
        town=small["town"].cat.set_categories(TOWNS)
    )  # of the dtype, but the model refuses three
    result = model_stability(model, rows, y[seen], 0.4)
    assert (result.search.route, result.kind) == ("ensemble", "exact")
    assert set(result.changed_rows()["town"]) <= set(TOWNS[:7])


def test_xgboost_with_categories_beyond_ascii() -> None:
    """The library stores such names cut short: the trees are read by the order of the table's own categories."""
    made = pytest.importorskip("xgboost")
    frame, y = table()
    plain = frame["town"]
    model = made.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1, enable_categorical=True)
    results = []
    for names in ({}, {"p": "é"}, {town: f"{town}é日" for town in TOWNS}):
        frame["town"] = plain.cat.rename_categories(names)
        model.fit(frame, y)
        results.append(
            model_stability(
                model, frame[:30], y[:30], 0.4, computing=Search(n_queries=50, progress=False)
            )
        )
        assert known_categories(model).keys() == ({2} if names else {1, 2})
    assert [result.search.route for result in results[:2]] == ["ensemble", "ensemble"]
    assert results[1].value == pytest.approx(results[0].value, rel=1e-9)
    assert (
        results[2].value > 0.0
    )  # the library mixes these up itself, so the trees may not be what predicts


def test_regressions_with_categories() -> None:
    X, _ = table()
    y = np.nan_to_num(X["dose"]) + X["town"].isin(["p", "u"]) * 2.0
    model = HistGradientBoostingRegressor(max_iter=10, categorical_features="from_dtype").fit(X, y)
    result = model_stability(model, X, y, 2.0, loss="squared")
    assert (result.search.route, result.kind) == ("ensemble", "exact")
    np.testing.assert_allclose(
        (model.predict(result.changed_rows()) - y) ** 2, result.plan.losses, rtol=1e-9
    )


# --- dropout -----------------------------------------------------------------------------------------------


def dropout(name, n_classes=2):
    module = pytest.importorskip(name)
    X, y = table(n=300)
    rows = X.assign(town=X["town"].cat.codes.astype(float), ward=X["ward"].astype(float)).to_numpy()
    if n_classes == 3:
        y = y + (rows[:, 0] > 1)
    options = {
        "n_estimators": 15,
        "max_depth": 3,
        "n_jobs": 1,
        "random_state": 0,
        "learning_rate": 0.5,
    }
    if name == "xgboost":
        model = module.XGBClassifier(booster="dart", rate_drop=0.4, **options)
    else:
        model = module.LGBMClassifier(
            boosting_type="dart",
            drop_rate=0.6,
            skip_drop=0.0,
            min_child_samples=5,
            verbose=-1,
            **options,
        )
    return model.fit(rows, y), rows, y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_trees_of_dropout_count_with_their_weights(name, n_classes) -> None:
    model, X, y = dropout(name, n_classes)
    forest = forest_of(model)
    rng = np.random.default_rng(0)
    points = rng.permuted(X, axis=0)
    said = forest.probabilities(outputs_of(forest, points))
    np.testing.assert_allclose(said, model.predict_proba(points), rtol=2e-6, atol=2e-6)
    if name == "xgboost":
        import json

        document = json.loads(bytes(model.get_booster().save_raw("json")))
        weights = document["learner"]["gradient_booster"]["weight_drop"]
        assert min(weights) < 0.9  # some were dropped: without their weights this would not hold
    result = model_stability(model, X, y, 0.5)
    assert result.search.route == "ensemble"
    away = result.plan.distances > 0
    assert (model.predict(result.changed_rows())[away] != y[away]).all()
    assert feature_stability(model, X, y, 0.5).features[0].kind == "exact"


def test_linear_leaves_are_left_to_queries() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = table(n=200, share=0.0)
    rows = X[["dose"]].assign(other=np.arange(200.0)).to_numpy()
    model = lightgbm.LGBMClassifier(n_estimators=3, linear_tree=True, verbose=-1, n_jobs=1).fit(
        rows, y
    )
    assert forest_of(model) is None
    assert (
        model_stability(model, rows, y, 0.6, computing=Search(n_queries=40)).search.route
        == "blackbox"
    )
