"""The nearest error of each row of a linear classifier: exact with bounds, flips and one number of integer steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.linear.geometry import FlipPlan, Geometry, Rival
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.search.worst_case import WorstCase
from shiftmetrics.stability.losses import ZeroOneLoss

_CELL_BYTES = 200  # of a number of a row, for each score
_BLOCK_BYTES = 1 << 24
_MOST_STEPS = 400  # of one of two numbers of integer steps, enumerated
_MOST_COMBINED = 6  # numbers of integer steps whose roundings are all tried
_NEAR = 1e-150  # a row on the boundary: not an error yet, and its square is still above 0
_NUDGES = (
    0.0,
    1e-12,
    1e-10,
    1e-8,
    1e-6,
    1e-4,
)  # how far beyond the boundary, relative to the change


@dataclass(eq=False)
class NearestPlan:
    """The best way of each row so far."""

    distance: FloatArray
    rival: IntArray
    flipped: BoolArray
    place: FloatArray
    steps: FloatArray

    @classmethod
    def unknown(cls, geometry: Geometry) -> NearestPlan:
        """Return no way at all."""
        n = geometry.n_samples
        return cls(
            distance=np.full(n, np.inf),
            rival=np.zeros(n, dtype=np.int64),
            flipped=np.zeros((n, len(geometry.flips)), dtype=np.bool_),
            place=np.zeros(n),
            steps=np.zeros((n, int(geometry.whole.sum()))),
        )

    def improve(
        self,
        rival: int,
        plan: FlipPlan,
        place: FloatArray,
        squared: FloatArray,
        steps: FloatArray,
    ) -> None:
        """Keep a way where it is shorter; ``squared`` is the squared distance of its changes of numbers."""
        distance = np.sqrt(squared + plan.distance**2)
        better = distance < self.distance
        self.distance[better] = distance[better]
        self.rival[better] = rival
        self.flipped[better] = plan.flipped[better]
        self.place[better] = place[better]
        self.steps[better] = steps[better]


@dataclass(frozen=True, eq=False)
class _Ways:
    """The nearest ways of some rows, and what they were computed from.

    Attributes
    ----------
    geometry : Geometry
        The rows.
    rivals : list of Rival
        What may overtake their labels.
    best : NearestPlan
        The shortest ways.
    floor : array of shape (n_rows,)
        Lower bounds of their distances.
    exact : bool
        Whether no way is shorter.
    """

    geometry: Geometry
    rivals: list[Rival]
    best: NearestPlan
    floor: FloatArray
    exact: bool


# Each row is searched by itself, in blocks: what a block needs is many times as large as its rows. Points are asked
# for later, and for the rows that change: their ways are computed again.
def nearest_errors(problem: ModelProblem, scores: AdditiveScores) -> WorstCase:
    """Return the distance of each row to the nearest error, and where that is."""
    distances = np.empty(problem.n_samples)
    lower = np.empty(problem.n_samples)
    row_bytes = _CELL_BYTES * problem.domain.n_features * len(scores.intercept)
    exact = True
    for block in row_blocks(problem.n_samples, row_bytes, block_bytes=_BLOCK_BYTES):
        ways = _nearest_ways(problem, scores, block)
        exact &= ways.exact
        wrong = ways.geometry.problem.is_wrong(problem.codes[block], slice(None))
        # The infimum of distances beyond the boundary may be 0, where an error is not yet.
        nearest = np.maximum(ways.best.distance, _NEAR)
        least = np.maximum(np.minimum(ways.floor, ways.best.distance), _NEAR)
        distances[block] = np.where(wrong, 0.0, nearest)
        lower[block] = np.where(wrong, 0.0, least)

    def points(rows: IntArray, _distances: FloatArray, _choices: IntArray | None) -> FloatArray:
        placed = np.empty((len(rows), problem.domain.n_features))
        for block in row_blocks(len(rows), row_bytes, block_bytes=_BLOCK_BYTES):
            placed[block] = _beyond(_nearest_ways(problem, scores, rows[block]))
        return placed

    if exact or (distances <= lower * (1.0 + 1e-12)).all():
        return WorstCase(ZeroOneLoss(distances), points)
    upper_loss = ZeroOneLoss(distances, kind="upper_bound")
    lower_loss = ZeroOneLoss(lower, kind="lower_bound")
    return WorstCase(upper_loss, points, lower=lower_loss)


def _nearest_ways(
    problem: ModelProblem,
    scores: AdditiveScores,
    rows: IntArray | slice,
) -> _Ways:
    """Search the nearest ways of some rows."""
    geometry = Geometry(problem.with_samples(problem.codes[rows], problem.y[rows]), scores)
    rivals = list(geometry.rivals())
    best = NearestPlan.unknown(geometry)
    floor = np.full(geometry.n_samples, np.inf)
    exact = not geometry.joined
    for number, rival in enumerate(rivals):
        for plan in geometry.plans(rival):
            # What numbers must add to the gap once these categories have changed, and how far that is.
            possible = np.isfinite(plan.gain)
            gap = rival.gap + np.where(possible, plan.gain, 0.0)
            missing = np.maximum(-gap, 0.0)
            need = np.where(possible, missing, np.inf)
            relaxed = rival.path.squared_of_gain(need)
            least = np.sqrt(relaxed + plan.least_distance**2)
            floor = np.minimum(floor, least)
            if not geometry.whole.any():
                place = rival.path.place_of_gain(need)
                best.improve(number, plan, place, relaxed, best.steps * 0.0)
            # With integer steps no way is shorter than the relaxed one: most plans are left out by that.
            elif (least < best.distance).any():
                exact &= _whole_steps(best, geometry, number, rival, plan, need)
    return _Ways(geometry, rivals, best, floor, exact)


# The squared distance is convex in the steps of a single number, and least at its relaxed change: so the whole number
# below or above that one is exact. Of two numbers that alone may change, all steps of one are tried. Of more, the
# relaxed change is rounded in several ways: a heuristic, whose error the relaxation bounds.
def _whole_steps(
    best: NearestPlan,
    geometry: Geometry,
    number: int,
    rival: Rival,
    plan: FlipPlan,
    need: FloatArray,
) -> bool:
    """Improve by ways that respect integer steps; return True if none is shorter."""
    slopes, room = geometry.whole_slopes(rival)
    length = 1.0 / geometry.problem.domain.unit[geometry.whole]  # distance of one step
    alone = not rival.smooth.slopes.any()
    n_numbers = slopes.shape[1]

    def missing(steps: FloatArray) -> FloatArray:
        gained = (steps * slopes).sum(axis=1)
        return np.maximum(need - gained, 0.0)

    def improve(steps: FloatArray) -> None:
        """Keep these steps where they are nearer, with what the other numbers must add, beyond rounding."""
        left = missing(steps)
        left[left <= 1e-12 * np.abs(need)] = 0.0
        place = rival.smooth.place_of_gain(left)
        of_steps = (steps * length) ** 2
        squared = of_steps.sum(axis=1) + rival.smooth.squared_of_gain(left)
        best.improve(number, plan, place, squared, steps)

    def made_up(steps: FloatArray, column: int) -> FloatArray:
        """Return the steps with as many more of one number as reach the error."""
        full = steps.copy()
        left = room[:, column] - steps[:, column]
        full[:, column] += _enough(missing(steps), slopes[:, column], left)
        return full

    if alone and n_numbers == 2:
        first = int(np.argmax(length))  # the number of which fewer steps fit into a distance
        most = _enough(need, slopes[:, first], room[:, first])
        # Ever more of its steps, while they are nearer than the best way.
        for count in range(_MOST_STEPS + 1):
            nearer = count * length[first] < best.distance
            open_rows = (count <= most) & nearer
            if not open_rows.any():
                return True
            steps = np.zeros_like(slopes)
            steps[:, first] = np.where(open_rows, float(count), 0.0)
            improve(made_up(steps, 1 - first))
    relaxed = rival.path.place_of_gain(need)
    with np.errstate(invalid="ignore", over="ignore"):
        ideal = slopes * relaxed[:, None] / length**2
        ideal = np.where(slopes > 0.0, ideal, 0.0)
        ideal = np.minimum(ideal, room)
    ideal = np.where(np.isfinite(ideal), ideal, 0.0)
    for shift in _roundings(ideal):
        rounded = np.floor(ideal + 1e-9) + shift
        steps = np.clip(rounded, 0.0, room)
        if not alone:
            improve(steps)
            continue
        # Nothing changes smoothly: one number makes up for the rest, each in turn.
        for column in range(n_numbers):
            improve(made_up(steps, column))
    return n_numbers == 1


def _roundings(ideal: FloatArray) -> Iterator[FloatArray]:
    """Yield what to add to the whole part of each number: all combinations where they are few.

    Of many numbers ever more are rounded up, those first whose whole part cuts off most.
    """
    n_numbers = ideal.shape[1]
    if n_numbers > _MOST_COMBINED:
        cut_off = np.floor(ideal + 1e-9) - ideal
        order = cut_off.argsort(axis=1, kind="stable")
        rank = order.argsort(axis=1, kind="stable")
        for count in range(n_numbers + 1):
            yield (rank < count).astype(np.float64)
        return
    around: tuple[int, ...] = (-1, 0, 1, 2)
    if n_numbers > 3:
        around = (0, 1)
    for shifts in itertools.product(around, repeat=n_numbers):
        yield np.array(shifts, dtype=np.float64)


def _enough(need: FloatArray, slope: FloatArray, room: FloatArray) -> FloatArray:
    """Return how many steps meet the need, at most those there is room for; 0 where none would help."""
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.ceil(need / slope * (1.0 - 1e-12))
    steps = np.where(np.isfinite(steps), steps, 0.0)
    return np.minimum(steps, room)


def _beyond(ways: _Ways) -> FloatArray:
    """Return points just beyond the boundary, where the model really errs."""
    geometry = ways.geometry
    best = ways.best
    points = np.array(geometry.problem.codes)
    left = np.arange(len(points))
    whole = geometry.whole.any()
    for nudge in _NUDGES:
        for number, rival in enumerate(ways.rivals):
            mine = left[best.rival[left] == number]
            if not mine.size:
                continue
            steps = None
            if whole:
                steps = best.steps[mine]
            # A little past the boundary: relative to the change, and absolute where it is tiny.
            place = best.place[mine] * (1.0 + nudge)
            if nudge:
                steepness = np.abs(rival.slopes[mine])
                steepest = steepness.max(axis=1, initial=1e-300)
                place = place + nudge * nudge / steepest
            points[mine] = geometry.place(mine, rival, best.flipped[mine], place, steps)
        wrong = geometry.problem.is_wrong(points[left], left)
        left = left[~wrong]
        if not left.size:
            break
    return points
