"""The outputs along one axis against the forest itself at every cell."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics.models.forests.model_grid import grid_of_question
from shiftmetrics.models.forests.scan import scan
from shiftmetrics.models.question import question_of


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
def test_a_scan_knows_every_cell(model) -> None:
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    question = question_of(model, X, y)
    grid = grid_of_question(question)
    cells = grid.cells(X)
    for along in scan(grid.trees, cells, grid.active):
        axis = grid.axes[along.axis]
        for cell in range(axis.n_cells):
            points = X.copy()
            axis.put(points, X, np.full(len(X), cell))
            np.testing.assert_allclose(
                along.outputs[:, cell], grid.forest.outputs(points), rtol=1e-9, atol=1e-9
            )
            inner = (axis.cells(points) == cell) | ~np.isfinite(axis.costs(X)[:, cell])
            assert inner.all()
