"""Moves of a search along one axis, against every cell of every axis."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shiftmetrics.models import Perturbation
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.forests.neighbourhood import Neighbourhood, climb
from shiftmetrics.models.forests.standing import Standing
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


def neighbourhood(grid, problem, height, limit=np.inf):
    standing = Standing.of(grid, problem.codes)
    limits = np.broadcast_to(limit, len(problem.codes))
    return Neighbourhood.of(standing, problem.y, height, limits)


@pytest.mark.parametrize("displaced", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_moves_to_every_cell(name, n_classes, displaced, table) -> None:
    problem = question_about(name, table, n_classes)
    grid, start = grid_of_problem(problem), problem.codes
    blocks = [neighbourhood(grid, problem, output(k)) for k in range(n_classes)]
    cells = grid.cells(start)
    if displaced:
        cells = reachable_cells(grid, start, np.random.default_rng(2))
        for axis in grid.active:  # to where the search may go
            for row in range(12):
                mine = blocks[0].cell[(blocks[0].row == row) & (blocks[0].axis == axis)]
                cells[row, axis] = mine[np.abs(mine - cells[row, axis]).argmin()]
    moves = [block.moves(cells, block.outside(cells)) for block in blocks]
    costs = [axis.costs(start) for axis in grid.axes]
    spent = np.stack(
        [cost[np.arange(12), cell] for cost, cell in zip(costs, cells.T, strict=True)], axis=1
    )
    block = blocks[0]
    present = np.stack([part.height for part in moves], axis=1)
    np.testing.assert_allclose(present, grid.outputs(cells)[block.row], atol=1e-12)
    np.testing.assert_allclose(moves[0].spent, spent.sum(axis=1)[block.row], atol=1e-12)
    there = cells[block.row]
    there[np.arange(len(there)), block.axis] = block.cell
    reached = np.stack([part.heights for part in moves], axis=1)
    np.testing.assert_allclose(reached, grid.outputs(there), atol=1e-12)
    own = grid.cells(start)[block.row, block.axis] == block.cell
    n_changes = 0
    for axis in range(len(grid.axes)):
        here = block.axis == axis
        rows = block.row[here]
        squared = spent[rows].sum(axis=1) - spent[rows, axis] + costs[axis][rows, block.cell[here]]
        np.testing.assert_allclose(moves[0].squared[here], squared, atol=1e-12)
        n_changes += int((reached[here] != present[here]).any(axis=1).sum())
        # What any cell gives, one of those that are looked at gives, and no farther away.
        for row in range(12):
            mine = here & (block.row == row)
            for cell in np.flatnonzero(np.isfinite(costs[axis][row])):
                other = cells[row].copy()
                other[axis] = cell
                same = np.abs(reached[mine] - grid.outputs(other[None])).max(axis=1) < 1e-12
                assert costs[axis][row, block.cell[mine][same]].min() <= costs[axis][row, cell]
    assert own.sum() == 12 * len(grid.axes)
    assert n_changes > 20


@pytest.mark.parametrize("limited", [False, True])
def test_a_climb_takes_the_best_move_of_each_row(limited, table) -> None:
    problem = question_about("forest", table, 2)
    grid = grid_of_problem(problem)
    limit = 0.3 if limited else np.inf
    block = neighbourhood(grid, problem, output(0), limit)
    moves = block.moves(block.start, block.outside(block.start))
    scores = np.random.default_rng(0).normal(size=moves.squared.shape)
    scores[block.row == 3] = -np.inf
    able = np.where(np.isfinite(moves.squared), scores, -np.inf)
    best = [np.where(block.row == row, able, -np.inf).argmax() for row in range(12)]
    steps = iter([scores])
    reached = climb(
        block,
        block.start,
        lambda moves: next(steps, np.full(moves.squared.shape, -np.inf)),
    )
    assert (moves.squared[best] <= limit * (1 + 1e-6)).all()
    assert (reached[3] == block.start[3]).all()
    for row in set(range(12)) - {3}:
        expected = block.start[row].copy()
        if able[best[row]] > 0.0:
            expected[block.axis[best[row]]] = block.cell[best[row]]
        np.testing.assert_array_equal(reached[row], expected)


@pytest.mark.parametrize("name", MODELS)
def test_boxes_are_tracked_from_move_to_move(name, table) -> None:
    problem = question_about(name, table, 3)
    grid = grid_of_problem(problem)
    block = neighbourhood(grid, problem, output(0))
    cells, outside = block.start.copy(), block.outside(block.start)
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = np.flatnonzero(rng.random(12) < 0.7)
        places = np.array([rng.choice(np.flatnonzero(block.row == row)) for row in rows])
        block.put(cells, rows, places, outside)
    np.testing.assert_array_equal(outside, block.outside(cells))
    np.testing.assert_array_equal(
        block.leaf[outside == 0].reshape(12, -1), np.sort(grid.leaves(cells), axis=1)
    )
    some = np.array([1, 4, 5])
    np.testing.assert_array_equal(
        block.take(some).outside(cells[some]), outside[np.isin(block.box_row, some)]
    )
