"""Feature stability: what moves of one feature do when nothing else may move, on all rows and on parts of them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from oracles import valid_moves
from shiftmetrics import Computing, Resampling
from shiftmetrics.models import (
    Perturbation,
    Search,
    feature_stability,
    model_stability,
)
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.measures.feature_result import FeatureStabilityResult
from shiftmetrics.models.reading.model import problem_of
from shiftmetrics.models.search.column import along_column


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def boosted(iris):
    return GradientBoostingClassifier(n_estimators=10, random_state=0).fit(*iris)


@pytest.fixture(scope="module")
def town():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "town": rng.choice(["a", "b", "c"], 200),
            "age": rng.normal(50, 20, 200),
            "noise": rng.normal(size=200),
        }
    )
    y = ((table["town"] == "b") * 1.0 + table["age"] / 40 > 1.6).astype(int).to_numpy()
    steps = make_column_transformer(
        (OneHotEncoder(), ["town"]), (StandardScaler(), ["age"]), remainder="passthrough"
    )
    return (
        table,
        y,
        make_pipeline(steps, HistGradientBoostingClassifier(max_iter=10, random_state=0)).fit(
            table, y
        ),
    )


class Wrapped:
    """A model that shows nothing but its predictions."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes_
        self.predict, self.predict_proba = model.predict, model.predict_proba


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["zero_one", "log_loss"])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        LogisticRegression(max_iter=500),
    ],
    ids=lambda model: type(model).__name__,
)
def test_each_feature_is_the_model_restricted_to_it(model, loss, iris) -> None:
    X, y = iris
    model.fit(X, y)
    threshold = {"zero_one": 0.3, "log_loss": 0.6}[loss]
    result = feature_stability(model, X, y, threshold, loss=loss, theta2=0.4)
    worst = [part.worst_case_risk for part in result.features]
    assert (np.diff(worst) <= 1e-12).all()
    assert result.value == min(part.value for part in result.features)
    for part in result.features:
        alone = model_stability(
            model,
            X,
            y,
            threshold,
            loss=loss,
            perturbation=Perturbation(features=list(part.columns)),
        )
        np.testing.assert_allclose(part.value, alone.value, rtol=1e-8)
        np.testing.assert_allclose(part.standard_error, alone.standard_error, rtol=1e-6)
        np.testing.assert_allclose(part.rms_distance, alone.plan.rms_distance, rtol=1e-5, atol=1e-9)
        assert part.kind == alone.kind
        assert part.risk == pytest.approx(alone.plan.risk)
        assert part.worst_case_risk >= part.base_risk + part.permutation_importance - 1e-12
    everything = model_stability(model, X, y, threshold, loss=loss)
    assert (everything.lower_bound or everything.value) <= result.value * (1 + 1e-9)


def worst_mixture(risks: np.ndarray, shares: np.ndarray) -> float:
    """Return the highest mean within 0.02 nats by exponential tilting, with bisection over the tilt."""

    def tilted(slope: float) -> np.ndarray:
        density = shares * np.exp(slope * (risks - risks.max()))
        return density / density.sum()

    if np.ptp(risks) < 1e-12:
        return float(risks @ shares)
    low, high = 0.0, 1e5
    for _ in range(200):
        middle = 0.5 * (low + high)
        density = tilted(middle)
        held = density > 0.0
        nats = np.sum(density[held] * np.log(density[held] / shares[held]))
        low, high = (middle, high) if nats <= 0.02 else (low, middle)
    return float(tilted(low) @ risks)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["zero_one", "log_loss"])
@pytest.mark.parametrize("is_read", [True, False], ids=["trees", "any model"])
def test_the_ranking_is_the_worst_mixture_of_redrawn_values(loss, is_read, iris, boosted) -> None:
    X, y = np.round(iris[0] * 3) / 3, iris[1]  # at most 20 values in each column
    weights = np.random.default_rng(0).integers(1, 4, len(X)) / 2.0
    halves = np.arange(len(X)) % 2
    model = boosted if is_read else Wrapped(boosted)
    options = {"loss": loss, "sample_weight": weights, "perturbation": Perturbation(by=halves)}
    result = feature_stability(model, X, y, 0.5, **options)
    for part in [*result.features, *result.subgroups]:
        if part.feature == "all features":
            continue
        rows = (
            np.ones(len(X))
            if part.subgroup is None
            else halves == int(part.subgroup.split("= ")[-1])
        )
        column = int(part.feature[1:])
        values, codes = np.unique(X[:, column], return_inverse=True)
        shares = np.bincount(codes, weights) / weights.sum()
        risks = []
        for value in values:
            points = X.copy()
            points[:, column] = value
            wrong = boosted.predict(points) != y
            lost = -np.log(boosted.predict_proba(points)[np.arange(len(y)), y])
            losses = wrong if loss == "zero_one" else lost
            risks.append(np.average(losses, weights=weights * rows))
        average = part.base_risk + part.permutation_importance
        assert average == pytest.approx(np.dot(risks, shares), abs=1e-9)
        assert part.worst_case_risk == pytest.approx(
            worst_mixture(np.array(risks), shares), rel=1e-7
        )


