"""Nearest errors of sums of trees whose rows move along several axes: found by climbing, certified where cheap."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import progress_bar
from shiftmetrics.models.forests.bounds import Budget, certified_distances, least_distances
from shiftmetrics.models.forests.exact import ForestSample
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.grid import Grid, Standing
from shiftmetrics.models.forests.neighbourhood import Neighbourhood, shortest_errors

_WITHIN = (10.0, 50.0)  # squared distances of the search, relative to the bound
_FARTHEST = 16.0  # the same, relative to the median of the bounds
_QUERIES = 500
_NEAR = 0.25  # fraction of the rows, the nearest to an error, that get a sharper bound: these move first
_MOST_OTHERS = 2000  # rows of other classes among which the nearest is sought
_MOST_ROWS = 512  # at once


class NearestErrors(NamedTuple):
    """Errors near rows.

    Attributes
    ----------
    distances : array of shape (n_samples,)
        Distance of the nearest error found; 0 for errors, inf where none was found.
    cells : array of shape (n_samples, n_axes)
        Where it stands.
    least : array of shape (n_samples,)
        Distances below which no row has an error.
    """

    distances: FloatArray
    cells: IntArray
    least: FloatArray


# No error is nearer than the sum of the best leaves of all trees allows. That bound is the scale of the search: it
# climbs among the leaves within twice that distance, and farther only where it finds no error there.
def nearest_errors(
    sample: ForestSample, grid: Grid, *, n_queries: int = 500, progress: bool = False
) -> NearestErrors:
    """Search the nearest error of each row, and bound its distance from below.

    Parameters
    ----------
    sample : ForestSample
        The rows.
    grid : Grid
        Their forest.
    n_queries : int
        How much work to spend on sharper bounds.
    progress : bool
        Whether to show a progress bar for work of more than two seconds.
    """
    start = sample.codes
    wrong = sample.is_wrong(start, slice(None))
    distances = np.where(wrong, 0.0, np.inf)
    least = distances.copy()
    cells = grid.cells(start)
    right = np.flatnonzero(~wrong)
    with progress_bar(progress, "nearest errors", len(right), unit=" rows") as bar:
        for block in _row_blocks(grid, len(right)):
            rows = right[block]
            standing = Standing.of(grid, start[rows])
            squared = _search(sample, standing, rows, distances, cells)
            least[rows] = np.sqrt(squared)
            bar.update(len(rows))
    _from_other_rows(
        sample,
        grid,
        right[np.isinf(distances[right]) & np.isfinite(least[right])],
        distances,
        cells,
    )
    effort = n_queries / _QUERIES
    n_sought = int(np.ceil(min(_NEAR * effort, 1.0) * len(right)))
    sought = right[np.argsort(distances[right], kind="stable")[:n_sought]]
    budget = Budget.of(effort, n_sought)
    for block in _row_blocks(grid, len(sought)):
        _certify(sample, grid, sought[block], distances, cells, least, budget)
    return NearestErrors(distances, cells, least)


def _row_blocks(grid: Grid, n_rows: int) -> list[slice]:
    """Cut rows into blocks for `Standing` and `Neighbourhood`."""
    blocks = grid.row_blocks(n_rows, 40 * len(grid.axis_of_cell))
    if blocks and blocks[0].stop > _MOST_ROWS:
        return [slice(k, min(k + _MOST_ROWS, n_rows)) for k in range(0, n_rows, _MOST_ROWS)]
    return blocks


def _error_height(
    forest: Forest, ties_fall: bool, outputs: FloatArray, labels: IntArray
) -> FloatArray:
    """Return by how much another class leads; a tie with one that comes before counts if ``ties_fall``."""
    head_start = 2.0 * forest.tolerance if ties_fall else 0.0
    return -forest.margins(outputs, labels, head_start=head_start) - forest.tolerance


def _search(
    sample: ForestSample, standing: Standing, rows: IntArray, distances: FloatArray, cells: IntArray
) -> FloatArray:
    """Search errors of a block of rows, put them in ``distances`` and ``cells``, and return the squared bounds."""
    forest = standing.grid.forest
    y = sample.y[rows]
    finite = np.where(np.isfinite(standing.costs), standing.costs, 0.0)
    most = np.maximum.reduceat(finite, standing.grid.first, axis=1).sum(axis=1)
    least, scanned = least_distances(standing, y, most, n_wanted=forest.n_trees // 2)
    scale = np.where(least > 0.0, least, 0.1 * scanned)
    able = np.flatnonzero(np.isfinite(least))
    farthest = np.minimum(most, _FARTHEST * np.median(scale[able])) if able.size else most
    # First as if all ties fell; where the model disagrees, as if none did.
    for ties_fall in (True, False):
        height_of = functools.partial(_error_height, forest, ties_fall)
        pending, refuted = able, []
        for factor in _WITHIN:
            if not pending.size:
                break
            limit = np.minimum(factor * scale[pending], farthest[pending])
            block = Neighbourhood.of(standing.take(pending), y[pending], height_of, limit)
            squared, there = shortest_errors(block)
            found = np.flatnonzero(np.isfinite(squared))
            where = pending[found]
            wrong = _keep(sample, standing.grid, rows[where], there[found], distances, cells)
            refuted.append(where[~wrong])
            pending = np.delete(pending, found)
            pending = pending[factor * scale[pending] < farthest[pending]]
        able = np.concatenate([*refuted, np.empty(0, dtype=np.int64)])
    return least


def _keep(
    sample: ForestSample,
    grid: Grid,
    rows: IntArray,
    there: IntArray,
    distances: FloatArray,
    cells: IntArray,
) -> FloatArray:
    """Keep cells of rows that are nearer errors for the model, too; return which are errors."""
    points = grid.points(sample.codes[rows], there)
    wrong = sample.is_wrong(points, rows)
    apart = sample.domain.distances(points, sample.codes[rows])
    nearer = np.flatnonzero(wrong & (apart < distances[rows]))
    distances[rows[nearer]] = apart[nearer]
    cells[rows[nearer]] = there[nearer]
    return wrong


def _from_other_rows(
    sample: ForestSample, grid: Grid, rows: IntArray, distances: FloatArray, cells: IntArray
) -> None:
    """Start rows without an error from the nearest row that is predicted otherwise, and shorten the way."""
    pool = sample.codes
    if len(pool) > _MOST_OTHERS:
        pool = pool[np.linspace(0, len(pool) - 1, _MOST_OTHERS).astype(int)]
    if not rows.size:
        return
    labels = sample.predict(pool)
    for block in _row_blocks(grid, len(rows)):
        part = rows[block]
        start = sample.codes[part]
        apart = sample.domain.squared_gaps(start, pool)
        apart[labels[None, :] == sample.y[part][:, None]] = np.inf
        near = sample.domain.clip(pool[apart.argmin(axis=1)], start)
        wrong = np.isfinite(apart.min(axis=1)) & sample.is_wrong(near, part)
        part, there = part[wrong], grid.cells(near[wrong])
        _keep(sample, grid, part, _taken_back(sample, grid, part, there), distances, cells)


def _taken_back(sample: ForestSample, grid: Grid, rows: IntArray, there: IntArray) -> IntArray:
    """Put the cells of errors back to where their rows stand, axis by axis, the most expensive first."""
    start = sample.codes[rows]
    standing = Standing.of(grid, start)
    costs = standing.costs[np.arange(len(rows))[:, None], grid.first + there]
    order = np.argsort(-costs, axis=1)
    everyone = np.arange(len(rows))
    there = there.copy()
    for axis in order.T:
        tried = there.copy()
        tried[everyone, axis] = standing.cells[everyone, axis]
        margins = grid.forest.margins(grid.outputs(tried), sample.y[rows])
        fewer = margins < -grid.forest.tolerance
        there[fewer] = tried[fewer]
    return there


def _certify(
    sample: ForestSample,
    grid: Grid,
    rows: IntArray,
    distances: FloatArray,
    cells: IntArray,
    least: FloatArray,
    budget: Budget,
) -> None:
    """Sharpen the bounds of a block of rows, and keep errors that this finds."""
    standing = Standing.of(grid, sample.codes[rows])
    squared, nearest = certified_distances(
        standing, sample.y[rows], least[rows] ** 2, distances[rows] ** 2, budget
    )
    least[rows] = np.maximum(least[rows], np.sqrt(squared))
    if nearest:
        found = np.array(list(nearest))
        _keep(sample, grid, rows[found], np.stack(list(nearest.values())), distances, cells)
