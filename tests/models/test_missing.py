"""Missing cells in the stability of models: they stay, units are those of what is there, exact routes stay exact."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import feature_stability, model_stability
from shiftmetrics.models.asking import ask
from shiftmetrics.models.route import answer
from shiftmetrics.stability import (
    column_moves,
    domain_of,
    most_sensitive_sample,
    stability_criterion,
    stability_curve,
    who_gains_weight,
)
from shiftmetrics.stability.domain import differs


def holes(X, share=0.2, seed=0):
    """Cut cells out of a table."""
    return X.mask(np.random.default_rng(seed).random(X.shape) < share)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return holes(X.iloc[:, :5]), y.to_numpy()


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return holes(X.iloc[:150, :6]), y.to_numpy()[:150]


def stays(result, X):
    """What is missing stays missing, and the moves are as long as they are said to be, in units of what is there."""
    moved = result.moved_rows()
    pd.testing.assert_frame_equal(moved.isna(), X.isna())
    steps = (moved - X) / X.std(ddof=0)
    np.testing.assert_allclose(np.sqrt((steps**2).sum(axis=1)), result.moved_distances, atol=1e-9)
    return moved


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
    model = make_pipeline(*imputed_steps(add_indicator, scaled_first), LogisticRegression()).fit(X, y)
    threshold = {"zero_one": 0.4, "hinge": 1.5, "log_loss": 1.0}[loss]
    result = model_stability(model, X, y, threshold, loss=loss)
    assert (result.kind, result.route) == ("exact", "linear")
    moved = stays(result, X)
    # Each row on its own: the part of the gradient in the columns that it has is the only way to go.
    step = 1e-3 * X.std(ddof=0)
    rows = X.fillna(X.mean())
    start = model.decision_function(rows)
    slopes = np.array(
        [(model.decision_function(rows.assign(**{c: rows[c] + step[c]})) - start)[0] / 1e-3 for c in X]
    )
    norms = np.sqrt((slopes**2 * X.notna().to_numpy()).sum(axis=1))
    margins = model.decision_function(X) * np.where(y == 1, 1.0, -1.0)
    question = ask(model, X, y, loss=loss)
    exact = answer(question)[1].loss
    if loss == "zero_one":
        expected = np.where(margins <= 0.0, 0.0, margins / norms)
        np.testing.assert_allclose(exact.distances, expected, rtol=1e-6, atol=1e-9)
        away = result.moved_distances > 0
        assert (model.predict(moved)[away] != y[away]).all()
        return
    dual, theta1 = 0.7, 0.4
    reached = exact.transform(dual, theta1, slice(None))
    shifts = np.linspace(0.0, 1.0, 20_001)[:, None] * dual / theta1 * norms  # farther than any best move
    lost = margins - shifts * norms
    losses = np.maximum(1.0 - lost, 0.0) if loss == "hinge" else np.logaddexp(0.0, -lost)
    best = (dual * losses - theta1 * shifts**2).max(axis=0)
    np.testing.assert_allclose(reached.value, best, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        question.losses(result.moved_codes, slice(None)), result.moved_losses, rtol=1e-6, atol=1e-9
    )


def test_rows_without_holes_are_as_if_imputers_were_not_there(cancer) -> None:
    X, y = cancer
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, y)
    whole = X.notna().all(axis=1)
    cost = dict(zip(X.columns, 1.0 / X.var(ddof=0), strict=True))
    together = ask(model, X, y, cost=cost)
    alone = ask(model, X[whole], y[whole], cost=cost)
    distances = answer(together)[1].loss.distances
    np.testing.assert_allclose(distances[whole], answer(alone)[1].loss.distances, rtol=1e-9)


def test_bounds_whole_steps_and_several_classes(wine) -> None:
    X, y = wine
    X = X.assign(alcohol=(10 * X["alcohol"]).round())
    model = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression()).fit(X, y)
    for options in ({"bounds": "data"}, {"integer": ["alcohol"]}, {"immutable": ["ash"], "bounds": (0, 500)}):
        result = model_stability(model, X, y, 0.35, **options)
        assert (result.kind, result.route) == ("exact", "linear")
        moved = stays(result, X)
        away = result.moved_distances > 0
        assert (model.predict(moved)[away] != y[away]).all()
        if "integer" in options:
            assert (moved["alcohol"].dropna() == moved["alcohol"].dropna().round()).all()
    softmax = model_stability(model, X, y, 0.9, loss="log_loss")
    assert softmax.route == "linear"
    assert softmax.lower_bound <= softmax.value
    stays(softmax, X)


def test_a_linear_regression_behind_an_imputer() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = holes(X.iloc[:200, :4])
    y = y.to_numpy()[:200] / 50.0
    model = make_pipeline(SimpleImputer(), LinearRegression()).fit(X, y)
    result = model_stability(model, X, y, 3.0, loss="squared")
    assert (result.kind, result.route) == ("exact", "linear")
    moved = stays(result, X)
    np.testing.assert_allclose((model.predict(moved) - y) ** 2, result.moved_losses, rtol=1e-7)


def test_imputers_that_look_at_other_columns_are_no_sum(wine) -> None:
    X, y = wine
    for last in (LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0)):
        model = make_pipeline(KNNImputer(n_neighbors=3), StandardScaler(), last).fit(X, y)
        result = model_stability(model, X, y, 0.4, n_queries=80)
        assert (result.kind, result.route) == ("upper_bound", "blackbox")
        moved = stays(result, X)
        away = result.moved_distances > 0
        assert (model.predict(moved)[away] != y[away]).all()


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
    y = (X["age"] / 30 + (X["ward"] == "b") + X["pulse"] / 40 + rng.logistic(size=n) / 2 > 4).astype(int)
    for name in X:
        X.loc[rng.random(n) < 0.15, name] = np.nan
    flips = OneHotEncoder() if encoded == "missing is a category" else make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder()
    )  # fmt: skip
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    model = make_pipeline(
        make_column_transformer((flips, ["ward", "sex"]), (numbers, ["age", "pulse"])), LogisticRegression()
    ).fit(X, y)
    question = ask(model, X, y)
    route, found = answer(question)
    assert (route.name, found.kind) == ("linear", "exact")
    # against every combination of flips, each with the shortest move of the numbers that the row has
    slopes = np.array(
        [
            np.diff(model.decision_function(X.iloc[[0, 0]].assign(**{c: [50.0, 51.0]})))[0]
            for c in ("age", "pulse")
        ]
    )
    norms = np.sqrt(((slopes * question.domain.unit[2:]) ** 2 * X[["age", "pulse"]].notna()).sum(axis=1))
    expected = np.full(n, np.inf)
    for ward, sex in itertools.product(["a", "b", "c"], ["f", "m"]):
        flipped = X.assign(
            ward=X["ward"].where(X["ward"].isna(), ward), sex=X["sex"].where(X["sex"].isna(), sex)
        )
        price = ((flipped[["ward", "sex"]] != X[["ward", "sex"]]) & X[["ward", "sex"]].notna()).sum(axis=1)
        margins = model.decision_function(flipped) * np.where(y == 1, 1.0, -1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.where(margins <= 0.0, 0.0, margins / norms)
        expected = np.fmin(expected, np.sqrt(apart**2 + price))
    wrong = model.predict(X) != y
    np.testing.assert_allclose(found.loss.distances[~wrong], expected[~wrong], rtol=1e-7)
    result = model_stability(model, X, y, 0.5)
    pd.testing.assert_frame_equal(result.moved_rows().isna(), X.isna())
    pd.testing.assert_series_equal(result.moved_rows().dtypes, X.dtypes)
    parts = {part.feature: part for part in feature_stability(model, X, y, 0.5).features}
    assert {part.kind for part in parts.values()} == {"exact"}
    assert parts["ward"].share_moved <= X["ward"].notna().mean()


@pytest.mark.parametrize("dropped", [False, True], ids=["every category has a column", "one was dropped"])
def test_one_hot_groups_behind_imputers(dropped) -> None:
    rng = np.random.default_rng(dropped)
    n = 120
    X = np.column_stack([np.eye(4)[rng.integers(0, 3 + dropped, n), :3], rng.normal(size=(n, 2))])
    y = (X[:, 1] + X[:, 3] - X[:, 4] > 0.4).astype(int)
    X[rng.random(X.shape) < 0.12] = np.nan
    model = make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression()).fit(X, y)
    question = ask(model, X, y, one_hot=[[0, 1, 2]])
    route, found = answer(question)
    assert (route.name, found.kind) == ("linear", "exact")
    stuck = np.isnan(X[:, :3]).any(axis=1)
    slopes = model[-1].coef_[0][3:5] * question.domain.unit[3:]
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
    exact = model_stability(model, X, y, threshold, loss=loss)
    searched = model_stability(model, X, y, threshold, loss=loss, method="blackbox")
    stays(searched, X)
    assert exact.value * (1 - 1e-9) <= searched.value <= 1.2 * exact.value


def test_queries_with_categories_and_whole_steps() -> None:
    rng = np.random.default_rng(1)
    n = 80
    X = pd.DataFrame(
        {"ward": rng.choice(["a", "b", "c"], n), "count": rng.integers(0, 5, n), "dose": rng.normal(size=n)}
    )
    X = X.astype({"count": "Int64"})
    for name in X:
        X.loc[rng.random(n) < 0.2, name] = pd.NA
    rule = (X["count"].fillna(2) + 2 * X["dose"].fillna(0) + 2 * (X["ward"] == "b").fillna(False) > 2).astype(
        int
    )

    def model(rows):
        numbers = rows["count"].astype("Float64").fillna(2) + 2 * rows["dose"].fillna(0)
        return (numbers + 2 * (rows["ward"] == "b").fillna(False) > 2).astype(int).to_numpy()

    result = model_stability(model, X, rule, 0.6, integer=["count"], theta2=np.inf, background=X.iloc[::-1])
    assert (result.route, result.kind) == ("blackbox", "upper_bound")
    moved = result.moved_rows()
    pd.testing.assert_frame_equal(moved.isna(), X.isna())
    assert moved["count"].dtype == "Int64"
    away = result.moved_distances > 0
    assert away.any()
    assert (model(moved)[away] != rule[away]).all()
    alone = feature_stability(model, X, rule, 0.3, integer=["count"], theta2=np.inf)
    for part in alone.features:
        # rows that miss the column cannot break by it
        column = X[part.feature].notna()
        assert part.share_moved <= column.mean()


def test_networks_behind_imputers_are_searched_by_queries(wine) -> None:
    X, y = wine
    network = MLPClassifier((6,), max_iter=3000, random_state=0)
    model = make_pipeline(SimpleImputer(), StandardScaler(), network).fit(X, y)
    result = model_stability(model, X, y, 0.4, n_queries=60)
    assert (result.route, result.kind) == ("blackbox", "upper_bound")
    stays(result, X)


def test_networks_refuse_missing_cells_in_words(wine) -> None:
    torch = pytest.importorskip("torch")
    X, y = wine
    module = torch.nn.Linear(5, 3)
    with pytest.raises(
        ValueError, match=r"X must be free of missing cells for this Linear, got .*answers NaN"
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
    result = model_stability(filled, X.to_numpy(), labels, 0.4, n_queries=60)
    assert result.route == "blackbox"
    np.testing.assert_array_equal(np.isnan(result.moved_rows()), X.isna())
    with pytest.raises(ValueError, match="free of missing cells for a network and method='algorithm1'"):
        model_stability(filled, X.to_numpy(), labels, 1.5, loss="log_loss", method="algorithm1")


@pytest.mark.parametrize("bounds", [None, "data"])
def test_the_steps_of_the_paper_leave_missing_cells(cancer, bounds) -> None:
    X, y = cancer
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, y)
    result = model_stability(model, X, y, 1.0, loss="log_loss", method="algorithm1", bounds=bounds)
    stays(result, X)
    assert result.exact_value is not None
    assert result.value == pytest.approx(result.exact_value, rel=0.02)


def test_the_conic_route_agrees(cancer) -> None:
    pytest.importorskip("cvxpy")
    X, y = cancer[0][:60], cancer[1][:60]
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(*cancer)
    exact = model_stability(model, X, y, 0.4)
    conic = model_stability(model, X, y, 0.4, method="conic")
    assert conic.value == pytest.approx(exact.value, rel=1e-5)


# --- the domain --------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), share=st.floats(0.0, 0.9))
@settings(max_examples=25)
def test_moves_of_rows_with_holes(seed, share) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4)) * [1.0, 3.0, 2.0, 0.0]
    X[:, 2], X[:, 3] = np.round(X[:, 2]), rng.integers(0, 3, 30)
    X[rng.random(X.shape) < share] = np.nan
    domain = domain_of(X, categories={3: 3}, bounds={0: (-1.0, 1.0)}, integer=[2])
    for column in range(3):
        held = X[~np.isnan(X[:, column]), column]
        spread = held.std() if len(held) else 0.0
        assert domain.unit[column] == pytest.approx(spread if spread > 0.0 else 1.0)
    other = rng.permutation(X)
    points = domain.clip(other, X)
    np.testing.assert_array_equal(np.isnan(points), np.isnan(X))
    assert domain.valid(points, X).all()
    kept = np.isnan(other) & ~np.isnan(X)
    fixed = kept & (domain.limits(X)[0] <= X)
    np.testing.assert_array_equal(points[fixed], X[fixed])
    step = np.where(np.isnan(X), 0.0, points - X) / domain.unit
    step[:, 3] = step[:, 3] != 0
    np.testing.assert_allclose(domain.distances(points, X), np.sqrt((step**2).sum(axis=1)))
    assert (domain.distances(X, X) == 0.0).all()
    filled = np.where(np.isnan(X), 0.0, X)
    changed = differs(filled, X).any(axis=1)
    np.testing.assert_array_equal(np.isinf(domain.distances(filled, X)), changed)
    np.testing.assert_array_equal(np.isinf(domain.distances(X, filled)), changed)
    assert not domain.valid(filled, X)[changed].any()
    gaps = domain.squared_gaps(X, other)
    assert (gaps >= 0.0).all()
    for first, second in itertools.product(range(0, 30, 7), range(0, 30, 5)):
        apart = (X[first] - other[second]) / domain.unit
        apart[3] = apart[3] != 0 if np.isfinite(apart[3]) else np.nan
        apart = apart[domain.movable]
        assert gaps[first, second] == pytest.approx(np.nansum(apart**2), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("cost", ["std", "iqr", "range", "unit"])
def test_units_are_those_of_the_cells_that_are_there(cost) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    more = np.concatenate([X, np.full((10, 1), np.nan)])
    np.testing.assert_allclose(domain_of(more, cost=cost).unit, domain_of(X, cost=cost).unit)
    both = domain_of(more, bounds="data")
    assert (both.lower[0], both.upper[0]) == (X.min(), X.max())


def test_columns_that_are_missing_in_every_row_stay(wine) -> None:
    X, y = wine
    empty = X.assign(ash=np.nan, none=pd.Series([None] * len(X), dtype=object))
    domain = domain_of(np.column_stack([X["alcohol"], np.full(len(X), np.nan)]), names=["alcohol", "ash"])
    assert domain.movable.tolist() == [True, False]
    assert domain.warnings == ("Missing in every row, and so left as they are: columns 'ash'.",)
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    result = model_stability(model, empty.drop(columns="none"), y, 0.5)
    assert "Missing in every row, and so left as they are: columns 'ash'." in result.warnings
    assert result.moved_rows()["ash"].isna().all()
    told = model_stability(lambda rows: np.where(rows["alcohol"] > 13, 1, 0), empty, y, 0.9, n_queries=40)
    assert told.moved_rows()["none"].isna().all()
    with pytest.raises(ValueError, match="columns that may move"):
        feature_stability(model, empty.drop(columns="none"), y, 0.5, features=["ash"])


def test_infinite_cells_are_still_refused() -> None:
    with pytest.raises(ValueError, match="finite everywhere, got inf at row 1, column 0"):
        domain_of([[np.nan, 1.0], [np.inf, 2.0]])


# --- models that refuse ------------------------------------------------------------------------------------


def test_models_that_take_no_missing_cells_say_which_columns_and_what_to_do(wine) -> None:
    X, y = wine
    model = LogisticRegression(max_iter=5000).fit(X.fillna(X.mean()), y)
    for measure in (model_stability, feature_stability):
        with pytest.raises(ValueError) as caught:
            measure(model, X, y, 0.5)
        message = str(caught.value)
        assert message.startswith("X must be free of missing cells for this LogisticRegression, got ")
        for name in X.columns[:3]:
            assert f"{X[name].isna().sum()} in column {name!r}" in message
        assert "and some in 2 more" in message
        assert "Put an imputer before it in a pipeline, or drop" in message
        assert "Input X contains NaN" in message
        assert isinstance(caught.value.__cause__, ValueError)
    whole = X.dropna()
    with pytest.raises(ValueError, match="background must be free of missing cells"):
        model_stability(model, whole, y[X.notna().all(axis=1)], 0.5, background=X)


def test_errors_that_are_not_about_missing_cells_stay_what_they_are(wine) -> None:
    X, y = wine

    def broken(rows):
        raise RuntimeError("no such device")

    with pytest.raises(RuntimeError, match="no such device"):
        model_stability(broken, X, y, 0.5)


def test_models_that_answer_nan_are_refused(wine) -> None:
    X, y = wine
    with pytest.raises(ValueError, match="got .* in column 'alcohol'.*it answers NaN"):
        model_stability(lambda rows: rows["alcohol"] * 1.0, X, y, 0.5, loss="squared")


# --- what is told of it ------------------------------------------------------------------------------------


def test_results_tables_and_curves_of_rows_with_holes(wine) -> None:
    X, y = wine
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    result = model_stability(model, X, y, 0.4)
    stays(result, X)
    sample = most_sensitive_sample(result, splits="heaviest")
    pd.testing.assert_frame_equal(sample[X.columns].isna(), X.isna())
    moves = sample[[name for name in sample if str(name).endswith(" move")]]
    assert np.isfinite(moves.to_numpy()).all()
    missing = X.isna().rename(columns=lambda name: f"{name} move")
    assert (moves.where(missing[moves.columns], 0.0) == 0.0).all().all()
    assert np.isfinite(column_moves(result)["share_moved"]).all()
    gains = who_gains_weight(result)
    assert ((gains["level"] == "missing") & (gains["column"] == "alcohol")).any()
    curve = stability_curve(result.loss, thresholds=[0.3, 0.4, 0.5])
    assert curve.to_frame()["stability"].iloc[1] == pytest.approx(result.value, rel=1e-7)
    back = type(result).from_json(result.to_json())
    pd.testing.assert_frame_equal(back.moved_rows(), result.moved_rows(), check_index_type=False)
    assert stability_criterion(result.loss, 0.4).value == pytest.approx(result.value)


def test_subgroups_and_labels_that_flip(wine) -> None:
    X, y = wine
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    by = np.where(X["alcohol"].isna(), "unknown", np.where(X["alcohol"] > 13, "strong", "light"))
    parts = feature_stability(model, X, y, 0.4, by=by)
    assert {part.subgroup for part in parts.subgroups} == {"unknown", "strong", "light"}
    for label_flip in (0.5, 2.0):
        flipped = model_stability(model, X, y, 0.4, label_flip=label_flip)
        pd.testing.assert_frame_equal(flipped.moved_rows().isna(), X.isna())


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_order_and_scale_of_rows_with_holes_do_not_matter(seed) -> None:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    y = (X["a"] + X["b"] > 0).astype(int).to_numpy()
    X = holes(X, seed=seed)
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X, y)
    value = model_stability(model, X, y, 0.6).value
    order = rng.permutation(60)
    assert model_stability(model, X.iloc[order], y[order], 0.6).value == pytest.approx(value, rel=1e-9)
    scaled = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=1e6)).fit(X, y)
    again = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=1e6)).fit(X * 1000.0, y)
    assert model_stability(again, X * 1000.0, y, 0.6).value == pytest.approx(
        model_stability(scaled, X, y, 0.6).value, rel=1e-4
    )
