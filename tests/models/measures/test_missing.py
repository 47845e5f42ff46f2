"""Missing cells in the stability of models: exact routes stay exact, and searches keep what is missing."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from rows_with_holes import holes, stays
from shiftmetrics import feature_stability, model_stability
from shiftmetrics.models import Perturbation, Search
from shiftmetrics.models.domain.domain import differs
from shiftmetrics.models.measures.routes import find_worst_case
from shiftmetrics.models.reading.model import problem_of

FREE = Perturbation(bounds=None, integer=())


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return holes(X.iloc[:150, :6]), y.to_numpy()[:150]


# --- linear models behind imputers -------------------------------------------------------------------------


def imputed_steps(add_indicator, scaled_first):
    steps = [SimpleImputer(add_indicator=add_indicator), StandardScaler()]
    return steps[::-1] if scaled_first else steps


@pytest.mark.parametrize("loss", ["zero_one", "hinge", "log_loss"])
@pytest.mark.parametrize("scaled_first", [False, True])
@pytest.mark.parametrize("add_indicator", [False, True])
def test_linear_models_behind_imputers_are_exact_in_closed_form(
    cancer, add_indicator, scaled_first, loss
) -> None:
    X, y = cancer
    model = make_pipeline(*imputed_steps(add_indicator, scaled_first), LogisticRegression()).fit(
        X, y
    )
    threshold = {"zero_one": 0.4, "hinge": 1.5, "log_loss": 1.0}[loss]
    result = model_stability(model, X, y, threshold, loss=loss, perturbation=FREE)
    assert (result.kind, result.search.route) == ("exact", "linear")
    moved = stays(result, X)
    # Each row on its own: the part of the gradient in the columns that it has is the only way to go.
    step = 1e-3 * X.std(ddof=0)
    rows = X.fillna(X.mean())
    start = model.decision_function(rows)
    slopes = np.array(
        [
            (model.decision_function(rows.assign(**{c: rows[c] + step[c]})) - start)[0] / 1e-3
            for c in X
        ]
    )
    norms = np.sqrt((slopes**2 * X.notna().to_numpy()).sum(axis=1))
    margins = model.decision_function(X) * np.where(y == 1, 1.0, -1.0)
    problem = problem_of(model, X, y, loss=loss, perturbation=FREE)
    exact = find_worst_case(problem)[1].loss
    if loss == "zero_one":
        expected = np.where(margins <= 0.0, 0.0, margins / norms)
        np.testing.assert_allclose(exact.distances, expected, rtol=1e-6, atol=1e-9)
        away = result.plan.distances > 0
        assert (model.predict(moved)[away] != y[away]).all()
        return
    dual, theta1 = 0.7, 0.4
    reached = exact.transform(dual, theta1, slice(None))
    shifts = (
        np.linspace(0.0, 1.0, 20_001)[:, None] * dual / theta1 * norms
    )  # farther than any best move
    lost = margins - shifts * norms
    losses = np.maximum(1.0 - lost, 0.0) if loss == "hinge" else np.logaddexp(0.0, -lost)
    best = (dual * losses - theta1 * shifts**2).max(axis=0)
    np.testing.assert_allclose(reached.value, best, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        problem.losses(result.changed.codes, slice(None)), result.plan.losses, rtol=1e-6, atol=1e-9
    )


def test_rows_without_holes_are_as_if_imputers_were_not_there(cancer) -> None:
    X, y = cancer
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, y)
    whole = X.notna().all(axis=1)
    cost = dict(zip(X.columns, 1.0 / X.var(ddof=0), strict=True))
    together = problem_of(model, X, y, perturbation=Perturbation(cost=cost, bounds=None))
    alone = problem_of(model, X[whole], y[whole], perturbation=Perturbation(cost=cost, bounds=None))
    distances = find_worst_case(together)[1].loss.distances
    np.testing.assert_allclose(
        distances[whole], find_worst_case(alone)[1].loss.distances, rtol=1e-9
    )


def test_bounds_whole_steps_and_several_classes(wine) -> None:
    X, y = wine
    X = X.assign(alcohol=(10 * X["alcohol"]).round())
    model = make_pipeline(
        SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression()
    ).fit(X, y)
    for moves in (
        Perturbation(integer=()),
        Perturbation(integer=["alcohol"]),
        Perturbation(immutable=["ash"], bounds=(0, 500), integer=()),
    ):
        result = model_stability(model, X, y, 0.35, perturbation=moves)
        assert (result.kind, result.search.route) == ("exact", "linear")
        moved = stays(result, X)
        away = result.plan.distances > 0
        assert (model.predict(moved)[away] != y[away]).all()
        if moves.integer:
            assert (moved["alcohol"].dropna() == moved["alcohol"].dropna().round()).all()
    softmax = model_stability(model, X, y, 0.9, loss="log_loss", perturbation=FREE)
    assert softmax.search.route == "linear"
    assert softmax.lower_bound <= softmax.value
    stays(softmax, X)


def test_a_linear_regression_behind_an_imputer() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = holes(X.iloc[:200, :4])
    y = y.to_numpy()[:200] / 50.0
    model = make_pipeline(SimpleImputer(), LinearRegression()).fit(X, y)
    result = model_stability(model, X, y, 3.0, loss="squared", perturbation=FREE)
    assert (result.kind, result.search.route) == ("exact", "linear")
    moved = stays(result, X)
    np.testing.assert_allclose((model.predict(moved) - y) ** 2, result.plan.losses, rtol=1e-7)


def test_imputers_that_look_at_other_columns_are_no_sum(wine) -> None:
    X, y = wine
    for last in (LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0)):
        model = make_pipeline(KNNImputer(n_neighbors=3), StandardScaler(), last).fit(X, y)
        result = model_stability(model, X, y, 0.4, computing=Search(n_queries=80))
        assert (result.kind, result.search.route) == ("upper_bound", "blackbox")
        moved = stays(result, X)
        away = result.plan.distances > 0
        assert (model.predict(moved)[away] != y[away]).all()


@pytest.mark.slow
@pytest.mark.parametrize("encoded", ["missing is a category", "the commonest"])
def test_missing_categories_behind_encoders(encoded) -> None:
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame(
        {
            "ward": rng.choice(["a", "b", "c"], n),
            "sex": pd.Series(rng.choice(["f", "m"], n), dtype=object),
            "age": rng.normal(50, 15, n),
            "pulse": rng.normal(80, 10, n),
        }
    )
    y = (
        X["age"] / 30 + (X["ward"] == "b") + X["pulse"] / 40 + rng.logistic(size=n) / 2 > 4
    ).astype(int)
    for name in X:
        X.loc[rng.random(n) < 0.15, name] = np.nan
    flips = OneHotEncoder() if encoded == "missing is a category" else make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder()
    )  # fmt: skip
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    model = make_pipeline(
        make_column_transformer((flips, ["ward", "sex"]), (numbers, ["age", "pulse"])),
        LogisticRegression(),
    ).fit(X, y)
    moves = Perturbation(bounds=None, integer=(), cost={"ward": 1.0, "sex": 1.0})
    problem = problem_of(model, X, y, perturbation=moves)
    route, found = find_worst_case(problem)
    assert (route, found.kind) == ("linear", "exact")
    # against every combination of flips, each with the shortest move of the numbers that the row has
    slopes = np.array(
        [
            np.diff(model.decision_function(X.iloc[[0, 0]].assign(**{c: [50.0, 51.0]})))[0]
            for c in ("age", "pulse")
        ]
    )
    norms = np.sqrt(
        ((slopes * problem.domain.unit[2:]) ** 2 * X[["age", "pulse"]].notna()).sum(axis=1)
    )
    expected = np.full(n, np.inf)
    for ward, sex in itertools.product(["a", "b", "c"], ["f", "m"]):
        flipped = X.assign(
            ward=X["ward"].where(X["ward"].isna(), ward), sex=X["sex"].where(X["sex"].isna(), sex)
        )
        price = ((flipped[["ward", "sex"]] != X[["ward", "sex"]]) & X[["ward", "sex"]].notna()).sum(
            axis=1
        )
        margins = model.decision_function(flipped) * np.where(y == 1, 1.0, -1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.where(margins <= 0.0, 0.0, margins / norms)
        expected = np.fmin(expected, np.sqrt(apart**2 + price))
    wrong = model.predict(X) != y
    np.testing.assert_allclose(found.loss.distances[~wrong], expected[~wrong], rtol=1e-7)
    result = model_stability(model, X, y, 0.5, perturbation=FREE)
    pd.testing.assert_frame_equal(result.changed_rows().isna(), X.isna())
    pd.testing.assert_series_equal(result.changed_rows().dtypes, X.dtypes)
    parts = {part.feature: part for part in feature_stability(model, X, y, 0.5).features}
    assert {part.kind for part in parts.values()} == {"exact"}
    assert parts["ward"].changed_fraction <= X["ward"].notna().mean()


@pytest.mark.parametrize(
    "dropped", [False, True], ids=["every category has a column", "one was dropped"]
)
def test_one_hot_groups_behind_imputers(dropped) -> None:
    rng = np.random.default_rng(dropped)
    n = 120
    X = np.column_stack([np.eye(4)[rng.integers(0, 3 + dropped, n), :3], rng.normal(size=(n, 2))])
    y = (X[:, 1] + X[:, 3] - X[:, 4] > 0.4).astype(int)
    X[rng.random(X.shape) < 0.12] = np.nan
    model = make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression()).fit(X, y)
    problem = problem_of(
        model, X, y, perturbation=Perturbation(one_hot=[[0, 1, 2]], cost={"x0": 1.0}, bounds=None)
    )
    route, found = find_worst_case(problem)
    assert (route, found.kind) == ("linear", "exact")
    stuck = np.isnan(X[:, :3]).any(axis=1)
    slopes = model[-1].coef_[0][3:5] * problem.domain.unit[3:]
    norms = np.sqrt((slopes**2 * ~np.isnan(X[:, 3:])).sum(axis=1))
    expected = np.full(n, np.inf)
    for state in np.concatenate([np.eye(3), np.zeros((int(dropped), 3))]):
        points = X.copy()
        points[~stuck, :3] = state
        margins = model.decision_function(points) * np.where(y == 1, 1.0, -1.0)
        price = differs(points[:, :3], X[:, :3]).any(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.where(margins <= 0.0, 0.0, margins / norms)
        expected = np.fmin(expected, np.sqrt(apart**2 + price))
    right = model.predict(X) == y
    np.testing.assert_allclose(found.loss.distances[right], expected[right], rtol=1e-7)


# --- searches ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["zero_one", "log_loss"])
def test_queries_keep_what_is_missing_and_come_near_the_exact_answer(cancer, loss) -> None:
    X, y = cancer
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, y)
    threshold = {"zero_one": 0.4, "log_loss": 1.0}[loss]
    exact = model_stability(model, X, y, threshold, loss=loss, perturbation=FREE)
    searched = model_stability(
        model, X, y, threshold, loss=loss, computing=Search(method="blackbox"), perturbation=FREE
    )
    stays(searched, X)
    assert exact.value * (1 - 1e-9) <= searched.value <= 1.2 * exact.value


def test_queries_with_categories_and_whole_steps() -> None:
    rng = np.random.default_rng(1)
    n = 80
    X = pd.DataFrame(
        {
            "ward": rng.choice(["a", "b", "c"], n),
            "count": rng.integers(0, 5, n),
            "dose": rng.normal(size=n),
        }
    )
    X = X.astype({"count": "Int64"})
    for name in X:
        X.loc[rng.random(n) < 0.2, name] = pd.NA
    rule = (
        X["count"].fillna(2) + 2 * X["dose"].fillna(0) + 2 * (X["ward"] == "b").fillna(False) > 2
    ).astype(int)

    def model(rows):
        numbers = rows["count"].astype("Float64").fillna(2) + 2 * rows["dose"].fillna(0)
        return (numbers + 2 * (rows["ward"] == "b").fillna(False) > 2).astype(int).to_numpy()

    result = model_stability(
        model,
        X,
        rule,
        0.6,
        theta2=np.inf,
        perturbation=Perturbation(integer=["count"]),
    )
    assert (result.search.route, result.kind) == ("blackbox", "upper_bound")
    moved = result.changed_rows()
    pd.testing.assert_frame_equal(moved.isna(), X.isna())
    assert moved["count"].dtype == "Int64"
    away = result.plan.distances > 0
    assert away.any()
    assert (model(moved)[away] != rule[away]).all()
    alone = feature_stability(
        model, X, rule, 0.3, theta2=np.inf, perturbation=Perturbation(integer=["count"])
    )
    for part in alone.features:
        # rows that miss the column cannot break by it
        column = X[part.feature].notna()
        assert part.changed_fraction <= column.mean()


def test_networks_behind_imputers_are_searched_by_queries(wine) -> None:
    X, y = wine
    network = MLPClassifier((6,), max_iter=3000, random_state=0)
    model = make_pipeline(SimpleImputer(), StandardScaler(), network).fit(X, y)
    result = model_stability(model, X, y, 0.4, computing=Search(n_queries=60))
    assert (result.search.route, result.kind) == ("blackbox", "upper_bound")
    stays(result, X)


def test_networks_refuse_missing_cells_in_words(wine) -> None:
    torch = pytest.importorskip("torch")
    X, y = wine
    module = torch.nn.Linear(5, 3)
    with pytest.raises(
        ValueError, match=r"X must be free of missing cells for this Linear, got .*output is NaN"
    ):
        model_stability(module, X.to_numpy(), y, 0.9)

    class Filled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(5, 3)

        def forward(self, x):
            return self.inner(torch.nan_to_num(x))

    filled = Filled().double()
    labels = filled(torch.as_tensor(X.to_numpy().copy())).argmax(dim=1).numpy()
    result = model_stability(filled, X.to_numpy(), labels, 0.4, computing=Search(n_queries=60))
    assert result.search.route == "blackbox"
    np.testing.assert_array_equal(np.isnan(result.changed_rows()), X.isna())
