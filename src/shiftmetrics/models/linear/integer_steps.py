"""The nearest error of a linear model where some numbers change by integer steps: bounds, then all that they leave.

The relaxed problem lets these numbers change by fractions. At its price p of the gap, the relaxed change x* of a
number of slope s minimizes ``x^2 - 2 p s x`` within the bounds of that number. So a way with the change x is longer
than the relaxed one by at least the sum over its numbers of ``(x - p s)^2 - (x* - p s)^2``, in squared distances
(weak duality). A first way, found by rounding, bounds that sum, which leaves few steps of each number: all of their
combinations are tried, the longest steps first.

Where no number changes smoothly, one integer number closes what the others leave of the gap: the one with the
shortest steps, which overshoots least.
"""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.linear.geometry import FlipPlan, Geometry, Rival
from shiftmetrics.models.linear.nearest_plan import NearestPlan

_MOST_WAYS = 1024  # of integer steps of a row, for each number of flips
_ROUNDING = 1e-12  # of the gap: less than this is not missing


class IntegerSteps:
    """Ways of some rows past one rival, after one plan of flips.

    Arrays of shape (n_rows, n_integer) have a column for each number that changes by integer steps. A *way* is a row
    number, ``of``, with a row of ``steps``: one row has many ways.

    Parameters
    ----------
    best : NearestPlan
        The best way of each sample so far, which is improved in place.
    geometry : Geometry
        All samples.
    number : int
        Number of the rival.
    rival : Rival
        What raises the gap.
    plan : FlipPlan
        The categories that change.
    need : ndarray of shape (n_samples,)
        What the numbers must add to the gap.
    rows : ndarray of shape (n_rows,)
        The samples to search.
    """

    def __init__(
        self,
        best: NearestPlan,
        geometry: Geometry,
        number: int,
        rival: Rival,
        plan: FlipPlan,
        need: FloatArray,
        rows: IntArray,
    ) -> None:
        self.best = best
        self.number = number
        self.plan = plan
        self.rows = rows
        self.need = need[rows]
        # What one step adds to the gap, and how many steps there are.
        gain, room = geometry.whole_slopes(rival)
        self.gain = gain[rows]
        self.room = np.where(self.gain > 0.0, room[rows], 0.0)
        # The distance of one step.
        self.length = 1.0 / geometry.problem.domain.unit[geometry.whole]
        self.smooth = rival.smooth[rows]
        self.nothing_smooth = not rival.smooth.slopes.any()
        # The relaxed way, its changes in steps: p s without bounds, and x* within them.
        price = rival.path.place_of_gain(need)[rows]
        self.relaxed = rival.path.squared_of_gain(need)[rows]
        self.free = self.gain * price[:, None] / self.length**2
        self.nearest = np.minimum(self.free, self.room)

    def round_relaxed(self) -> None:
        """Keep first ways: the relaxed one with ever more of its numbers rounded up."""
        everyone = np.arange(len(self.rows))
        n_integer = len(self.length)
        for up in np.linspace(1e-9, 1.0 - 1e-9, 5 + n_integer // 4):
            steps = np.floor(self.nearest + up)
            self._keep(everyone, steps)
            if self.nothing_smooth:
                # Each number in turn closes the gap.
                for column in range(n_integer):
                    self._keep(everyone, self._closed(everyone, steps, column))

    def try_all(self) -> BoolArray:
        """Keep the best of all ways that may be shorter; return for which rows none was left out."""
        # The longest steps first: they leave the fewest counts, and so the fewest ways for the next number.
        order = np.argsort(-self.length, kind="stable")
        closing = None
        if self.nothing_smooth:
            closing = order[-1]
            order = order[:-1]
        complete = np.ones(len(self.rows), dtype=np.bool_)
        # One way for each row to begin with, and by how much it may be longer than the relaxed one.
        of = np.arange(len(self.rows))
        steps = np.zeros_like(self.nearest)
        flips = self.plan.distance[self.rows] ** 2
        slack = self.best.distance[self.rows] ** 2 - flips - self.relaxed
        for column in order:
            slack = np.maximum(slack, 0.0)
            low, high, cut = self._counts(of, slack, column)
            complete[of[cut]] = False
            # Every way becomes one way for each count from low to high.
            counts = np.maximum(high - low + 1, 0).astype(np.int64)
            which = np.repeat(np.arange(len(of)), counts)
            first = (np.cumsum(counts) - counts)[which]
            step = low[which] + (np.arange(len(which)) - first)
            # What this number takes of the slack.
            middle = self.free[of, column]
            least = (self.nearest[of, column] - middle) ** 2
            longer = (step - middle[which]) ** 2 - least[which]
            slack = slack[which] - longer * self.length[column] ** 2
            of = of[which]
            steps = steps[which]
            steps[:, column] = step
        if closing is not None:
            steps = self._closed(of, steps, closing)
        self._keep(of, steps)
        return complete

    def _counts(
        self, of: IntArray, slack: FloatArray, column: int
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return the least and the greatest number of steps of a number in each way, and where some are left out."""
        middle = self.free[of, column]
        least = (self.nearest[of, column] - middle) ** 2
        # From (x - p s)^2 - (x* - p s)^2 <= slack, in steps.
        reach = np.sqrt(slack / self.length[column] ** 2 + least)
        low = np.ceil(np.maximum(middle - reach, 0.0))
        high = np.floor(np.minimum(middle + reach, self.room[of, column]))
        # Of too many those around the relaxed change are tried.
        ways_of_row = np.bincount(of)[of]
        most = np.maximum(_MOST_WAYS // ways_of_row, 1)
        cut = high - low >= most
        around = np.ceil(self.nearest[of, column] - 0.5 * most)
        low = np.where(cut, np.maximum(low, around), low)
        high = np.minimum(high, low + most - 1)
        return low, high, cut

    def _missing(self, of: IntArray, steps: FloatArray) -> FloatArray:
        """Return what ways leave of the gap."""
        gained = (steps * self.gain[of]).sum(axis=1)
        missing: FloatArray = np.maximum(self.need[of] - gained, 0.0)
        return missing

    def _closed(self, of: IntArray, steps: FloatArray, column: int) -> FloatArray:
        """Let one number make up for what the others leave, as far as there is room."""
        steps = steps.copy()
        steps[:, column] = 0.0
        missing = self._missing(of, steps)
        with np.errstate(divide="ignore", invalid="ignore"):
            count = np.ceil(missing / self.gain[of, column] * (1.0 - _ROUNDING))
        # A number without a slope makes up for nothing.
        count = np.where(np.isfinite(count), count, 0.0)
        steps[:, column] = np.minimum(count, self.room[of, column])
        return steps

    def _keep(self, of: IntArray, steps: FloatArray) -> None:
        """Keep ways where they are shorter, with what the smooth numbers must add."""
        missing = self._missing(of, steps)
        missing[missing <= _ROUNDING * self.need[of]] = 0.0
        path = self.smooth[of]
        of_steps = (steps * self.length) ** 2
        squared = of_steps.sum(axis=1) + path.squared_of_gain(missing)
        place = path.place_of_gain(missing)
        self.best.improve(self.rows[of], self.number, self.plan, place, squared, steps)