@pytest.mark.slow
def test_many_values_are_tried_at_quantiles(town) -> None:
    table, y, model = town
    exactly, tried = (feature_stability(m, table, y, 0.3) for m in (model, Wrapped(model)))
    known = {part.feature: part for part in exactly.features}
    for part in tried.features:
        assert part.worst_case_risk == pytest.approx(known[part.feature].worst_case_risk, abs=0.01)
    both = Perturbation(features={"both": ["age", "noise"], "age": ["age"]})
    first, second = feature_stability(model, table, y, 0.3, perturbation=both).features
    assert first.worst_case_risk == pytest.approx(second.worst_case_risk, abs=0.08)


def test_permutation_importance_is_that_of_scikit_learn(town) -> None:
    table, y, model = town
    result = feature_stability(model, table, y, 0.3)
    theirs = permutation_importance(model, table, y, n_repeats=30, random_state=1)
    for part in result.features:
        column = list(table.columns).index(part.feature)
        error = max(theirs.importances_std[column], 1e-3)
        assert part.permutation_importance == pytest.approx(
            theirs.importances_mean[column], abs=3 * error
        )


@pytest.mark.slow
def test_features_that_can_do_nothing_are_named_and_win_nothing(town) -> None:
    table, y, model = town
    wider = table.assign(idle=np.arange(200.0), same=1.0)[["same", "idle", *table.columns]]

    class Narrow(Wrapped):
        def __init__(self, model):
            super().__init__(model)
            self.predict = lambda rows: model.predict(rows[list(table.columns)])

    result = feature_stability(Narrow(model), wider, y, 0.3)
    assert [part.feature for part in result.features if not result.has_effect(part)] == [
        "idle",
        "noise",
    ]
    assert {part.feature for part in result.features[-2:]} == {"idle", "noise"}
    assert "No effect: " in result.headline()
    assert "Cannot change: same." in result.headline()
    none = feature_stability(
        Narrow(model), wider, y, 0.3, perturbation=Perturbation(features=["idle"])
    )
    assert none.headline().startswith("No feature alone brings errors to 30 %")


@pytest.mark.parametrize("loss", ["zero_one", "log_loss"])
def test_moves_are_told_in_units_of_the_column(town, loss) -> None:
    table, y, model = town
    whole = table.assign(age=table["age"].round())
    by_feature = {
        part.feature: part for part in feature_stability(model, whole, y, 0.4, loss=loss).features
    }
    assert [by_feature[name].change for name in ("town", "age", "noise")] == [
        "category",
        "integer",
        "number",
    ]
    age = by_feature["age"]
    assert age.unit == pytest.approx(whole["age"].std(ddof=0))
    assert age.largest_distance * age.unit == pytest.approx(round(age.largest_distance * age.unit))


def test_regressions() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = 2 * X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=150)
    for model in (DecisionTreeRegressor(max_depth=4, random_state=0), LinearRegression()):
        result = feature_stability(model.fit(X, y), X, y, 1.5, loss="squared")
        assert result.most_important.feature == "x0"
        assert {part.kind for part in result.features} == {"exact"}


def test_a_linear_model_is_most_sensitive_to_its_largest_weight() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression(max_iter=500).fit(X, y)
    result = feature_stability(model, X, y, 0.2, perturbation=Perturbation(bounds=None))
    expected = [f"x{k}" for k in np.argsort(-np.abs(model.coef_[0]))]
    assert [
        part.feature for part in sorted(result.features, key=lambda part: part.value)
    ] == expected


