"""The route of last resort, for any model that predicts: searches with queries alone, without derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.reading.estimators import last_step
from shiftmetrics.models.reading.model import LossName, ModelProblem
from shiftmetrics.models.search.column import SearchRoute
from shiftmetrics.models.search.counterexamples import TRIALS, find_counterexamples, scattered
from shiftmetrics.models.search.worst_case import Ascent, BestPoints, WorstCase

_SEARCH_PART = 3  # one query of so many searches for errors
_ROUND_PART = 6  # of the queries that are left, one of so many is spent at one price
_WAYS = (1.0, 0.5, 0.25)  # of the way to where the gradient points, which are tried as well
# Lengths of a step, in units of the distance.
_LONGEST = 1.0
_SHORTEST = 0.01
_REGROWN = 0.02  # at least, once the price has changed
# What one round tries at most.
_MOST_DIRECTIONS = 24
_MOST_JUMPS = 16


class BlackboxRoute(SearchRoute):
    """Upper bounds for anything with ``predict``, or a plain callable."""

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return True if the model predicts, or can be called."""
        return hasattr(model, "predict") or callable(model)

    def worst_case(self, problem: ModelProblem) -> WorstCase | None:
        """Search for errors, or climb."""
        if problem.loss != "zero_one":
            return QueryAscent(problem).first()
        found = find_counterexamples(problem, n_queries=problem.search.n_queries)
        warnings = problem.notes
        calibrated = getattr(last_step(problem.model), "calibrated_classifiers_", ())
        if len(calibrated) > 1:
            text = "An average of calibrated models is searched; one calibrated with ensemble=False has exact routes."
            warnings = (*warnings, text)
        return WorstCase.of_errors(found.points, found.distances, warnings=warnings)


