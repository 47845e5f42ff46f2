"""Any model along one column: a grid of values with bisection between them, or all states of a category."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.domain import Flip
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import CandidateLoss, ZeroOneLoss

_N_QUANTILES = 24
_N_EVEN = 24
_BISECTIONS = 40
_SECTIONS = 24
_BLOCK_POINTS = 200_000
_GOLDEN = 0.6180339887498949
_GAIN = 1e-9


def answer_along_column(question: Question) -> Answer | None:
    """Answer where one column, or one group that flips, may move.

    An upper bound for numbers, since a model may change its mind between two values of the grid and back; exact
    for categories. None if several columns may move.
    """
    domain = question.domain
    sliding, flips = np.flatnonzero(domain.sliding), domain.movable_flips
    if len(flips) == 1 and not sliding.size:
        return _states(question, flips[0])
    if flips or len(sliding) != 1:
        return None
    column = int(sliding[0])
    values = _grid(question, column)
    losses = _losses_at(question, column, values)
    if question.loss == "zero_one":
        return _nearest(question, column, values, losses)
    distances = _distances(question, column, values)
    distances[:, 0] = 0.0
    return _Candidates(question, column, values, CandidateLoss(losses, distances)).answer()


def _states(question: Question, flip: Flip) -> Answer:
    """Try all states of each row; its own comes first."""
    own, n_states = flip.state_of(question.codes), len(flip.states)
    stuck = flip.is_stuck(question.codes)
    own = np.where(stuck, -1, own)
    order = (np.maximum(own, 0)[:, None] + np.arange(n_states)) % n_states
    if (own < 0).any():  # rows in no state stay, or take one of them unless cells are missing
        order = np.concatenate([np.full((len(own), 1), -1), order], axis=1)
    losses = np.empty(order.shape)
    everyone = np.arange(question.n_samples)
    for choice in range(order.shape[1]):
        points = question.codes.copy()
        able = np.flatnonzero((order[:, choice] >= 0) & ~stuck)
        part = points[able]
        flip.put(part, order[able, choice])
        points[able] = part
        losses[:, choice] = question.losses(points, everyone)
    distances = np.where(order == own[:, None], 0.0, flip.distance)
    repeats = (order == own[:, None]) & (np.arange(order.shape[1]) > 0)
    distances[repeats] = np.inf
    distances[stuck] = np.inf
    distances[:, 0] = 0.0

    def places(rows: IntArray, _: FloatArray, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        points = question.codes[rows].copy()
        away = np.flatnonzero(order[rows, choices] >= 0)
        part = points[away]
        flip.put(part, order[rows, choices][away])
        points[away] = part
        return points

    return Answer(loss=CandidateLoss(losses, distances, kind="exact"), points=places)


def _grid(question: Question, column: int) -> FloatArray:
    """Return values to try, of shape (n_samples, 1 + n_values): the row's own first, then sorted ones it may take."""
    held = question.codes[:, column]
    if question.background is not None:
        held = np.concatenate([held, question.background[:, column]])
    held = held[~np.isnan(held)]
    low, high = float(held.min()), float(held.max())
    room = 0.5 * (high - low) + question.domain.unit[column]
    quantiles = np.quantile(held, np.linspace(0.0, 1.0, _N_QUANTILES), method="nearest")
    values = np.unique(np.concatenate([quantiles, np.linspace(low - room, high + room, _N_EVEN)]))
    start = question.codes
    points = np.stack([_valid(question, column, np.full(len(start), value)) for value in values], axis=1)
    return np.concatenate([start[:, column, None], points], axis=1)


def _valid(question: Question, column: int, values: FloatArray) -> FloatArray:
    points = question.codes.copy()
    points[:, column] = values
    return question.domain.clip(points, question.codes)[:, column]


