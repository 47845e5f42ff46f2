"""Nearest errors of sums of trees whose rows change along several axes: found by climbing, certified where cheap."""

from __future__ import annotations

import functools

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.options import progress_bar
from shiftmetrics.models.forests.bounds import Budget, certified_distances, least_distances
from shiftmetrics.models.forests.climbing import climb, shortest_error, shortest_errors
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.neighbourhood import Neighbourhood
from shiftmetrics.models.forests.standing import Standing
from shiftmetrics.models.reading.model import ModelProblem

_WITHIN = (16.0, 64.0)  # squared distances of the search, relative to the bound
_USUAL = 16.0  # the same, relative to the median of the bounds
_SHORTENED = 4.0  # squared distances of errors that are shortened, relative to those that matter
_QUERIES = 500
_NEAR = 0.25  # fraction of the rows, the nearest to an error, that get a sharper bound: these move first
_MOST_OTHERS = 2000  # rows of other classes among which the nearest is sought
_AT_ONCE = 256  # rows of a block, and of a batch whose price is not known
_AT_A_PRICE = 64  # rows of a batch at a price: with their errors it is lower
ROUNDING = 1e-9
"""Relative difference of distances that are one."""
_MOST_PARTS = 20  # of all rows
_ONE_PRICE = 1e-6  # relative difference of squared distances of one price: its solver's rounding
_PART_OF_CELLS = 8  # of all cells; where many are tied, the nearest 200 are nearly all of them


