"""Forests that do not give what the model says are found, also where predictions happen to agree."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.forests.same_model import reads_the_model
from shiftmetrics.models.reading.model import problem_of

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=80), "b": RNG.choice(["u", "v", "w"], 80)})
Y = (FRAME["a"] + (FRAME["b"] == "u") > 0.3).astype(int).to_numpy()


@pytest.mark.parametrize("loss", ["zero_one", "log_loss"])
def test_other_leaves_are_found(loss: str) -> None:
    X = FRAME[["a"]].to_numpy()
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, Y)
    problem = problem_of(model, X, Y, loss=loss)
    grid = grid_of_problem(problem)
    assert reads_the_model(problem, grid)
    turned = replace(grid.forest, value=grid.forest.value[:, ::-1])
    assert not reads_the_model(problem, replace(grid, forest=turned))


def test_codes_are_compared_by_probabilities() -> None:
    frame = FRAME.astype({"b": "category"})
    model = HistGradientBoostingClassifier(categorical_features=["b"], max_iter=3).fit(frame, Y)
    problem = problem_of(model, frame, Y)
    grid = grid_of_problem(problem)
    assert reads_the_model(problem, grid)
    # Predictions stay the same, and probabilities do not.
    scaled = replace(grid.forest, value=2.0 * grid.forest.value, base=2.0 * grid.forest.base)
    assert not reads_the_model(problem, replace(grid, forest=scaled))
