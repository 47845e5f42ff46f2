"""Boosters of XGBoost and LightGBM are read as the models of their libraries."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from shiftmetrics import model_stability
from shiftmetrics.models import Decision, Search
from shiftmetrics.models.reading.estimators import check_fitted, encoded_categories

QUIET = Search(progress=False)


Sample = tuple[pd.DataFrame, np.ndarray]


@pytest.fixture(scope="module")
def sample() -> Sample:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(240, 3)) * [1.0, 5.0, 0.2] + [0.0, 20.0, 1.0], columns=["a", "b", "c"]
    )
    score = X["a"] + 0.3 * (X["b"] - 20.0) + rng.normal(size=240)
    return X, np.where(score > 0.5, "ill", "well")


def test_a_booster_of_xgboost_is_read_as_the_models_of_the_library(sample: Sample) -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = sample
    ill = (y == "ill").astype(int)
    settings = {"max_depth": 3, "learning_rate": 0.3}
    booster = xgboost.train(
        {"objective": "binary:logistic", **settings}, xgboost.DMatrix(X, ill), 8
    )
    model = xgboost.XGBClassifier(n_estimators=8, **settings).fit(X, ill)
    for threshold in (None, 0.3):
        result, expected = (
            model_stability(Decision(part, threshold), X, ill, 0.4, computing=QUIET)
            for part in (booster, model)
        )
        assert (result.search.route, result.value) == (
            "ensemble",
            pytest.approx(expected.value, rel=1e-6),
        )


def test_a_booster_of_lightgbm_with_an_objective_of_its_own_is_a_regression() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + X[:, 1] ** 2

    def squared(predicted: Any, rows: Any) -> Any:
        return predicted - rows.get_label(), np.ones_like(predicted)

    options = {"objective": squared, "verbose": -1, "min_data_in_leaf": 3}
    booster = lightgbm.train(options, lightgbm.Dataset(X, y), 5)
    risk = float(((booster.predict(X) - y) ** 2).mean())
    result = model_stability(booster, X, y, risk + 0.5, loss="squared", computing=QUIET)
    assert result.kind == "exact"
    assert 0.0 < result.value < np.inf


def test_a_booster_of_lightgbm_is_read_as_the_models_of_the_library(sample: Sample) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = sample
    ill = (y == "ill").astype(int)
    rows = lightgbm.Dataset(X, ill)
    booster = lightgbm.train({"objective": "binary", "verbose": -1}, rows, 8)
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1).fit(X, ill)
    result, expected = (
        model_stability(part, X, ill, 0.4, computing=QUIET) for part in (booster, model)
    )
    assert (result.search.route, result.value) == (
        "ensemble",
        pytest.approx(expected.value, rel=1e-6),
    )
    values = lightgbm.train(
        {"objective": "regression", "verbose": -1}, lightgbm.Dataset(X, X["b"]), 8
    )
    with pytest.raises(ValueError, match="labels like those of y"):
        model_stability(values, X, ill, 0.4, computing=QUIET)


def test_a_booster_of_xgboost_is_measured_with_all_its_rounds() -> None:
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    y = (rows[:, 0] + rng.normal(size=200) > 0).astype(int)
    train = xgboost.DMatrix(rows[:100], y[:100])
    valid = xgboost.DMatrix(rows[100:150], y[100:150])
    options = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}
    booster = xgboost.train(
        options, train, 60, evals=[(valid, "v")], early_stopping_rounds=15, verbose_eval=False
    )
    assert booster.best_iteration + 1 < booster.num_boosted_rounds()
    result = model_stability(booster, rows[150:], y[150:], resampling=None)
    own = booster.predict(xgboost.DMatrix(rows[150:])) > 0.5
    assert result.base_risk == np.mean(own != y[150:])
    assert booster.attr("best_iteration") is not None
    changed = np.asarray(result.plan.distances)[:50] > 0
    moved = booster.predict(xgboost.DMatrix(result.changed_rows())) > 0.5
    assert (moved != y[150:])[changed].all()


def test_an_estimator_with_other_names_for_what_it_has_learnt_counts_as_fitted() -> None:
    class Boosted:
        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {"depth": 3}

        def fit(self, X: Any, y: Any) -> "Boosted":
            self.base_models = [1]
            return self

        def predict(self, X: Any) -> Any:
            return np.zeros(len(X))

        def __sklearn_tags__(self) -> Any:
            return LogisticRegression().__sklearn_tags__()

    with pytest.raises(ValueError, match="Call fit first"):
        check_fitted(Boosted())
    check_fitted(Boosted().fit(None, None))
    with pytest.raises(ValueError, match="Call fit first"):
        check_fitted(LogisticRegression())


def test_a_step_of_another_library_that_keeps_a_table_of_transformers() -> None:
    from sklearn.base import BaseEstimator, TransformerMixin

    class Vectorizer(TransformerMixin, BaseEstimator):
        def fit(self, X: Any, y: Any = None) -> "Vectorizer":
            self.transformers_ = dict.fromkeys(X.columns, "passthrough")
            return self

        def transform(self, X: Any) -> Any:
            return np.asarray(X, dtype=float)

    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.0]})
    model = make_pipeline(Vectorizer(), LogisticRegression()).fit(frame, [0, 0, 1, 1])
    assert encoded_categories(model, list(frame)) == {}
    assert model_stability(model, frame, [0, 0, 1, 1], resampling=None).kind == "upper_bound"