def test_a_linear_model_is_read_once(iris, monkeypatch) -> None:
    X, y = iris
    read, calls = AdditiveScores.of.__func__, []
    monkeypatch.setattr(
        AdditiveScores,
        "of",
        classmethod(lambda cls, problem: calls.append(1) or read(cls, problem)),
    )
    feature_stability(LogisticRegression(max_iter=500).fit(X, y), X, y, 0.3)
    assert len(calls) == 1


def test_any_model_by_a_grid_with_bisection(iris, boosted) -> None:
    X, y = iris
    exactly = feature_stability(boosted, X, y, 0.3)
    tried = feature_stability(Wrapped(boosted), X, y, 0.3)
    known = {part.feature: part.value for part in exactly.features}
    for part in tried.features:
        assert part.kind == "upper_bound"
        assert known[part.feature] * (1 - 1e-9) <= part.value <= 1.05 * known[part.feature]


def test_a_grid_is_refined_for_smooth_losses(iris) -> None:
    X, y = iris
    model = LogisticRegression(max_iter=500).fit(X[y < 2], y[y < 2])
    exactly = feature_stability(model, X[y < 2], y[y < 2], 0.5, loss="log_loss")
    tried = feature_stability(Wrapped(model), X[y < 2], y[y < 2], 0.5, loss="log_loss")
    known = {part.feature: part for part in exactly.features}
    for part in tried.features:
        np.testing.assert_allclose(part.value, known[part.feature].value, rtol=2e-3)
        np.testing.assert_allclose(
            part.worst_case_risk, known[part.feature].worst_case_risk, rtol=2e-3
        )


def test_a_grid_respects_bounds_and_whole_steps(iris, boosted) -> None:
    X, y = np.round(iris[0] * 2), iris[1]
    model = Wrapped(boosted)
    problem = problem_of(
        model, X, y, perturbation=Perturbation(features=[2], integer=[2], bounds={"x2": (1, 9)})
    )
    found = along_column(problem)
    moved = np.flatnonzero(np.isfinite(found.loss.distances) & (found.loss.distances > 0))
    points = found.points(moved, found.loss.distances[moved], None)
    assert valid_moves(problem.domain, points, X[moved]).all()
    assert problem.is_wrong(points, moved).all()
    whole = np.arange(1, 10)
    for row in moved[:20]:
        tries = np.repeat(X[row : row + 1], 9, axis=0)
        tries[:, 2] = whole
        nearest = np.abs(whole - X[row, 2])[boosted.predict(tries) != y[row]].min()
        np.testing.assert_allclose(found.loss.distances[row] * problem.domain.unit[2], nearest)


@pytest.mark.slow
def test_categories_are_one_feature_and_flip(town) -> None:
    table, y, model = town
    result = feature_stability(model, table, y, 0.3)
    assert {part.feature for part in result.features} == {"town", "age", "noise"}
    tried = feature_stability(Wrapped(model), table, y, 0.3)
    both = {part.feature: part for part in tried.features}
    for part in result.features:
        np.testing.assert_allclose(both[part.feature].value, part.value, rtol=0.05)
    assert both["town"].kind == "exact"
    hot = np.column_stack([pd.get_dummies(table["town"]).to_numpy(dtype=float), table["age"]])
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(hot, y)
    grouped = feature_stability(tree, hot, y, 0.3, perturbation=Perturbation(one_hot=[[0, 1, 2]]))
    assert {part.feature for part in grouped.features} == {"x0+x1", "x3"}
    assert next(part for part in grouped.features if part.feature == "x0+x1").columns == (
        "x0",
        "x1",
        "x2",
    )


def test_groups_move_together(iris, boosted) -> None:
    X, y = iris
    result = feature_stability(
        boosted,
        X,
        y,
        0.3,
        theta2=0.4,
        perturbation=Perturbation(features={"petal": [2, 3], "sepal": ["x0", "x1"]}),
    )
    assert {part.feature for part in result.features} == {"petal", "sepal"}
    for part in result.features:
        np.testing.assert_allclose(
            part.value,
            model_stability(
                boosted, X, y, 0.3, perturbation=Perturbation(features=list(part.columns))
            ).value,
            rtol=1e-9,
        )
    single = feature_stability(boosted, X, y, 0.3, theta2=0.4)
    best = min(part.value for part in single.features if part.feature in ("x2", "x3"))
    assert next(part for part in result.features if part.feature == "petal").value <= best * (
        1 + 1e-9
    )