# No error is nearer than the best leaves of all trees together allow. That bound is the scale of the search: it
# climbs among the leaves within about three times that distance, and farther only where it finds no error there. At a
# known price of a unit of risk no error matters that is too far to be worth its way: it is not sought.
class ErrorSearch:
    """The nearest errors of rows, and bounds of their distances from below.

    Parameters
    ----------
    problem : ModelProblem
        The rows, and how much work to spend on sharper bounds (``n_queries``).
    grid : Grid
        Their forest.

    Attributes
    ----------
    distances : array of shape (n_samples,)
        Distance of the nearest error found; 0 for errors, inf where none was found.
    cells : array of shape (n_samples, n_axes)
        Where it stands.
    least : array of shape (n_samples,)
        Distances below which no row has an error.
    reach, certified : array of shape (n_samples,)
        Squared distances within which errors were sought, and sharper bounds.
    """

    def __init__(self, problem: ModelProblem, grid: Grid) -> None:
        self.problem = problem
        self.grid = grid
        self.wrong = problem.is_wrong(problem.codes, slice(None))
        right = np.flatnonzero(~self.wrong)
        effort = problem.search.n_queries / _QUERIES
        fraction = min(_NEAR * effort, 1.0)
        self.n_sought = int(np.ceil(fraction * len(right)))
        self.budget = Budget.of(effort, self.n_sought)
        self.distances = np.where(self.wrong, 0.0, np.inf)
        self.cells = grid.cells(problem.codes)
        self.least = self.distances.copy()
        self.scale = np.zeros(len(self.least))
        for block in self._blocks(right):
            standing = Standing.of(grid, problem.codes[block])
            n_wanted = min(2 * grid.forest.n_trees, len(grid.axis_of_cell) // _PART_OF_CELLS)
            squared, scanned = least_distances(standing, problem.y[block], n_wanted=n_wanted)
            self.least[block] = np.sqrt(squared)
            # A bound of 0 says nothing of the scale: a tenth of the distance that was scanned stands for it.
            self.scale[block] = np.where(squared > 0.0, squared, 0.1 * scanned)
        self.reach = np.zeros(len(self.least))
        self.certified = np.zeros(len(self.least))
        able = right[np.isfinite(self.least[right])]
        self.usual = 0.0
        if able.size:
            median = np.median(self.scale[able])
            self.usual = float(np.sqrt(_USUAL * median))
        self._start_from_other_rows(able)

    def rows_left(self, farthest: float) -> IntArray:
        """Return the rows that may have a nearer error within a distance, the nearest by their bounds first."""
        wanted = np.minimum(_WITHIN[-1] * self.scale, farthest * farthest)
        known = self.distances <= self.least * (1.0 + ROUNDING)
        open_rows = (self.least < farthest) & (self.reach * (1.0 + _ONE_PRICE) < wanted) & ~known
        open_rows &= self.distances * self.distances > self.reach
        rows = np.flatnonzero(open_rows)
        nearest_first = np.argsort(self.least[rows], kind="stable")
        return rows[nearest_first]

    def search(self, farthest: float) -> bool:
        """Search a batch of rows within a distance, the nearest first; return False where none is left.

        ``farthest`` is a bound that no row whose error is worth its way exceeds. Until it is short, the rows are
        searched within a usual distance first, which makes it shorter.
        """
        at_once = _AT_ONCE if np.isinf(farthest) else _AT_A_PRICE
        for within in (min(farthest, self.usual), farthest):
            most = max(at_once, len(self.least) // _MOST_PARTS)
            rows = self.rows_left(within)[:most]
            if rows.size:
                break
        else:
            return False
        with progress_bar(
            self.problem.search.progress, "nearest errors", len(rows), unit=" rows"
        ) as bar:
            for block in self._blocks(rows):
                self._climb(block, within * within)
                bar.update(len(block))
        farthest_sought = _WITHIN[-1] * self.scale[rows]
        self.reach[rows] = np.minimum(farthest_sought, within * within)
        self._shorten(rows, within)
        return True

    def certify(self, farthest: float) -> bool:
        """Sharpen the bounds of rows that may have an error within a distance; return False where none is left.

        These are the nearest to an error, of those that were searched, and not more of all than the budget has.
        """
        wanted = np.minimum(self.distances, farthest) ** 2
        known = self.distances <= self.least * (1.0 + ROUNDING)
        open_rows = (self.reach > 0.0) & (self.least < farthest) & ~known
        open_rows &= self.certified < wanted
        rows = np.flatnonzero(open_rows)
        nearest_first = np.argsort(self.least[rows], kind="stable")
        sought = rows[nearest_first[: self.n_sought]]
        self.n_sought -= len(sought)
        with progress_bar(
            self.problem.search.progress, "certified distances", len(sought), unit=" rows"
        ) as bar:
            for block in self._blocks(sought):
                self._certify(block, farthest)
                bar.update(len(block))
        self.certified[sought] = wanted[sought]
        return bool(sought.size)

    def _blocks(self, rows: IntArray) -> list[IntArray]:
        """Cut rows into blocks for `Standing` and `Neighbourhood`."""
        row_bytes = 40 * len(self.grid.axis_of_cell)
        blocks = self.grid.row_blocks(len(rows), row_bytes)
        size = 1
        if blocks:
            size = min(_AT_ONCE, blocks[0].stop)
        return [rows[k : k + size] for k in range(0, len(rows), size)]

    def _climb(self, rows: IntArray, farthest: float) -> None:
        """Search errors of a block of rows: first as if all ties fell; where the model disagrees, as if none did."""
        forest = self.grid.forest
        y = self.problem.y[rows]
        standing = Standing.of(self.grid, self.problem.codes[rows])
        scale = self.scale[rows]
        # Nothing is sought beyond an error that is known.
        most = np.minimum(self.distances[rows] ** 2, farthest)
        found = np.zeros(len(rows), dtype=np.bool_)
        for ties_fall in (True, False):
            height_of = functools.partial(_error_height, forest, ties_fall)
            refuted = np.zeros(len(rows), dtype=np.bool_)
            pending = np.flatnonzero(~found)
            for factor in _WITHIN:
                if not pending.size:
                    break
                limit = np.minimum(factor * scale[pending], most[pending])
                part = standing.take(pending)
                block = Neighbourhood.of(part, y[pending], height_of, limit)
                squared, there = shortest_errors(block)
                hit = np.isfinite(squared)
                wrong = self._keep(rows[pending[hit]], there[hit])
                found[pending[hit]] = wrong
                refuted[pending[hit]] = ~wrong
                # Those without a hit go on, unless this was as far as wanted.
                farther = factor * scale[pending] < most[pending]
                pending = pending[~hit & farther]
            if not refuted.any():
                break
            found = ~refuted

    def _keep(self, rows: IntArray, there: IntArray) -> BoolArray:
        """Keep cells of rows that are nearer errors for the model, too; return which are errors."""
        if not rows.size:  # models do not predict tables without rows
            return np.zeros(0, dtype=np.bool_)
        start = self.problem.codes[rows]
        points = self.grid.points(start, there)
        wrong = self.problem.is_wrong(points, rows)
        apart = self.problem.domain.distances(points, start)
        nearer = np.flatnonzero(wrong & (apart < self.distances[rows]))
        self.distances[rows[nearer]] = apart[nearer]
        self.cells[rows[nearer]] = there[nearer]
        return wrong

    def _start_from_other_rows(self, able: IntArray) -> None:
        """Begin with the nearest row that is predicted otherwise: far away, but an error."""
        problem = self.problem
        pool = problem.codes
        if len(pool) > _MOST_OTHERS:
            chosen = np.linspace(0, len(pool) - 1, _MOST_OTHERS).astype(int)
            pool = pool[chosen]
        labels = problem.predict(pool)
        for rows in self._blocks(able):
            start = problem.codes[rows]
            apart = problem.domain.squared_gaps(start, pool)
            same = labels == problem.y[rows][:, None]
            apart[same] = np.inf
            nearest = pool[apart.argmin(axis=1)]
            near = problem.domain.clip(nearest, start)
            some = np.isfinite(apart.min(axis=1))
            cells = self.grid.cells(near[some])
            self._keep(rows[some], cells)
        # An error that is known spares all leaves beyond it: those of other rows are brought nearer.
        self.taken_back = self.cells.copy()
        most = max(_AT_ONCE, len(self.least) // _MOST_PARTS)
        nearest_first = np.argsort(self.least[able], kind="stable")
        first = able[nearest_first[:most]]
        for rows in self._blocks(first[np.isfinite(self.distances[first])]):
            self._take_back(rows)

    def _take_back(self, rows: IntArray) -> None:
        """Put the cells of errors back to where their rows stand, axis by axis, the most expensive first."""
        forest = self.grid.forest
        y = self.problem.y[rows]
        standing = Standing.of(self.grid, self.problem.codes[rows])
        there = self.cells[rows].copy()
        everyone = np.arange(len(rows))
        costs = standing.costs_at(everyone[:, None], np.arange(there.shape[1]), there)
        costliest_first = np.argsort(-costs, axis=1)
        for axis in costliest_first.T:
            tried = there.copy()
            tried[everyone, axis] = standing.cells[everyone, axis]
            margins = forest.margins(self.grid.outputs(tried), y)
            wrong = margins < -forest.tolerance
            there[wrong] = tried[wrong]
        self._keep(rows, there)
        self.taken_back[rows] = there

    def _shorten(self, rows: IntArray, within: float) -> None:
        """Shorten errors that came from other rows by single moves, where they are not too far."""
        squared = self.distances[rows] ** 2
        there = self.cells[rows]
        from_others = (there == self.taken_back[rows]).all(axis=1)
        farthest = np.minimum(_WITHIN[-1] * self.scale[rows], _SHORTENED * within * within)
        near = np.flatnonzero(from_others & (squared <= farthest))
        rows = rows[near]
        if not rows.size:
            return
        height_of = functools.partial(_error_height, self.grid.forest, False)
        standing = Standing.of(self.grid, self.problem.codes[rows])
        block = Neighbourhood.of(standing, self.problem.y[rows], height_of, squared[near])
        shortened = climb(block, there[near], shortest_error)
        self._keep(rows, shortened)

    def _certify(self, rows: IntArray, farthest: float) -> None:
        """Sharpen the bounds of a block of rows, and keep errors that this finds."""
        standing = Standing.of(self.grid, self.problem.codes[rows])
        squared, nearest = certified_distances(
            standing,
            self.problem.y[rows],
            self.least[rows] ** 2,
            np.minimum(self.distances[rows], farthest) ** 2,
            self.budget,
        )
        sharper = np.sqrt(squared)
        self.least[rows] = np.maximum(self.least[rows], sharper)
        if nearest:
            found = rows[list(nearest)]
            cells = np.stack(list(nearest.values()))
            self._keep(found, cells)


def _error_height(
    forest: Forest,
    ties_fall: bool,
    outputs: FloatArray,
    labels: IntArray,
) -> FloatArray:
    """Return by how much another class leads; a tie with one that comes before counts if ``ties_fall``."""
    head_start = 0.0
    if ties_fall:
        head_start = 2.0 * forest.tolerance
    margins = forest.margins(outputs, labels, head_start=head_start)
    return -margins - forest.tolerance
