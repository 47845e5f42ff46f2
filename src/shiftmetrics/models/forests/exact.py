"""Exact worst cases: every choice of a row is tried: leaf boxes, cells of one axis, or combinations of cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.forests.choice_scan import ChoiceScan, NotTheModel, Place
from shiftmetrics.models.forests.grid import BLOCK_BYTES, Grid
from shiftmetrics.models.forests.standing import Standing
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.search.importance import Draws, ValueRisks
from shiftmetrics.models.search.worst_case import WorstCase
from shiftmetrics.stability.losses import ZeroOneLoss

MOST_VISITS = 30_000_000
"""Trees visited by combinations of cells, beyond which they are searched instead."""
MOST_PAIRS = 100_000_000
"""Rows times combinations."""
_ASKED = 100_000  # points of ties that the model predicts at once


def confirmed(problem: ModelProblem, found: Sequence[WorstCase]) -> Sequence[WorstCase]:
    """Return what was found once the model has predicted all nearest errors; several worst cases at a time.

    Raises
    ------
    NotTheModel
        If one of them is none for the model.
    """
    # Rounding hardly changes other losses, but may turn a 0/1 error into none.
    if problem.loss != "zero_one":
        return found
    n_at_once = max(1, _ASKED // problem.n_samples)
    for first in range(0, len(found), n_at_once):
        part = found[first : first + n_at_once]
        rows = []
        points = []
        for one in part:
            assert isinstance(one.loss, ZeroOneLoss)
            distances = np.asarray(one.loss.distances)
            # At 0 stand rows that are errors already, and at infinity those that cannot become one.
            is_changed = np.isfinite(distances) & (distances > 0.0)
            changed = np.flatnonzero(is_changed)
            rows.append(changed)
            points.append(one.points(changed, distances[changed], None))
        asked = np.concatenate(rows)
        if not asked.size:
            continue
        wrong = problem.is_wrong(np.concatenate(points), asked)
        if not wrong.all():
            raise NotTheModel
    return found


def of_tree(problem: ModelProblem, grid: Grid) -> WorstCase:
    """Scan a forest of one tree: each leaf box is a choice, and its nearest point is known."""
    start = problem.codes
    leaves = np.flatnonzero(grid.forest.feature < 0)
    number = np.full(len(grid.forest.feature), -1)
    number[leaves] = np.arange(len(leaves))
    outputs = grid.forest.total(leaves[:, None])

    def place(rows: IntArray, choice: IntArray) -> FloatArray:
        cells = grid.nearest_in_box(start[rows], leaves[choice])
        return grid.points(start[rows], cells)

    scan = ChoiceScan.of(problem, grid, place)
    row_bytes = 64 * (outputs.size + len(grid.axis_of_cell))
    for rows in grid.row_blocks(problem.n_samples, row_bytes):
        standing = Standing.of(grid, start[rows])
        n_rows = len(standing.cells)
        # Other losses weigh every leaf against its distance, so that no branch may end early.
        no_limit = np.full(n_rows, np.inf)
        row, leaf, apart = standing.leaves_within(no_limit)
        # Leaves that the row cannot reach are not found, and stay at infinity.
        squared = np.full((n_rows, len(leaves)), np.inf)
        squared[row, number[leaf]] = apart
        present = grid.leaves(standing.cells)[:, 0]
        stay = number[present]
        repeated = np.broadcast_to(outputs, (n_rows, *outputs.shape))
        scan.add(rows, squared, repeated, stay)
    return confirmed(problem, [scan.result()])[0]


def along_axes(
    problem: ModelProblem,
    grid: Grid,
    axes: Sequence[int],
    draws: Draws | None = None,
    costs: FloatArray | float = 1.0,
) -> Iterator[tuple[int, WorstCase]]:
    """Scan all cells of each axis, when rows may change along it alone.

    Parameters
    ----------
    problem : ModelProblem
        The rows.
    grid : Grid
        Their forest.
    axes : sequence of int
        Positions of axes.
    draws : Draws, optional
        Whose values replace those of a feature, for the risks at all values.
    costs : array of shape (n_samples,) or float, default 1
        What an error on each row costs, in these risks.

    Yields
    ------
    (axis, WorstCase)
        How far rows can be brought along each axis, and the risks when all rows are in the same cell of it.
    """
    if not axes:
        return
    start = problem.codes
    cells = grid.cells(start)

    def place_on(axis: int) -> Place:
        def place(rows: IntArray, cell: IntArray) -> FloatArray:
            points = start[rows].copy()
            grid.axes[axis].put(points, start[rows], cell)
            return points

        return place

    # The scans of all axes use the same predictions of the rows, and the same rule for ties.
    first = ChoiceScan.of(problem, grid, place_on(axes[0]))
    scans = {}
    for axis in axes:
        scans[axis] = ChoiceScan(problem, grid, place_on(axis), first.wrong, first.ties)
    drawn = None
    if draws is not None:
        drawn = grid.cells(draws.codes)
        for axis, scan in scans.items():
            # Where values are missing, rows would have to gain or lose one.
            columns = grid.axes[axis].columns
            if np.isnan(start[:, columns]).any():
                continue
            scan.weights = draws.weights * costs
            n_cells = grid.n_cells[axis]
            fractions = np.bincount(drawn[:, axis], draws.fractions, n_cells)
            scan.fractions = fractions.astype(np.float64)
    positions = np.array(axes, dtype=np.int64)
    row_bytes = 400 * grid.forest.n_trees
    row_bytes += 32 * grid.forest.n_outputs * int(grid.n_cells.max())
    for rows in grid.row_blocks(problem.n_samples, row_bytes):
        outputs_on = grid.along(cells[rows], positions)
        for axis, outputs in zip(axes, outputs_on, strict=True):
            squared = grid.axes[axis].costs(start[rows])
            scans[axis].add(rows, squared, outputs, cells[rows, axis])
    results = [scan.result() for scan in scans.values()]
    reached = confirmed(problem, results)
    for (axis, scan), found in zip(scans.items(), reached, strict=True):
        value_risks = None
        if drawn is not None and scan.fractions is not None:
            expected = np.concatenate(scan.expected) * costs
            risks = np.asarray(scan.risks)
            value_risks = ValueRisks(scan.fractions, risks, expected, drawn[:, axis])
        yield axis, replace(found, value_risks=value_risks)


def by_enumeration(problem: ModelProblem, grid: Grid) -> WorstCase | None:
    """Scan all combinations of cells of the axes that may change; None where there are too many."""
    axes = grid.active
    start = problem.codes
    forest = grid.forest
    n_cells = grid.n_cells[axes]
    # As floats, since the product may exceed the integers.
    product = np.prod(n_cells.astype(np.float64))
    n_choices = int(product)
    n_visits = n_choices * forest.n_trees
    n_pairs = n_choices * problem.n_samples
    if n_visits > MOST_VISITS or n_pairs > MOST_PAIRS:
        return None
    standing = grid.cells(start)
    # Rows that stand alike on the axes that stay have the same outputs at all combinations.
    used = np.unique(forest.feature[forest.feature >= 0])
    fixed = np.setdiff1d(used, axes)
    patterns, pattern = np.unique(standing[:, fixed], axis=0, return_inverse=True)
    if len(patterns) * n_visits > MOST_VISITS:
        return None
    numbers = np.unravel_index(np.arange(n_choices), n_cells)
    choices = np.stack(numbers, axis=1)
    outputs = np.empty((len(patterns), n_choices, forest.n_outputs))
    for number, held in enumerate(patterns):
        cells = np.zeros((n_choices, len(grid.axes)), dtype=np.int64)
        cells[:, fixed] = held
        cells[:, axes] = choices
        outputs[number] = grid.outputs(cells)

    def place(rows: IntArray, choice: IntArray) -> FloatArray:
        cells = standing[rows].copy()
        cells[:, axes] = choices[choice]
        return grid.points(start[rows], cells)

    scan = ChoiceScan.of(problem, grid, place)
    stay = np.ravel_multi_index(tuple(standing[:, axes].T), tuple(n_cells))
    row_bytes = 16 * n_choices * (1 + forest.n_outputs)
    for rows in row_blocks(problem.n_samples, row_bytes, block_bytes=BLOCK_BYTES // 4):
        n_rows = rows.stop - rows.start
        squared = np.zeros((n_rows, n_choices))
        for position, axis in enumerate(axes):
            costs = grid.axes[axis].costs(start[rows])
            squared += costs[:, choices[:, position]]
        held = pattern.ravel()[rows]
        scan.add(rows, squared, outputs[held], stay[rows])
    return confirmed(problem, [scan.result()])[0]