@pytest.mark.slow
def test_subgroups_are_the_model_on_their_rows(town) -> None:
    table, y, model = town
    result = feature_stability(
        model,
        table,
        y,
        0.4,
        theta2=0.4,
        perturbation=Perturbation(by="town", cost="unit", bounds=None),
    )
    assert len(result.subgroups) == 3 * (1 + len(result.features))
    for part in result.subgroups:
        rows = ("town = " + table["town"] == part.subgroup).to_numpy()
        assert part.n_samples == rows.sum()
        if part.feature == "age":
            alone = model_stability(
                model,
                table[rows],
                y[rows],
                0.4,
                perturbation=Perturbation(features=["age"], cost="unit", bounds=None),
            )
            np.testing.assert_allclose(part.value, alone.value, rtol=1e-9)
    frame = result.subgroups_frame()
    assert set(frame["feature"]) == {"all features", "town", "age", "noise"}
    assert frame["feature"].iloc[0] == "all features"


@pytest.mark.slow
def test_small_subgroups_are_left_out(town) -> None:
    table, y, model = town
    rare = np.where(np.arange(200) < 12, "few", "many")
    told = feature_stability(
        model, table, y, 0.4, perturbation=Perturbation(by=rare, features=["age"])
    )
    assert {part.subgroup for part in told.subgroups} == {"many"}
    assert "Subgroups of fewer than 30 samples are left out: few (12)." in told.warnings


def test_rows_that_belong_together_widen_the_intervals(iris, boosted) -> None:
    X, y = iris
    rows = np.repeat(np.arange(len(y)), 4)
    moves = Perturbation(by=np.arange(len(rows)) % 2)
    once = feature_stability(boosted, X, y, 0.3, theta2=0.4)
    copied = feature_stability(
        boosted,
        X[rows],
        y[rows],
        0.3,
        theta2=0.4,
        perturbation=moves,
        resampling=Resampling(groups=rows),
    )
    naive = feature_stability(boosted, X[rows], y[rows], 0.3, theta2=0.4, perturbation=moves)
    assert copied.settings["resampling"]["groups"]
    for one, four, blind in zip(once.features, copied.features, naive.features, strict=True):
        np.testing.assert_allclose(four.value, one.value, rtol=1e-8)
        np.testing.assert_allclose(four.standard_error, one.standard_error, rtol=0.02)
        np.testing.assert_allclose(blind.standard_error, one.standard_error / 2, rtol=0.02)
    for four, blind in zip(copied.subgroups, naive.subgroups, strict=True):
        assert four.standard_error > 1.2 * blind.standard_error
    halves = np.arange(len(y)) % 2
    inside = feature_stability(
        boosted,
        X,
        y,
        0.3,
        perturbation=Perturbation(by=halves),
        resampling=Resampling(groups=halves),
    )
    assert all(part.standard_error is None and part.interval is None for part in inside.subgroups)


def test_weights_count_rows(iris, boosted) -> None:
    X, y = iris
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = feature_stability(
        boosted, X, y, 0.3, sample_weight=weights, perturbation=Perturbation(cost="unit")
    )
    repeated = feature_stability(
        boosted,
        np.repeat(X, weights, axis=0),
        np.repeat(y, weights),
        0.3,
        perturbation=Perturbation(cost="unit"),
    )
    for one, other in zip(weighted.features, repeated.features, strict=True):
        assert one.feature == other.feature
        np.testing.assert_allclose(one.value, other.value, rtol=1e-8)


# --- the result ------------------------------------------------------------------------------------------


def test_the_result_reads_travels_and_sorts(town) -> None:
    table, y, model = town
    result = feature_stability(
        model,
        table,
        y,
        0.3,
        perturbation=Perturbation(by="town"),
        computing=Computing(progress=True),
    )
    assert result.headline().startswith("Errors reach 30 % (currently ")
    for name in ("`town`", "`age`"):
        assert name in result.headline().partition("Most important")[0]
    assert "least stable subgroup" in result.summary()
    frame = result.to_frame()
    assert frame["permutation_importance"].is_monotonic_decreasing
    assert list(frame["feature"]) == [part.feature for part in result.features]
    assert FeatureStabilityResult.from_json(result.to_json()).equals(result)
    assert result.status.code == "converged"


