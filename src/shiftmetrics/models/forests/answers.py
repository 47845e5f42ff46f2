"""Exact answers: every choice of a row is tried, be it a leaf box, a cell of one axis, or a combination of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.grid import BLOCK_BYTES, Grid
from shiftmetrics.models.importance import Draws, ValueRisks
from shiftmetrics.models.model import LossName, ModelProblem
from shiftmetrics.models.worst_case import WorstCase
from shiftmetrics.stability.losses import CandidateLoss, ZeroOneLoss

MOST_VISITS = 30_000_000
"""Trees visited by combinations of cells, beyond which they are searched instead."""
MOST_PAIRS = 100_000_000
"""Rows times combinations."""

Place = Callable[[IntArray, IntArray], FloatArray]
"""From rows and their choices to the points where they then stand."""


class NotTheModel(Exception):  # noqa: N818 - no error of the caller: another route answers
    """The forest and the model disagree beyond rounding."""


def losses_of(forest: Forest, outputs: FloatArray, y: Array, loss: LossName) -> FloatArray:
    """Return losses at outputs of shape (n_rows, ..., n_outputs) for the labels, or values, of the rows.

    The 0/1 loss is 1 wherever the outputs are not clearly right: there the model decides.
    """
    shape = (len(y),) + (1,) * (outputs.ndim - 2)
    if loss == "squared":
        residuals = forest.predictions(outputs) - y.reshape(shape)
        return np.asarray(residuals * residuals)
    if loss == "log_loss":
        probabilities = forest.probabilities(outputs)
        probability = np.take_along_axis(probabilities, y.reshape(*shape, 1), axis=-1)[..., 0]
        return np.maximum(-np.log(np.maximum(probability, forest.clip)), 0.0)
    margins = forest.margins(outputs, y)
    if loss == "hinge":
        return np.maximum(1.0 - margins, 0.0)
    return np.asarray(margins <= forest.tolerance, dtype=np.float64)


@dataclass
class Choices:
    """The choices of each row that matter: its nearest error, or the moves that are worth their distance.

    Attributes
    ----------
    problem : ModelProblem
        The model, the rows and the loss.
    forest : Forest
        The trees.
    place : callable
        The points of choices.
    wrong : array of shape (n_samples,)
        The rows that are errors where they stand, for the 0/1 loss.
    parts : list
        Squared distances, losses and choices of each block of rows so far, each of shape (n_rows, n_kept).
    weights : array of shape (n_parts, n_samples) or None
        Weights of the rows in parts of them whose risks at each choice are of interest.
    risks : array of shape (n_parts, n_choices) or float
        These risks, so far.
    fractions : array of shape (n_choices,) or None
        How often each choice is drawn.
    expected : list of arrays
        The mean loss of each row over the draws, by block.
    """

    problem: ModelProblem
    forest: Forest
    place: Place
    wrong: BoolArray
    parts: list[tuple[FloatArray, FloatArray, IntArray]] = field(default_factory=list)
    weights: FloatArray | None = None
    risks: FloatArray | float = 0.0
    fractions: FloatArray | None = None
    expected: list[FloatArray] = field(default_factory=list)

    def add(self, rows: slice, squared: FloatArray, outputs: FloatArray, stay: IntArray) -> None:
        """Look at the choices of the next block of rows.

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
        y = self.problem.y[rows]
        if self.problem.loss == "zero_one":
            margins = self.forest.margins(outputs, y)
            losses = np.asarray(margins <= self.forest.tolerance, dtype=np.float64)
            squared[self.wrong[rows]] = np.inf
            squared[np.arange(len(stay)), stay] = np.inf  # known to be right there
            nearest, choice = self._nearest(rows, squared, margins)
            choice = np.where(np.isfinite(nearest), choice, stay)
            self.parts.append((nearest[:, None], np.ones((len(stay), 1)), choice[:, None]))
        else:
            losses = losses_of(self.forest, outputs, y, self.problem.loss)
            self.parts.append(worthwhile(squared, losses, stay))
        if self.weights is not None:
            self.risks = self.risks + self.weights[:, rows] @ losses
            self.expected.append(losses @ self.fractions)

    def _nearest(
        self, rows: slice, squared: FloatArray, margins: FloatArray
    ) -> tuple[FloatArray, IntArray]:
        """Return the least squared distance to an error of each row, and the choice that leads there."""
        tolerance = self.forest.tolerance
        squared = np.where(margins <= tolerance, squared, np.inf)
        everyone = np.arange(len(squared))
        choice = squared.argmin(axis=1)
        pending = np.flatnonzero(np.isfinite(squared[everyone, choice]))
        while pending.size:
            where = pending + rows.start
            refuted = pending[~self.problem.is_wrong(self.place(where, choice[pending]), where)]
            if (margins[refuted, choice[refuted]] < -tolerance).any():
                raise NotTheModel
            squared[refuted, choice[refuted]] = np.inf
            choice[refuted] = squared[refuted].argmin(axis=1)
            pending = refuted[np.isfinite(squared[refuted, choice[refuted]])]
        return squared[everyone, choice], choice

    def answer(self) -> WorstCase:
        """Return the exact answer once all rows are added."""
        problem, start = self.problem, self.problem.codes
        width = max(squared.shape[1] for squared, _, _ in self.parts)
        squared, losses, kept = (
            np.concatenate([_widened(part[k], width, fill) for part in self.parts])
            for k, fill in enumerate((np.inf, 0.0, 0))
        )
        if problem.loss != "zero_one":
            return WorstCase(
                loss=CandidateLoss(losses, np.sqrt(squared), kind="exact"),
                points=lambda rows, _, choices: self.place(rows, kept[rows, choices]),
            )
        moved = np.flatnonzero(np.isfinite(squared[:, 0]))
        distances = np.where(self.wrong, 0.0, np.inf)
        distances[moved] = problem.domain.distances(self.place(moved, kept[moved, 0]), start[moved])
        return WorstCase(
            loss=ZeroOneLoss(distances), points=lambda rows, _, __: self.place(rows, kept[rows, 0])
        )


