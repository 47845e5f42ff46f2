"""Exact worst cases: every choice of a row is tried: leaf boxes, cells of one axis, or combinations of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.forests.grid import BLOCK_BYTES, Grid
from shiftmetrics.models.forests.sample import _ASKED, ForestSample, NotTheModel, Place
from shiftmetrics.models.forests.standing import Standing
from shiftmetrics.models.importance import Draws, ValueRisks

MOST_VISITS = 30_000_000
"""Trees visited by combinations of cells, beyond which they are searched instead."""
MOST_PAIRS = 100_000_000
"""Rows times combinations."""


class Reached(NamedTuple):
    """How far rows can be brought.

    Attributes
    ----------
    distances : array of shape (n_samples,) or (n_samples, n_candidates)
        Distance of the nearest error, or of each candidate.
    losses : array of shape (n_samples, n_candidates) or None
        Losses of the candidates, column 0 the row itself; None for nearest errors.
    points : callable
        From rows and their candidates to points.
    """

    distances: FloatArray
    losses: FloatArray | None
    points: Callable[[IntArray, IntArray | None], FloatArray]


@dataclass
class ChoiceScan:
    """Scans the choices of each row, and keeps its nearest error, or the choices that are worth their distance.

    Attributes
    ----------
    sample : ForestSample
        The rows.
    grid : Grid
        Their forest.
    place : callable
        The points of choices.
    wrong : array of shape (n_samples,)
        The rows that are errors where they stand, for the 0/1 loss.
    kept : list
        Squared distances, losses and choices of each block of rows so far, each of shape (n_rows, n_kept).
    weights : array of shape (n_parts, n_samples) or None
        Weights of the rows in parts of them whose risks at each choice are of interest.
    fractions : array of shape (n_choices,) or None
        How often each choice is drawn.
    risks : array of shape (n_parts, n_choices) or float
        These risks, so far.
    expected : list of arrays
        The mean loss of each row over the draws, by block.
    """

    sample: ForestSample
    grid: Grid
    place: Place
    wrong: BoolArray
    kept: list[tuple[FloatArray, FloatArray, IntArray]] = field(default_factory=list)
    weights: FloatArray | None = None
    fractions: FloatArray | None = None
    risks: FloatArray | float = 0.0
    expected: list[FloatArray] = field(default_factory=list)

    @classmethod
    def of(cls, sample: ForestSample, grid: Grid, place: Place) -> ChoiceScan:
        """Begin, with the rows that are errors where they stand."""
        wrong = np.zeros(sample.n_samples, dtype=np.bool_)
        if sample.loss == "zero_one":
            wrong = sample.is_wrong(sample.codes, slice(None))
        return cls(sample, grid, place, wrong)

    def add(self, rows: slice, squared: FloatArray, outputs: FloatArray, stay: IntArray) -> None:
        """Scan the choices of the next block of rows.

        Parameters
        ----------
        rows : slice
            The rows.
        squared : array of shape (n_rows, n_choices)
            Squared distance of each choice; inf where a row cannot go.
        outputs : array of shape (n_rows, n_choices, n_outputs)
            Outputs there.
        stay : array of shape (n_rows,)
            The choice that is the row where it stands.
        """
        forest, y = self.grid.forest, self.sample.y[rows]
        if self.sample.loss == "zero_one":
            margins = forest.margins(outputs, y)
            losses = np.asarray(margins <= forest.tolerance, dtype=np.float64)
            squared[self.wrong[rows]] = np.inf
            squared[np.arange(len(stay)), stay] = np.inf  # known to be right there
            nearest, choice = self._nearest(rows, squared, margins, outputs)
            choice = np.where(np.isfinite(nearest), choice, stay)
            self.kept.append((nearest[:, None], np.ones((len(stay), 1)), choice[:, None]))
        else:
            losses = forest.losses(outputs, y, self.sample.loss)
            self.kept.append(worthwhile(squared, losses, stay))
        if self.weights is not None and self.fractions is not None:
            self.risks = self.risks + self.weights[:, rows] @ losses
            self.expected.append(losses @ self.fractions)

    def _nearest(
        self, rows: slice, squared: FloatArray, margins: FloatArray, outputs: FloatArray
    ) -> tuple[FloatArray, IntArray]:
        """Return the least squared distance to an error of each row, and the choice that leads there."""
        forest, sample = self.grid.forest, self.sample
        everyone = np.arange(len(squared))
        clear = np.where(margins < -forest.tolerance, squared, np.inf)
        # Of ties the model decides; only those nearer than any clear error matter.
        tied = (margins <= forest.tolerance) & (squared < clear.min(axis=1)[:, None])
        row, choice = np.nonzero(tied)
        if row.size:
            labels = sample.labels_at_ties(
                forest.adds_exactly,
                outputs[row, choice],
                lambda which: self.place(row[which] + rows.start, choice[which]),
            )
            fall = labels != sample.y[row + rows.start]
            clear[row[fall], choice[fall]] = squared[row[fall], choice[fall]]
        choice = clear.argmin(axis=1)
        return clear[everyone, choice], choice

    def result(self) -> Reached:
        """Return what was kept once all rows are added."""
        sample = self.sample
        width = max(squared.shape[1] for squared, _, _ in self.kept)
        squared = np.concatenate([_widened(part[0], width, np.inf) for part in self.kept])
        losses = np.concatenate([_widened(part[1], width, 0.0) for part in self.kept])
        choice = np.concatenate([_widened(part[2], width, 0) for part in self.kept])
        if sample.loss != "zero_one":

            def points(rows: IntArray, candidates: IntArray | None) -> FloatArray:
                return self.place(rows, choice[rows, candidates])

            return Reached(np.sqrt(squared), losses, points)
        moved = np.flatnonzero(np.isfinite(squared[:, 0]))
        distances = np.where(self.wrong, 0.0, np.inf)
        places = self.place(moved, choice[moved, 0])
        distances[moved] = sample.domain.distances(places, sample.codes[moved])
        return Reached(distances, None, lambda rows, _: self.place(rows, choice[rows, 0]))


def confirmed(sample: ForestSample, found: Sequence[Reached]) -> Sequence[Reached]:
    """Return what was found once the model has predicted all nearest errors; some of the questions at a time.

    Raises
    ------
    NotTheModel
        If one of them is none for the model.
    """
    if sample.loss != "zero_one":
        return found
    moved = [np.flatnonzero(np.isfinite(part.distances) & (part.distances > 0.0)) for part in found]
    n_at_once = max(1, _ASKED // max(1, max(map(len, moved))))
    for first in range(0, len(found), n_at_once):
        part = slice(first, first + n_at_once)
        rows = np.concatenate(moved[part])
        points = [
            one.points(which, None) for one, which in zip(found[part], moved[part], strict=True)
        ]
        if not sample.is_wrong(np.concatenate(points), rows).all():
            raise NotTheModel
    return found


def _widened(part: Array, width: int, fill: float) -> Array:
    return np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=fill)


def worthwhile(
    squared: FloatArray, losses: FloatArray, stay: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Keep of each row the choices that raise its loss above all nearer ones; the row itself comes first.

    Parameters
    ----------
    squared, losses : array of shape (n_rows, n_choices)
        Squared distance and loss of each choice; inf where a row cannot go.
    stay : array of shape (n_rows,)
        The choice that is the row where it stands.

    Returns
    -------
    squared, losses, choice : array of shape (n_rows, n_kept)
        Sorted by distance; padded with inf, 0 and the row itself.
    """
    n_rows = len(squared)
    key = squared.copy()
    key[np.arange(n_rows), stay] = -1.0
    # By distance, and among equals by loss, the highest first.
    order = np.lexsort((-losses, key), axis=1)
    near = np.take_along_axis(squared, order, axis=1)
    high = np.take_along_axis(losses, order, axis=1)
    high = np.where(np.isfinite(near), high, -np.inf)
    before = np.maximum.accumulate(high, axis=1)
    keep = np.ones(high.shape, dtype=np.bool_)
    keep[:, 1:] = high[:, 1:] > before[:, :-1]
    place = np.cumsum(keep, axis=1) - 1
    width = int(place[:, -1].max(initial=0)) + 1
    row, column = np.nonzero(keep)
    kept = place[row, column]
    kept_squared = np.full((n_rows, width), np.inf)
    kept_losses = np.zeros((n_rows, width))
    choice = np.repeat(stay[:, None], width, axis=1)
    kept_squared[row, kept] = near[row, column]
    kept_losses[row, kept] = high[row, column]
    choice[row, kept] = order[row, column]
    return kept_squared, kept_losses, choice