def _losses_at(question: Question, column: int, values: FloatArray) -> FloatArray:
    n_rows, n_values = values.shape
    losses = np.empty(values.shape)
    size = max(1, _BLOCK_POINTS // n_values)
    for first in range(0, n_rows, size):
        rows = np.arange(first, min(first + size, n_rows))
        points = np.repeat(question.codes[rows], n_values, axis=0)
        points[:, column] = values[rows].ravel()
        losses[rows] = question.losses(points, np.repeat(rows, n_values)).reshape(len(rows), n_values)
    return losses


def _distances(question: Question, column: int, values: FloatArray) -> FloatArray:
    """Return how far values of shape (n_samples, n_values) are; inf where the cell is missing."""
    distances = np.abs(values - question.codes[:, column, None]) / question.domain.unit[column]
    return np.where(np.isnan(distances), np.inf, distances)


def _nearest(question: Question, column: int, values: FloatArray, losses: FloatArray) -> Answer:
    """Take the nearest error of the grid on each side, and bisect between it and the last value that is right."""
    start = question.codes[:, column]
    wrong = losses[:, 0] > 0.0
    best, place = np.where(wrong, 0.0, np.inf), start.copy()
    for side in (-1.0, 1.0):
        ahead = side * (values - start[:, None])
        usable = (losses > 0.0) & (ahead > 0.0)
        reach = np.where(usable, ahead, np.inf)
        target = reach.argmin(axis=1)
        rows = np.flatnonzero(~wrong & np.isfinite(reach.min(axis=1)))
        if not rows.size:
            continue
        far = values[rows, target[rows]]
        between = np.where(
            (ahead[rows] >= 0.0) & (ahead[rows] < reach[rows, target[rows]][:, None]),
            values[rows],
            start[rows, None],
        )
        near = start[rows] + side * (side * (between - start[rows, None])).max(axis=1)
        for _ in range(_BISECTIONS):
            middle = _valid_at(question, column, rows, 0.5 * (near + far))
            going = (middle != near) & (middle != far)
            if not going.any():
                break
            points = question.codes[rows].copy()
            points[:, column] = middle
            error = np.zeros(len(rows), dtype=bool)
            error[going] = question.is_wrong(points[going], rows[going])
            far = np.where(going & error, middle, far)
            near = np.where(going & ~error, middle, near)
        nearer = np.abs(far - start[rows]) < np.abs(
            np.where(np.isfinite(best[rows]), place[rows] - start[rows], np.inf)
        )
        best[rows[nearer]] = np.abs(far - start[rows])[nearer] / question.domain.unit[column]
        place[rows[nearer]] = far[nearer]

    def places(rows: IntArray, _: FloatArray, __: IntArray | None) -> FloatArray:
        points = question.codes[rows].copy()
        points[:, column] = place[rows]
        return points

    return Answer(loss=ZeroOneLoss(best, kind="upper_bound"), points=places)


def _valid_at(question: Question, column: int, rows: IntArray, values: FloatArray) -> FloatArray:
    points = question.codes[rows].copy()
    points[:, column] = values
    return question.domain.clip(points, question.codes[rows])[:, column]


@dataclass(frozen=True)
class _Candidates:
    """Values that were tried, and the losses there."""

    question: Question
    column: int
    values: FloatArray
    loss: CandidateLoss

    def answer(self) -> Answer:
        return Answer(loss=self.loss, points=self._points, refine=self._refine)

    def _points(self, rows: IntArray, _: FloatArray, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        points = self.question.codes[rows].copy()
        points[:, self.column] = self.values[rows, choices]
        return points

    def _refine(self, dual: float) -> Answer | None:
        """Narrow down the best value of each row between its neighbours, by golden sections."""
        if not 0.0 < dual < np.inf:
            return None
        question, column = self.question, self.column
        rows = np.arange(question.n_samples)
        best = self.loss.transform(dual, question.theta1, slice(0, question.n_samples))
        assert best.choice is not None
        held = self.values[rows, best.choice]
        below = np.where(self.values < held[:, None], self.values, -np.inf).max(axis=1)
        above = np.where(self.values > held[:, None], self.values, np.inf).min(axis=1)
        low, high = np.where(np.isfinite(below), below, held), np.where(np.isfinite(above), above, held)

        def worth(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            points = question.codes.copy()
            points[:, column] = _valid(question, column, values)
            losses = question.losses(points, rows)
            distances = question.domain.distances(points, question.codes)
            return dual * losses - question.theta1 * distances**2, losses, points[:, column]

        for _ in range(_SECTIONS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            better_left = worth(left)[0] >= worth(right)[0]
            low, high = np.where(better_left, low, left), np.where(better_left, right, high)
        value, losses, places = worth(0.5 * (low + high))
        if not (value > best.value + _GAIN * (1.0 + np.abs(best.value))).any():
            return None
        distances = _distances(question, column, places[:, None])[:, 0]
        grown = replace(
            self,
            values=np.concatenate([self.values, places[:, None]], axis=1),
            loss=self.loss.appended(losses, distances),
        )
        return grown.answer()
