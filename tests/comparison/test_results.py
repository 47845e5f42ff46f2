"""Results of models on one table are compared by what each row adds to them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics.comparison import compare_results
from shiftmetrics.models import Perturbation, model_stability


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:120, :6], y[:120]


@pytest.fixture(scope="module")
def logistic(tumours):
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(*tumours)


def test_models_are_compared_by_their_results(tumours, logistic) -> None:
    X, y = tumours
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    results = {
        name: model_stability(model, X, y, 0.4)
        for name, model in {"linear": logistic, "tree": tree}.items()
    }
    comparison = compare_results(results)
    assert {model.name for model in comparison.models} == {"linear", "tree"}
    assert comparison.differences[0].standard_error > 0.0
    assert "% of the samples change" in str(comparison)


def test_models_that_know_their_losses_are_compared_within_one_budget(tumours, logistic) -> None:
    X, y = tumours
    linear = model_stability(logistic, X, y, 0.4)
    narrow = model_stability(
        logistic, X, y, 0.4, perturbation=Perturbation(features=["mean radius"])
    )
    comparison = compare_results({"all columns": linear, "one column": narrow})
    least = min(linear.value, narrow.value)
    assert comparison.best.secondary_metrics["common_budget"] == least
    risks = {model.name: model.secondary_metrics["worst_case_risk"] for model in comparison.models}
    assert risks["all columns"] == pytest.approx(0.4)
    assert risks["one column"] < 0.4
    weighted = {
        name: model_stability(logistic, X, y, 0.4, sample_weight=np.arange(1.0, 121.0))
        for name in ("a", "b")
    }
    assert "worst_case_risk" not in compare_results(weighted).models[0].secondary_metrics
