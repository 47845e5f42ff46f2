"""The nearest error of each row of a linear classifier: exact with bounds, flips and integer steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.linear.geometry import Geometry, Rival
from shiftmetrics.models.linear.integer_steps import IntegerSteps
from shiftmetrics.models.linear.nearest_plan import NearestPlan
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.search.worst_case import WorstCase
from shiftmetrics.stability.losses import ZeroOneLoss

CELL_BYTES = 200  # of a number of a row, for each score
_FIXED_BYTES = 60  # of a cell that stays
BLOCK_BYTES = 1 << 25
_MOST_PLANS = 1 << 14  # numbers of flips at each price
_MOST_PLANS_OF_ROWS = 1 << 23  # the same, times all rows
_ROWS_AT_ONCE = 128  # whose ways of integer steps are in memory
_TIE = 1e-11  # of the gap: steps that end so close to a tie end in it
_NEAR = 1e-150  # a row on the boundary: not an error yet, and its square is still above 0
_NUDGES = (
    0.0,
    1e-12,
    1e-10,
    1e-8,
    1e-6,
    1e-4,
)  # how far beyond the boundary, relative to the change


@dataclass(frozen=True, eq=False)
class Ways:
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
    # What a row needs grows with the columns that may change.
    n_able = int(problem.domain.numeric.sum()) + len(problem.domain.mutable_flips)
    row_bytes = CELL_BYTES * n_able * len(scores.intercept)
    row_bytes += _FIXED_BYTES * problem.domain.n_features
    errors = _errors_at_rows(problem)
    blocks = row_blocks(problem.n_samples, row_bytes, block_bytes=BLOCK_BYTES)
    for block in blocks:
        ways = nearest_ways(problem, scores, block)
        wrong = errors[block]
        # The infimum of distances beyond the boundary may be 0, where an error is not yet.
        nearest = np.maximum(ways.best.distance, _NEAR)
        least = np.maximum(np.minimum(ways.floor, ways.best.distance), _NEAR)
        distances[block] = np.where(wrong, 0.0, nearest)
        lower[block] = np.where(wrong, 0.0, least)

    known: list[FloatArray] = []  # the places of all rows, where one block holds them

    def points(rows: IntArray, _distances: FloatArray, _choices: IntArray | None) -> FloatArray:
        if len(blocks) == 1:
            if not known:
                known.append(beyond(ways, np.flatnonzero(np.isfinite(distances) & ~errors)))
            return known[0][rows]
        placed = np.empty((len(rows), problem.domain.n_features))
        for block in row_blocks(len(rows), row_bytes, block_bytes=BLOCK_BYTES):
            placed[block] = beyond(nearest_ways(problem, scores, rows[block]))
        return placed

    if (distances <= lower * (1.0 + 1e-12)).all():
        return WorstCase(ZeroOneLoss(distances), points)
    upper_loss = ZeroOneLoss(distances, kind="upper_bound")
    lower_loss = ZeroOneLoss(lower, kind="lower_bound")
    return WorstCase(upper_loss, points, lower=lower_loss)


def _errors_at_rows(problem: ModelProblem) -> BoolArray:
    """Return which rows are errors where they stand, asked for once for all columns."""
    held = problem.known.get("errors at rows")
    if held is None or held[0] is not problem.codes or held[1] is not problem.y:
        wrong = problem.is_wrong(problem.codes, slice(None))
        held = (problem.codes, problem.y, wrong)
        problem.known["errors at rows"] = held
    return np.asarray(held[2])


def nearest_ways(
    problem: ModelProblem,
    scores: AdditiveScores,
    rows: IntArray | slice,
    make: Callable[..., Geometry] = Geometry,
) -> Ways:
    """Search the nearest ways of some rows past the rivals of a geometry, which ``make`` makes of them."""
    most = min(_MOST_PLANS, _MOST_PLANS_OF_ROWS // problem.n_samples)
    problem = problem.with_samples(problem.codes[rows], problem.y[rows])
    geometry = make(problem, scores, most_plans=most)
    rivals = list(geometry.rivals())
    best = NearestPlan.unknown(geometry)
    floor = np.full(geometry.n_samples, np.inf)
    everyone = np.arange(geometry.n_samples)
    for number, rival in enumerate(rivals):
        in_steps = geometry.whole.any() and not rival.smooth.slopes.any()
        tie = _TIE * np.abs(geometry.at_rows).max(initial=0.0) if in_steps else 0.0
        is_first = geometry.wins_ties(number)
        for plan in geometry.plans(rival):
            # These and all further flips are farther than what is known.
            if (plan.cheapest >= best.distance).all():
                break
            # What numbers must add to the gap once these categories have changed, and how far that is.
            possible = np.isfinite(plan.gain)
            gap = rival.gap + np.where(possible, plan.gain, 0.0)
            missing = np.maximum(-gap, 0.0)
            if in_steps:
                # Steps may end in a tie, which is an error unless the label is the first of the two classes.
                missing = missing * np.where(is_first, 1.0 + _TIE, 1.0 - _TIE)
            missing = np.maximum(missing, np.where(is_first & (gap <= tie), _NEAR, 0.0))
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
                    steps = IntegerSteps(best, geometry, number, rival, plan, need, part)
                    steps.round_relaxed()
                    known[part] = steps.try_all()
                # Of joined prices this plan is not the only one.
                known &= not geometry.joined
            # A plan whose ways were all tried is done with. Of the others no way is shorter than
            # the relaxed one.
            floor = np.minimum(floor, np.where(known, np.inf, least))
    return Ways(geometry, rivals, best, floor)


def beyond(ways: Ways, rows: IntArray | None = None) -> FloatArray:
    """Return points just beyond the boundary, where the model really errs; rows that are not asked for stay."""
    geometry = ways.geometry
    best = ways.best
    points = np.array(geometry.problem.codes)
    left = np.arange(len(points))
    if rows is not None:
        left = rows
    whole = geometry.whole.any()
    for nudge in _NUDGES:
        if not left.size:
            break
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
            placed = geometry.place(mine, rival, best.flipped[mine], place, steps)
            # Farther along each column is farther beyond the boundary.
            start = geometry.problem.codes[mine]
            points[mine] = geometry.problem.domain.outward(placed, start)
        wrong = geometry.problem.is_wrong(points[left], left)
        left = left[~wrong]
    return points
