"""Any model that predicts: its nearest counter-examples, or points of higher loss, from queries alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.climb import Ascent, BestPoints
from shiftmetrics.models.decision.search import CounterExamples, nearest_counterexamples
from shiftmetrics.models.outputs import last_step
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.models.route import Answer, unreached
from shiftmetrics.stability.losses import ZeroOneLoss

_MOST_STARTS = 4096
"""Most points whose predictions a search starts from; of more, so many are drawn at random."""
_SEARCH_SHARE = 3  # for losses other than the 0/1 loss, one query of so many searches for errors
_RTOL = 1e-7
_SHARES = (0.5, 0.25)  # of the way to where the gradient points, which are tried as well
# Lengths of a step, in units of the distance.
_LONGEST = 1.0
_SHORTEST = 1e-4
# What one round tries at most.
_MOST_DIRECTIONS = 24
_MOST_JUMPS = 16


class BlackboxRoute:
    """Upper bounds for anything with ``predict``, or a plain callable."""

    searches = True

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return True if the model predicts, or can be called."""
        return hasattr(model, "predict") or callable(model)

    def answer(self, question: Question) -> Answer | None:
        """Search for errors, or climb."""
        if question.loss != "zero_one":
            return QueryAscent(question).first()
        found = find_counterexamples(question, n_queries=question.n_queries)
        averaged = len(getattr(last_step(question.model), "calibrated_classifiers_", ())) > 1
        text = "An average of calibrated models is searched; one calibrated with ensemble=False has exact routes."
        return answer_of_errors(found.points, found.distances, warnings=(text,) if averaged else ())


def find_counterexamples(
    question: Question, *, n_queries: int, known: FloatArray | None = None
) -> CounterExamples:
    """Find the nearest errors of a question's rows; rows that are errors themselves are at distance 0.

    Parameters
    ----------
    question : Question
        The model and its rows.
    n_queries : int
        Most predictions for each row.
    known : array of shape (n_samples, n_features), optional
        A point for each row to start from as well.
    """
    codes = question.codes
    y = question.y
    predicted = question.predict(codes)
    pool = codes
    labels = predicted
    if len(pool) > _MOST_STARTS:
        kept = np.sort(question.rng.permutation(len(pool))[:_MOST_STARTS])
        pool = pool[kept]
        labels = labels[kept]
    right = np.flatnonzero(predicted == y)
    points = codes.copy()
    distances = np.zeros(len(codes))
    queries = np.ones(len(codes), dtype=np.int64)
    if right.size:
        found = nearest_counterexamples(
            lambda places, positions: question.is_wrong(places, right[positions]),
            question.domain, codes[right], y[right], pool, labels,
            known=None if known is None else known[right], n_queries=max(n_queries - 1, 0), rng=question.rng,
            progress=question.progress,
        )  # fmt: skip
        points[right] = found.points
        distances[right] = found.distances
        queries[right] += found.queries
    return CounterExamples(points=points, distances=distances, queries=queries)


def answer_of_errors(
    points: FloatArray, distances: FloatArray, *, warnings: tuple[str, ...] = ()
) -> Answer:
    """Return the answer for the 0/1 loss from one error of each row; the distance is inf where none is known."""
    loss = ZeroOneLoss(distances, kind="upper_bound")
    warnings = (*warnings, *unreached(distances))
    return Answer(loss, lambda rows, distances, choices: points[rows], warnings=warnings)


