"""The nearest piece in which a model of pairs of classes errs: half-spaces are decided one after the other.

A piece is where the same pairs are won, with the same categories. To begin with nothing is decided, and the sample
stands where it is. The nearest point of what is decided so far says what is predicted there: an error, which is then
the nearest; or the label, and another pair must turn. Each of those still open is turned in a branch of its own, in
which the pairs before it stay as they are, so that the branches share no point. The nearest branch comes first.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.optimize import lsq_linear, nnls

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.reading.model import ModelProblem

_MOST_POINTS = 500  # nearest points of a sample
_MOST_IN_ALL = 20_000
_MOST_COLUMNS = 200
_MOST_PATTERNS = 256  # of categories
_MOST_ENDS = 20  # rounds in which ends of numbers are taken in
_NUDGES = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4)  # how far beyond the boundaries, relative to the change
_ROUNDING = 1e-9
_INFEASIBLE = 1e-7  # a step longer than ten million standard deviations


@dataclass(frozen=True, eq=False)
class FoundPiece:
    """The nearest error of a sample: how far, how far at least, and where."""

    distance: float
    lower: float
    point: FloatArray


@dataclass(frozen=True, eq=False)
class _Branch:
    """The categories by their pattern, the pairs that are decided with their sides, and a class ahead by its sum."""

    pattern: int
    pairs: tuple[int, ...] = ()
    sides: tuple[float, ...] = ()  # 1: the first class wins
    ahead: int | None = None


_Waiting: TypeAlias = tuple[float, int, FloatArray | None, _Branch]
"""A lower bound of the distance to a branch, a number that orders equal ones, its nearest point if known, and it."""


class NearestPiece:
    """Searches the samples of a problem one by one.

    Parameters
    ----------
    problem : ModelProblem
        The samples.
    scores : AdditiveScores
        The values of all pairs.
    signs : ndarray of shape (n_pairs, n_classes)
        With which sign each pair counts for each class.
    predict : callable
        From values to classes.
    by_sums : bool
        Whether sums decide between classes with as many wins.
    """

    def __init__(
        self,
        problem: ModelProblem,
        scores: AdditiveScores,
        signs: FloatArray,
        predict: Callable[[FloatArray], IntArray],
        by_sums: bool,
    ) -> None:
        self.problem = problem
        self.scores = scores
        self.signs = signs
        self.predict = predict
        self.by_sums = by_sums
        self.columns = np.flatnonzero(problem.domain.numeric)
        self.left = _MOST_IN_ALL

    @property
    def is_able(self) -> bool:
        """Whether numbers change smoothly, and all patterns of categories can be tried."""
        domain = self.problem.domain
        n_patterns = math.prod(len(flip.states) for flip in domain.mutable_flips)
        smooth = not (domain.integer & domain.numeric).any()
        return smooth and n_patterns <= _MOST_PATTERNS and len(self.columns) <= _MOST_COLUMNS

    def of(self, row: int) -> FoundPiece:
        """Return the nearest error of a sample that is predicted as its label."""
        room = _Room(self, row)
        # Branches wait with the distance to the pair that turns last; their own point is sought when they come up.
        count = itertools.count()
        waiting: list[_Waiting] = []
        for pattern, cost in enumerate(room.costs.tolist()):
            nowhere = np.zeros(len(room.columns))
            heapq.heappush(waiting, (cost, next(count), nowhere, _Branch(pattern)))
        lower = 0.0
        most = min(self.left, _MOST_POINTS)
        # Best first. A branch comes up twice: with a bound of its distance, and then with its
        # nearest point. A point that comes up is nearer than all that waits, so that the first
        # error among them is the nearest.
        while waiting and most:
            lower, _, step, branch = heapq.heappop(waiting)
            if step is None:
                most -= 1
                self.left -= 1
                found = room.nearest(branch)
                if found is not None:
                    apart, there = found
                    heapq.heappush(waiting, (max(apart, lower), next(count), there, branch))
                continue
            sides = room.sides(step, branch)
            if branch.ahead is not None or self._predicted(room, step, branch, sides) != room.label:
                point = room.beyond(step, branch)
                if point is None:
                    break
                return FoundPiece(room.distance(step, branch), lower, point)
            for child in self._branches(branch, sides, room.label):
                least = max(lower, room.apart(child))
                heapq.heappush(waiting, (least, next(count), None, child))
        return self._overtaken(room, lower)

    def _overtaken(self, room: _Room, lower: float) -> FoundPiece:
        """Return the nearest error where a rival wins all its pairs, with the categories as they are."""
        # What is left when the budget is spent, an upper bound: a class that wins all its pairs is
        # predicted, whatever the others do. How far the search came bounds the distance from below.
        best = FoundPiece(math.inf, lower, room.start)
        here = int(np.flatnonzero(room.costs == 0.0)[0])
        for rival in range(self.signs.shape[1]):
            if rival == room.label:
                continue
            pairs = np.flatnonzero(self.signs[:, rival])
            branch = _Branch(here, tuple(pairs.tolist()), tuple(self.signs[pairs, rival].tolist()))
            found = room.nearest(branch)
            if found is None:
                continue
            _, step = found
            distance = room.distance(step, branch)
            if distance < best.distance:
                point = room.beyond(step, branch)
                if point is not None:
                    best = FoundPiece(distance, lower, point)
        return best

    def _predicted(self, room: _Room, step: FloatArray, branch: _Branch, sides: FloatArray) -> int:
        """Return what is predicted where these pairs are won: sides count, whatever rounding leaves of values."""
        values = room.values(step, branch)
        held = np.where(sides > 0.0, np.maximum(values, 1e-300), np.minimum(values, -1e-300))
        return int(self.predict(held[None])[0])

    def _branches(self, branch: _Branch, sides: FloatArray, label: int) -> Iterator[_Branch]:
        """Yield the branches in which a pair turns that was not decided, or a sum gets ahead."""
        held = branch
        for pair in range(len(sides)):
            if pair in branch.pairs:
                continue
            pairs = (*held.pairs, pair)
            side = float(sides[pair])
            yield replace(held, pairs=pairs, sides=(*held.sides, -side))
            held = replace(held, pairs=pairs, sides=(*held.sides, side))
        if not self.by_sums:
            return
        wins = (self.signs * sides[:, None] > 0.0).sum(axis=0)
        for rival in np.flatnonzero(wins == wins[label]).tolist():
            if rival != label:
                yield replace(held, ahead=rival)


class _Room:
    """One sample: the values of its pairs, and how far its numbers may change, in units of distance."""

    def __init__(self, search: NearestPiece, row: int) -> None:
        problem = search.problem
        scores = search.scores
        domain = problem.domain
        start = problem.codes[row]
        self.problem = problem
        self.row = row
        self.start = start
        self.label = int(problem.y[row])
        self.signs = search.signs
        self.columns = search.columns[~np.isnan(start[search.columns])]
        self.unit = domain.unit[self.columns]
        self.slopes = scores.weights[self.columns].T * self.unit
        self.lengths = np.maximum(np.linalg.norm(self.slopes, axis=1), 1e-300)
        low, high = domain.limits(start[None], self.columns)
        self.low = (low[0] - start[self.columns]) / self.unit
        self.high = (high[0] - start[self.columns]) / self.unit
        # Each pattern of the categories that may change: where the sample stands then, and at what distance.
        flips = [flip for flip in domain.mutable_flips if not flip.is_stuck(start[None])[0]]
        states = itertools.product(*(range(len(flip.states)) for flip in flips))
        placed = []
        for pattern in states:
            point = start[None].copy()
            for flip, state in zip(flips, pattern, strict=True):
                flip.put(point, np.array([state]))
            placed.append(point[0])
        self.placed = np.stack(placed)
        starts = np.repeat(start[None], len(placed), axis=0)
        self.costs = domain.distances(self.placed, starts)
        self.here = scores(self.placed, problem)

    def distance(self, step: FloatArray, branch: _Branch) -> float:
        """Return the distance of a step of the numbers, with that of the categories."""
        return math.hypot(float(np.linalg.norm(step)), float(self.costs[branch.pattern]))

    def values(self, step: FloatArray, branch: _Branch) -> FloatArray:
        """Return the values of all pairs after a step."""
        return np.asarray(self.here[branch.pattern] + self.slopes @ step)

    def sides(self, step: FloatArray, branch: _Branch) -> FloatArray:
        """Return who wins each pair after a step: as decided, else by its value."""
        sides = np.where(self.values(step, branch) > 0.0, 1.0, -1.0)
        sides[list(branch.pairs)] = branch.sides
        return sides

    def apart(self, branch: _Branch) -> float:
        """Return the distance to the half-space of the pair that turned last."""
        short = 0.0
        if branch.ahead is None:
            pair = branch.pairs[-1]
            value = float(self.here[branch.pattern, pair])
            short = max(-branch.sides[-1] * value, 0.0) / float(self.lengths[pair])
        return math.hypot(short, float(self.costs[branch.pattern]))

    def _wanted(self, branch: _Branch) -> tuple[FloatArray, FloatArray]:
        """Return the half-spaces ``normals @ step >= least`` of a branch, with normals of length 1."""
        sides = np.array(branch.sides)
        pairs = list(branch.pairs)
        here = self.here[branch.pattern]
        normals = sides[:, None] * self.slopes[pairs]
        least = -sides * here[pairs]
        if branch.ahead is not None:
            # A sum of values ahead of that of the label.
            lead = self.signs[:, branch.ahead] - self.signs[:, self.label]
            normals = np.concatenate([normals, [lead @ self.slopes]])
            least = np.append(least, -(lead @ here))
        length = np.linalg.norm(normals, axis=1)
        length = np.where(length > 0.0, length, 1.0)
        return normals / length[:, None], least / length

    def nearest(self, branch: _Branch) -> tuple[float, FloatArray] | None:
        """Return a lower bound of the distance to a branch, and its nearest point; None where it is out of reach."""
        normals, least = self._wanted(branch)
        # The ends of numbers are half-spaces as well: only those that a point would leave are taken in.
        for _ in range(_MOST_ENDS):
            found = _nearest_point(normals, least)
            if found is None:
                return None
            apart, step = found
            below = np.flatnonzero(step < self.low - _ROUNDING * (1.0 + np.abs(self.low)))
            above = np.flatnonzero(step > self.high + _ROUNDING * (1.0 + np.abs(self.high)))
            if not below.size and not above.size:
                break
            unit = np.eye(len(step))
            normals = np.concatenate([normals, unit[below], -unit[above]])
            least = np.concatenate([least, self.low[below], -self.high[above]])
        with_flips = math.hypot(apart, float(self.costs[branch.pattern]))
        return with_flips, np.clip(step, self.low, self.high)

    def beyond(self, step: FloatArray, branch: _Branch) -> FloatArray | None:
        """Return a point just beyond the boundaries of a branch where the model errs; None where none is found."""
        # On the boundary rounding decides; inwards leads away from all tight boundaries at the same
        # pace.
        moved = [step]
        if branch.pairs:
            normals, least = self._wanted(branch)
            tight = normals @ step - least <= 1e-7 * (1.0 + np.abs(least))
            inwards = np.zeros_like(step)
            if tight.any():
                ahead = np.ones(int(tight.sum()))
                solution, *_ = np.linalg.lstsq(normals[tight], ahead, rcond=None)
                inwards = np.asarray(solution, dtype=np.float64)
            size = float(np.linalg.norm(step))
            moved += [step + inwards * nudge * (size + nudge) for nudge in _NUDGES]
        points = np.repeat(self.placed[branch.pattern][None], len(moved), axis=0)
        points[:, self.columns] += np.stack(moved) * self.unit
        starts = np.repeat(self.start[None], len(moved), axis=0)
        points = self.problem.domain.clip(points, starts)
        rows = np.full(len(points), self.row)
        wrong = np.flatnonzero(self.problem.is_wrong(points, rows))
        if not wrong.size:
            return None
        return np.asarray(points[wrong[0]])


def _nearest_point(normals: FloatArray, least: FloatArray) -> tuple[float, FloatArray] | None:
    """Return a lower bound of the length of the shortest step in half-spaces, and that step; None where none is.

    It is the solution of a problem of nonnegative least squares (Lawson and Hanson, Solving Least Squares Problems,
    chapter 23), whose multipliers give the bound by weak duality.
    """
    if (least <= 0.0).all():
        return 0.0, np.zeros(normals.shape[1])
    # Weights u >= 0 bring (N'u, b'u) as near to (0, 1) as they can, for the half-spaces N x >= b.
    # The step is N'u / (1 - b'u), and the distance left is 1 / sqrt(1 + |x|^2): 0 where no step is
    # long enough.
    target = np.zeros(normals.shape[1] + 1)
    target[-1] = 1.0
    weights, residual = _nonnegative(np.vstack([normals.T, least]), target)
    left = 1.0 - float(least @ weights)
    if residual <= _INFEASIBLE or left <= 0.0:
        return None
    multipliers = weights / left
    step = np.asarray(multipliers @ normals)
    # The dual function 2 b'm - |N'm|^2 bounds the squared length for any m >= 0, also for rounded
    # ones.
    dual = 2.0 * float(least @ multipliers) - float(step @ step)
    return math.sqrt(max(dual, 0.0)), step


def _nonnegative(factors: FloatArray, target: FloatArray) -> tuple[FloatArray, float]:
    """Return nonnegative weights whose combination of columns is closest to ``target``, and the distance left."""
    try:
        weights, residual = nnls(factors, target)
    # Too many iterations; until SciPy 1.14 also dependent half-spaces.
    except (RuntimeError, np.linalg.LinAlgError):
        found = lsq_linear(factors, target, (0.0, np.inf), method="bvls")
        weights = np.maximum(found.x, 0.0)
        residual = np.linalg.norm(factors @ weights - target)
    return np.asarray(weights), float(residual)
