"""The front door for models: edge cases, results that travel, and input that cannot be meant."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from shiftmetrics import Computing, Decision
from shiftmetrics.models import Perturbation, Search, feature_stability, model_stability

Mixed = tuple[Pipeline, pd.DataFrame, np.ndarray]


def test_a_model_at_risk_already(mixed: Mixed) -> None:
    model, X, y = mixed
    result = model_stability(model, X, y, 0.05)
    assert (result.value, result.status.code) == (0.0, "already_at_risk")
    pd.testing.assert_frame_equal(result.changed_rows(), X, check_dtype=False)


def test_a_threshold_out_of_reach(mixed: Mixed) -> None:
    model, X, y = mixed
    with pytest.raises(ValueError, match="threshold must be an error rate"):
        model_stability(model, X, y, 50)
    with pytest.raises(ValueError, match="the highest cost"):
        model_stability(Decision(model, costs={"ill": 10.0}), X, y, 10.5)
    closed = model_stability(
        model, X, y, 0.99, theta2=np.inf, perturbation=Perturbation(features=["smoker"])
    )
    assert (closed.value, closed.status.code) == (np.inf, "unattainable")
    assert len(closed.changed_rows()) == len(X)


@pytest.mark.parametrize("loss", ["zero_one", "hinge", "log_loss"])
def test_with_everything_immutable_only_weights_change(mixed: Mixed, loss: str) -> None:
    model, X, y = mixed
    result = model_stability(
        model, X, y, 0.8, loss=loss, perturbation=Perturbation(immutable=list(X.columns))
    )
    other = model_stability(model, X, y, 0.8, loss=loss, theta1=np.inf)
    assert result.value == pytest.approx(other.value, rel=1e-9)
    assert (result.search.route, result.kind, result.plan.changed_fraction) == (
        "weights",
        "exact",
        0.0,
    )
    assert "No column may change, so only the weights of the samples do" in result.summary()


def test_a_model_without_errors_may_break(mixed: Mixed) -> None:
    _, X, y = mixed
    numbers = X[["age", "dose"]]
    right = make_pipeline(StandardScaler(), LogisticRegression()).fit(numbers, y)
    result = model_stability(right, numbers, right.predict(numbers), 0.2)
    assert result.base_risk == 0.0
    assert 0.0 < result.value < np.inf


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_weights_of_the_sample_repeat_rows(mixed: Mixed, divergence: str) -> None:
    model, X, y = mixed
    counts = np.arange(len(X)) % 3
    cost = {name: 1.0 / X[name].std(ddof=0) ** 2 for name in ("age", "dose")}
    rows = np.repeat(np.arange(len(X)), counts)
    weighted = model_stability(
        model,
        X,
        y,
        0.5,
        sample_weight=counts,
        divergence=divergence,
        perturbation=Perturbation(cost=cost),
    )
    repeated = model_stability(
        model,
        X.iloc[rows],
        y[rows],
        0.5,
        divergence=divergence,
        perturbation=Perturbation(cost=cost),
    )
    assert weighted.value == pytest.approx(repeated.value, rel=1e-6)


def test_the_gap_between_random_halves_stands_beside_the_moves() -> None:
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(400, 3)), 400
    y = (X.sum(axis=1) + rng.normal(size=n) > 0.0).astype(int)
    model = LogisticRegression().fit(X, y)
    result = model_stability(model, X, y, 0.4)
    rows, scaled = rng.permutation(n), X / X.std(axis=0)
    apart = np.linalg.norm(scaled[rows[:200], None] - scaled[None, rows[200:]], axis=2).min(axis=1)
    assert result.search.neighbour_distance == pytest.approx(apart.mean(), rel=0.1)  # other halves
    words = f"half are {result.search.neighbour_distance:.4g} standard deviations from the nearest of the other"
    assert words in result.summary()
    frozen = model_stability(model, X, y, 0.4, perturbation=Perturbation(immutable=[0, 1, 2]))
    assert frozen.search.neighbour_distance is None
    dear = model_stability(model, X, y, 0.4, perturbation=Perturbation(cost={2: 2.0}))
    assert "in the unit of the costs" in dear.headline()


def test_without_rows_there_is_nothing_to_move(mixed: Mixed) -> None:
    model, X, y = mixed
    slim = model_stability(model, X, y, 0.6).without_rows()
    assert slim.changed is None
    assert slim.value == model_stability(model, X, y, 0.6).value
    with pytest.raises(ValueError, match="without_rows"):
        slim.changed_rows()


def test_columns_in_another_order_and_others_between_them(mixed: Mixed) -> None:
    model, X, y = mixed
    other = X.assign(height=1.0, name="x")[[*X.columns[::-1], "height", "name"]]
    result, plain = model_stability(model, other, y, 0.6), model_stability(model, X, y, 0.6)
    assert result.value == plain.value
    pd.testing.assert_frame_equal(result.changed_rows(), plain.changed_rows())


def test_a_table_for_a_model_of_arrays_comes_back_as_a_table_without_a_warning(
    mixed: Mixed,
) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(60, 2)), columns=["a", "b"], index=pd.date_range("2020", periods=60)
    )
    y = X["a"].to_numpy() + 0.3 * rng.normal(size=60) > 0
    model = LogisticRegression().fit(X.to_numpy(), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = model_stability(model, X, y, 0.5)
    assert result.value == model_stability(model, X.to_numpy(), y, 0.5).value
    assert result.changed_rows().index.equals(X.index)
    assert list(result.changed_rows().columns) == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.drop(columns=["age", "dose"]), "got none called 'age', 'dose'"),
        (lambda X: X.rename(columns={"age": "Age"}), "got none called 'age'. It has 'Age'"),
        (lambda X: X.assign(region="mars"), "knows in column 'region', got 'mars' in 120 rows"),
        (
            lambda X: X.assign(dose=np.nan),
            "120 in column 'dose'. Put an imputer before it in a pipeline",
        ),
        (lambda X: X.assign(region=None), "120 in column 'region'"),
    ],
)
def test_tables_that_the_model_does_not_know(
    mixed: Mixed, change: Callable[[pd.DataFrame], pd.DataFrame], message: str
) -> None:
    model, X, y = mixed
    with pytest.raises(ValueError, match=message):
        model_stability(model, change(X), y, 0.6)


def test_an_array_of_another_width() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    with pytest.raises(
        ValueError, match="n_samples, 3., as the model was fitted on, got shape .20, 2."
    ):
        model_stability(model, X[:, :2], X[:, 0] > 0, 0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"perturbation": Perturbation(cost={"age": -1.0})},
            r"cost\['age'\] must be a number greater than 0",
        ),
        ({"perturbation": Perturbation(cost={"age": np.nan})}, r"cost\['age'\] must be"),
        ({"perturbation": Perturbation(bounds={"age": (1, 0)})}, "lowest <= highest"),
        ({"perturbation": Perturbation(features=["height"])}, "unknown 'height'"),
        ({"perturbation": Perturbation(categorical=["height"])}, "categorical must be names"),
        ({"loss": "mae"}, "loss must be one of 'zero_one', 'hinge', 'log_loss', 'squared'"),
        ({"loss": "squared"}, "loss must be one of a classifier"),
        ({"perturbation": Perturbation(by="age")}, "perturbation must be without by"),
        ({"computing": Search(method="magic")}, "method must be one of 'auto', 'linear'"),
        ({"theta1": -1.0}, "theta1 must be"),
        ({"threshold": -0.1}, "threshold must be"),
        ({"sample_weight": [1.0]}, "sample_weight must be of length 120"),
    ],
)
def test_options_that_cannot_be_meant(mixed: Mixed, options: dict[str, Any], message: str) -> None:
    model, X, y = mixed
    with pytest.raises(ValueError, match=message):
        model_stability(model, X, y, **{"threshold": 0.6, **options})


def test_labels_that_the_model_never_saw(mixed: Mixed) -> None:
    model, X, y = mixed
    with pytest.raises(
        ValueError, match="labels that the model knows .'ill', 'well'., got 'dead' in 3 rows"
    ):
        model_stability(model, X, np.where(np.arange(len(y)) < 3, "dead", y), 0.6)
    with pytest.raises(ValueError, match="y must be of length 120"):
        model_stability(model, X, y[:5], 0.6)
    with pytest.raises(ValueError, match="missing labels"):
        model_stability(model, X, np.where(np.arange(len(y)) < 3, None, y), 0.6)
    with pytest.raises(ValueError, match="labels that the model knows"):
        model_stability(model, X, np.zeros(len(y), dtype=int), 0.6)


def test_models_that_are_none(mixed: Mixed) -> None:
    _, X, y = mixed
    with pytest.raises(
        ValueError, match="model must be fitted, got a Pipeline that is not. Call fit first."
    ):
        model_stability(make_pipeline(OneHotEncoder(), LogisticRegression()), X, y, 0.6)
    with pytest.raises(ValueError, match="a LogisticRegression that is not"):
        model_stability(LogisticRegression(), X, y, 0.6)
    with pytest.raises(TypeError, match="the class LogisticRegression"):
        model_stability(LogisticRegression, X, y, 0.6)
    with pytest.raises(TypeError, match="a fitted model with predict, or a callable, got str"):
        model_stability("model.joblib", X, y, 0.6)


def test_losses_that_the_model_does_not_have(mixed: Mixed) -> None:
    _, X, y = mixed
    numbers = X[["age", "dose"]]
    with pytest.raises(ValueError, match="a model without predict_proba"):
        model_stability(LinearSVC().fit(numbers, y), numbers, y, 0.6, loss="log_loss")
    regression = LinearRegression().fit(numbers, X["age"])
    with pytest.raises(ValueError, match="loss must be 'squared' for a regression"):
        model_stability(regression, numbers, X["age"], 0.6)


@pytest.mark.slow
@pytest.mark.usefixtures("bars_at_once")
@pytest.mark.parametrize(
    ("loss", "threshold", "bar"),
    [("zero_one", 0.4, "counter-examples"), ("log_loss", 1.2, "search")],
)
def test_progress_is_shown_and_can_be_switched_off(
    mixed: Mixed, capsys: pytest.CaptureFixture[str], loss: Any, threshold: float, bar: str
) -> None:
    model, X, y = mixed
    search = Search(method="blackbox", n_queries=60)
    model_stability(model, X, y, threshold, loss=loss, computing=search)
    assert bar in capsys.readouterr().err
    feature_stability(model, X, y, 0.4)
    assert "features" in capsys.readouterr().err
    model_stability(model, X, y, threshold, loss=loss, computing=replace(search, progress=False))
    feature_stability(model, X, y, 0.4, computing=Computing(progress=False))
    assert capsys.readouterr().err == ""


def test_without_a_threshold_it_is_ten_points_more_errors(mixed: Mixed) -> None:
    model, X, y = mixed
    now = float(np.mean(model.predict(X) != y))
    default = model_stability(model, X, y)
    assert default.settings["threshold"] == pytest.approx(now + 0.1)
    assert default.value == model_stability(model, X, y, default.settings["threshold"]).value
    halves = np.arange(len(y)) % 2
    of_features = feature_stability(model, X, y, perturbation=Perturbation(by=halves))
    given = feature_stability(
        model, X, y, default.settings["threshold"], perturbation=Perturbation(by=halves)
    )
    assert of_features.settings["threshold"] == default.settings["threshold"]
    # subgroups are held to the threshold of all samples
    for one, other in zip(of_features.features, given.features, strict=True):
        assert one.value == other.value
    for one, other in zip(of_features.subgroups, given.subgroups, strict=True):
        assert (one.feature, one.value) == (other.feature, other.value)
    for loss in ("log_loss", "hinge"):
        with pytest.raises(ValueError, match="threshold must be given"):
            model_stability(model, X, y, loss=loss)
    first, second = np.unique(y)
    with pytest.raises(ValueError, match="threshold must be given"):
        model_stability(Decision(model, costs={first: 1.0, second: 5.0}), X, y)


def test_changed_rows_keep_narrow_dtypes_and_stay_wrong() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(120, 2)), columns=["f", "g"]).astype("float32")
    y = (rows.f + rows.g + 0.5 * rng.normal(size=120) > 0).astype(int).to_numpy()
    for model in (LogisticRegression(), HistGradientBoostingClassifier(max_iter=5)):
        model.fit(rows, y)
        result = model_stability(model, rows, y, 0.5, resampling=None)
        changed = np.asarray(result.plan.distances)[:120] > 0
        moved = result.changed_rows()
        assert (moved.dtypes == rows.dtypes).all()
        assert (model.predict(moved) != y)[changed].all()