def test_thresholds_at_the_edges(iris, boosted) -> None:
    X, y = iris
    wrong = 1 - y
    wrong[y == 2] = 2
    risky = feature_stability(boosted, X, wrong, 0.3)
    assert (risky.value, risky.status.code) == (0.0, "already_at_risk")
    assert "already" in risky.headline()
    never = feature_stability(boosted, X, y, 1.0)
    assert never.value == np.inf
    assert never.status.code == "unattainable"
    assert never.headline().startswith("No feature alone brings errors to 100 %")
    still = feature_stability(boosted, X, y, 0.3, theta1=np.inf)
    assert {part.value for part in still.features} == {np.inf}
    assert {part.risk for part in still.features} == {still.features[0].base_risk}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"perturbation": Perturbation(features=["height"])}, "features must be names"),
        (
            {"perturbation": Perturbation(features=[0], immutable=[0])},
            "features must be columns that may change",
        ),
        ({"perturbation": Perturbation(features=[])}, "at least one column"),
        ({"perturbation": Perturbation(immutable=[0, 1, 2, 3])}, "at least one column"),
        (
            {"perturbation": Perturbation(features={"petal": ["height"]})},
            r"features\['petal'\] must be names",
        ),
        ({"perturbation": Perturbation(features={"petal": []})}, "columns that may change"),
        ({"perturbation": Perturbation(by="town")}, "column of X"),
        ({"perturbation": Perturbation(by=[0, 1])}, "of length 150"),
        ({"perturbation": Perturbation(by=[None] * 150)}, "missing labels"),
        (
            {"perturbation": Perturbation(by=np.arange(150).astype(str))},
            "subgroups of at least 30 samples",
        ),
        ({"computing": Search(method="magic")}, "method must be one of"),
        ({"loss": "hamming"}, "loss must be one of"),
        ({"sample_weight": [1.0]}, "sample_weight"),
    ],
)
def test_bad_input_is_named(options, message, iris, boosted) -> None:
    with pytest.raises(ValueError, match=message):
        feature_stability(boosted, *iris, 0.3, **options)


@pytest.mark.slow
def test_intervals_cover() -> None:
    """Nominal 90 %, from 200 samples of a tree's own population."""
    rng = np.random.default_rng(0)

    def sample(n):
        X = rng.normal(size=(n, 2))
        return X, ((X[:, 0] + X[:, 1] + rng.normal(size=n)) > 0).astype(int)

    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(*sample(2000))
    free = {"theta2": 0.4, "perturbation": Perturbation(cost="unit", bounds=None, features=[0])}
    truth = feature_stability(model, *sample(200_000), 0.4, **free).value
    hits = 0
    for _ in range(200):
        interval = feature_stability(model, *sample(400), 0.4, **free, resampling=0.9).interval
        hits += interval.low <= truth <= interval.high
    assert 0.85 <= hits / 200 <= 0.95


@pytest.mark.slow
@pytest.mark.realdata
def test_age_is_what_the_hospital_model_depends_on(data_folder) -> None:
    table = pd.read_csv(data_folder / "covid_sivep" / "covid_sivep.csv.gz").sample(
        1600, random_state=0
    )
    y = table.pop("is_dead").to_numpy()
    table = table.drop(columns="Days_hospital_to_outcome").astype(
        {"Region": "category", "Ethnicity": "category"}
    )
    steps = make_column_transformer(
        (OneHotEncoder(), ["Region", "Ethnicity"]), remainder=StandardScaler()
    )
    for last in (
        LogisticRegression(max_iter=500),
        GradientBoostingClassifier(n_estimators=30, random_state=0),
    ):
        model = make_pipeline(steps, last).fit(table[:800], y[:800])
        result = feature_stability(
            model,
            table[800:],
            y[800:],
            0.4,
            theta1=1.0,
            theta2=0.25,
            perturbation=Perturbation(integer=["Age"]),
        )
        assert result.most_important.feature == "Age"


def test_trees_that_are_not_all_of_the_model_are_left_to_the_grid(iris) -> None:
    """A model that says otherwise in one corner that the checks of the forest may miss."""

    class Stubborn(DecisionTreeClassifier):
        def predict(self, X):
            told = super().predict(X)
            told[X[:, 2] > 6.2] = 1
            return told

    Stubborn.__module__ = "sklearn.tree"
    X, y = iris
    near = X[:, 2] < 6.0
    model = Stubborn(max_depth=3, random_state=0).fit(X[near], y[near])
    result = feature_stability(
        model, X[near], y[near], 0.4, perturbation=Perturbation(features=[2])
    )
    problem = problem_of(model, X[near], y[near], perturbation=Perturbation(features=[2]))
    assert result.features[0].value > 0
    assert problem.is_wrong(problem.codes, slice(None)).mean() < 0.4


