"""Results by feature: moves in units of the column, headlines, tables and JSON."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftmetrics import Computing
from shiftmetrics.models import (
    Perturbation,
    feature_stability,
)
from shiftmetrics.models.measures.feature_result import FeatureStabilityResult


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
