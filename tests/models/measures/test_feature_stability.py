"""Feature stability: what moves of one feature do when nothing else may move, on all rows and on parts of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shiftmetrics import Resampling
from shiftmetrics.models import (
    Perturbation,
    feature_stability,
    model_stability,
)
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.reading.model import problem_of


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
    # the documented order of the table
    importance = [part.permutation_importance for part in result.features]
    assert (np.diff(importance) <= 1e-12).all()
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
