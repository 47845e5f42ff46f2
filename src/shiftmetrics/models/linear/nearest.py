"""The nearest error of each row of a linear classifier: exact with bounds, flips and integer steps."""

from __future__ import annotations

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
_MOST_PLANS = 1 << 14  # numbers of flips at each price
_MOST_PLANS_OF_ROWS = 1 << 23  # the same, times all rows
_MOST_WAYS = 1024  # of integer steps of a row, for each number of flips
_ROWS_AT_ONCE = 128  # whose ways of integer steps are in memory
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
        rows: IntArray,
        rival: int,
        plan: FlipPlan,
        place: FloatArray,
        squared: FloatArray,
        steps: FloatArray,
    ) -> None:
        """Keep the shortest way of each row if it is shorter; ``squared`` is that of the changes of numbers."""
        distance = np.sqrt(squared + plan.distance[rows] ** 2)
        order = np.argsort(distance, kind="stable")
        _, first = np.unique(rows[order], return_index=True)
        shortest = order[first]
        better = shortest[distance[shortest] < self.distance[rows[shortest]]]
        row = rows[better]
        self.distance[row] = distance[better]
        self.rival[row] = rival
        self.flipped[row] = plan.flipped[row]
        self.place[row] = place[better]
        self.steps[row] = steps[better]


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
        No way that was not tried is shorter.
    """

    geometry: Geometry
    rivals: list[Rival]
    best: NearestPlan
    floor: FloatArray


# Each row is searched by itself, in blocks: what a block needs is many times as large as its rows. Points are asked
# for later, and for the rows that change: their ways are computed again.
def nearest_errors(problem: ModelProblem, scores: AdditiveScores) -> WorstCase:
    """Return the distance of each row to the nearest error, and where that is."""
    distances = np.empty(problem.n_samples)
    lower = np.empty(problem.n_samples)
    row_bytes = _CELL_BYTES * problem.domain.n_features * len(scores.intercept)
    for block in row_blocks(problem.n_samples, row_bytes, block_bytes=_BLOCK_BYTES):
        ways = _nearest_ways(problem, scores, block)
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

    if (distances <= lower * (1.0 + 1e-12)).all():
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
    most = min(_MOST_PLANS, _MOST_PLANS_OF_ROWS // problem.n_samples)
    problem = problem.with_samples(problem.codes[rows], problem.y[rows])
    geometry = Geometry(problem, scores, most_plans=most)
    rivals = list(geometry.rivals())
    best = NearestPlan.unknown(geometry)
    floor = np.full(geometry.n_samples, np.inf)
    everyone = np.arange(geometry.n_samples)
    for number, rival in enumerate(rivals):
        for plan in geometry.plans(rival):
            # These and all further flips are farther than what is known.
            if (plan.cheapest >= best.distance).all():
                break
            # What numbers must add to the gap once these categories have changed, and how far that is.
            possible = np.isfinite(plan.gain)
            gap = rival.gap + np.where(possible, plan.gain, 0.0)
            missing = np.maximum(-gap, 0.0)
            need = np.where(possible, missing, np.inf)
            relaxed = rival.path.squared_of_gain(need)
            least = np.sqrt(relaxed + plan.least_distance**2)
            known = np.zeros(geometry.n_samples, dtype=np.bool_)
            if not geometry.whole.any():
                place = rival.path.place_of_gain(need)
                best.improve(everyone, number, plan, place, relaxed, best.steps * 0.0)
            else:
                # No way of integer steps is shorter than the relaxed one: most plans are left out by that.
                rows = np.flatnonzero(least < best.distance)
                known[:] = True
                for start in range(0, len(rows), _ROWS_AT_ONCE):
                    part = rows[start : start + _ROWS_AT_ONCE]
                    too_many = _integer_steps(best, geometry, number, rival, plan, need, part)
                    known[part] = ~too_many
                # Of joined prices this plan is not the only one.
                known &= not geometry.joined
            floor = np.minimum(floor, np.where(known, np.inf, least))
    return _Ways(geometry, rivals, best, floor)


# At the price p of the gap the relaxed change x* of a number of slope s minimizes x^2 - 2 p s x within its bounds. So
# a way with the change x is longer than the relaxed one by at least the sum of (x - p s)^2 - (x* - p s)^2 over its
# numbers, in squared distances (weak duality). A first way bounds that sum, which leaves few steps of each number:
# all combinations are tried, the longest steps first. Where nothing changes smoothly, the shortest close the gap.
def _integer_steps(
    best: NearestPlan,
    geometry: Geometry,
    number: int,
    rival: Rival,
    plan: FlipPlan,
    need: FloatArray,
    rows: IntArray,
) -> BoolArray:
    """Improve rows by ways of integer steps; return for which rows there were too many ways to try all."""
    gain, room = geometry.whole_slopes(rival)
    gain = gain[rows]
    room = np.where(gain > 0.0, room[rows], 0.0)
    length = 1.0 / geometry.problem.domain.unit[geometry.whole]  # distance of one step
    price = rival.path.place_of_gain(need)[rows]
    relaxed = rival.path.squared_of_gain(need)[rows]
    need = need[rows]
    smooth = rival.smooth[rows]
    alone = not rival.smooth.slopes.any()
    # In steps: p s, and x*.
    free = gain * price[:, None] / length**2
    nearest = np.minimum(free, room)

    def closed(of: IntArray, steps: FloatArray, column: int) -> FloatArray:
        """Let one number make up for what the others leave, as far as there is room."""
        steps = steps.copy()
        steps[:, column] = 0.0
        gained = (steps * gain[of]).sum(axis=1)
        left = np.maximum(need[of] - gained, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            count = np.ceil(left / gain[of, column] * (1.0 - 1e-12))
        count = np.where(np.isfinite(count), count, 0.0)
        steps[:, column] = np.minimum(count, room[of, column])
        return steps

    def keep(of: IntArray, steps: FloatArray) -> None:
        """Keep steps where they are nearer, with what the other numbers must add, beyond rounding."""
        gained = (steps * gain[of]).sum(axis=1)
        left = np.maximum(need[of] - gained, 0.0)
        left[left <= 1e-12 * need[of]] = 0.0
        path = smooth[of]
        of_steps = (steps * length) ** 2
        squared = of_steps.sum(axis=1) + path.squared_of_gain(left)
        best.improve(rows[of], number, plan, path.place_of_gain(left), squared, steps)

    # First ways: the relaxed one with ever more of its numbers rounded up.
    of = np.arange(len(rows))
    for up in np.linspace(1e-9, 1.0 - 1e-9, 5 + len(length) // 4):
        steps = np.floor(nearest + up)
        keep(of, steps)
        if alone:
            for column in range(len(length)):
                keep(of, closed(of, steps, column))
    slack = best.distance[rows] ** 2 - plan.distance[rows] ** 2 - relaxed
    order = np.argsort(-length, kind="stable")
    if alone:
        order, last = order[:-1], order[-1]
    too_many = np.zeros(len(rows), dtype=np.bool_)
    steps = np.zeros_like(nearest)
    for column in order:
        slack = np.maximum(slack, 0.0)
        middle = free[of, column]
        least = (nearest[of, column] - middle) ** 2
        reach = np.sqrt(slack / length[column] ** 2 + least)
        low = np.ceil(np.maximum(middle - reach, 0.0))
        high = np.floor(np.minimum(middle + reach, room[of, column]))
        # Of too many those around the relaxed change are tried.
        most = np.maximum(_MOST_WAYS // np.bincount(of)[of], 1)
        far = high - low >= most
        too_many[of[far]] = True
        around = np.ceil(nearest[of, column] - 0.5 * most)
        low = np.where(far, np.maximum(low, around), low)
        high = np.minimum(high, low + most - 1)
        counts = np.maximum(high - low + 1, 0).astype(np.int64)
        which = np.repeat(np.arange(len(of)), counts)
        rank = np.arange(len(which)) - (np.cumsum(counts) - counts)[which]
        step = low[which] + rank
        longer = (step - middle[which]) ** 2 - least[which]
        slack = slack[which] - longer * length[column] ** 2
        of = of[which]
        steps = steps[which]
        steps[:, column] = step
    if alone:
        steps = closed(of, steps, last)
    keep(of, steps)
    return too_many


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
