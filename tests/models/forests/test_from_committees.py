"""Bagging, voting and adaptive boosting of trees: the same predictions, beside every threshold too."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from shiftmetrics import model_stability
from shiftmetrics.models.forests import forest_of

X, Y = load_iris(return_X_y=True)
WORDS = np.array(["red", "green", "blue"])[Y]
TWO = np.array(["no", "yes"])[(Y == 1).astype(int)]
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
OTHER = DecisionTreeClassifier(max_depth=2, max_features=2, random_state=1)
FOREST = RandomForestClassifier(3, max_depth=3, random_state=0)
MEMBERS = [("a", TREE), ("b", FOREST), ("c", OTHER)]


def points_of(forest: Any) -> np.ndarray:
    """Return rows with one value at a threshold, or at the next float beyond it."""
    rng = np.random.default_rng(0)
    nodes = np.flatnonzero(forest.feature >= 0)
    nodes = rng.choice(nodes, 400)
    points = X[rng.integers(len(X), size=400)]
    beside = np.nextafter(forest.threshold[nodes], rng.choice([-np.inf, np.inf], 400))
    at = np.where(rng.random(400) < 0.5, forest.threshold[nodes], beside)
    points[np.arange(400), forest.feature[nodes]] = at
    return np.concatenate([X, points])


@pytest.mark.parametrize("y", [WORDS, TWO], ids=["three", "two"])
@pytest.mark.parametrize(
    "model",
    [
        BaggingClassifier(TREE, 5, max_features=2, bootstrap_features=True, random_state=0),
        BaggingClassifier(FOREST, 3, max_samples=0.1, random_state=0),
        AdaBoostClassifier(TREE, n_estimators=4, random_state=0),
        AdaBoostClassifier(n_estimators=6, random_state=0),
        VotingClassifier(MEMBERS, voting="soft", weights=[1, 2, 0.5]),
        VotingClassifier([("a", TREE), ("x", "drop"), ("c", OTHER)], voting="soft"),
        VotingClassifier([("a", TREE), ("c", OTHER)], voting="hard", weights=[1, 3]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_committees_of_classifiers(model: Any, y: np.ndarray) -> None:
    model.fit(X, y)
    forest = forest_of(model)
    points = points_of(forest)
    outputs = forest.total(forest.leaves(points))
    ordered = np.sort(outputs, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-9
    assert clear.mean() > 0.5
    said = model.classes_[outputs.argmax(axis=1)]
    np.testing.assert_array_equal(said[clear], model.predict(points)[clear])
    if getattr(model, "voting", "soft") == "soft":
        expected = model.predict_proba(points)
        np.testing.assert_allclose(forest.probabilities(outputs), expected, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        BaggingRegressor(DecisionTreeRegressor(max_depth=3), 4, max_features=2, random_state=0),
        VotingRegressor(
            [
                ("a", DecisionTreeRegressor(max_depth=3)),
                ("b", RandomForestRegressor(3, random_state=0)),
            ],
            weights=[1, 3],
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_committees_of_regressions(model: Any) -> None:
    model.fit(X, X[:, 0] * X[:, 2])
    forest = forest_of(model)
    points = points_of(forest)
    found = forest.predictions(forest.total(forest.leaves(points)))
    np.testing.assert_allclose(found, model.predict(points), rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostRegressor(n_estimators=3),  # a median
        BaggingClassifier(LogisticRegression(), 2),
        VotingClassifier([("a", TREE), ("b", LogisticRegression())], voting="soft"),
        VotingClassifier(MEMBERS, voting="hard"),  # a forest votes by more than one leaf
        AdaBoostClassifier(FOREST, n_estimators=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_others_are_none(model: Any) -> None:
    assert forest_of(model.fit(X, Y)) is None


def test_they_are_measured_exactly() -> None:
    model = AdaBoostClassifier(n_estimators=4, random_state=0).fit(X[:, 2:], TWO)
    result = model_stability(model, X[:, 2:], TWO, 0.5, resampling=None)
    assert (result.kind, result.search.route) == ("exact", "ensemble")
    changed = np.asarray(result.plan.distances)[:150] > 0.0
    assert (model.predict(result.changed_rows()) != TWO)[changed].all()


def test_samplers_of_training_are_passed_over() -> None:
    imblearn = pytest.importorskip("imblearn.ensemble")
    for name in ("BalancedBaggingClassifier", "BalancedRandomForestClassifier"):
        model = getattr(imblearn, name)(n_estimators=3, random_state=0).fit(X, TWO)
        forest = forest_of(model)
        outputs = forest.total(forest.leaves(X))
        np.testing.assert_allclose(outputs, model.predict_proba(X), atol=1e-12)
