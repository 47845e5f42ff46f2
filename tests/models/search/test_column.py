"""Any model along one column: a grid with bisection, refined for smooth losses, inside bounds."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
)
from sklearn.linear_model import LogisticRegression

from oracles import valid_moves
from shiftmetrics.models import (
    Perturbation,
    feature_stability,
)
from shiftmetrics.models.reading.model import problem_of
from shiftmetrics.models.search.column import along_column


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def boosted(iris):
    return GradientBoostingClassifier(n_estimators=10, random_state=0).fit(*iris)


class Wrapped:
    """A model that shows nothing but its predictions."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes_
        self.predict, self.predict_proba = model.predict, model.predict_proba


def test_any_model_by_a_grid_with_bisection(iris, boosted) -> None:
    X, y = iris
    exactly = feature_stability(boosted, X, y, 0.3)
    tried = feature_stability(Wrapped(boosted), X, y, 0.3)
    known = {part.feature: part.value for part in exactly.features}
    for part in tried.features:
        assert part.kind == "upper_bound"
        assert known[part.feature] * (1 - 1e-9) <= part.value <= 1.05 * known[part.feature]


def test_a_grid_is_refined_for_smooth_losses(iris) -> None:
    X, y = iris
    model = LogisticRegression(max_iter=500).fit(X[y < 2], y[y < 2])
    exactly = feature_stability(model, X[y < 2], y[y < 2], 0.5, loss="log_loss")
    tried = feature_stability(Wrapped(model), X[y < 2], y[y < 2], 0.5, loss="log_loss")
    known = {part.feature: part for part in exactly.features}
    for part in tried.features:
        np.testing.assert_allclose(part.value, known[part.feature].value, rtol=2e-3)
        np.testing.assert_allclose(
            part.worst_case_risk, known[part.feature].worst_case_risk, rtol=2e-3
        )


def test_a_grid_respects_bounds_and_whole_steps(iris, boosted) -> None:
    X, y = np.round(iris[0] * 2), iris[1]
    model = Wrapped(boosted)
    problem = problem_of(
        model, X, y, perturbation=Perturbation(features=[2], integer=[2], bounds={"x2": (1, 9)})
    )
    found = along_column(problem)
    moved = np.flatnonzero(np.isfinite(found.loss.distances) & (found.loss.distances > 0))
    points = found.points(moved, found.loss.distances[moved], None)
    assert valid_moves(problem.domain, points, X[moved]).all()
    assert problem.is_wrong(points, moved).all()
    whole = np.arange(1, 10)
    for row in moved[:20]:
        tries = np.repeat(X[row : row + 1], 9, axis=0)
        tries[:, 2] = whole
        nearest = np.abs(whole - X[row, 2])[boosted.predict(tries) != y[row]].min()
        np.testing.assert_allclose(found.loss.distances[row] * problem.domain.unit[2], nearest)
