"""Climbing takes the best move of each row, against every move."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shiftmetrics.models import Perturbation
from shiftmetrics.models.forests.climbing import climb
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.forests.neighbourhood import Neighbourhood
from shiftmetrics.models.forests.standing import Standing
from shiftmetrics.models.reading.model import problem_of

MODELS = {
    "forest": RandomForestClassifier(8, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=10, max_depth=4, random_state=0),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=160),
            "count": rng.integers(0, 9, 160).astype(float),
            "fixed": rng.normal(size=160),
            "town": rng.choice(["a", "b", "c"], 160),
        }
    )


def question_about(name, table, n_classes):
    score = table["size"] + table["count"] / 4 + 0.5 * table["fixed"] + (table["town"] == "b")
    y = pd.qcut(
        score + np.random.default_rng(1).normal(0, 0.3, 160), n_classes, labels=False
    ).to_numpy()
    steps = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(steps, MODELS[name]).fit(table, y)
    moves = Perturbation(
        integer=["count"], immutable=["fixed"], bounds={"count": (1, 7), "size": (-1.5, 1.5)}
    )
    return problem_of(model, table.iloc[:12], y[:12], perturbation=moves)


def output(number):
    """The height of a search: one of the outputs."""
    return lambda outputs, _: outputs[..., number]


def neighbourhood(grid, problem, height, limit=np.inf):
    standing = Standing.of(grid, problem.codes)
    limits = np.broadcast_to(limit, len(problem.codes))
    return Neighbourhood.of(standing, problem.y, height, limits)


@pytest.mark.parametrize("limited", [False, True])
def test_a_climb_takes_the_best_move_of_each_row(limited, table) -> None:
    problem = question_about("forest", table, 2)
    grid = grid_of_problem(problem)
    limit = 0.3 if limited else np.inf
    block = neighbourhood(grid, problem, output(0), limit)
    moves = block.moves(block.start, block.outside(block.start), np.ones(12, dtype=bool))
    scores = np.random.default_rng(0).normal(size=moves.squared.shape)
    scores[moves.row == 3] = -np.inf
    able = np.where(np.isfinite(moves.squared), scores, -np.inf)
    best = [np.where(moves.row == row, able, -np.inf).argmax() for row in range(12)]
    steps = iter([scores])
    reached = climb(
        block,
        block.start,
        lambda moves: next(steps, np.full(moves.squared.shape, -np.inf)),
    )
    assert (reached[3] == block.start[3]).all()
    for row in set(range(12)) - {3}:
        expected = block.start[row].copy()
        if able[best[row]] > 0.0:
            assert moves.squared[best[row]] <= limit * (1 + 1e-6)
            expected[moves.axis[best[row]]] = moves.cell[best[row]]
        np.testing.assert_array_equal(reached[row], expected)
