"""Exact worst cases: every choice of a row is tried: leaf boxes, cells of one axis, or combinations of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.forests.grid import BLOCK_BYTES, Grid
from shiftmetrics.models.forests.standing import Standing
from shiftmetrics.models.importance import Draws, ValueRisks
from shiftmetrics.models.model import ModelProblem
from shiftmetrics.models.worst_case import WorstCase
from shiftmetrics.stability.losses import CandidateLoss, ZeroOneLoss

MOST_VISITS = 30_000_000
"""Trees visited by combinations of cells, beyond which they are searched instead."""
MOST_PAIRS = 100_000_000
"""Rows times combinations."""
_ASKED = 100_000  # points of ties that the model predicts at once

Place = Callable[[IntArray, IntArray], FloatArray]
"""From rows and their choices to the points where they then stand."""


class NotTheModel(Exception):  # noqa: N818 - no error of the caller: another route answers
    """The forest and the model disagree beyond rounding."""


@dataclass
class ChoiceScan:
    """Scans the choices of each row, and keeps its nearest error, or the choices that are worth their distance.

    Attributes
    ----------
    problem : ModelProblem
        The rows.
    grid : Grid
        Their forest.
    place : callable
        The points of choices.
    wrong : array of shape (n_samples,)
        The rows that are errors where they stand, for the 0/1 loss.
    ties : dict
        What the model predicted where sums tie, by the sums; see `ChoiceScan.labels_at_ties`.
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

    problem: ModelProblem
    grid: Grid
    place: Place
    wrong: BoolArray
    ties: dict[bytes, int] = field(default_factory=dict)
    kept: list[tuple[FloatArray, FloatArray, IntArray]] = field(default_factory=list)
    weights: FloatArray | None = None
    fractions: FloatArray | None = None
    risks: FloatArray | float = 0.0
    expected: list[FloatArray] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        problem: ModelProblem,
        grid: Grid,
        place: Place,
    ) -> ChoiceScan:
        """Begin, with the rows that are errors where they stand."""
        wrong = np.zeros(problem.n_samples, dtype=np.bool_)
        if problem.loss == "zero_one":
            wrong = problem.is_wrong(problem.codes, slice(None))
        return cls(problem, grid, place, wrong)

    def add(
        self,
        rows: slice,
        squared: FloatArray,
        outputs: FloatArray,
        stay: IntArray,
    ) -> None:
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
        forest = self.grid.forest
        y = self.problem.y[rows]
        if self.problem.loss == "zero_one":
            margins = forest.margins(outputs, y)
            losses = np.asarray(margins <= forest.tolerance, dtype=np.float64)
            squared[self.wrong[rows]] = np.inf
            squared[np.arange(len(stay)), stay] = np.inf  # known to be right there
            nearest, choice = self._nearest(rows, squared, margins, outputs)
            choice = np.where(np.isfinite(nearest), choice, stay)
            ones = np.ones((len(stay), 1))
            self.kept.append((nearest[:, None], ones, choice[:, None]))
        else:
            losses = forest.losses(outputs, y, self.problem.loss)
            self.kept.append(worthwhile(squared, losses, stay))
        if self.weights is not None and self.fractions is not None:
            self.risks = self.risks + self.weights[:, rows] @ losses
            self.expected.append(losses @ self.fractions)

    def _nearest(
        self,
        rows: slice,
        squared: FloatArray,
        margins: FloatArray,
        outputs: FloatArray,
    ) -> tuple[FloatArray, IntArray]:
        """Return the least squared distance to an error of each row, and the choice that leads there."""
        tolerance = self.grid.forest.tolerance
        errors = np.where(margins < -tolerance, squared, np.inf)
        # Of ties the model decides; only those nearer than any clear error matter.
        nearer = squared < errors.min(axis=1)[:, None]
        row, choice = np.nonzero((margins <= tolerance) & nearer)
        if row.size:
            number = row + rows.start
            labels = self.labels_at_ties(
                outputs[row, choice],
                lambda which: self.place(number[which], choice[which]),
            )
            falls = labels != self.problem.y[number]
            row = row[falls]
            choice = choice[falls]
            errors[row, choice] = squared[row, choice]
        return errors.min(axis=1), errors.argmin(axis=1)

    # Two classes get 50 of 100 votes each at many points. Votes add up without rounding, so the model decides by the
    # sums alone: it is asked once for each different sum. Other sums round, so it is asked at each point.
    def labels_at_ties(
        self, outputs: FloatArray, place: Callable[[IntArray], FloatArray]
    ) -> IntArray:
        """Return what the model predicts where the outputs of the trees tie.

        Parameters
        ----------
        outputs : array of shape (n_ties, n_outputs)
            The outputs.
        place : callable
            From positions among the ties to their points.
        """
        predict = self.problem.predict
        if not self.grid.forest.adds_exactly:
            parts = [
                predict(place(np.arange(block.start, block.stop)))
                for block in row_blocks(len(outputs), 1, block_bytes=_ASKED)
            ]
            return np.concatenate(parts)
        _, first, which = np.unique(outputs, axis=0, return_index=True, return_inverse=True)
        sums = [outputs[k].tobytes() for k in first]
        new = [k for k, key in enumerate(sums) if key not in self.ties]
        if new:
            asked = predict(place(first[new]))
            for k, label in zip(new, asked.tolist(), strict=True):
                self.ties[sums[k]] = label
        labels = np.array([self.ties[key] for key in sums])
        return labels[which.ravel()]

    def result(self) -> WorstCase:
        """Return the worst case from what was kept, once all rows are added."""
        problem = self.problem
        squared = _stacked([part[0] for part in self.kept], np.inf)
        losses = _stacked([part[1] for part in self.kept], 0.0)
        chosen = _stacked([part[2] for part in self.kept], 0)

        def points(rows: IntArray, _: FloatArray, choices: IntArray | None) -> FloatArray:
            if problem.loss == "zero_one":
                choices = np.zeros(len(rows), dtype=np.int64)
            return self.place(rows, chosen[rows, choices])

        if problem.loss != "zero_one":
            candidates = CandidateLoss(losses, np.sqrt(squared), kind="exact")
            return WorstCase(candidates, points)
        # Distances of errors are those of their places, in the precision of these.
        moved = np.flatnonzero(np.isfinite(squared[:, 0]))
        distances = np.where(self.wrong, 0.0, np.inf)
        places = self.place(moved, chosen[moved, 0])
        distances[moved] = problem.domain.distances(places, problem.codes[moved])
        return WorstCase(ZeroOneLoss(distances), points)


