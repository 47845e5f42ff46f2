"""The outputs at every cell of every axis, against the forest itself at points."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.reading.model import problem_of
from walked_trees import outputs_of


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(7, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=15, random_state=0),
        HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0),
    ],
    ids=["tree", "forest", "boosting", "histogram"],
)
def test_outputs_at_every_cell(model) -> None:
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    problem = problem_of(model, X, y)
    grid = grid_of_problem(problem)
    cells = grid.cells(X)
    for position, outputs in zip(grid.active, grid.along(cells, grid.active), strict=True):
        axis = grid.axes[position]
        for cell in range(axis.n_cells):
            points = X.copy()
            axis.put(points, X, np.full(len(X), cell))
            np.testing.assert_allclose(
                outputs[:, cell], outputs_of(forest_of(model), points), rtol=1e-9, atol=1e-9
            )
            inner = (axis.cells(points) == cell) | ~np.isfinite(axis.costs(X)[:, cell])
            assert inner.all()
