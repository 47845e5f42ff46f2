"""Certified staircases of losses: no point loses more, and squared losses lie between bounds."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

from shiftmetrics.models import model_stability
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.reading.model import problem_of

MODELS = {
    "forest": RandomForestClassifier(9, random_state=0),
    "shallow": RandomForestClassifier(20, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0),
}


def test_squared_losses_of_forests_lie_between_bounds() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=60)
    model = RandomForestRegressor(30, max_depth=6, random_state=0).fit(X, y)
    result = model_stability(model, X, y, 1.0, loss="squared", resampling=None)
    assert (result.search.route, result.kind) == ("ensemble", "upper_bound")
    assert 0.0 < result.lower_bound <= result.value
    moved = model.predict(result.changed_rows())
    np.testing.assert_allclose(np.square(moved - y), result.plan.losses, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "log_loss", "hinge"])
def test_no_point_loses_more_than_the_highest_leaves(loss) -> None:
    rng = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    y = y.astype(np.float64) ** 2 if loss == "squared" else y
    models = [MODELS["boosting"], MODELS["histogram"], MODELS["forest"]]
    if loss == "squared":
        models = [RandomForestRegressor(9, random_state=0)]
    if loss == "hinge":
        models = models[:2]
    for model in models:
        model.fit(X[::2], y[::2])
        problem = problem_of(model, X, y, loss=loss)
        forest = grid_of_problem(problem).forest
        highest = forest.highest_losses(problem.y, loss)
        for _ in range(20):
            points = rng.uniform(X.min(axis=0), X.max(axis=0), X.shape)
            assert (problem.losses(points, slice(None)) <= highest * (1 + 1e-9) + 1e-9).all()
        assert highest.min() > 0.0