def of_tree(sample: ForestSample, grid: Grid) -> Reached:
    """Scan a forest of one tree: each leaf box is a choice, and its nearest point is known."""
    start = sample.codes
    leaves = np.flatnonzero(grid.forest.feature < 0)
    number = np.full(len(grid.forest.feature), -1)
    number[leaves] = np.arange(len(leaves))
    outputs = grid.forest.total(leaves[:, None])

    def place(rows: IntArray, choice: IntArray) -> FloatArray:
        return grid.points(start[rows], grid.nearest_in_box(start[rows], leaves[choice]))

    scan = ChoiceScan.of(sample, grid, place)
    row_bytes = 64 * (outputs.size + len(grid.axis_of_cell))
    for rows in grid.row_blocks(sample.n_samples, row_bytes):
        standing = Standing.of(grid, start[rows])
        n_rows = len(standing.cells)
        row, leaf, apart = standing.leaves_within(np.full(n_rows, np.inf))
        squared = np.full((n_rows, len(leaves)), np.inf)
        squared[row, number[leaf]] = apart
        stay = number[grid.leaves(standing.cells)[:, 0]]
        scan.add(rows, squared, np.broadcast_to(outputs, (n_rows, *outputs.shape)), stay)
    return confirmed(sample, [scan.result()])[0]


