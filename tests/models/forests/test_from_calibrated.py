"""Calibrated trees: leaves one by one, sums by their sigmoids; and what is nearest, beside every edge."""

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from nearest_errors import nearest_error_beside_edges
from optional import by_temperature
from shiftmetrics import model_stability
from shiftmetrics.models.forests import forest_of

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 2))
Y = np.array(["a", "b", "c"])[
    np.digitize(X[:, 0] + X[:, 1] ** 2 + RNG.normal(0, 0.3, 60), [0.3, 1.5])
]
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
FOREST = RandomForestClassifier(3, max_depth=3, random_state=0)
BOOSTED = HistGradientBoostingClassifier(max_iter=3, max_depth=2)


def edges_of(model: Any) -> list[np.ndarray]:
    """Return the thresholds of the forests inside, by column."""
    forests = [forest_of(part.estimator) for part in model.calibrated_classifiers_]
    edges = []
    for column in (0, 1):
        held = [forest.threshold[forest.feature == column] for forest in forests]
        edges.append(np.unique(np.concatenate(held)))
    return edges


@pytest.mark.parametrize("y", [Y, Y == "b"], ids=["three", "two"])
@pytest.mark.parametrize(
    "method", ["sigmoid", "isotonic", pytest.param("temperature", marks=by_temperature)]
)
@pytest.mark.parametrize("ensemble", [True, False], ids=["several", "one"])
def test_calibrated_trees_are_forests(method: str, ensemble: bool, y: np.ndarray) -> None:
    model = CalibratedClassifierCV(TREE, method=method, cv=3, ensemble=ensemble).fit(X, y)
    forest = forest_of(model)
    found = forest.probabilities(forest.total(forest.leaves(X)))
    np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-12)
    result = model_stability(model, X, y, 0.5, resampling=None)
    assert result.kind == "exact"
    expected = nearest_error_beside_edges(model.predict, X, y, edges_of(model), X.std(axis=0))
    np.testing.assert_allclose(result.search.loss.distances, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("member", [FOREST, BOOSTED], ids=["forest", "boosted"])
def test_sigmoids_of_three_classes_are_compared_by_their_logits(member: Any) -> None:
    model = CalibratedClassifierCV(member, cv=3, ensemble=False).fit(X, Y)
    result = model_stability(model, X, Y, 0.5, resampling=None)
    assert (result.kind, result.search.route) == ("exact", "ensemble")
    expected = nearest_error_beside_edges(model.predict, X, Y, edges_of(model), X.std(axis=0))
    np.testing.assert_allclose(result.search.loss.distances, expected, rtol=1e-5, atol=1e-6)


def test_the_log_loss_of_calibrated_trees_is_that_of_their_leaves() -> None:
    model = CalibratedClassifierCV(TREE, cv=3).fit(X, Y)
    result = model_stability(model, X, Y, 2.0, loss="log_loss", resampling=None)
    assert (result.kind, result.search.route) == ("exact", "ensemble")
    own = model.predict_proba(X)[np.arange(60), np.searchsorted(model.classes_, Y)]
    assert result.base_risk == pytest.approx(-np.log(own).mean())


@pytest.mark.parametrize(
    "options",
    [{"ensemble": True}, {"ensemble": False, "method": "isotonic"}],
    ids=["several", "isotonic"],
)
def test_curves_of_sums_are_searched(options: dict[str, Any]) -> None:
    model = CalibratedClassifierCV(FOREST, cv=3, **options).fit(X, Y)
    assert forest_of(model) is None
    result = model_stability(model, X, Y, 0.5, resampling=None)
    assert (result.kind, result.search.route) == ("upper_bound", "blackbox")