# --- the least stability, and which features can reach the threshold ------------------------------------------------


def test_the_value_is_the_least_over_features() -> None:
    rng = np.random.default_rng(3)
    for seed in range(4):
        X = rng.normal(size=(120, 3))
        model = LogisticRegression().fit(X, X @ [3.0, 2.0, 0.2] + rng.normal(size=120) > 0.0)
        # The dear column matters most on average; a cheap one is broken at less cost.
        perturbation = Perturbation(cost={0: 500.0}, bounds=None)
        y = model.predict(X)
        result = feature_stability(model, X, y, 0.2, perturbation=perturbation)
        assert result.value == min(part.value for part in result.features), seed
        assert result.value == result.least_stable.value
        assert result.interval == result.least_stable.interval
        assert result.most_important.feature == "x0"
        assert result.least_stable.feature != "x0"


def test_the_headline_names_the_features_that_reach_the_threshold_and_no_others() -> None:
    X = np.random.default_rng(0).normal(size=(200, 4))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.1 * X[:, 2] > 0.0
    model = LogisticRegression().fit(X, y)
    result = feature_stability(model, X, y, 0.3)
    reach = {part.feature for part in result.features if part.reaches_threshold}
    assert 0 < len(reach) < 4
    first = result.headline().partition("Most important")[0]
    assert {f"x{k}" for k in range(4) if f"`x{k}`" in first} == reach


# --- permutation importance ----------------------------------------------------------------------------------------


def exact_importance(model: Any, X: Any, y: Any, column: int, values: Any) -> float:
    """Return the mean error over all pairs of a sample and a value, less the errors as they are."""
    changed = np.repeat(X, len(values), axis=0)
    changed[:, column] = np.tile(values, len(X))
    wrong = model.predict(changed) != np.repeat(y, len(values))
    return float(wrong.mean() - (model.predict(X) != y).mean())


@pytest.mark.parametrize("kind", ["trees", "neighbours"])
def test_importance_is_the_exact_mean_over_permutations_and_ranks_features(kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(5, max_depth=3, random_state=0)
    if kind == "neighbours":
        model = KNeighborsClassifier(5)
    model.fit(X, y)
    result = feature_stability(model, X, y, 0.3)
    found = [part.permutation_importance for part in result.features]
    assert found == sorted(found, reverse=True)
    for part in result.features:
        column = int(part.feature[1:])
        expected = exact_importance(model, X, y, column, X[:, column])
        assert part.permutation_importance == pytest.approx(expected, abs=1e-12)
        assert part.importance_interval.low - 1e-12 <= expected
        assert expected <= part.importance_interval.high + 1e-12


@pytest.mark.parametrize("kind", ["trees", "neighbours"])
def test_target_samples_give_their_values(kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0)
    if kind == "neighbours":
        model = KNeighborsClassifier(5)
    model.fit(X, y)
    target = X[y == 2] + [0.0, 0.0, 1.0, 0.0]
    result = feature_stability(model, X, y, 0.3, perturbation=Perturbation(target=target))
    for part in result.features:
        column = int(part.feature[1:])
        expected = exact_importance(model, X, y, column, target[:, column])
        assert part.permutation_importance == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="without target"):
        model_stability(model, X, y, 0.3, perturbation=Perturbation(target=target))


@pytest.mark.slow
@pytest.mark.parametrize("target", [False, True])
def test_intervals_of_importance_cover(target: bool) -> None:
    rng = np.random.default_rng(11)
    model = LogisticRegression().fit([[-1.0, -0.5], [1.0, 0.5]], [0, 1])

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, 2))
        return X, (X @ [1.0, 0.7] + rng.normal(size=n) > 0.0).astype(int)

    X, y = drawn(4000)
    values = rng.normal(0.5 if target else 0.0, 1.0, size=400)
    truth = exact_importance(model, X, y, 0, values)
    covered = 0
    for _ in range(200):
        X, y = drawn(150)
        perturbation = Perturbation(features=[0])
        if target:
            perturbation = Perturbation(features=[0], target=rng.normal(0.5, 1.0, size=(150, 2)))
        part = feature_stability(
            model, X, y, 0.6, perturbation=perturbation, resampling=0.9
        ).features[0]
        covered += part.importance_interval.low <= truth <= part.importance_interval.high
    assert 0.85 <= covered / 200 <= 0.95
