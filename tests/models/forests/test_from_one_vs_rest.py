"""Trees against the rest: the highest score decides, and what is nearest is found beside every edge."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier

from nearest_errors import nearest_error_beside_edges
from shiftmetrics import model_stability
from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.forests.from_one_vs_rest import with_ties_of_sigmoids

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.array(["a", "b", "c"])[
    np.digitize(X[:, 0] + X[:, 1] ** 2 + RNG.normal(0, 0.3, 60), [0.3, 1.5])
]
MEMBERS = [
    DecisionTreeClassifier(max_depth=3, random_state=0),
    RandomForestClassifier(3, max_depth=3, random_state=0),
    GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
    HistGradientBoostingClassifier(max_iter=3, max_depth=2),
    AdaBoostClassifier(n_estimators=3, random_state=0),
]


def edges_of(models: list[Any]) -> list[np.ndarray]:
    """Return the thresholds of the forests of models, by column."""
    forests = [forest_of(model) for model in models]
    edges = []
    for column in (0, 1):
        held = [forest.threshold[forest.feature == column] for forest in forests]
        edges.append(np.unique(np.concatenate(held)))
    return edges


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: type(member).__name__)
@pytest.mark.parametrize("y", [Y, Y == "b"], ids=["three", "two"])
def test_distances_are_those_of_an_exhaustive_search(member: Any, y: np.ndarray) -> None:
    model = OneVsRestClassifier(member).fit(X, y)
    result = model_stability(model, X, y, 0.5, resampling=None)
    assert (result.kind, result.search.route) == ("exact", "ensemble")
    edges = edges_of(model.estimators_)
    expected = nearest_error_beside_edges(model.predict, X, y, edges, X.std(axis=0))
    np.testing.assert_allclose(result.search.loss.distances, expected, rtol=1e-5, atol=1e-6)
    changed = np.asarray(result.plan.distances) > 0.0
    assert (model.predict(result.changed_rows()) != y)[changed].all()


def test_equal_scores_are_decided_by_the_model() -> None:
    rows = np.array([[0.0], [0.0], [1.0], [1.0]])
    y = np.array([0, 1, 2, 2])
    model = OneVsRestClassifier(DecisionTreeClassifier(max_depth=1, random_state=0)).fit(rows, y)
    outputs = forest_of(model).total(forest_of(model).leaves(rows))
    ordered = np.sort(outputs, axis=1)
    assert (ordered[:, -1] == ordered[:, -2]).any()
    right = model.predict(rows)
    assert right[0] == right[1] != 2  # the first in scikit-learn 1.9, the last before
    result = model_stability(model, rows, right, 0.3, resampling=None)
    assert result.kind == "exact"
    assert result.base_risk == 0.0
    changed = np.asarray(result.plan.distances)[:4] > 0.0
    assert (model.predict(result.changed_rows()) != right)[:4][changed].all()


def test_probabilities_that_round_to_one_are_left_to_the_model() -> None:
    forest = forest_of(GradientBoostingClassifier(n_estimators=3).fit(X, Y))
    read = with_ties_of_sigmoids(forest)
    highest = forest.base + 0.1 * np.maximum.reduceat(forest.value, forest.roots).sum(axis=0)
    assert read.rounding == pytest.approx(np.finfo(np.float64).eps * np.exp(highest.max()))
    assert read.tolerance > forest.tolerance
    assert with_ties_of_sigmoids(forest, slope=100.0) is None


def test_others_are_none() -> None:
    several = np.stack([Y == "a", Y == "b"], axis=1).astype(int)
    tree = DecisionTreeClassifier(max_depth=2)
    assert forest_of(OneVsRestClassifier(tree).fit(X, several)) is None
    assert forest_of(OneVsRestClassifier(LogisticRegression()).fit(X, Y)) is None
    coded = HistGradientBoostingClassifier(categorical_features=[0], max_iter=2)
    codes = np.abs(np.rint(X))
    assert forest_of(OneVsRestClassifier(coded).fit(codes, Y)) is None