def _widened(part: Array, width: int, fill: float) -> Array:
    return np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=fill)


def _errors(problem: ModelProblem) -> BoolArray:
    """Return the rows that are errors where they stand, for the 0/1 loss; none for other losses."""
    if problem.loss != "zero_one":
        return np.zeros(problem.n_samples, dtype=bool)
    return problem.is_wrong(problem.codes, slice(None))


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
    n_rows, everyone = len(squared), np.arange(len(squared))
    key = squared.copy()
    key[everyone, stay] = -1.0
    # By distance, and among equals by loss, the highest first.
    order = np.lexsort((-losses, key), axis=1)
    near, high = (
        np.take_along_axis(squared, order, axis=1),
        np.take_along_axis(losses, order, axis=1),
    )
    high = np.where(np.isfinite(near), high, -np.inf)
    before = np.maximum.accumulate(high, axis=1)
    keep = np.ones(high.shape, dtype=bool)
    keep[:, 1:] = high[:, 1:] > before[:, :-1]
    place = np.cumsum(keep, axis=1) - 1
    width = int(place[:, -1].max(initial=0)) + 1
    row, column = np.nonzero(keep)
    kept = place[row, column]
    kept_squared, kept_losses = np.full((n_rows, width), np.inf), np.zeros((n_rows, width))
    choice = np.repeat(stay[:, None], width, axis=1)
    kept_squared[row, kept], kept_losses[row, kept] = near[row, column], high[row, column]
    choice[row, kept] = order[row, column]
    return kept_squared, kept_losses, choice


def answer_of_tree(problem: ModelProblem, grid: Grid) -> WorstCase:
    """Answer for a forest of one tree: each leaf box is a choice, and its nearest point is known."""
    start, cells = problem.codes, grid.cells(problem.codes)
    outputs = grid.forest.total(grid.boxes.leaf[:, None])
    choices = Choices(
        problem,
        grid.forest,
        lambda rows, box: grid.nearest_in_box(start[rows], box),
        _errors(problem),
    )
    for rows in grid.row_blocks(problem.n_samples, 32 * outputs.size):
        stay = (grid.violations(cells[rows]) == 0).argmax(axis=0)
        everywhere = np.broadcast_to(outputs, (len(stay), *outputs.shape))
        choices.add(rows, grid.squared_distances(start[rows]), everywhere, stay)
    return choices.answer()


