"""The scores of a linear model as a function of the raw columns: weights of numbers and a table for each category.

Scalers, projections, imputers and encoders before a linear model leave its scores a sum over raw columns, to which a
missing cell adds a number of its own. The sum is read off the scores at chosen points, and must reproduce those of
the model at the rows and far away from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.reading.model import ModelProblem

_STEP = 64.0  # standard deviations
TOLERANCE = 1e-8  # of the largest score
_CHECKED_ROWS = 500


@dataclass(frozen=True, eq=False)
class AdditiveScores:
    """Scores ``intercept + x_numbers . weights + sum of tables[flip][state]``, with ``missing`` for missing numbers.

    Attributes
    ----------
    intercept : array of shape (n_scores,)
        One score for each class, or one in all for a regression.
    weights : array of shape (n_features, n_scores)
        0 for the columns of categories.
    tables : tuple of arrays of shape (n_states, n_scores)
        For each flip of the domain, what each state adds, and what rows with missing cells hold after these.
    missing : array of shape (n_features, n_scores)
        What a missing number adds; 0 for the columns of categories.
    """

    intercept: FloatArray
    weights: FloatArray
    tables: tuple[FloatArray, ...]
    missing: FloatArray

    @classmethod
    def of(cls, problem: ModelProblem) -> Self | None:
        """Return the scores of a model, or None when they are no such sum."""
        scores = cls.probed(problem, problem.scores)
        if scores.reproduces(problem):
            return scores
        return None

    @classmethod
    def probed(cls, problem: ModelProblem, ask: Callable[[FloatArray], FloatArray]) -> Self:
        """Ask for scores at a centre, at a step to both sides in each number, without it, and in each state."""
        domain = problem.domain
        codes = problem.codes
        flipping = domain.categorical
        numbers = np.flatnonzero(~flipping)
        # The centre: means of numbers, the first state of categories.
        centre, spread, has_missing = _moments(codes)
        for flip in domain.flips:
            centre[flip.columns] = flip.patterns[0]
        # Steps are powers of 2, by which differences are divided without rounding.
        varies = spread > 0.0
        width = np.where(varies, spread, 1.0) * _STEP
        logarithm = np.log2(width)
        exponent = np.round(logarithm)
        step = np.where(varies, 2.0**exponent, 1.0)
        # Probes: the centre, a step to both sides in each number, without each number, in each state.
        sides = np.repeat(centre[None], 2 * len(numbers), axis=0)
        for k, column in enumerate(numbers):
            sides[2 * k, column] += step[column]
            sides[2 * k + 1, column] -= step[column]
        is_lost = has_missing & ~flipping
        lost = np.flatnonzero(is_lost)
        without = np.repeat(centre[None], len(lost), axis=0)
        without[np.arange(len(lost)), lost] = np.nan
        probes = [centre[None], sides, without]
        for flip in domain.flips:
            n_patterns = len(flip.patterns)
            states = np.repeat(centre[None], n_patterns, axis=0)
            flip.put(states, np.arange(n_patterns))
            probes.append(states)
        sizes = [len(probe) for probe in probes]
        ends = np.cumsum(sizes)
        found = ask(np.concatenate(probes))
        origin, both, absent, *flipped = np.split(found, ends[:-1])
        # weight = (s(centre + step) - s(centre - step)) / (2 step), with the steps as they were rounded
        weights = np.zeros((domain.n_features, origin.shape[1]))
        right = sides[0::2, numbers].diagonal()
        left = sides[1::2, numbers].diagonal()
        rises = both[0::2] - both[1::2]
        runs = right - left
        weights[numbers] = rises / runs[:, None]
        # Without a number the score lacks its term and has that of a missing cell.
        missing = np.zeros_like(weights)
        terms = centre[lost, None] * weights[lost]
        missing[lost] = absent - origin + terms
        numbers_of_centre = np.where(flipping, 0.0, centre)
        start = origin[0] - numbers_of_centre @ weights
        tables = tuple(at_state - origin for at_state in flipped)
        return cls(start, weights, tables, missing)

    def __call__(self, points: FloatArray, problem: ModelProblem) -> FloatArray:
        """Return the scores of coded points, of shape (n, n_scores)."""
        gone = np.isnan(points)
        some_gone = gone.any()
        held = points
        if some_gone:
            held = np.where(gone, 0.0, points)
        scores = self.intercept + held @ self.weights
        if some_gone:
            scores += gone @ self.missing
        for flip, table in zip(problem.domain.flips, self.tables, strict=True):
            states = flip.state_of(points)
            scores += table[states]
        return np.asarray(scores)

    def part(self, points: FloatArray, problem: ModelProblem, columns: IntArray) -> FloatArray:
        """Return what some columns add to the scores of coded points; a group that flips counts as a whole."""
        numbers = columns[~problem.domain.categorical[columns]]
        cells = points[:, numbers]
        gone = np.isnan(cells)
        added = np.where(gone, 0.0, cells) @ self.weights[numbers]
        if gone.any():
            added += gone @ self.missing[numbers]
        for flip, table in zip(problem.domain.flips, self.tables, strict=True):
            if np.isin(flip.columns, columns).any():
                added += table[flip.state_of(points)]
        return np.asarray(added)

    def follow(self, problem: ModelProblem, ask: Callable[[FloatArray], FloatArray]) -> bool:
        """Return True if these are the scores that are asked for, at rows and far from them."""
        points = points_to_check(problem)
        expected = ask(points)
        got = self(points, problem)
        wrong_by = np.abs(got - expected)
        return bool((wrong_by <= TOLERANCE * self._scale(expected)).all())

    def _scale(self, scores: FloatArray) -> float:
        largest = float(np.abs(scores).max())
        of_intercept = float(np.abs(self.intercept).max())
        return max(1e-300, largest, of_intercept)

    def reproduces(self, problem: ModelProblem) -> bool:
        """Return True if these are the model's scores, at rows and far from them, and whether it predicts by them."""
        if not self.follow(problem, problem.scores):
            return False
        if problem.classes is None:
            return True
        points = points_to_check(problem)
        got = self(points, problem)
        # The highest score must be the prediction, where it is higher by more than rounding.
        ordered = np.sort(got, axis=1)
        lead = ordered[:, -1] - ordered[:, -2]
        clear = lead > TOLERANCE * self._scale(got)
        predicted = got.argmax(axis=1) == problem.predict(points)
        return bool(predicted[clear].all())


