"""The most sensitive sample of a model: aligned with X, in its own columns, and the model agrees with its losses."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import Result
from shiftmetrics.models import Perturbation, model_stability
from shiftmetrics.stability import (
    column_changes,
    most_sensitive_sample,
    stability_curve,
    trade_off,
)
from shiftmetrics.views import plot


@pytest.fixture(scope="module")
def hospital() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(60, 15, 150),
            "pulse": rng.normal(80, 10, 150),
            "ward": pd.Categorical(rng.choice(["north", "south", "west"], 150)),
        },
        index=[f"patient {i}" for i in range(150)],
    )
    score = (X["age"] - 60) / 15 + (X["ward"] == "south") + rng.normal(0, 0.6, 150)
    return X, (score > 0.3).to_numpy().astype(int)


@pytest.fixture(scope="module")
def pipeline(hospital):
    encoder = make_column_transformer((OneHotEncoder(), ["ward"]), remainder=StandardScaler())
    return make_pipeline(encoder, LogisticRegression()).fit(*hospital)


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
@pytest.mark.parametrize("theta2", [0.4, np.inf])
def test_the_model_agrees_with_the_sample(hospital, pipeline, theta2, divergence):
    X, y = hospital
    result = model_stability(pipeline, X, y, 0.4, theta2=theta2, divergence=divergence)
    sample = most_sensitive_sample(result)
    assert list(sample.index[~sample["split"]]) == list(X.index)
    labels = pd.Series(y, index=X.index)[sample.index].to_numpy()
    wrong = pipeline.predict(sample[X.columns]) != labels
    np.testing.assert_array_equal(wrong, sample["loss_after"] == 1.0)
    assert np.average(wrong, weights=sample["weight"]) == pytest.approx(0.4)
    start = X.loc[sample.index]
    np.testing.assert_array_equal(pipeline.predict(start) != labels, sample["loss"] == 1.0)
    np.testing.assert_allclose(sample["age"] - sample["age change"], start["age"])
    assert sample["ward"].dtype == X["ward"].dtype
    if "ward change" in sample:
        np.testing.assert_array_equal(
            sample["ward change"], sample["ward"].astype(str) != start["ward"].astype(str)
        )
    # the distance is that of the moves, in standard deviations, a flip at 1
    squared = (sample["age change"] / X["age"].std(ddof=0)) ** 2
    squared += (sample.get("pulse change", 0.0) / X["pulse"].std(ddof=0)) ** 2
    squared += sample.get("ward change", 0.0) * 1.0
    np.testing.assert_allclose(np.sqrt(squared), sample["distance"], atol=1e-6)
    heaviest = most_sensitive_sample(result, splits="heaviest")
    assert list(heaviest.index) == list(X.index)


def test_moves_of_columns_are_in_the_units_of_the_distance(hospital, pipeline):
    X, y = hospital
    result = model_stability(pipeline, X, y, 0.4, perturbation=Perturbation(immutable=["ward"]))
    moves = column_changes(result).set_index("column")
    assert np.sqrt((moves["rms_change"].dropna() ** 2).sum()) == pytest.approx(
        result.plan.rms_distance, rel=1e-5
    )
    assert moves.loc["ward", "changed_fraction"] == 0.0
    assert moves.loc["age", "unit"] == pytest.approx(X["age"].std(ddof=0))


def test_arrays_have_numbered_columns():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    result = model_stability(tree, X, y, 0.4)
    sample = most_sensitive_sample(result)
    assert {"x0", "x1", "x2"} <= set(sample.columns)
    wrong = tree.predict(sample[["x0", "x1", "x2"]].to_numpy()) != y[sample.index]
    np.testing.assert_array_equal(wrong, sample["loss_after"] == 1.0)
    assert plot(result, kind="sample").get_xlabel() in {"x0", "x1"}


def test_the_loss_behind_a_result_leads_to_its_curve_and_surface(hospital, pipeline):
    X, y = hospital
    result = model_stability(pipeline, X, y, 0.4)
    curve = stability_curve(result.loss, [0.3, 0.4])
    assert curve.points.stability[1] == pytest.approx(result.value, rel=1e-8)
    over_prices = trade_off(result.loss, 0.4, cheapness=[0.5])
    assert over_prices.value == pytest.approx(result.value, rel=1e-8)
    back = Result.from_json(result.to_json())
    assert back.loss is None
    assert back.equals(result)
    pd.testing.assert_frame_equal(
        most_sensitive_sample(back).drop(columns="ward"),
        most_sensitive_sample(result).drop(columns="ward"),
    )


def test_a_result_without_rows_says_so(hospital, pipeline):
    X, y = hospital
    result = model_stability(pipeline, X, y, 0.4).without_rows()
    for call in (
        most_sensitive_sample,
        column_changes,
        partial(plot, kind="sample"),
    ):
        with pytest.raises(ValueError, match="without_rows|table must be the rows"):
            call(result)
    fixed = model_stability(pipeline, X, y, 0.4, theta1=np.inf).without_rows()
    assert fixed.search.route == "weights"
