"""Exact answers where rows move along one axis: every cell of it is tried, for all axes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.reached import losses_of, nearest_errors, worthwhile
from shiftmetrics.models.forests.scan import AxisScan, scan, scan_blocks
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import CandidateLoss, ZeroOneLoss

_CHUNK_BYTES = 1 << 28
"""Memory for what is kept of several axes until all rows are scanned."""


def answers_along_axes(
    question: Question, grid: Grid, axes: Sequence[int], on_rows: Callable[[int], object] | None = None
) -> Iterator[tuple[int, Answer]]:
    """Yield the exact answer for each axis, when rows may move along it alone.

    Parameters
    ----------
    question : Question
        The model, the rows and the loss.
    grid : Grid
        Its forest.
    axes : sequence of int
        Positions of axes.
    on_rows : callable, optional
        Called with the number of rows times axes that are done, for a progress bar.
    """
    own = grid.cells(question.codes)
    active = grid.active
    collect = _Errors if question.loss == "zero_one" else _Candidates
    wrong = question.is_wrong(question.codes, slice(None)) if question.loss == "zero_one" else None
    for chunk in _chunks(grid, axes, question.n_samples):
        found = {axis: collect(question, grid, axis, wrong) for axis in chunk}
        wanted = np.isin(np.arange(len(grid.axes)), chunk)
        for rows in scan_blocks(question.n_samples, grid.trees):
            for along in scan(grid.trees, own[rows], active & wanted):
                found[along.axis].add(rows, own[rows, along.axis], along)
            for still in np.flatnonzero(wanted & ~active).tolist():
                found[still].stay(rows, own[rows, still], grid.trees.outputs(own[rows]))
            if on_rows is not None:
                on_rows((rows.stop - rows.start) * len(chunk))
        for axis in chunk:
            yield axis, found[axis].answer()


def _chunks(grid: Grid, axes: Sequence[int], n_rows: int) -> list[list[int]]:
    chunks: list[list[int]] = [[]]
    used = 0
    for axis in axes:
        size = 24 * n_rows * int(grid.trees.n_cells[axis])
        if chunks[-1] and used + size > _CHUNK_BYTES:
            chunks.append([])
            used = 0
        chunks[-1].append(int(axis))
        used += size
    return chunks if chunks[0] else []


@dataclass
class _Errors:
    """The nearest error of each row along one axis."""

    question: Question
    grid: Grid
    axis: int
    wrong: BoolArray | None
    cell: IntArray = field(init=False)
    found: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        self.cell = self.grid.axes[self.axis].cells(self.question.codes)
        self.found = np.zeros(self.question.n_samples, dtype=bool)

    def add(self, rows: slice, own: IntArray, along: AxisScan) -> None:
        assert self.wrong is not None
        right = np.flatnonzero(~self.wrong[rows])
        if not right.size:
            return
        axis, where = self.grid.axes[self.axis], right + rows.start
        start, y = self.question.codes[where], self.question.y[where]
        squared = axis.costs(start)
        squared[np.arange(len(right)), own[right]] = np.inf  # known to be right there
        forest = self.grid.forest

        def confirm(chosen: IntArray, cell: IntArray) -> BoolArray:
            points = start[chosen].copy()
            axis.put(points, start[chosen], cell)
            return self.question.is_wrong(points, where[chosen])

        nearest, cell = nearest_errors(
            squared, forest.margins(along.outputs[right], y), forest.tolerance, confirm
        )
        self.cell[where] = cell
        self.found[where] = np.isfinite(nearest)

    def stay(self, rows: slice, own: IntArray, outputs: FloatArray) -> None:
        """Nothing to find."""

    def answer(self) -> Answer:
        assert self.wrong is not None
        start, axis = self.question.codes, self.grid.axes[self.axis]
        moved = np.flatnonzero(self.found)
        points = start[moved].copy()
        axis.put(points, start[moved], self.cell[moved])
        distances = np.where(self.wrong, 0.0, np.inf)
        distances[moved] = self.question.domain.distances(points, start[moved])
        cells = self.cell

        def places(rows: IntArray, _: FloatArray, __: IntArray | None) -> FloatArray:
            moved = start[rows].copy()
            axis.put(moved, start[rows], cells[rows])
            return moved

        return Answer(loss=ZeroOneLoss(distances), points=places)


@dataclass
class _Candidates:
    """The moves of each row along one axis that are worth their distance."""

    question: Question
    grid: Grid
    axis: int
    wrong: BoolArray | None
    parts: list[tuple[FloatArray, FloatArray, IntArray]] = field(default_factory=list)

    @property
    def forest(self) -> Forest:
        return self.grid.forest

    def add(self, rows: slice, own: IntArray, along: AxisScan) -> None:
        squared = self.grid.axes[self.axis].costs(self.question.codes[rows])
        losses = losses_of(self.forest, along.outputs, self.question.y[rows], self.question.loss)
        self.parts.append(worthwhile(squared, losses, own))

    def stay(self, rows: slice, own: IntArray, outputs: FloatArray) -> None:
        losses = losses_of(self.forest, outputs, self.question.y[rows], self.question.loss)
        self.parts.append((np.zeros((len(own), 1)), losses[:, None], own[:, None]))

    def answer(self) -> Answer:
        start, axis = self.question.codes, self.grid.axes[self.axis]
        squared, losses, cell = join_columns(self.parts)

        def places(rows: IntArray, _: FloatArray, choices: IntArray | None) -> FloatArray:
            assert choices is not None
            moved = start[rows].copy()
            axis.put(moved, start[rows], cell[rows, choices])
            return moved

        return Answer(loss=CandidateLoss(losses, np.sqrt(squared), kind="exact"), points=places)


def join_columns(
    parts: Sequence[tuple[FloatArray, FloatArray, IntArray]],
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Put candidates of blocks of rows below each other: the widest block sets the number of columns."""
    width = max(part[0].shape[1] for part in parts)
    squared, losses, choice = (
        np.concatenate(
            [np.pad(part[k], ((0, 0), (0, width - part[k].shape[1])), constant_values=fill) for part in parts]
        )
        for k, fill in enumerate((np.inf, 0.0, 0))
    )
    return squared, losses, choice.astype(np.int64)