def answers_along_axes(
    problem: ModelProblem,
    grid: Grid,
    axes: Sequence[int],
    draws: Draws | None = None,
    costs: FloatArray | float = 1.0,
) -> Iterator[tuple[int, WorstCase]]:
    """Yield the exact answer for each axis, when rows may move along it alone.

    Parameters
    ----------
    problem : ModelProblem
        The model, the rows and the loss.
    grid : Grid
        Its forest.
    axes : sequence of int
        Positions of axes.
    draws : Draws, optional
        Whose values are drawn, for the risks at all values.
    costs : array of shape (n_samples,) or float, default 1
        What an error on each row costs, in these risks.
    """
    if not axes:
        return
    start, cells = problem.codes, grid.cells(problem.codes)

    def place_on(axis: int) -> Place:
        def place(rows: IntArray, cell: IntArray) -> FloatArray:
            points = start[rows].copy()
            grid.axes[axis].put(points, start[rows], cell)
            return points

        return place

    wrong = _errors(problem)
    choices = {axis: Choices(problem, grid.forest, place_on(axis), wrong) for axis in axes}
    drawn = None if draws is None else grid.cells(draws.codes)
    for axis in axes:
        missing = np.isnan(start[:, grid.axes[axis].columns]).any()
        if draws is not None and drawn is not None and not missing:
            choices[axis].weights = draws.weights * costs
            n_cells = grid.axes[axis].n_cells
            fractions = np.bincount(drawn[:, axis], draws.fractions, n_cells)
            choices[axis].fractions = fractions.astype(np.float64)
    positions = np.array(list(axes), dtype=int)
    row_bytes = 400 * grid.forest.n_trees + 32 * grid.forest.n_outputs * int(grid.n_cells.max())
    for rows in grid.row_blocks(problem.n_samples, row_bytes):
        for axis, outputs in zip(axes, grid.along(cells[rows], positions), strict=True):
            choices[axis].add(rows, grid.axes[axis].costs(start[rows]), outputs, cells[rows, axis])
    for axis in axes:
        value_risks = None
        tried = choices[axis]
        if (
            drawn is not None
            and isinstance(tried.risks, np.ndarray)
            and tried.fractions is not None
        ):
            expected = np.concatenate(tried.expected) * costs
            value_risks = ValueRisks(tried.fractions, tried.risks, expected, drawn[:, axis])
        yield axis, replace(choices[axis].answer(), value_risks=value_risks)


def answer_by_enumeration(problem: ModelProblem, grid: Grid) -> WorstCase | None:
    """Answer by trying all combinations of cells of the axes that move; None where there are too many."""
    axes, start, forest = grid.active, problem.codes, grid.forest
    n_cells = grid.n_cells[axes]
    n_choices = int(np.prod(n_cells.astype(np.float64)))
    if n_choices * forest.n_trees > MOST_VISITS or n_choices * problem.n_samples > MOST_PAIRS:
        return None
    standing = grid.cells(start)
    bounding = [k for k, (bounded, *_) in enumerate(grid.sides) if bounded.size]
    fixed = np.setdiff1d(bounding, axes)
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

    tried = Choices(problem, forest, place, _errors(problem))
    stay = np.ravel_multi_index(tuple(standing[:, axes].T), tuple(n_cells))
    row_bytes = 16 * n_choices * (1 + forest.n_outputs)
    for rows in row_blocks(problem.n_samples, row_bytes, block_bytes=BLOCK_BYTES // 4):
        squared = np.zeros((rows.stop - rows.start, n_choices))
        for position, axis in enumerate(axes):
            squared += grid.axes[axis].costs(start[rows])[:, choices[:, position]]
        tried.add(rows, squared, outputs[kind.ravel()[rows]], stay[rows])
    return tried.answer()