def along_axes(
    sample: ForestSample,
    grid: Grid,
    axes: Sequence[int],
    draws: Draws | None = None,
    costs: FloatArray | float = 1.0,
) -> Iterator[tuple[int, Reached, ValueRisks | None]]:
    """Scan all cells of each axis, when rows may move along it alone.

    Parameters
    ----------
    sample : ForestSample
        The rows.
    grid : Grid
        Their forest.
    axes : sequence of int
        Positions of axes.
    draws : Draws, optional
        Whose values are drawn, for the risks at all values.
    costs : array of shape (n_samples,) or float, default 1
        What an error on each row costs, in these risks.

    Yields
    ------
    (axis, Reached, ValueRisks or None)
        How far rows can be brought along each axis, and the risks when all rows are in the same cell of it.
    """
    if not axes:
        return
    start, cells = sample.codes, grid.cells(sample.codes)

    def place_on(axis: int) -> Place:
        def place(rows: IntArray, cell: IntArray) -> FloatArray:
            points = start[rows].copy()
            grid.axes[axis].put(points, start[rows], cell)
            return points

        return place

    first = ChoiceScan.of(sample, grid, place_on(axes[0]))
    scans = {axis: ChoiceScan(sample, grid, place_on(axis), first.wrong) for axis in axes}
    drawn = None if draws is None else grid.cells(draws.codes)
    for axis, scan in scans.items():
        missing = np.isnan(start[:, grid.axes[axis].columns]).any()
        if draws is not None and drawn is not None and not missing:
            scan.weights = draws.weights * costs
            fractions = np.bincount(drawn[:, axis], draws.fractions, grid.n_cells[axis])
            scan.fractions = fractions.astype(np.float64)
    row_bytes = 400 * grid.forest.n_trees + 32 * grid.forest.n_outputs * int(grid.n_cells.max())
    for rows in grid.row_blocks(sample.n_samples, row_bytes):
        outputs_on = grid.along(cells[rows], np.array(list(axes), dtype=np.int64))
        for axis, outputs in zip(axes, outputs_on, strict=True):
            scans[axis].add(rows, grid.axes[axis].costs(start[rows]), outputs, cells[rows, axis])
    reached = confirmed(sample, [scan.result() for scan in scans.values()])
    for (axis, scan), found in zip(scans.items(), reached, strict=True):
        value_risks = None
        if drawn is not None and scan.fractions is not None:
            expected = np.concatenate(scan.expected) * costs
            risks = np.asarray(scan.risks)
            value_risks = ValueRisks(scan.fractions, risks, expected, drawn[:, axis])
        yield axis, found, value_risks


def by_enumeration(sample: ForestSample, grid: Grid) -> Reached | None:
    """Scan all combinations of cells of the axes that move; None where there are too many."""
    axes, start, forest = grid.active, sample.codes, grid.forest
    n_cells = grid.n_cells[axes]
    n_choices = int(np.prod(n_cells.astype(np.float64)))
    if n_choices * forest.n_trees > MOST_VISITS or n_choices * sample.n_samples > MOST_PAIRS:
        return None
    standing = grid.cells(start)
    # Rows that stand alike on the axes that stay have the same outputs at all combinations.
    fixed = np.setdiff1d(np.unique(forest.feature[forest.feature >= 0]), axes)
    kinds, kind = np.unique(standing[:, fixed], axis=0, return_inverse=True)
    if len(kinds) * n_choices * forest.n_trees > MOST_VISITS:
        return None
    choices = np.stack(np.unravel_index(np.arange(n_choices), n_cells), axis=1)
    outputs = np.empty((len(kinds), n_choices, forest.n_outputs))
    for number, held in enumerate(kinds):
        cells = np.zeros((n_choices, len(grid.axes)), dtype=np.int64)
        cells[:, fixed] = held
        cells[:, axes] = choices
        outputs[number] = grid.outputs(cells)

    def place(rows: IntArray, choice: IntArray) -> FloatArray:
        cells = standing[rows].copy()
        cells[:, axes] = choices[choice]
        return grid.points(start[rows], cells)

    scan = ChoiceScan.of(sample, grid, place)
    stay = np.ravel_multi_index(tuple(standing[:, axes].T), tuple(n_cells))
    row_bytes = 16 * n_choices * (1 + forest.n_outputs)
    for rows in row_blocks(sample.n_samples, row_bytes, block_bytes=BLOCK_BYTES // 4):
        squared = np.zeros((rows.stop - rows.start, n_choices))
        for position, axis in enumerate(axes):
            squared += grid.axes[axis].costs(start[rows])[:, choices[:, position]]
        scan.add(rows, squared, outputs[kind.ravel()[rows]], stay[rows])
    return confirmed(sample, [scan.result()])[0]
