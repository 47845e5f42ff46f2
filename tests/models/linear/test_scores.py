"""Scores of linear models in raw columns: what is no such sum is noticed."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import (
    LogisticRegression,
    SGDClassifier,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)

from shiftmetrics.models import Perturbation, model_stability
from shiftmetrics.models.linear import LinearRoute
from shiftmetrics.models.reading.model import problem_of


@pytest.fixture(scope="module")
def cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200, :8], y[:200]


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.mark.parametrize(
    "step",
    [PolynomialFeatures(2), MinMaxScaler(feature_range=(0, 1), clip=True)],
    ids=["polynomial", "clipped"],
)
def test_a_step_that_bends_the_scores_is_noticed(
    step: object, cancer: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = cancer
    model = make_pipeline(StandardScaler(), step, LogisticRegression(max_iter=5000)).fit(X, y)
    route = LinearRoute()
    assert route.accepts(model, "zero_one")
    assert route.worst_case(problem_of(model, X, y)) is None


def test_probabilities_that_are_not_those_of_the_scores_are_noticed(
    iris: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = iris
    two = y != "virginica"
    model = SGDClassifier(loss="modified_huber", random_state=0).fit(X[two], y[two])
    assert LinearRoute().worst_case(problem_of(model, X[two], y[two], loss="log_loss")) is None


def test_one_against_the_rest_has_other_probabilities(iris: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = iris
    model = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    assert LinearRoute().worst_case(problem_of(model, X, y, loss="log_loss")) is None


@pytest.mark.parametrize("loss", ["zero_one", "hinge", "log_loss"])
def test_rescaling_a_column_changes_nothing(
    loss: str, cancer: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = cancer
    factor = np.geomspace(1e-3, 1e3, 8)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    one = model_stability(
        model.fit(X, y), X, y, 0.6, loss=loss, perturbation=Perturbation(bounds="data")
    )
    other = model_stability(
        model.fit(X * factor, y),
        X * factor,
        y,
        0.6,
        loss=loss,
        perturbation=Perturbation(bounds="data"),
    )
    assert one.value == pytest.approx(other.value, rel=1e-5)
