"""Predictions that are none, labels that do not fit, models that calls change: refused in words."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shiftmetrics import feature_stability, model_stability
from shiftmetrics.models import Decision, Perturbation, Search
from shiftmetrics.models.reading.checks import columns_of

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


@pytest.fixture(scope="module")
def logistic(sample: Sample) -> Any:
    X, y = sample
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(
        X, np.where(y == "ill", "sick", "fine")
    )


def stability(model: Any, sample: Sample, threshold: float = 0.4, **options: Any) -> Any:
    X, y = sample
    options = {"perturbation": Perturbation(bounds=None), "computing": QUIET, **options}
    return model_stability(model, X, np.where(y == "ill", "sick", "fine"), threshold, **options)


def flaky(rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    return lambda X: rng.integers(0, 2, len(X))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda X: 1.0 / (1.0 + np.exp(-X[:, 0])),
            "labels like those of y .0, 1., got 0.0.*Decision.model",
        ),
        (lambda X: np.where(X[:, 0] > 0, np.nan, 1.0), "free of missing labels"),
        (lambda X: np.where(X[:, 0] > 0, np.inf, 1.0), "finite"),
        (lambda X: (X[:-1, 0] > 0).astype(int), "each of 80 rows, got predictions of shape .79,"),
        (lambda X: np.full(len(X), "yes"), "labels like those of y .0, 1., got 'yes'"),
        (lambda X: None, "returns one label, or scores, for each row, got None"),
        (flaky(np.random.default_rng(0)), "deterministic model, got different predictions for"),
        (
            lambda X: (X[:, 0] > X[:, 0].mean()).astype(int),
            "samples alike, whatever others are with them",
        ),
        (None, "model must be a fitted model with predict, or a callable, got NoneType"),
    ],
)
def test_predictions_that_are_no_labels_are_refused(model: Any, message: str) -> None:
    X = np.random.default_rng(1).normal(size=(80, 2))
    with pytest.raises((ValueError, TypeError), match=message):
        model_stability(model, X, (X[:, 0] > 0.2).astype(int), 0.4, computing=QUIET)


def test_predictions_that_are_no_class_of_the_model_are_refused() -> None:
    class Odd:
        classes_ = np.array([0, 1])

        def predict(self, X: Any) -> Any:
            return 5 + (X[:, 0] > 0)

    X = np.random.default_rng(1).normal(size=(80, 2))
    with pytest.raises(ValueError, match="among its classes .0, 1., got 5, 6"):
        model_stability(Odd(), X, (X[:, 0] > 0.2).astype(int), 0.4, computing=QUIET)


def test_labels_in_one_column_are_taken(sample: Sample, logistic: Any) -> None:
    X, y = sample
    sick = np.where(y == "ill", "sick", "fine")
    column = model_stability(logistic, X, sick[:, None], 0.4, computing=QUIET)
    assert column.value == model_stability(logistic, X, sick, 0.4, computing=QUIET).value


class Drifting:
    """A classifier that calls change: the sign of its decision turns."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, X: Any) -> Any:
        self.calls += 1
        right = np.asarray(X)[:, 0] > 0.0
        return right if self.calls < 8 else ~right


@pytest.mark.parametrize("stability", [model_stability, feature_stability])
def test_models_that_calls_change_are_refused(stability: Any) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match="model must be"):
        stability(Drifting(), X, X[:, 0] > 0.0, 0.3)


@pytest.mark.parametrize("stability", [model_stability, feature_stability])
def test_labels_that_overlap_in_part_are_refused(stability: Any) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match="labels like those of y"):
        stability(lambda Z: 1 + (Z[:, 0] > 0.0), X, (X[:, 0] > 0.0).astype(int), 0.3)


class Fitted:
    """Predicts the probability of class 1 and names no classes, as results of statsmodels 0.15 do."""

    def predict(self, rows: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-2.0 * np.asarray(rows)[:, 0]))


def test_a_predicted_probability_decides_from_a_half_on() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 2))
    y = (rows[:, 0] > 0.2).astype(int)
    search = Search(n_queries=60, progress=False)
    found = model_stability(Fitted(), rows, y, 0.5, resampling=None, computing=search)
    cut = Decision(Fitted(), threshold=0.5)
    same = model_stability(cut, rows, y, 0.5, resampling=None, computing=search)
    assert found.value == same.value
    assert found.base_risk == np.mean((rows[:, 0] > 0.0) != y)
    assert any("probability" in text for text in found.warnings)


def test_a_column_of_probabilities_is_read_as_they_are_in_a_vector() -> None:
    class AsColumn(Fitted):
        def predict(self, X: Any) -> np.ndarray:
            return super().predict(X)[:, None]

    rows = np.random.default_rng(0).normal(size=(50, 2))
    y = (rows[:, 0] > 0.2).astype(int)
    search = Search(n_queries=60, progress=False)
    found = model_stability(AsColumn(), rows, y, 0.5, resampling=None, computing=search)
    same = model_stability(Fitted(), rows, y, 0.5, resampling=None, computing=search)
    assert found.value == same.value


def test_a_model_that_says_it_has_no_columns_takes_those_of_the_table() -> None:
    class Loaded(Fitted):
        n_features_in_ = 0

    rows = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_array_equal(columns_of(Loaded(), rows), rows)


def test_columns_called_by_numbers_are_those_that_boosters_call_by_digits() -> None:
    class Booster:
        feature_names_in_ = np.array(["7", "3"])

    X = pd.DataFrame({3: [1.0], 7: [2.0], "extra": [0.0]})
    assert columns_of(Booster(), X).columns.tolist() == [7, 3]
    with pytest.raises(ValueError, match="got none called '7'"):
        columns_of(Booster(), X[[3]])