class QueryAscent(Ascent):
    """Ascent without derivatives.

    Rows climb from where they are, each with a step length and a budget of its own. Each round evaluates both ends of
    a step along every column (or along some random directions, where there are many), at one more jump of each
    category, and then where the gradient that these losses give points to.
    """

    rtol = _RTOL

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        n = question.n_samples
        self.queries_left = np.full(n, question.n_queries - 1, dtype=np.int64)
        self.step = np.full(n, 0.3 * _LONGEST)
        spread = float(np.std(self.columns.loss.losses)) or 1.0
        self.price = 2.0 * question.theta1 / spread

    def first(self) -> Answer:
        """Add what a search for errors finds, and climb at a guess of the price."""
        question = self.question
        if question.classes is not None and question.n_queries >= 2 * _SEARCH_SHARE:
            self._add_errors(question.n_queries // _SEARCH_SHARE)
        self.round(self.price)
        return self.answer()

    def refine(self, dual: float) -> Answer | None:
        """Climb at the dual price; steps that became short grow again, as the price has changed."""
        self.step = np.maximum(self.step, 0.1 * _LONGEST)
        return super().refine(dual)

    def next_price(self, dual: float) -> float | None:
        """Return the same price: steps are shorter now. None when no row can go on."""
        if self._able().size:
            return self.price
        return None

    def _able(self) -> IntArray:
        """Return the rows that can go on: their step is not too short, and a round is within their budget."""
        n_directions = min(self.space.n_numeric, _MOST_DIRECTIONS)
        n_jumps = sum(len(flip.states) - 1 for flip in self.space.flips) + 2 * len(
            self.space.coarse
        )
        of_a_round = 2 * n_directions + 2 + len(_SHARES) + min(n_jumps, _MOST_JUMPS)
        return np.flatnonzero((self.queries_left >= of_a_round) & (self.step > _SHORTEST))

    def _add_errors(self, n_queries: int) -> None:
        found = find_counterexamples(self.question, n_queries=n_queries)
        self.queries_left -= found.queries
        away = np.flatnonzero(np.isfinite(found.distances) & (found.distances > 0.0))
        losses = np.zeros(len(found.points))
        distances = np.full(len(found.points), np.inf)
        losses[away] = self.question.losses(found.points[away], away)
        distances[away] = found.distances[away]
        self.queries_left[away] -= 1
        self.columns = self.columns.appended(found.points, losses, distances)
        if away.size and losses[away].mean() > 0.0:
            # at this price the errors begin to pay
            squared = np.median(np.square(distances[away]))
            self.price = 2.0 * self.question.theta1 * float(squared / np.median(losses[away]))

    def climb(self, start: FloatArray, best: BestPoints, dual: float) -> None:
        """Climb one round with the rows that can go on."""
        which = self._able()
        if not which.size:
            return
        space = self.space
        rng = self.question.rng
        before = best.values[which].copy()
        base = start[which]
        here = space.moves(start[which], which)
        p = space.n_numeric
        if p <= _MOST_DIRECTIONS:
            directions = np.eye(p)
        else:
            directions = np.linalg.qr(rng.standard_normal((p, _MOST_DIRECTIONS)))[0].T
        # Both ends of a step in each direction, and jumps.
        step = self.step[which][:, None, None]
        ahead = here[:, None] + step * directions
        behind = here[:, None] - step * directions
        both = np.concatenate([ahead, behind], axis=1)
        trials = space.points(base, which, space.clip(both, which))
        trials = np.concatenate([trials, space.some_jumps(base, rng, _MOST_JUMPS)], axis=1)
        loss = self._evaluate(which, trials, dual, best)
        k = len(directions)
        if k:
            slope = (loss[:, :k] - loss[:, k : 2 * k]) / (2.0 * step[:, :, 0])
            # where the first-order gain is greatest
            target = (dual / (2.0 * self.question.theta1)) * (slope @ directions)
            shorter = [part * target for part in _SHARES]
            ways = np.stack([target, 0.5 * (here + target), *shorter], axis=1)
            self._evaluate(which, space.points(base, which, space.clip(ways, which)), dual, best)
        # Steps grow where they gain, and shrink elsewhere.
        gained = best.values[which] > before + 1e-3 * np.abs(before)
        factor = np.where(gained, 1.2, 0.4)
        self.step[which] = np.minimum(factor * self.step[which], _LONGEST)

    def _evaluate(
        self, which: IntArray, trials: FloatArray, dual: float, best: BestPoints
    ) -> FloatArray:
        """Evaluate several points of each row, keep the best, and return the losses."""
        n_which, n_points, n_columns = trials.shape
        owner = np.repeat(which, n_points)
        flat = self.space.allowed(trials.reshape(-1, n_columns), owner)
        loss = self.question.losses(flat, owner).reshape(n_which, n_points)
        loss = np.nan_to_num(loss, nan=0.0, posinf=0.0)  # far off, where the model overflows
        self.queries_left[which] -= n_points
        distance = self.space.distance(flat, owner).reshape(n_which, n_points)
        cost = self.question.theta1 * np.square(distance)
        points = flat.reshape(trials.shape)
        everyone = np.arange(n_which)
        value = dual * loss - cost
        choice = value.argmax(axis=1)
        best.keep(which, points[everyone, choice], loss[everyone, choice], value[everyone, choice])
        return loss
