"""The trees of scikit-learn, read as one format: the same predictions, at thresholds and beside them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from shiftmetrics.models.forests import forest_of
from walked_trees import outputs_of

CLASSIFIERS = [
    DecisionTreeClassifier(random_state=0),
    ExtraTreeClassifier(random_state=0),
    RandomForestClassifier(8, random_state=0),
    ExtraTreesClassifier(8, random_state=0),
    GradientBoostingClassifier(n_estimators=6, random_state=0),
    GradientBoostingClassifier(n_estimators=6, init="zero", random_state=0),
    GradientBoostingClassifier(
        n_estimators=6, init=DummyClassifier(strategy="prior"), random_state=0
    ),
    HistGradientBoostingClassifier(max_iter=6, random_state=0),
]


REGRESSIONS = [
    DecisionTreeRegressor(random_state=0),
    RandomForestRegressor(8, random_state=0),
    ExtraTreesRegressor(8, random_state=0),
    GradientBoostingRegressor(n_estimators=6, random_state=0),
    HistGradientBoostingRegressor(max_iter=6, random_state=0),
    HistGradientBoostingRegressor(max_iter=6, loss="poisson", random_state=0),
    HistGradientBoostingRegressor(max_iter=6, loss="gamma", random_state=0),
]


def edge_points(forest, X, seed=0):
    """Rows with one value at a threshold, or at the next float beyond it."""
    rng = np.random.default_rng(seed)
    points = np.repeat(X[:200], 5, axis=0)
    nodes = rng.choice(np.flatnonzero(forest.feature >= 0), len(points))
    at = forest.threshold[nodes]
    values = np.where(rng.random(len(points)) < 0.5, at, np.nextafter(at, np.inf))
    fine = np.isfinite(values)
    points[np.arange(len(points))[fine], forest.feature[nodes[fine]]] = values[fine]
    return points


def assert_same_classes(model, X, y, *, rtol=1e-12):
    forest = forest_of(model.fit(X, y))
    points = edge_points(forest, X)
    outputs = outputs_of(forest, points)
    np.testing.assert_allclose(
        forest.probabilities(outputs), model.predict_proba(points), rtol=rtol, atol=rtol
    )
    positions = np.searchsorted(model.classes_, model.predict(points))
    margins = forest.margins(outputs, positions)
    assert margins.min() >= -forest.tolerance


def assert_same_values(model, X, y, *, rtol=1e-12):
    forest = forest_of(model.fit(X, y))
    points = edge_points(forest, X)
    np.testing.assert_allclose(
        forest.predictions(outputs_of(forest, points)), model.predict(points), rtol=rtol, atol=rtol
    )


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_classifiers_of_scikit_learn(model, load) -> None:
    assert_same_classes(model, *load(return_X_y=True))


def test_exponential_loss_has_twice_the_logit() -> None:
    model = GradientBoostingClassifier(n_estimators=6, loss="exponential", random_state=0)
    assert_same_classes(model, *load_breast_cancer(return_X_y=True))


@pytest.mark.parametrize("model", REGRESSIONS, ids=lambda model: type(model).__name__)
def test_regressions_of_scikit_learn(model) -> None:
    assert_same_values(model, *load_diabetes(return_X_y=True))
