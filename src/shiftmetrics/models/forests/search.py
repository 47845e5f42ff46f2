"""Search for sums of trees whose rows move along several axes, one axis at a time, over all cells of all axes.

The losses at the points are those of the model, so the stability is an upper bound. A row is the vector of its
cells; within them it stands as near to its start as they allow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics.models.climb import Columns
from shiftmetrics.models.forests.answers import losses_of
from shiftmetrics.models.forests.bounds import certified_distances, lower_loss
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import CandidateLoss, Loss, ZeroOneLoss

_MOST_STEPS = 24
_FIRST_MOVES = 2  # best first moves, each on another axis, from which a search goes on, at _QUERIES
_QUERIES = 500
_RATES = (0.5, 1.0, 2.0)
"""Prices of moving, relative to the margin over the shortest way found, at which first moves are chosen."""
_MOST_OTHERS = 2000  # rows of other classes among which the nearest is sought
_PRICES = (0.1, 1.0, 10.0, 100.0)
"""Dual prices to begin with, relative to the price of a move over the mean loss."""
_GAIN = 1e-9
_ROUNDING = 1e-9  # relative; of distances that are one


@dataclass(frozen=True)
class Moves:
    """The moves of rows along one axis, and the rows as they stand.

    Attributes
    ----------
    heights : array of shape (n_rows, n_cells_of_all_axes)
        Height after each move.
    squared : array of shape (n_rows, n_cells_of_all_axes)
        Squared distance from the start after each move; inf where a row cannot go.
    height : array of shape (n_rows, 1)
        Height before it.
    spent : array of shape (n_rows, 1)
        Squared distance before it.
    """

    heights: FloatArray
    squared: FloatArray
    height: FloatArray
    spent: FloatArray


@dataclass(frozen=True)
class Block:
    """A block of rows with the cost of each cell of each axis that moves.

    Attributes
    ----------
    grid : Grid
        The forest on its axes.
    y : array of shape (n_rows,)
        Labels or values of the rows.
    start : array of shape (n_rows, n_axes)
        Cells in which they start.
    costs : array of shape (n_rows, n_cells_of_all_axes)
        Squared distance to each cell of each active axis.
    height_of : callable
        From outputs of shape (n_rows, ..., n_outputs) and labels to what a search raises.
    limit : array of shape (n_rows,) or float
        Largest squared distance of a move.
    """

    grid: Grid
    y: Array
    start: IntArray
    costs: FloatArray
    height_of: Callable[[FloatArray, Array], FloatArray]
    limit: FloatArray | float = np.inf

    @classmethod
    def of(
        cls, grid: Grid, start: FloatArray, y: Array, height_of: Callable[[FloatArray, Array], FloatArray]
    ) -> Self:
        """Compute the costs of all cells."""
        costs = np.concatenate([grid.axes[axis].costs(start) for axis in grid.active], axis=1)
        return cls(grid, y, grid.cells(start), costs, height_of)

    @property
    def first(self) -> IntArray:
        """Position of the first cell of each active axis among those of all."""
        n_cells = self.grid.n_cells[self.grid.active]
        return np.cumsum(n_cells) - n_cells

    @property
    def axis_of(self) -> IntArray:
        """Position among the active axes of each cell."""
        return np.repeat(np.arange(len(self.grid.active)), self.grid.n_cells[self.grid.active])

    def take(self, rows: IntArray, limit: FloatArray | float = np.inf) -> Block:
        """Return some of the rows, with limits of theirs."""
        start, costs = self.start[rows], self.costs[rows]
        return replace(self, y=self.y[rows], start=start, costs=costs, limit=limit)

    def spent(self, cells: IntArray) -> FloatArray:
        """Return the squared distance on each active axis, of shape (n_rows, n_active)."""
        return np.take_along_axis(self.costs, self.first + cells[:, self.grid.active], axis=1)

    def moves(self, cells: IntArray) -> Moves:
        """Return all moves along one axis from these cells."""
        active, spent = self.grid.active, self.spent(cells)
        total = spent.sum(axis=1, keepdims=True)
        squared = np.repeat(total - spent, self.grid.n_cells[active], axis=1) + self.costs
        heights = self.height_of(np.concatenate(list(self.grid.along(cells, active)), axis=1), self.y)
        height = np.take_along_axis(heights, cells[:, active[:1]], axis=1)
        squared[squared > np.reshape(self.limit, (-1, 1))] = np.inf
        return Moves(heights, squared, height, total)

    def put(self, cells: IntArray, rows: IntArray, place: IntArray) -> None:
        """Move rows, in place, to a position among the cells of all active axes."""
        axis = self.axis_of[place]
        cells[rows, self.grid.active[axis]] = place - self.first[axis]


Score: TypeAlias = Callable[[Moves], FloatArray]
"""How good each move is, of shape (n_rows, n_cells_of_all_axes): the best of a row is taken if it is above 0."""


def climb(block: Block, cells: IntArray, score: Score, *, to_error: bool = False) -> IntArray:
    """Take the best move of each row along one axis again and again, until none is better.

    Parameters
    ----------
    block : Block
        The rows.
    cells : array of shape (n_rows, n_axes)
        Where they begin.
    score : callable
        Which moves are good.
    to_error : bool
        Whether a row stops once its height is positive.
    """
    cells, going = cells.copy(), np.arange(len(cells))
    limit = np.broadcast_to(block.limit, len(cells))
    for _ in range(_MOST_STEPS):
        if not going.size:
            break
        moves = block.take(going, limit[going]).moves(cells[going])
        scores = np.where(np.isfinite(moves.squared), score(moves), -np.inf)
        if to_error:
            scores = np.where(moves.height > 0.0, -np.inf, scores)
        best = scores.argmax(axis=1)
        better = scores[np.arange(len(best)), best] > 0.0
        going = going[better]
        block.put(cells, going, best[better])
    return cells


def _first_moves(block: Block, score: Score, count: int) -> list[IntArray]:
    """Return the cells of each row after its best move, after the best one on another axis, and so on."""
    moves = block.moves(block.start)
    changes = np.abs(moves.heights - moves.height) > block.grid.forest.tolerance
    scores = np.where(np.isfinite(moves.squared) & changes, score(moves), -np.inf)
    everyone, starts = np.arange(len(scores)), []
    for _ in range(count):
        best = scores.argmax(axis=1)
        able = np.flatnonzero(scores[everyone, best] > -np.inf)
        start = block.start.copy()
        block.put(start, able, best[able])
        scores[block.axis_of == block.axis_of[best][:, None]] = -np.inf
        starts.append(start)
    return starts


def _nearest_error(moves: Moves) -> FloatArray:
    """Prefer the nearest error."""
    return np.where(moves.heights > 0.0, 1.0 / (1.0 + moves.squared), -np.inf)


def _shortest_error(moves: Moves) -> FloatArray:
    """Prefer the error that saves most."""
    return np.where(moves.heights > 0.0, moves.spent - moves.squared, -np.inf)


def _steepest(moves: Moves) -> FloatArray:
    """Prefer what gains most height, up to an error, for its cost."""
    price = moves.squared - moves.spent
    gain = np.minimum(moves.heights, 0.0) - moves.height
    return np.where(price > 0.0, gain / np.where(price > 0.0, price, 1.0), -np.inf)


def _worth(price: FloatArray | float) -> Score:
    """Prefer what gains most height, less its cost at a price."""
    return lambda moves: (
        moves.heights - moves.height - price * (moves.squared - moves.spent) - _GAIN * 1e-3 * (1.0 + price)
    )


def shortest_errors(block: Block, starts: list[IntArray], n_first: int) -> tuple[FloatArray, IntArray]:
    """Return the squared distance of the nearest error found for each row (inf: none), and its cells.

    Parameters
    ----------
    block : Block
        The rows; their height is positive at errors.
    starts : list of array of shape (n_rows, n_axes)
        Cells to begin with, errors or not; the nearest single moves and the steepest way are always tried.
    n_first : int
        How many first moves to go on from, at each price.
    """
    grid, everyone = block.grid, np.arange(len(block.start))
    best, where = np.full(len(everyone), np.inf), block.start.copy()

    def keep(rows: IntArray, cells: IntArray) -> None:
        errors = np.flatnonzero(block.height_of(grid.outputs(cells), block.y[rows]) > 0.0)
        part, rows = block.take(rows[errors]), rows[errors]
        cells = climb(part, cells[errors], _shortest_error)
        squared = part.spent(cells).sum(axis=1)
        nearer = squared < best[rows]
        best[rows[nearer]], where[rows[nearer]] = squared[nearer], cells[nearer]

    for start in starts:
        keep(everyone, start)
    for score in (_nearest_error, _steepest):
        keep(everyone, climb(block.take(everyone, best), block.start, score, to_error=True))
    margin = np.maximum(-block.height_of(grid.outputs(block.start), block.y), 0.0)
    tried = [block.start]
    for rate in _RATES:  # in pairs: a move that pays for itself at some price, then the nearest second one
        price = rate * margin / np.where(np.isfinite(best) & (best > 0.0), best, 1.0)
        for start in _first_moves(block, _worth(price[:, None]), n_first):
            rows = np.flatnonzero(np.all([(start != other).any(axis=1) for other in tried], axis=0))
            tried.append(start)
            keep(rows, climb(block.take(rows, best[rows]), start[rows], _nearest_error, to_error=True))
    rows = np.flatnonzero(np.isfinite(best))  # without the dearest move, the others may do better
    part, cells = block.take(rows, best[rows]), where[rows].copy()
    dearest = part.spent(cells).argmax(axis=1)
    axis = grid.active[dearest]
    cells[np.arange(len(rows)), axis] = part.start[np.arange(len(rows)), axis]
    closed = (block.axis_of == dearest[:, None]) & (part.costs > 0.0)
    part = replace(part, costs=np.where(closed, np.inf, part.costs))
    keep(rows, climb(part, cells, _steepest, to_error=True))
    return best, where


def answer_by_search(question: Question, grid: Grid) -> Answer:
    """Answer for all moves of a sum of trees: an upper bound by search, with a certified lower one where cheap."""
    if question.loss == "zero_one":
        return _first_errors(question, grid)
    return _first_candidates(question, grid)


def _first_errors(question: Question, grid: Grid) -> Answer:
    """Search errors, certify that none is nearer, and take those that this finds; exact where the two meet."""
    distances, cells = _nearest_errors(question, grid)
    lower = lower_loss(question, grid)

    def points(rows: IntArray, _distances: FloatArray, _choices: IntArray | None) -> FloatArray:
        return grid.points(question.codes[rows], cells[rows])

    if lower is None:
        return Answer(ZeroOneLoss(distances, kind="upper_bound"), points)
    start, losses = question.codes, np.asarray(lower.losses)
    known = np.where(losses > 0.0, np.asarray(lower.distances), np.inf).min(axis=1)
    squared, nearest = certified_distances(
        grid, start, question.y, known**2, distances**2, question.n_queries
    )
    rows = np.fromiter(nearest, dtype=np.int64)
    if rows.size:
        there = np.stack([*nearest.values()])
        places = grid.points(start[rows], there)
        apart = question.domain.distances(places, start[rows])
        nearer = np.flatnonzero(question.is_wrong(places, rows) & (apart < distances[rows]))
        distances[rows[nearer]], cells[rows[nearer]] = apart[nearer], there[nearer]
    least = np.sqrt(squared)
    if (distances <= least * (1.0 + _ROUNDING)).all():
        return Answer(ZeroOneLoss(distances), points)
    lower = CandidateLoss(
        losses, np.where(losses > 0.0, np.maximum(lower.distances, least[:, None]), lower.distances),
        kind="lower_bound",
    )  # fmt: skip
    return Answer(ZeroOneLoss(distances, kind="upper_bound"), points, lower=lower)


def _nearest_errors(question: Question, grid: Grid) -> tuple[FloatArray, IntArray]:
    """Search the nearest error of each row, from single moves, greedy ways and the nearest row of another class."""
    start = question.codes
    wrong = question.is_wrong(start, slice(None))
    distances, cells = np.where(wrong, 0.0, np.inf), grid.cells(start)
    pool = question.codes
    if question.background is not None:
        pool = np.concatenate([pool, question.background])
    if len(pool) > _MOST_OTHERS:
        pool = pool[np.linspace(0, len(pool) - 1, _MOST_OTHERS).astype(int)]
    labels = question.predict(pool)
    right = np.flatnonzero(~wrong)
    with _bar(question, "nearest errors", len(right)) as bar:
        for rows in (right[block] for block in _row_blocks(grid, len(right))):
            bar.update(len(rows))
            # first as if all ties fell; where the model disagrees, as if none did
            for ties_fall in (True, False):
                height_of = functools.partial(_error_height, grid.forest, ties_fall)
                block = Block.of(grid, start[rows], question.y[rows], height_of)
                apart = question.domain.squared_gaps(start[rows], pool)
                apart[labels[None, :] == question.y[rows][:, None]] = np.inf
                near = grid.cells(question.domain.clip(pool[apart.argmin(axis=1)], start[rows]))
                legal = np.isfinite(block.spent(near)).all(axis=1) & np.isfinite(apart.min(axis=1))
                squared, nearest = shortest_errors(
                    block, [np.where(legal[:, None], near, block.start)], _n_first(question, grid)
                )
                reached = np.flatnonzero(np.isfinite(squared))
                points = grid.points(start[rows[reached]], nearest[reached])
                confirmed = question.is_wrong(points, rows[reached])
                where = rows[reached[confirmed]]
                cells[where] = nearest[reached[confirmed]]
                distances[where] = question.domain.distances(points[confirmed], start[where])
                rows = rows[reached[~confirmed]]
                if not rows.size:
                    break
    return distances, cells


def _n_first(question: Question, grid: Grid) -> int:
    """Return from how many first moves a search goes on: the more, the more queries are allowed."""
    wanted = max(_FIRST_MOVES, question.n_queries * _FIRST_MOVES // _QUERIES)
    return min(wanted, len(grid.active))


def _error_height(forest: Forest, ties_fall: bool, outputs: FloatArray, labels: IntArray) -> FloatArray:
    """Return by how much another class leads; a tie with one that comes before counts if ``ties_fall``."""
    head_start = 2.0 * forest.tolerance if ties_fall else 0.0
    return -forest.margins(outputs, labels, head_start=head_start) - forest.tolerance


def _row_blocks(grid: Grid, n_rows: int) -> list[slice]:
    """Cut rows into blocks for `Block`."""
    cells = int(grid.n_cells[grid.active].sum())
    return grid.row_blocks(n_rows, 64 * (1 + grid.forest.n_outputs) * cells)


def _first_candidates(question: Question, grid: Grid) -> Answer:
    """Climb at a few dual prices, each from where the last one led, so that the first solution has a choice."""
    here = grid.cells(question.codes)
    base = losses_of(grid.forest, grid.outputs(here), question.y, question.loss)
    search = _Search(question, grid, lower_loss(question, grid), Columns.of(question, base))
    for price in _PRICES:
        here = _climbed(question, grid, here, price * question.theta1 / max(float(base.mean()), 1e-3))
        search.columns = search.columns.appended(*search.at(here))
    return search.answer()


def _climbed(question: Question, grid: Grid, cells: IntArray | int, dual: float) -> IntArray:
    """Climb at a dual price, from cells or from one of the best first moves of each row."""
    score, climbed = _worth(question.theta1 / dual), []
    height_of = functools.partial(losses_of, grid.forest, loss=question.loss)
    with _bar(question, "higher losses", question.n_samples) as bar:
        for rows in _row_blocks(grid, question.n_samples):
            block = Block.of(grid, question.codes[rows], question.y[rows], height_of)
            start = _first_moves(block, score, cells)[-1] if isinstance(cells, int) else cells[rows]
            climbed.append(climb(block, start, score))
            bar.update(rows.stop - rows.start)
    return np.concatenate(climbed)


@dataclass
class _Search:
    """The points found so far, and the way to more."""

    question: Question
    grid: Grid
    lower: Loss | None
    columns: Columns

    def at(self, cells: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the points of cells, with their losses and distances."""
        question, grid = self.question, self.grid
        points = grid.points(question.codes, cells)
        losses = losses_of(grid.forest, grid.outputs(cells), question.y, question.loss)
        return points, losses, question.domain.distances(points, question.codes)

    def answer(self) -> Answer:
        """Return the answer with these points."""
        return self.columns.answer(self._refine, lower=self.lower)

    def _refine(self, dual: float) -> Answer | None:
        """Climb at this price, from the best points, from the rows themselves and from other first moves."""
        if not 0.0 < dual < np.inf:
            return None
        question, grid = self.question, self.grid
        points, value = self.columns.best(dual, question.theta1)
        better = False
        for start in (
            grid.cells(points),
            grid.cells(question.codes),
            *range(2, 2 + _n_first(question, grid)),
        ):
            points, losses, distances = self.at(_climbed(question, grid, start, dual))
            worth = dual * losses - question.theta1 * distances * distances
            if (worth > value + _GAIN * (1.0 + np.abs(value))).any():
                self.columns, better = self.columns.appended(points, losses, distances), True
                value = np.maximum(value, worth)
        return self.answer() if better else None


def _bar(question: Question, what: str, total: int) -> Any:
    """Return a progress bar for work of more than two seconds."""
    from tqdm.auto import tqdm

    return tqdm(
        total=total, desc=what, unit=" rows", delay=2.0, leave=False, disable=not question.progress or None
    )
