"""Any model along one column: a grid of values, with bisection for the 0/1 loss, or all states of a category."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.domain import Flip
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import CandidateLoss, ZeroOneLoss

_N_QUANTILES = (
    24  # and as many values evenly apart, for the 0/1 loss, whose boundaries are bisected
)
_FINER = 3  # times as many for other losses
_BISECTIONS = 40
_BLOCK_POINTS = 200_000


def answer_along_column(question: Question) -> Answer | None:
    """Answer where one column, or one group that flips, may move; None where several may.

    An upper bound for numbers, since the loss of a model is known at the values of a grid alone; exact for
    categories.
    """
    domain = question.domain
    sliding = np.flatnonzero(domain.sliding)
    flips = domain.movable_flips
    if len(flips) == 1 and not sliding.size:
        return _states(question, flips[0])
    if flips or len(sliding) != 1:
        return None
    line = _Line(question, int(sliding[0]))
    values = line.grid()
    losses = line.losses(values)
    if question.loss == "zero_one":
        return _nearest(line, values, losses)
    distances = line.distances(values)
    distances[:, 0] = 0.0
    return Answer(
        loss=CandidateLoss(losses, distances),
        points=lambda rows, _, choices: line.points(rows, values[rows, choices]),
    )


def _states(question: Question, flip: Flip) -> Answer:
    """Evaluate all states of each row, its present one first: there are no others, so the answer is exact."""
    n_states = len(flip.states)
    stuck = flip.is_stuck(question.codes)
    present = np.where(stuck, -1, flip.state_of(question.codes))
    order = (np.maximum(present, 0)[:, None] + np.arange(n_states)) % n_states
    # Rows in no state stay, or take one of the states unless cells are missing: they have one choice more.
    if (present < 0).any():
        order = np.concatenate([np.full((len(present), 1), -1), order], axis=1)

    def moved(rows: IntArray, _: FloatArray, choices: IntArray | None) -> FloatArray:
        points = question.codes[rows].copy()
        states = order[rows, choices]
        away = np.flatnonzero((states >= 0) & ~stuck[rows])
        points[np.ix_(away, flip.columns)] = flip.states[states[away]]
        return points

    everyone = np.arange(question.n_samples)
    free = np.zeros(question.n_samples)
    losses = np.empty(order.shape)
    for choice in range(order.shape[1]):
        points = moved(everyone, free, np.full(question.n_samples, choice))
        losses[:, choice] = question.losses(points, everyone)
    # The present state is in column 0, at no cost; what cannot change is infinitely far in all others.
    distances = np.full(order.shape, flip.distance)
    distances[(order == present[:, None]) | stuck[:, None]] = np.inf
    distances[:, 0] = 0.0
    return Answer(loss=CandidateLoss(losses, distances, kind="exact"), points=moved)


@dataclass(frozen=True)
class _Line:
    """The rows of a question along one column of numbers."""

    question: Question
    column: int

    @property
    def start(self) -> FloatArray:
        """Where the rows stand."""
        return self.question.codes[:, self.column]

    def points(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """Return rows with these values in the column."""
        points = self.question.codes[rows].copy()
        points[:, self.column] = values
        return points

    def allowed(self, rows: IntArray, values: FloatArray) -> FloatArray:
        """Return the allowed values of rows nearest to these."""
        codes = self.question.codes[rows]
        return self.question.domain.clip(self.points(rows, values), codes)[:, self.column]

    def distances(self, values: FloatArray) -> FloatArray:
        """Return how far values of shape (n_samples, n_values) are; inf where the cell is missing."""
        distances = np.abs(values - self.start[:, None]) / self.question.domain.unit[self.column]
        return np.where(np.isnan(distances), np.inf, distances)

    def losses(self, values: FloatArray) -> FloatArray:
        """Return the losses at values of shape (n_samples, n_values)."""
        losses = np.empty(values.shape)
        for block in row_blocks(len(values), values.shape[1], block_bytes=_BLOCK_POINTS):
            rows = np.repeat(np.arange(len(values))[block], values.shape[1])
            points = self.points(rows, values[block].ravel())
            losses[block] = self.question.losses(points, rows).reshape(-1, values.shape[1])
        return losses

    def grid(self) -> FloatArray:
        """Return values to try, of shape (n_samples, 1 + n_values): the present one first, then sorted ones."""
        domain = self.question.domain
        held = self.start[~np.isnan(self.start)]
        low = float(held.min())
        high = float(held.max())
        # The grid goes beyond the data by half their range and one unit, within the bounds.
        room = 0.5 * (high - low) + domain.unit[self.column]
        first = max(low - room, domain.lower[self.column])
        last = min(high + room, domain.upper[self.column])
        # Half of the values are where the data are, half evenly apart.
        n_values = _N_QUANTILES
        if self.question.loss != "zero_one":
            n_values *= _FINER
        quantiles = np.quantile(held, np.linspace(0.0, 1.0, n_values), method="nearest")
        values = np.unique(np.concatenate([quantiles, np.linspace(first, last, n_values)]))
        # Each row takes the nearest value that it is allowed.
        rows = np.arange(self.question.n_samples)
        allowed = [self.allowed(rows, np.full(len(rows), value)) for value in values]
        return np.stack([self.start, *allowed], axis=1)


def _nearest(line: _Line, values: FloatArray, losses: FloatArray) -> Answer:
    """Take the nearest error of the grid on each side, and bisect between it and the last value that is right."""
    start = line.start
    wrong = losses[:, 0] > 0.0
    moves = np.where(wrong, 0.0, np.inf)
    place = start.copy()
    for side in (-1.0, 1.0):
        # How far ahead each value of the grid is, and the nearest one that is wrong.
        ahead = side * (values - start[:, None])
        errors = np.where((losses > 0.0) & (ahead > 0.0), ahead, np.inf)
        nearest_error = errors.min(axis=1)
        rows = np.flatnonzero(~wrong & np.isfinite(nearest_error))
        if not rows.size:
            continue
        # The boundary is between the last value that is right and the first that is wrong: bisect.
        far = values[rows, errors[rows].argmin(axis=1)]
        between = (ahead[rows] >= 0.0) & (ahead[rows] < nearest_error[rows, None])
        near = start[rows] + side * np.where(between, ahead[rows], 0.0).max(axis=1)
        for _ in range(_BISECTIONS):
            middle = line.allowed(rows, 0.5 * (near + far))
            going = np.flatnonzero((middle != near) & (middle != far))
            if not going.size:
                break
            error = line.question.is_wrong(line.points(rows[going], middle[going]), rows[going])
            far[going] = np.where(error, middle[going], far[going])
            near[going] = np.where(error, near[going], middle[going])
        # The nearer of both sides counts.
        length = np.abs(far - start[rows])
        nearer = length < moves[rows]
        moves[rows[nearer]] = length[nearer]
        place[rows[nearer]] = far[nearer]
    return Answer(
        loss=ZeroOneLoss(moves / line.question.domain.unit[line.column], kind="upper_bound"),
        points=lambda rows, distances, choices: line.points(rows, place[rows]),
    )
