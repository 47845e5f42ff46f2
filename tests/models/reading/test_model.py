"""A model and its samples: losses at points, thresholds, errors at a boundary that rounding moves."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from shiftmetrics import feature_stability, model_stability
from shiftmetrics.models import Perturbation, Search

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


def stability(model: Any, sample: Sample, threshold: float = 0.4, **options: Any) -> Any:
    X, y = sample
    options = {"perturbation": Perturbation(bounds=None), "computing": QUIET, **options}
    return model_stability(model, X, np.where(y == "ill", "sick", "fine"), threshold, **options)


def test_moves_of_one_feature_are_predicted_again_by_the_model() -> None:
    X = np.random.default_rng(1).normal(size=(80, 2))
    y = (X[:, 0] > 0.2).astype(int)

    def other_in_small_batches(X: np.ndarray) -> np.ndarray:
        return (X[:, 0] > (0.2 if len(X) >= 80 else -5.0)).astype(int)

    with pytest.raises(ValueError, match="samples alike, whatever others are with them"):
        feature_stability(
            other_in_small_batches,
            X,
            y,
            0.4,
            perturbation=Perturbation(features=[0]),
            computing=QUIET,
        )


@pytest.mark.parametrize("rounding", [1e-6, 1e-5])
def test_a_boundary_that_rounding_moves_is_no_error(rounding: float) -> None:
    """Networks in float32 predict a row at the boundary otherwise in a batch of another size."""
    X = np.random.default_rng(1).normal(size=(80, 2))
    y = (X[:, 0] > 0.2).astype(int)

    def rounded(X: np.ndarray) -> np.ndarray:
        aside = 0.0 if len(X) >= 80 else np.where(X[:, 1] > 0.0, rounding, -rounding)
        return (X[:, 0] > 0.2 + aside).astype(int)

    result = model_stability(rounded, X, y, 0.4, computing=QUIET)
    exact = model_stability(lambda X: (X[:, 0] > 0.2).astype(int), X, y, 0.4, computing=QUIET)
    assert result.value == pytest.approx(exact.value, rel=1e-4)
    moved = np.asarray(result.changed_rows())
    wrong = np.concatenate([rounded(moved[i : i + 1]) for i in range(80)]) != y
    assert wrong @ result.plan.weights / 80 == pytest.approx(0.4, abs=0.02)
    feature_stability(rounded, X, y, 0.4, perturbation=Perturbation(features=[0]), computing=QUIET)


@pytest.mark.slow
def test_the_log_loss_of_a_forest_counts_half_a_vote_where_no_tree_votes(sample: Sample) -> None:
    X, y = sample
    forest = RandomForestClassifier(25, random_state=0).fit(X, y)
    for search, clip in ((QUIET, 0.02), (Search(clip=1e-3, progress=False), 1e-3)):
        result = model_stability(forest, X, y, 1.0, loss="log_loss", computing=search)
        own = forest.predict_proba(X)[np.arange(len(y)), (y == "well").astype(int)]
        assert result.settings["clip"] == pytest.approx(clip)
        assert result.base_risk == pytest.approx(-np.log(np.maximum(own, clip)).mean())
        assert result.plan.losses.max() <= -np.log(clip) + 1e-9
    assert (
        model_stability(
            GaussianNB().fit(X, y), X, y, 0.9, loss="log_loss", computing=QUIET
        ).settings["clip"]
        < 1e-15
    )


def test_a_percentage_is_no_threshold() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    for stability in (model_stability, feature_stability):
        with pytest.raises(ValueError, match="threshold must be an error rate"):
            stability(lambda Z: Z[:, 0] > 0.0, X, X[:, 0] > 0.0, 40)
