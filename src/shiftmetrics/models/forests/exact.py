"""Exact answers where rows move along several axes: the boxes of one tree, or every combination of few cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.along_axis import join_columns
from shiftmetrics.models.forests.boxes import LeafBoxes
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.reached import losses_of, nearest_errors, worthwhile
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import CandidateLoss, ZeroOneLoss

MOST_VISITS = 30_000_000
"""Trees visited by combinations of cells, beyond which they are searched instead."""
MOST_PAIRS = 100_000_000
"""Rows times combinations."""
_BLOCK_BYTES = 1 << 25

Squared = Callable[[slice], FloatArray]
Outputs = Callable[[slice], FloatArray]
Places = Callable[[IntArray, IntArray], FloatArray]


def answer_of_tree(question: Question, grid: Grid) -> Answer:
    """Answer for a forest of one tree: each leaf box is a choice, and its nearest point is known."""
    boxes = LeafBoxes.of(grid)
    outputs = grid.forest.total(boxes.leaf[:, None])

    def of_rows(rows: slice) -> FloatArray:
        return np.broadcast_to(outputs, (rows.stop - rows.start, *outputs.shape))

    return _answer(
        question,
        grid,
        boxes.blocks(question.n_samples),
        lambda rows: boxes.squared_distances(question.codes[rows]),
        of_rows,
        lambda rows, choice: boxes.points(question.codes[rows], choice),
    )


def answer_by_enumeration(question: Question, grid: Grid) -> Answer | None:
    """Answer by trying all combinations of cells of the axes that move; None where there are too many."""
    axes = np.flatnonzero(grid.active)
    n_cells = grid.trees.n_cells[axes]
    n_choices = int(np.prod(n_cells.astype(np.float64)))
    n_trees = grid.forest.n_trees
    if n_choices * n_trees > MOST_VISITS or n_choices * question.n_samples > MOST_PAIRS:
        return None
    own = grid.cells(question.codes)
    used = np.unique(grid.trees.splits.axis[grid.trees.splits.axis >= 0])
    fixed = np.setdiff1d(used, axes)
    kinds, kind = np.unique(own[:, fixed], axis=0, return_inverse=True)
    if len(kinds) * n_choices * n_trees > MOST_VISITS:
        return None
    choices = (
        np.stack(np.unravel_index(np.arange(n_choices), n_cells), axis=1) if axes.size else np.zeros((1, 0))
    )
    outputs = np.empty((len(kinds), n_choices, grid.forest.n_outputs))
    for number, held in enumerate(kinds):
        cells = np.zeros((n_choices, len(grid.axes)), dtype=np.int64)
        cells[:, fixed] = held
        cells[:, axes] = choices
        outputs[number] = grid.trees.outputs(cells)

    def squared(rows: slice) -> FloatArray:
        start = question.codes[rows]
        total = np.zeros((len(start), n_choices))
        for position, axis in enumerate(axes):
            total += grid.axes[axis].costs(start)[:, choices[:, position]]
        return total

    def places(rows: IntArray, choice: IntArray) -> FloatArray:
        cells = own[rows].copy()
        cells[:, axes] = choices[choice]
        return grid.points(question.codes[rows], cells)

    size = max(1, _BLOCK_BYTES // (16 * n_choices * (1 + grid.forest.n_outputs)))
    blocks = [slice(at, min(at + size, question.n_samples)) for at in range(0, question.n_samples, size)]
    return _answer(question, grid, blocks, squared, lambda rows: outputs[kind.ravel()[rows]], places)


def _answer(
    question: Question,
    grid: Grid,
    blocks: list[slice],
    squared_of: Squared,
    outputs_of: Outputs,
    places: Places,
) -> Answer:
    """Look at all choices of each row, of which one is where it stands."""
    if question.loss == "zero_one":
        return _nearest(question, grid, blocks, squared_of, outputs_of, places)
    parts = []
    for rows in blocks:
        squared = squared_of(rows)
        losses = losses_of(grid.forest, outputs_of(rows), question.y[rows], question.loss)
        parts.append(worthwhile(squared, losses, squared.argmin(axis=1)))
    squared, losses, choice = join_columns(parts)

    def points(rows: IntArray, _: FloatArray, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        return places(rows, choice[rows, choices])

    return Answer(loss=CandidateLoss(losses, np.sqrt(squared), kind="exact"), points=points)


def _nearest(
    question: Question,
    grid: Grid,
    blocks: list[slice],
    squared_of: Squared,
    outputs_of: Outputs,
    places: Places,
) -> Answer:
    wrong = question.is_wrong(question.codes, slice(None))
    chosen = np.zeros(question.n_samples, dtype=np.int64)
    distances = np.where(wrong, 0.0, np.inf)
    forest = grid.forest
    for rows in blocks:
        right = np.flatnonzero(~wrong[rows])
        where = right + rows.start
        if not right.size:
            continue
        squared = squared_of(rows)[right]
        squared[squared == 0.0] = np.inf  # where the row stands it is right

        def confirm(which: IntArray, choice: IntArray, where: IntArray = where) -> BoolArray:
            return question.is_wrong(places(where[which], choice), where[which])

        margins = forest.margins(outputs_of(rows)[right], question.y[where])
        nearest, choice = nearest_errors(squared, margins, forest.tolerance, confirm)
        found = np.isfinite(nearest)
        chosen[where] = choice
        moved = where[found]
        points = places(moved, choice[found])
        distances[moved] = question.domain.distances(points, question.codes[moved])
    return Answer(loss=ZeroOneLoss(distances), points=lambda rows, _, __: places(rows, chosen[rows]))
