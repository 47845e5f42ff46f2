"""Search for sums of trees whose rows move along several axes, one axis at a time, over all cells of all axes.

Every point that is found is really reached by the model, so distances are upper bounds. A row is the vector of its
cells; within them it stands as near to its start as they allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray
from shiftmetrics.models.forests.answers import losses_of
from shiftmetrics.models.forests.bounds import lower_loss
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import CandidateLoss, Loss, ZeroOneLoss

_MOST_STEPS = 24
_FIRST_MOVES = 2  # best first moves, each on another axis, from which a search goes on
_RATES = (0.5, 1.0, 2.0)
"""Prices of moving, relative to the margin over the shortest way found, at which first moves are chosen."""
_MOST_OTHERS = 2000  # rows of other classes among which the nearest is sought
_PRICES = (0.1, 1.0, 10.0, 100.0)
"""Dual prices to begin with, relative to the price of a move over the mean loss."""
_GAIN = 1e-9


@dataclass(frozen=True)
class Moves:
    """The moves of rows along one axis, and the rows as they stand.

    Attributes
    ----------
    outputs : array of shape (n_rows, n_cells_of_all_axes, n_outputs)
        Outputs after each move.
    squared : array of shape (n_rows, n_cells_of_all_axes)
        Squared distance from the start after each move; inf where a row cannot go.
    present : array of shape (n_rows, n_outputs)
        Outputs before it.
    spent : array of shape (n_rows,)
        Squared distance before it.
    """

    outputs: FloatArray
    squared: FloatArray
    present: FloatArray
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
    own : array of shape (n_rows, n_axes)
        Cells in which they start.
    costs : array of shape (n_rows, n_cells_of_all_axes)
        Squared distance to each cell of each active axis.
    ties_fall : bool
        Whether a tie with a class that comes before counts as an error.
    """

    grid: Grid
    y: Array
    own: IntArray
    costs: FloatArray
    ties_fall: bool = True

    @classmethod
    def of(cls, grid: Grid, start: FloatArray, y: Array, *, ties_fall: bool = True) -> Self:
        """Compute the costs of all cells."""
        costs = np.concatenate([grid.axes[axis].costs(start) for axis in grid.active], axis=1)
        return cls(grid, y, grid.cells(start), costs, ties_fall)

    @property
    def first(self) -> IntArray:
        """Position of the first cell of each active axis among those of all."""
        n_cells = self.grid.n_cells[self.grid.active]
        return np.cumsum(n_cells) - n_cells

    @property
    def axis_of(self) -> IntArray:
        """Position among the active axes of each cell."""
        return np.repeat(np.arange(len(self.grid.active)), self.grid.n_cells[self.grid.active])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.own)

    def take(self, rows: IntArray) -> Block:
        """Return some of the rows."""
        return replace(self, y=self.y[rows], own=self.own[rows], costs=self.costs[rows])

    def spent(self, cells: IntArray) -> FloatArray:
        """Return the squared distance on each active axis, of shape (n_rows, n_active)."""
        places = self.first + cells[:, self.grid.active]
        return np.take_along_axis(self.costs, places, axis=1)

    def moves(self, cells: IntArray) -> Moves:
        """Return all moves along one axis from these cells."""
        active, spent = self.grid.active, self.spent(cells)
        total = spent.sum(axis=1)
        rest = np.repeat(total[:, None] - spent, self.grid.n_cells[active], axis=1)
        outputs = self.grid.along(cells, active)
        here = outputs[0][np.arange(self.n_rows), cells[:, active[0]]]
        return Moves(np.concatenate(outputs, axis=1), rest + self.costs, here, total)

    def margins(self, outputs: FloatArray) -> FloatArray:
        """Return by how much the class of each row leads; negative for errors."""
        forest = self.grid.forest
        head_start = 2.0 * forest.tolerance if self.ties_fall else 0.0
        return forest.margins(outputs, self.y, head_start=head_start) + forest.tolerance


