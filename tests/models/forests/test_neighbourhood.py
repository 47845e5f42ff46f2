"""Moves from the cells of rows along one axis, against every cell of every axis."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shiftmetrics.models import Perturbation
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
    everyone = np.ones(12, dtype=bool)
    moves = [block.moves(cells, block.outside(cells), everyone) for block in blocks]
    row, axis, cell = moves[0].row, moves[0].axis, moves[0].cell
    costs = [axis.costs(start) for axis in grid.axes]
    spent = np.stack(
        [cost[np.arange(12), cell] for cost, cell in zip(costs, cells.T, strict=True)], axis=1
    )
    present = np.stack([part.height for part in moves], axis=1)
    np.testing.assert_allclose(present, grid.outputs(cells)[row], atol=1e-12)
    np.testing.assert_allclose(moves[0].spent, spent.sum(axis=1)[row], atol=1e-12)
    there = cells[row]
    there[np.arange(len(there)), axis] = cell
    reached = np.stack([part.heights for part in moves], axis=1)
    able = np.isfinite(moves[0].squared)
    np.testing.assert_allclose(reached[able], grid.outputs(there[able]), atol=1e-12)
    n_changes = 0
    for position in range(len(grid.axes)):
        here = (axis == position) & able
        rows = row[here]
        squared = (
            spent[rows].sum(axis=1) - spent[rows, position] + costs[position][rows, cell[here]]
        )
        np.testing.assert_allclose(moves[0].squared[here], squared, atol=1e-12)
        n_changes += int((reached[here] != present[here]).any(axis=1).sum())
        # What any cell gives, a move gives, or staying there, and no farther away.
        for number in range(12):
            mine = here & (row == number)
            gives = np.concatenate([reached[mine], grid.outputs(cells[[number]])])
            costs_of = costs[position][number, np.append(cell[mine], cells[number, position])]
            for other_cell in np.flatnonzero(np.isfinite(costs[position][number])):
                other = cells[number].copy()
                other[position] = other_cell
                same = np.abs(gives - grid.outputs(other[None])).max(axis=1) < 1e-12
                assert costs_of[same].min() <= costs[position][number, other_cell]
    assert n_changes > 20


@pytest.mark.parametrize("name", MODELS)
def test_boxes_are_tracked_from_move_to_move(name, table) -> None:
    problem = question_about(name, table, 3)
    grid = grid_of_problem(problem)
    block = neighbourhood(grid, problem, output(0))
    cells, outside = block.start.copy(), block.outside(block.start)
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = np.flatnonzero(rng.random(12) < 0.7)
        axis = rng.choice(grid.active, size=len(rows))
        cell = reachable_cells(grid, problem.codes, rng)[rows, axis]
        block.put(cells, rows, axis, cell, outside)
    np.testing.assert_array_equal(outside, block.outside(cells))
    np.testing.assert_array_equal(
        block.leaf[outside == 0].reshape(12, -1), np.sort(grid.leaves(cells), axis=1)
    )
    some = np.array([1, 4, 5])
    part = block.take(some, np.full(3, np.inf))
    np.testing.assert_array_equal(part.outside(cells[some]), outside[np.isin(block.box_row, some)])
