"""Certified distances of boxes that trees reach together: never beyond an error, and beyond those of single boxes."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from shiftmetrics.models import Moves
from shiftmetrics.models.forests.bounds import certified_distances, lower_bounds
from shiftmetrics.models.forests.from_model import grid_of_question
from shiftmetrics.models.question import question_of
from shiftmetrics.models.route import answer

MODELS = {
    "forest": RandomForestClassifier(9, random_state=0),
    "shallow": RandomForestClassifier(20, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0),
}


def single_bounds(grid, question):
    squared, losses = lower_bounds(grid, question.codes, question.y, "zero_one")
    return np.where(losses > 0.0, squared, np.inf).min(axis=1)


@pytest.mark.parametrize("options", [{}, {"integer": [0]}, {"bounds": {0: (-0.5, 1.0)}}])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_no_error_is_nearer(name, n_classes, options) -> None:
    if n_classes == 2:
        X, y = make_moons(120, noise=0.3, random_state=0)
    else:
        X, y = load_iris(return_X_y=True)
        X = X[:, :2]
    if "integer" in options:
        X = np.column_stack([np.round(4 * X[:, 0]), X[:, 1]])
    if "bounds" in options:
        options = {"bounds": {"x0": (X[:, 0].min(), np.median(X[:, 0]))}}
    model = MODELS[name].fit(X, y)
    question = question_of(model, X, y, moves=Moves(**options))
    exact = answer(question)[1]
    assert exact.kind == "exact"
    upper = exact.loss.distances**2
    grid = grid_of_question(question)
    known = single_bounds(grid, question)
    for reached in (upper, 4.0 * upper, np.full(len(X), np.inf)):
        sharper = certified_distances(grid, question.codes, question.y, known, reached)
        assert (sharper >= known).all()
        assert (sharper <= upper * (1 + 1e-9) + 1e-15).all()
    gains = certified_distances(grid, question.codes, question.y, known, upper)
    right = (upper > 0) & np.isfinite(upper)
    if name != "forest" and not options:  # single boxes may be as good where ties are all that is near
        assert (gains[right] > known[right]).any()