Score: TypeAlias = Callable[[Block, Moves], FloatArray]
"""How good each move is, of shape (n_rows, n_cells_of_all_axes): the best of a row is taken if it is above 0."""


def climb(
    block: Block,
    cells: IntArray,
    score: Score,
    *,
    to_error: bool = False,
    limit: FloatArray | None = None,
    first: Moves | None = None,
) -> IntArray:
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
        Whether a row stops once it is an error.
    limit : array of shape (n_rows,), optional
        Squared distances that no row may exceed.
    first : Moves, optional
        The moves from ``cells``, where they are known.
    """
    cells, going = cells.copy(), np.arange(len(cells))
    for step in range(_MOST_STEPS):
        if not going.size:
            break
        part = block.take(going)
        moves = first if first is not None and step == 0 else part.moves(cells[going])
        scores = _allowed(score(part, moves), moves, None if limit is None else limit[going])
        if to_error:
            scores[part.margins(moves.present) < 0.0] = -np.inf
        best = scores.argmax(axis=1)
        better = scores[np.arange(len(best)), best] > 0.0
        going = going[better]
        _put(block, cells, going, best[better])
    return cells


def _allowed(scores: FloatArray, moves: Moves, limit: FloatArray | None) -> FloatArray:
    able = np.isfinite(moves.squared)
    if limit is not None:
        able &= moves.squared <= limit[:, None]
    return np.where(able, scores, -np.inf)


def _put(block: Block, cells: IntArray, rows: IntArray, place: IntArray) -> None:
    """Move rows to a place among the cells of all active axes."""
    number = np.searchsorted(block.first, place, side="right") - 1
    cells[rows, block.grid.active[number]] = place - block.first[number]


def _first_moves(block: Block, score: Score, count: int, moves: Moves) -> list[IntArray]:
    """Return the cells of each row after its best move, after the best one on another axis, and so on."""
    change = np.abs(moves.outputs - moves.present[:, None]).max(axis=2)
    scores = _allowed(score(block, moves), moves, None)
    scores[change <= block.grid.forest.tolerance] = -np.inf
    everyone, starts = np.arange(block.n_rows), []
    for _ in range(count):
        best = scores.argmax(axis=1)
        able = np.flatnonzero(scores[everyone, best] > -np.inf)
        start = block.own.copy()
        _put(block, start, able, best[able])
        scores[block.axis_of == block.axis_of[best][:, None]] = -np.inf
        starts.append(start)
    return starts


def _cheapest_error(block: Block, moves: Moves) -> FloatArray:
    """Prefer the nearest error."""
    return np.where(block.margins(moves.outputs) < 0.0, 1.0 / (1.0 + moves.squared), -np.inf)


def _shorter(block: Block, moves: Moves) -> FloatArray:
    """Prefer what saves most and leaves the row an error."""
    return np.where(block.margins(moves.outputs) < 0.0, moves.spent[:, None] - moves.squared, -np.inf)


def _toward_error(block: Block, moves: Moves) -> FloatArray:
    """Prefer what takes most of the margin for its cost."""
    after = np.maximum(block.margins(moves.outputs), -block.grid.forest.tolerance)
    gain = block.margins(moves.present)[:, None] - after
    price = moves.squared - moves.spent[:, None]
    return np.where(price > 0.0, gain / np.where(price > 0.0, price, 1.0), -np.inf)


def _trade(price: FloatArray) -> Score:
    """Prefer what takes most of the margin, less its cost at a price for each row."""

    def score(block: Block, moves: Moves) -> FloatArray:
        gain = block.margins(moves.present)[:, None] - block.margins(moves.outputs)
        return gain - price[:, None] * (moves.squared - moves.spent[:, None])

    return score


def _higher_loss(question: Question, dual: float) -> Score:
    """Prefer what gains most: the loss at its price ``dual``, less the squared distance at its own."""

    def score(block: Block, moves: Moves) -> FloatArray:
        forest, loss = block.grid.forest, question.loss
        gain = losses_of(forest, moves.outputs, block.y, loss)
        gain -= losses_of(forest, moves.present, block.y, loss)[:, None]
        price = question.theta1 * (moves.squared - moves.spent[:, None])
        return dual * gain - price - 1e-12 * (1.0 + dual)

    return score


def shortest_errors(block: Block, starts: list[IntArray]) -> tuple[FloatArray, IntArray]:
    """Return the squared distance of the nearest error found for each row (inf: none), and its cells.

    Parameters
    ----------
    block : Block
        The rows.
    starts : list of array of shape (n_rows, n_axes)
        Cells to begin with, errors or not; the nearest single moves and the steepest way are always tried.
    """
    best, where = np.full(block.n_rows, np.inf), block.own.copy()

    def keep(rows: IntArray, cells: IntArray) -> None:
        part = block.take(rows)
        errors = np.flatnonzero(part.margins(block.grid.outputs(cells)) < 0.0)
        rows, part = rows[errors], part.take(errors)
        cells = climb(part, cells[errors], _shorter)
        squared = part.spent(cells).sum(axis=1)
        nearer = squared < best[rows]
        best[rows[nearer]], where[rows[nearer]] = squared[nearer], cells[nearer]

    everyone = np.arange(block.n_rows)
    for start in starts:
        keep(everyone, start)
    moves = block.moves(block.own)
    for score in (_cheapest_error, _toward_error):
        keep(everyone, climb(block, block.own, score, to_error=True, limit=best, first=moves))
    margin = np.maximum(block.margins(moves.present), 0.0)
    tried = [block.own]
    for rate in _RATES:  # in pairs: a move that pays for itself at some price, then the cheapest second one
        price = rate * margin / np.where(np.isfinite(best) & (best > 0.0), best, 1.0)
        for start in _first_moves(block, _trade(price), _FIRST_MOVES, moves):
            rows = np.flatnonzero(np.all([(start != other).any(axis=1) for other in tried], axis=0))
            tried.append(start)
            keep(rows, climb(block.take(rows), start[rows], _cheapest_error, to_error=True, limit=best[rows]))
    rows = np.flatnonzero(np.isfinite(best))  # without the dearest move, the others may do better
    part, cells = block.take(rows), where[rows].copy()
    dearest = part.spent(cells).argmax(axis=1)
    axis = block.grid.active[dearest]
    cells[np.arange(len(rows)), axis] = part.own[np.arange(len(rows)), axis]
    closed = (block.axis_of == dearest[:, None]) & (part.costs > 0.0)
    part = replace(part, costs=np.where(closed, np.inf, part.costs))
    keep(rows, climb(part, cells, _toward_error, to_error=True, limit=best[rows]))
    return best, where


def answer_by_search(question: Question, grid: Grid) -> Answer:
    """Answer for all moves of a sum of trees: an upper bound by search, with a certified lower one where cheap."""
    if question.loss == "zero_one":
        distances, cells = _nearest_errors(question, grid)
        return Answer(
            loss=ZeroOneLoss(distances, kind="upper_bound"),
            points=lambda rows, _, __: grid.points(question.codes[rows], cells[rows]),
            lower=lower_loss(question, grid, distances),
        )
    return _first_candidates(question, grid)


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
                block = Block.of(grid, start[rows], question.y[rows], ties_fall=ties_fall)
                apart = question.domain.squared_gaps(start[rows], pool)
                apart[labels[None, :] == question.y[rows][:, None]] = np.inf
                near = grid.cells(question.domain.clip(pool[apart.argmin(axis=1)], start[rows]))
                legal = np.isfinite(block.spent(near)).all(axis=1) & np.isfinite(apart.min(axis=1))
                squared, found = shortest_errors(block, [np.where(legal[:, None], near, block.own)])
                reached = np.flatnonzero(np.isfinite(squared))
                points = grid.points(start[rows[reached]], found[reached])
                confirmed = question.is_wrong(points, rows[reached])
                where = rows[reached[confirmed]]
                cells[where] = found[reached[confirmed]]
                distances[where] = question.domain.distances(points[confirmed], start[where])
                rows = rows[reached[~confirmed]]
                if not rows.size:
                    break
    return distances, cells


def _row_blocks(grid: Grid, n_rows: int) -> list[slice]:
    """Cut rows into blocks for `Block`."""
    cells = int(grid.n_cells[grid.active].sum())
    return grid.row_blocks(n_rows, 32 * (1 + grid.forest.n_outputs) * cells)


def _first_candidates(question: Question, grid: Grid) -> Answer:
    """Climb at a few dual prices, each from where the last one led, so that the first solution has a choice."""
    own = grid.cells(question.codes)
    base = losses_of(grid.forest, grid.outputs(own), question.y, question.loss)
    loss = CandidateLoss(base[:, None], np.zeros((len(base), 1)))
    found = _Found(question, grid, [own], loss, lower_loss(question, grid))
    here = own
    for price in _PRICES:
        here = _climbed(question, grid, here, price * question.theta1 / max(float(base.mean()), 1e-3))
        found = found.with_cells(here)
    return found.answer()


def _climbed(question: Question, grid: Grid, cells: IntArray | int, dual: float) -> IntArray:
    """Climb at a dual price, from cells or from one of the best first moves of each row."""
    score = _higher_loss(question, dual)
    climbed = []
    with _bar(question, "higher losses", question.n_samples) as bar:
        for rows in _row_blocks(grid, question.n_samples):
            block = Block.of(grid, question.codes[rows], question.y[rows])
            if isinstance(cells, int):
                start = _first_moves(block, score, cells, block.moves(block.own))[-1]
            else:
                start = cells[rows]
            climbed.append(climb(block, start, score))
            bar.update(rows.stop - rows.start)
    return np.concatenate(climbed)


@dataclass(frozen=True)
class _Found:
    """Candidates of each row so far, by their cells."""

    question: Question
    grid: Grid
    cells: list[IntArray]
    loss: CandidateLoss
    lower: Loss | None

    def with_cells(self, cells: IntArray) -> _Found:
        """Append a candidate for each row."""
        return replace(self, cells=[*self.cells, cells], loss=self.loss.appended(*self._at(cells)))

    def _at(self, cells: IntArray) -> tuple[FloatArray, FloatArray]:
        question, grid = self.question, self.grid
        points = grid.points(question.codes, cells)
        losses = losses_of(grid.forest, grid.outputs(cells), question.y, question.loss)
        return losses, question.domain.distances(points, question.codes)

    def answer(self) -> Answer:
        """Return the answer with the candidates so far."""
        return Answer(loss=self.loss, points=self._points, lower=self.lower, refine=self._refine)

    def _points(self, rows: IntArray, _: FloatArray, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        cells = np.stack([column[rows] for column in self.cells])[choices, np.arange(len(rows))]
        return self.grid.points(self.question.codes[rows], cells)

    def _refine(self, dual: float) -> Answer | None:
        """Climb at this price, from the best candidates, from the rows themselves and from other first moves."""
        if not 0.0 < dual < np.inf:
            return None
        question, theta1 = self.question, self.question.theta1
        best = self.loss.transform(dual, theta1, slice(0, question.n_samples))
        assert best.choice is not None
        held = np.stack(self.cells)[best.choice, np.arange(question.n_samples)]
        found, value, better = self, best.value, False
        for start in (held, self.cells[0], *range(2, 2 + _FIRST_MOVES)):
            cells = _climbed(question, self.grid, start, dual)
            losses, distances = self._at(cells)
            worth = dual * losses - theta1 * distances * distances
            if (worth > value + _GAIN * (1.0 + np.abs(value))).any():
                found, better = found.with_cells(cells), True
                value = np.maximum(value, worth)
        return found.answer() if better else None


def _bar(question: Question, what: str, total: int) -> Any:
    """Return a progress bar for work of more than two seconds."""
    from tqdm.auto import tqdm

    return tqdm(total=total, desc=what, unit=" rows", delay=2.0, leave=False, disable=not question.progress)