def _stacked(parts: Sequence[Array], fill: float) -> Array:
    """Return blocks of rows below each other, as wide as the widest."""
    width = max(part.shape[1] for part in parts)
    padded = []
    for part in parts:
        more = width - part.shape[1]
        padded.append(np.pad(part, ((0, 0), (0, more)), constant_values=fill))
    return np.concatenate(padded)


def confirmed(problem: ModelProblem, found: Sequence[WorstCase]) -> Sequence[WorstCase]:
    """Return what was found once the model has predicted all nearest errors; several worst cases at a time.

    Raises
    ------
    NotTheModel
        If one of them is none for the model.
    """
    if problem.loss != "zero_one":
        return found
    n_at_once = max(1, _ASKED // problem.n_samples)
    for first in range(0, len(found), n_at_once):
        rows = []
        points = []
        for one in found[first : first + n_at_once]:
            assert isinstance(one.loss, ZeroOneLoss)
            distances = np.asarray(one.loss.distances)
            moved = np.flatnonzero(np.isfinite(distances) & (distances > 0.0))
            rows.append(moved)
            points.append(one.points(moved, distances[moved], None))
        asked = np.concatenate(rows)
        if not asked.size:
            continue
        wrong = problem.is_wrong(np.concatenate(points), asked)
        if not wrong.all():
            raise NotTheModel
    return found


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
    # A choice is kept if its loss is above all before it, and moves up to the place after the last one kept.
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
        row, leaf, apart = standing.leaves_within(np.full(n_rows, np.inf))
        squared = np.full((n_rows, len(leaves)), np.inf)
        squared[row, number[leaf]] = apart
        stay = number[grid.leaves(standing.cells)[:, 0]]
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
    """Scan all cells of each axis, when rows may move along it alone.

    Parameters
    ----------
    problem : ModelProblem
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

    # The scans of all axes share what the model said of the rows, and of ties.
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
    reached = confirmed(problem, [scan.result() for scan in scans.values()])
    for (axis, scan), found in zip(scans.items(), reached, strict=True):
        value_risks = None
        if drawn is not None and scan.fractions is not None:
            expected = np.concatenate(scan.expected) * costs
            risks = np.asarray(scan.risks)
            value_risks = ValueRisks(scan.fractions, risks, expected, drawn[:, axis])
        yield axis, replace(found, value_risks=value_risks)


def by_enumeration(problem: ModelProblem, grid: Grid) -> WorstCase | None:
    """Scan all combinations of cells of the axes that move; None where there are too many."""
    axes = grid.active
    start = problem.codes
    forest = grid.forest
    n_cells = grid.n_cells[axes]
    n_choices = int(np.prod(n_cells.astype(np.float64)))
    if n_choices * forest.n_trees > MOST_VISITS or n_choices * problem.n_samples > MOST_PAIRS:
        return None
    standing = grid.cells(start)
    # Rows that stand alike on the axes that stay have the same outputs at all combinations.
    used = np.unique(forest.feature[forest.feature >= 0])
    fixed = np.setdiff1d(used, axes)
    patterns, pattern = np.unique(standing[:, fixed], axis=0, return_inverse=True)
    if len(patterns) * n_choices * forest.n_trees > MOST_VISITS:
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
        squared = np.zeros((rows.stop - rows.start, n_choices))
        for position, axis in enumerate(axes):
            costs = grid.axes[axis].costs(start[rows])
            squared += costs[:, choices[:, position]]
        held = pattern.ravel()[rows]
        scan.add(rows, squared, outputs[held], stay[rows])
    return confirmed(problem, [scan.result()])[0]