def _moments(codes: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the mean and the spread of the known cells of each column, 0 without any, and which ones lack some.

    One column at a time: there may be no memory for another table.
    """
    n_columns = codes.shape[1]
    mean = np.zeros(n_columns)
    spread = np.zeros(n_columns)
    has_missing = np.zeros(n_columns, dtype=np.bool_)
    for place, column in enumerate(codes.T):
        known = column[~np.isnan(column)]
        has_missing[place] = len(known) < len(column)
        if known.size:
            mean[place] = known.mean()
            spread[place] = known.std()
    return mean, spread, has_missing


def points_to_check(problem: ModelProblem) -> FloatArray:
    """Return coded points at which a formula must hold: rows, points between them, and points far away."""
    rng = np.random.default_rng(0)
    flipping = problem.domain.categorical
    # Some complete rows, and some with missing cells.
    incomplete = np.isnan(problem.codes).any(axis=1)
    parts = []
    for chosen in (~incomplete, incomplete):
        shuffled = rng.permutation(np.flatnonzero(chosen))
        parts.append(shuffled[:_CHECKED_ROWS])
    rows = np.concatenate(parts)
    near = problem.codes[rows]
    # Points between two rows each.
    drawn = rng.random((len(near), 1))
    fraction = np.where(flipping, 0.0, drawn)
    others = rng.permutation(near)
    way = np.where(np.isnan(others), 0.0, others - near)
    between = near + fraction * way
    # Points some standard deviations off, in random states.
    _, spread, _ = _moments(near)
    width = np.where(flipping, 0.0, 3.0 * spread + 1e-3)
    drawn = rng.standard_t(2.0, near.shape)
    far = near + drawn * width
    for flip in problem.domain.flips:
        if len(flip.states):
            stuck = flip.is_stuck(far)
            whole = np.flatnonzero(~stuck)
            placed = far[whole]
            states = rng.integers(len(flip.states), size=len(whole))
            flip.put(placed, states)
            far[whole] = placed
    return np.concatenate([near, between, far])
