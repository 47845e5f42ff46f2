"""Any model along one column: a grid of values, with bisection for the 0/1 loss, or all states of a category."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.domain.domain import Flip
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.search.importance import Draws
from shiftmetrics.models.search.worst_case import Route, WorstCase
from shiftmetrics.stability.losses import CandidateLoss, ZeroOneLoss

# The boundaries of the 0/1 loss are bisected; other losses are known on the grid alone, which is finer.
_N_VALUES = 24  # quantiles, and as many values evenly apart
_FINER = 3
_BISECTIONS = 40
_BLOCK_POINTS = 200_000


class SearchRoute(Route):
    """A route that uses outputs of the model alone, or gradients: along one column a scan takes its place."""

    def by_group(
        self,
        problem: ModelProblem,
        groups: Sequence[Sequence[str | int]],
        draws: Draws | None = None,
    ) -> Iterator[tuple[int, WorstCase]]:
        """Yield the worst cases of groups of columns; a single column is scanned."""
        for position, group in enumerate(groups):
            alone = replace(problem.restricted(group), costs=None)
            found = along_column(alone) or self.worst_case(alone)
            if found is not None:
                yield position, found


def along_column(problem: ModelProblem) -> WorstCase | None:
    """Return the worst case where one column, or one group that flips, may change; None where several may.

    An upper bound for numbers, since the loss of a model is known at the values of a grid alone; exact for
    categories.
    """
    numbers = np.flatnonzero(problem.domain.numeric)
    flips = problem.domain.mutable_flips
    if len(flips) == 1 and not numbers.size:
        return _all_states(problem, flips[0])
    if flips or len(numbers) != 1:
        return None
    line = _Line(problem, int(numbers[0]))
    values = line.grid()
    losses = line.losses(values)
    if problem.loss == "zero_one":
        return _nearest_errors(line, values, losses > 0.0)
    distances = line.distances(values)
    distances[:, 0] = 0.0
    return WorstCase(
        loss=CandidateLoss(losses, distances),
        points=lambda rows, _, choices: line.points(rows, values[rows, choices]),
    )


def _all_states(problem: ModelProblem, flip: Flip) -> WorstCase:
    """Evaluate all states of each sample, its present one first: there are no others, so this is exact."""
    n_samples = problem.n_samples
    n_states = len(flip.states)
    everyone = np.arange(n_samples)
    # Choice k is the k-th state after the present one; where a cell is missing the sample stays as it is.
    stuck = flip.is_stuck(problem.codes)
    present = np.where(stuck, 0, flip.state_of(problem.codes))

    def changed(rows: IntArray, _: FloatArray | None, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        points = problem.codes[rows].copy()
        away = np.flatnonzero((choices > 0) & ~stuck[rows])
        states = (present[rows[away]] + choices[away]) % n_states
        cells = np.ix_(away, flip.columns)
        points[cells] = flip.states[states]
        return points

    losses = np.empty((n_samples, n_states))
    for choice in range(n_states):
        choices_of_all = np.full(n_samples, choice)
        points = changed(everyone, None, choices_of_all)
        losses[:, choice] = problem.losses(points, everyone)
    distances = np.full(losses.shape, flip.distance)
    distances[stuck] = np.inf
    distances[:, 0] = 0.0
    return WorstCase(loss=CandidateLoss(losses, distances, kind="exact"), points=changed)


class _Line:
    """The samples of a problem along one column of numbers."""

    def __init__(self, problem: ModelProblem, column: int) -> None:
        self.problem = problem
        self.column = column
        self.start = problem.codes[:, column]
        self.unit = float(problem.domain.unit[column])

    def points(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """Return samples with these values in the column."""
        points = self.problem.codes[rows].copy()
        points[:, self.column] = values
        return points

    def allowed(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """Return the allowed values of samples nearest to these."""
        start = self.problem.codes[rows]
        wanted = self.points(rows, values)
        points = self.problem.domain.clip(wanted, start)
        return points[:, self.column]

    def distances(self, values: FloatArray) -> FloatArray:
        """Return how far values of shape (n_samples, n_values) are; inf where the cell is missing."""
        change = np.abs(values - self.start[:, None])
        distances = change / self.unit
        return np.where(np.isnan(distances), np.inf, distances)

    def losses(self, values: FloatArray) -> FloatArray:
        """Return the losses at values of shape (n_samples, n_values)."""
        n_samples, n_values = values.shape
        everyone = np.arange(n_samples)
        losses = np.empty(values.shape)
        for block in row_blocks(n_samples, n_values, block_bytes=_BLOCK_POINTS):
            rows = np.repeat(everyone[block], n_values)
            points = self.points(rows, values[block].ravel())
            of_points = self.problem.losses(points, rows)
            losses[block] = of_points.reshape(-1, n_values)
        return losses

    def grid(self) -> FloatArray:
        """Return values to try, of shape (n_samples, 1 + n_values): the present one first, then sorted ones."""
        domain = self.problem.domain
        held = self.start[~np.isnan(self.start)]
        low = float(held.min())
        high = float(held.max())
        # The grid goes beyond the data by half their range and one unit, within the bounds.
        room = 0.5 * (high - low) + self.unit
        first = max(low - room, domain.lower[self.column])
        last = min(high + room, domain.upper[self.column])
        # Half of the values are where the data are, half evenly apart.
        n_values = _N_VALUES
        if self.problem.loss != "zero_one":
            n_values *= _FINER
        levels = np.linspace(0.0, 1.0, n_values)
        quantiles = np.quantile(held, levels, method="nearest")
        evenly = np.linspace(first, last, n_values)
        values = np.unique(np.concatenate([quantiles, evenly]))
        # Each sample takes the nearest value that it is allowed.
        rows = np.arange(self.problem.n_samples)
        allowed = [self.allowed(rows, np.full(len(rows), value)) for value in values]
        return np.stack([self.start, *allowed], axis=1)


def _nearest_errors(line: _Line, values: FloatArray, wrong: BoolArray) -> WorstCase:
    """Take the nearest error of the grid on each side, and bisect between it and the last value that is right."""
    start = line.start
    end = start.copy()
    length = np.where(wrong[:, 0], 0.0, np.inf)
    for side in (-1.0, 1.0):
        # How far ahead each value of the grid is, and the nearest one that is wrong.
        ahead = side * (values - start[:, None])
        errors = np.where(wrong & (ahead > 0.0), ahead, np.inf)
        nearest = errors.min(axis=1)
        is_sought = ~wrong[:, 0] & np.isfinite(nearest)
        rows = np.flatnonzero(is_sought)
        # The boundary is between it and the value before it, which is right.
        between = (ahead >= 0.0) & (ahead < nearest[:, None])
        last = np.where(between, ahead, 0.0).max(axis=1)
        near = start[rows] + side * last[rows]
        place = errors[rows].argmin(axis=1)
        far = values[rows, place]
        far = _bisected(line, rows, near, far)
        # The nearer of both sides counts.
        there = np.abs(far - start[rows])
        nearer = there < length[rows]
        better = rows[nearer]
        length[better] = there[nearer]
        end[better] = far[nearer]
    return WorstCase(
        loss=ZeroOneLoss(length / line.unit, kind="upper_bound"),
        points=lambda rows, distances, choices: line.points(rows, end[rows]),
    )


def _bisected(line: _Line, rows: IntArray, right: FloatArray, wrong: FloatArray) -> FloatArray:
    """Return the values between ones that are right and ones that are wrong at which errors begin."""
    right = right.copy()
    wrong = wrong.copy()
    for _ in range(_BISECTIONS):
        middle = line.allowed(rows, 0.5 * (right + wrong))
        is_between = (middle != right) & (middle != wrong)
        going = np.flatnonzero(is_between)
        if not going.size:
            break
        points = line.points(rows[going], middle[going])
        error = line.problem.is_wrong(points, rows[going])
        erring = going[error]
        wrong[erring] = middle[erring]
        correct = going[~error]
        right[correct] = middle[correct]
    return wrong
