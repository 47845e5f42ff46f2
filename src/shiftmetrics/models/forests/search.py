"""Search for sums of trees whose rows move along several axes, over all cells of all axes.

The losses at the points are those of the model, so the stability is an upper bound.
"""

from __future__ import annotations

import functools

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import progress_bar
from shiftmetrics.models.forests.answers import losses_of
from shiftmetrics.models.forests.bounds import certified_distances, lower_loss
from shiftmetrics.models.forests.climbing import (
    CellBlock,
    climb,
    first_move,
    shortest_errors,
    worth,
)
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.model import ModelProblem
from shiftmetrics.models.worst_case import Ascent, BestPoints, WorstCase
from shiftmetrics.stability.losses import CandidateLoss, ZeroOneLoss

_FIRST_MOVES = 2  # best first moves, each on another axis, from which a search goes on, at _QUERIES
_QUERIES = 500
_MOST_OTHERS = 2000  # rows of other classes among which the nearest is sought
_PRICES = (0.1, 1.0, 10.0, 100.0)
"""Dual prices to begin with, relative to the price of a move over the mean loss."""
_ROUNDING = 1e-9  # relative; of distances that are one


def answer_by_search(problem: ModelProblem, grid: Grid) -> WorstCase:
    """Answer for all moves of a sum of trees: an upper bound by search, with a certified lower one where cheap."""
    if problem.loss == "zero_one":
        return _first_errors(problem, grid)
    return _first_candidates(problem, grid)


def _first_errors(problem: ModelProblem, grid: Grid) -> WorstCase:
    """Search errors, certify that none is nearer, and take those that this finds; exact where the two meet."""
    distances, cells = _nearest_errors(problem, grid)
    lower = lower_loss(problem, grid)

    def points(rows: IntArray, _distances: FloatArray, _choices: IntArray | None) -> FloatArray:
        return grid.points(problem.codes[rows], cells[rows])

    if lower is None:
        return WorstCase(ZeroOneLoss(distances, kind="upper_bound"), points)
    start, losses = problem.codes, np.asarray(lower.losses)
    known = np.where(losses > 0.0, np.asarray(lower.distances), np.inf).min(axis=1)
    squared, nearest = certified_distances(
        grid, start, problem.y, known**2, distances**2, problem.n_queries
    )
    rows = np.fromiter(nearest, dtype=np.int64)
    if rows.size:
        there = np.stack([*nearest.values()])
        places = grid.points(start[rows], there)
        apart = problem.domain.distances(places, start[rows])
        nearer = np.flatnonzero(problem.is_wrong(places, rows) & (apart < distances[rows]))
        distances[rows[nearer]], cells[rows[nearer]] = apart[nearer], there[nearer]
    least = np.sqrt(squared)
    if (distances <= least * (1.0 + _ROUNDING)).all():
        return WorstCase(ZeroOneLoss(distances), points)
    lower = CandidateLoss(
        losses, np.where(losses > 0.0, np.maximum(lower.distances, least[:, None]), lower.distances),
        kind="lower_bound",
    )  # fmt: skip
    return WorstCase(ZeroOneLoss(distances, kind="upper_bound"), points, lower=lower)


def _nearest_errors(problem: ModelProblem, grid: Grid) -> tuple[FloatArray, IntArray]:
    """Search the nearest error of each row, from single moves, greedy ways and the nearest row of another class."""
    start = problem.codes
    wrong = problem.is_wrong(start, slice(None))
    distances, cells = np.where(wrong, 0.0, np.inf), grid.cells(start)
    pool = problem.codes
    if len(pool) > _MOST_OTHERS:
        pool = pool[np.linspace(0, len(pool) - 1, _MOST_OTHERS).astype(int)]
    labels = problem.predict(pool)
    right = np.flatnonzero(~wrong)
    with progress_bar(problem.progress, "nearest errors", len(right), unit=" rows") as bar:
        for rows in (right[block] for block in _row_blocks(grid, len(right))):
            bar.update(len(rows))
            # first as if all ties fell; where the model disagrees, as if none did
            for ties_fall in (True, False):
                height_of = functools.partial(_error_height, grid.forest, ties_fall)
                block = CellBlock.of(grid, start[rows], problem.y[rows], height_of)
                apart = problem.domain.squared_gaps(start[rows], pool)
                apart[labels[None, :] == problem.y[rows][:, None]] = np.inf
                near = grid.cells(problem.domain.clip(pool[apart.argmin(axis=1)], start[rows]))
                legal = np.isfinite(block.spent(near)).all(axis=1) & np.isfinite(apart.min(axis=1))
                squared, nearest = shortest_errors(
                    block, np.where(legal[:, None], near, block.start)
                )
                reached = np.flatnonzero(np.isfinite(squared))
                points = grid.points(start[rows[reached]], nearest[reached])
                confirmed = problem.is_wrong(points, rows[reached])
                where = rows[reached[confirmed]]
                cells[where] = nearest[reached[confirmed]]
                distances[where] = problem.domain.distances(points[confirmed], start[where])
                rows = rows[reached[~confirmed]]
                if not rows.size:
                    break
    return distances, cells


