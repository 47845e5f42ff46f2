"""Moves of a search along one axis, against every cell of every axis."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shiftmetrics.models import Perturbation
from shiftmetrics.models.forests.climbing import CellBlock, climb
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.model import problem_of

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


def reachable_cells(grid, start, rng):
    """Cells that each row may stand in, on every axis that moves."""
    cells = grid.cells(start)
    for position in grid.active:
        costs = grid.axes[position].costs(start)
        for row, cost in enumerate(costs):
            if rng.random() < 0.7:
                cells[row, position] = rng.choice(np.flatnonzero(np.isfinite(cost)))
    return cells


@pytest.mark.parametrize("displaced", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_moves_to_every_cell(name, n_classes, displaced, table) -> None:
    problem = question_about(name, table, n_classes)
    grid, start = grid_of_problem(problem), problem.codes
    blocks = [CellBlock.of(grid, start, problem.y, output(k)) for k in range(n_classes)]
    cells = (
        reachable_cells(grid, start, np.random.default_rng(2)) if displaced else grid.cells(start)
    )
    moves = [block.moves(cells) for block in blocks]
    costs = [axis.costs(start) for axis in grid.axes]
    spent = np.stack(
        [cost[np.arange(12), cell] for cost, cell in zip(costs, cells.T, strict=True)], axis=1
    )
    present = np.stack([part.height[:, 0] for part in moves], axis=1)
    np.testing.assert_allclose(present, grid.outputs(cells), atol=1e-12)
    np.testing.assert_allclose(moves[0].spent[:, 0], spent.sum(axis=1), atol=1e-12)
    place, n_changes = 0, 0
    for axis in grid.active:
        for cell in range(grid.axes[axis].n_cells):
            there = cells.copy()
            there[:, axis] = cell
            squared = spent.sum(axis=1) - spent[:, axis] + costs[axis][:, cell]
            outputs = np.stack([part.heights[:, place] for part in moves], axis=1)
            np.testing.assert_allclose(outputs, grid.outputs(there), atol=1e-12)
            np.testing.assert_allclose(moves[0].squared[:, place], squared, atol=1e-12)
            n_changes += int((np.isfinite(squared) & (outputs != present).any(axis=1)).sum())
            place += 1
    assert place == moves[0].squared.shape[1]
    assert n_changes > 20


@pytest.mark.parametrize("limited", [False, True])
def test_a_climb_takes_the_best_move_of_each_row(limited, table) -> None:
    problem = question_about("forest", table, 2)
    grid = grid_of_problem(problem)
    block = CellBlock.of(grid, problem.codes, problem.y, output(0))
    moves = block.moves(block.start)
    scores = np.random.default_rng(0).normal(size=moves.squared.shape)
    scores[3] = -np.inf
    limit = np.full(12, 0.3 if limited else np.inf)
    able = np.isfinite(moves.squared) & (moves.squared <= limit[:, None])
    best = np.where(able, scores, -np.inf).argmax(axis=1)
    steps = iter([scores])
    reached = climb(
        block.take(np.arange(12), limit),
        block.start,
        lambda moves: next(steps, np.full(moves.squared.shape, -np.inf)),
    )
    assert (reached[3] == block.start[3]).all()
    others = np.arange(12) != 3
    here = block.moves(reached)
    for before, after in ((moves.squared, here.spent), (moves.heights, here.height)):
        np.testing.assert_allclose(
            after[others, 0], before[np.arange(12), best][others], atol=1e-12
        )
