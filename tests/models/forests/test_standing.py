"""Rows on the grid of a forest: the leaves near them."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.forests.standing import Standing
from shiftmetrics.models.reading.model import problem_of

MODELS = {
    "forest": RandomForestClassifier(9, random_state=0),
    "shallow": RandomForestClassifier(20, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_leaves_within_are_those_whose_boxes_are_near(name) -> None:
    X, y = make_moons(60, noise=0.3, random_state=0)
    problem = problem_of(MODELS[name].fit(X, y), X, y)
    grid = grid_of_problem(problem)
    standing = Standing.of(grid, problem.codes).take(np.arange(5, 25))
    limit = np.linspace(0.0, 2.0, 20)
    row, leaf, squared = standing.leaves_within(limit)
    leaves = np.flatnonzero(grid.forest.feature < 0)
    near = {}
    for number in range(20):
        expected = np.zeros(len(leaves))
        for axis in range(len(grid.axes)):
            rows = np.full(len(leaves), number)
            expected += standing.costs_on(rows, np.full(len(leaves), axis), leaves)
        within = expected <= limit[number]
        near.update(
            {
                (number, node): far
                for node, far in zip(leaves[within], expected[within], strict=True)
            }
        )
    found = dict(zip(zip(row.tolist(), leaf.tolist(), strict=True), squared, strict=True))
    assert found.keys() == near.keys()
    assert all(abs(found[key] - near[key]) < 1e-12 for key in near)