def _n_first(problem: ModelProblem, grid: Grid) -> int:
    """Return from how many first moves a search goes on: the more, the more queries are allowed."""
    wanted = max(_FIRST_MOVES, problem.n_queries * _FIRST_MOVES // _QUERIES)
    return min(wanted, len(grid.active))


def _error_height(
    forest: Forest, ties_fall: bool, outputs: FloatArray, labels: IntArray
) -> FloatArray:
    """Return by how much another class leads; a tie with one that comes before counts if ``ties_fall``."""
    head_start = 2.0 * forest.tolerance if ties_fall else 0.0
    return -forest.margins(outputs, labels, head_start=head_start) - forest.tolerance


def _row_blocks(grid: Grid, n_rows: int) -> list[slice]:
    """Cut rows into blocks for `CellBlock`."""
    cells = int(grid.n_cells[grid.active].sum())
    return grid.row_blocks(n_rows, 64 * (1 + grid.forest.n_outputs) * cells)


def _first_candidates(problem: ModelProblem, grid: Grid) -> WorstCase:
    """Climb at a few dual prices, each from where the last one led, so that the first solution has a choice."""
    here = grid.cells(problem.codes)
    base = losses_of(grid.forest, grid.outputs(here), problem.y, problem.loss)
    search = _ForestAscent(problem, grid, base)
    for price in _PRICES:
        here = _climbed(problem, grid, here, price * problem.theta1 / max(float(base.mean()), 1e-3))
        search.add(*search.at(here))
    return search.worst_case()


def _climbed(problem: ModelProblem, grid: Grid, cells: IntArray | int, dual: float) -> IntArray:
    """Climb at a dual price, from cells or from one of the best first moves of each row."""
    score, climbed = worth(problem.theta1 / dual), []
    height_of = functools.partial(losses_of, grid.forest, loss=problem.loss)
    with progress_bar(problem.progress, "higher losses", problem.n_samples, unit=" rows") as bar:
        for rows in _row_blocks(grid, problem.n_samples):
            block = CellBlock.of(grid, problem.codes[rows], problem.y[rows], height_of)
            start = first_move(block, score, cells) if isinstance(cells, int) else cells[rows]
            climbed.append(climb(block, start, score))
            bar.update(rows.stop - rows.start)
    return np.concatenate(climbed)


class _ForestAscent(Ascent):
    """Ascent over the cells of a grid: from the best points, from the rows and from other first moves."""

    def __init__(self, problem: ModelProblem, grid: Grid, losses: FloatArray) -> None:
        super().__init__(problem, losses)
        self.grid = grid
        self.lower = lower_loss(problem, grid)

    def at(self, cells: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the points of cells, with their losses and distances."""
        problem, grid = self.problem, self.grid
        points = grid.points(problem.codes, cells)
        losses = losses_of(grid.forest, grid.outputs(cells), problem.y, problem.loss)
        return points, losses, problem.domain.distances(points, problem.codes)

    def price_at(self, dual: float) -> float | None:
        """Return the dual price; None where it is not known."""
        if 0.0 < dual < np.inf:
            return dual
        return None

    def climb(self, start: FloatArray, best: BestPoints, price: float) -> None:
        """Climb at this price from all starts."""
        problem, grid = self.problem, self.grid
        everyone = np.arange(problem.n_samples)
        for cells in (
            grid.cells(start),
            grid.cells(problem.codes),
            *range(2, 2 + _n_first(problem, grid)),
        ):
            points, losses, distances = self.at(_climbed(problem, grid, cells, price))
            values = price * losses - problem.theta1 * distances * distances
            best.keep(everyone, points, losses, values)