class QueryAscent(Ascent):
    """Ascent without derivatives.

    Samples climb from where they are, each with a step length and a budget of its own. A step evaluates both ends
    along every column (or along some random directions, where there are many), one more jump of each category, and
    then where the gradient that these losses give points to. Where steps are too short to gain, as where the loss is
    constant in pieces, points around the best one and in the ball that may hold a better one are tried.
    """

    rtol = 1e-7

    def __init__(self, problem: ModelProblem) -> None:
        super().__init__(problem)
        self.warnings = problem.notes
        n = problem.n_samples
        self.queries_left = np.full(n, problem.search.n_queries - 1, dtype=np.int64)
        self.step = np.full(n, 0.3 * _LONGEST)
        base = np.asarray(self.loss.losses)
        self.highest = float(base.max())  # loss that was seen
        spread = float(np.std(base)) or 1.0
        self.price = 2.0 * problem.theta1 / spread
        self.left_before = int(self.queries_left.sum())  # at the last round that did not pay

    def first(self) -> WorstCase:
        """Add what a search for errors finds, and climb at a guess of the price."""
        problem = self.problem
        if problem.classes is not None and problem.search.n_queries >= 2 * _SEARCH_PART:
            self._add_errors(problem.search.n_queries // _SEARCH_PART)
        self.round(self.price)
        return self.worst_case()

    def refine(self, dual: float) -> WorstCase | None:
        """Climb at the dual price; steps that became short grow again a little, as the price has changed.

        By how much was measured on nearest neighbours, support vectors and linear models. Longer steps leave fewer
        trials, and bounds of losses that are constant in pieces get 6 to 20 % higher. Without any, smooth losses have
        bounds up to 3 % higher.
        """
        self.step = np.maximum(self.step, _REGROWN)
        return super().refine(dual)

    def next_price(self, dual: float) -> float | None:
        """Return the same price, as another round tries other points; None when no sample can go on."""
        left = int(self.queries_left.sum())
        if left < self.left_before:
            self.left_before = left
            return self.price
        return None

    def _add_errors(self, n_queries: int) -> None:
        """Add the nearest errors, and begin at the price at which they begin to pay."""
        found = find_counterexamples(self.problem, n_queries=n_queries)
        self.queries_left -= found.queries
        found_away = np.isfinite(found.distances) & (found.distances > 0.0)
        away = np.flatnonzero(found_away)
        losses = np.zeros(len(found.points))
        distances = np.full(len(found.points), np.inf)
        losses[away] = self.problem.losses(found.points[away], away)
        distances[away] = found.distances[away]
        self.queries_left[away] -= 1
        self.add(found.points, losses, distances)
        if away.size and losses[away].mean() > 0.0:
            # Where the price of half of the errors is what their loss is worth; and twice that.
            squared = np.square(distances[away])
            ratio = np.median(squared) / np.median(losses[away])
            self.price = 2.0 * self.problem.theta1 * float(ratio)

    def climb(self, start: FloatArray, best: BestPoints, price: float) -> None:
        """Climb with a part of the queries that are left."""
        least = max(self._queries_of_a_step(), TRIALS)
        quota = np.maximum(self.queries_left // _ROUND_PART, least)
        stop = np.maximum(self.queries_left - quota, 0)
        while True:
            to_spend = self.queries_left - stop
            which = np.flatnonzero(to_spend >= self._queries_of_a_step())
            stepping = which[self.step[which] > _SHORTEST]
            if not stepping.size:
                break
            self._step_all(stepping, best, price)
        while self.space.n_smooth:
            to_spend = self.queries_left - stop
            which = np.flatnonzero(to_spend >= TRIALS)
            if not which.size:
                break
            # No point farther off than this can be better, at the highest loss that was seen.
            most = price * self.highest - best.values[which]
            squared = np.maximum(most, 0.0) / self.problem.theta1
            radius = np.sqrt(squared)
            rng = self.problem.rng
            trials = scattered(self.space, which, best.points[which], radius, rng)
            self._evaluate(which, trials, price, best)

    def _queries_of_a_step(self) -> int:
        n_directions = min(self.space.n_smooth, _MOST_DIRECTIONS)
        n_jumps = min(self.space.n_jumps, _MOST_JUMPS)
        return 2 * n_directions + n_jumps + len(_WAYS) + 1

    def _step_all(self, which: IntArray, best: BestPoints, price: float) -> None:
        """Take one step with each of these samples."""
        space = self.space
        rng = self.problem.rng
        before = best.values[which].copy()
        base = best.points[which]
        here = space.moves(base, which)
        directions = np.eye(space.n_smooth)
        if space.n_smooth > _MOST_DIRECTIONS:
            random = rng.standard_normal((space.n_smooth, _MOST_DIRECTIONS))
            basis, _ = np.linalg.qr(random)
            directions = basis.T
        # Both ends of a step in each direction, and jumps.
        step = self.step[which][:, None, None]
        ahead = here[:, None] + step * directions
        behind = here[:, None] - step * directions
        both = space.clip(np.concatenate([ahead, behind], axis=1), which)
        ends = space.points(base, which, both)
        jumps = space.some_jumps(base, rng, _MOST_JUMPS)
        trials = np.concatenate([ends, jumps], axis=1)
        losses = self._evaluate(which, trials, price, best)
        k = len(directions)
        if k:
            rise = losses[:, :k] - losses[:, k : 2 * k]
            slope = rise / (2.0 * step[:, :, 0])
            # where the first-order gain is greatest
            gradient = slope @ directions
            target = (price / (2.0 * self.problem.theta1)) * gradient
            ways = [part * target for part in _WAYS]
            ways.append(0.5 * (here + target))
            there = space.clip(np.stack(ways, axis=1), which)
            trials = space.points(base, which, there)
            self._evaluate(which, trials, price, best)
        # Steps grow where they gain, and shrink elsewhere.
        gained = best.values[which] > before + 1e-3 * np.abs(before)
        factor = np.where(gained, 1.2, 0.4)
        self.step[which] = np.minimum(factor * self.step[which], _LONGEST)

    def _evaluate(
        self, which: IntArray, trials: FloatArray, price: float, best: BestPoints
    ) -> FloatArray:
        """Evaluate several points of each sample, keep the best, and return the losses."""
        n_which, n_points, n_columns = trials.shape
        owner = np.repeat(which, n_points)
        flat = self.space.allowed(trials.reshape(-1, n_columns), owner)
        losses, _, values = self.measured(flat, owner, price)
        self.queries_left[which] -= n_points
        highest = float(losses.max(initial=0.0))
        self.highest = max(self.highest, highest)
        # The best point of each sample; points of a sample stand one after another.
        place = values.reshape(n_which, n_points).argmax(axis=1)
        first = np.arange(n_which) * n_points + place
        best.keep(which, flat[first], losses[first], values[first])
        return losses.reshape(n_which, n_points)
