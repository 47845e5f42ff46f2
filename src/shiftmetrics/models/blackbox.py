"""Any model that predicts: its nearest counter-examples, or points of higher loss, from queries alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.climb import Climber, Columns, Price, pays
from shiftmetrics.models.decision import CounterExamples, nearest_counterexamples
from shiftmetrics.models.decision.nearest import MoveSpace
from shiftmetrics.models.domain import differs
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import Loss, ZeroOneLoss

_MOST_STARTS = 4096
"""Most points whose predictions a search starts from; of more, so many are drawn at random."""
_SEARCH_SHARE = 3  # for losses other than the 0/1 loss, one query of so many searches for errors
_RTOL = 1e-7


class BlackboxRoute:
    """Upper bounds for anything with ``predict``, or a plain callable."""

    name = "blackbox"
    searches = True

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Tell whether the model predicts, or can be called."""
        return hasattr(model, "predict") or callable(model)

    def answer(self, question: Question) -> Answer | None:
        """Search for errors, or climb."""
        if question.loss != "zero_one":
            return _Climb(question).first()
        found = find_counterexamples(question, n_queries=question.n_queries)
        return answer_of_errors(found.points, found.distances)


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
    codes, y = question.codes, question.y
    predicted = question.predict(codes)
    pool, labels = codes, predicted
    if question.background is not None and len(question.background):
        pool = np.concatenate([pool, question.background])
        labels = np.concatenate([labels, question.predict(question.background)])
    if len(pool) > _MOST_STARTS:
        kept = np.sort(question.rng.permutation(len(pool))[:_MOST_STARTS])
        pool, labels = pool[kept], labels[kept]
    right = np.flatnonzero(predicted == y)
    points, distances = codes.copy(), np.zeros(len(codes))
    queries = np.ones(len(codes), dtype=np.int64)
    if right.size:
        found = nearest_counterexamples(
            lambda places, positions: question.is_wrong(places, right[positions]),
            question.domain, codes[right], y[right], pool, labels,
            known=None if known is None else known[right], n_queries=max(n_queries - 1, 0), rng=question.rng,
            progress=question.progress,
        )  # fmt: skip
        points[right], distances[right] = found.points, found.distances
        queries[right] += found.queries
    return CounterExamples(points=points, distances=distances, queries=queries)


def answer_of_errors(
    points: FloatArray, distances: FloatArray, *, lower: Loss | None = None, warnings: tuple[str, ...] = ()
) -> Answer:
    """Return the answer for the 0/1 loss from one error of each row; the distance is inf where none is known."""
    missing = int(np.isinf(distances).sum())
    if missing:
        text = (
            f"No error was found within reach of {missing} of {len(distances)} rows; they count as if they had none. "
            "More n_queries, or background rows of other classes, may find some."
        )
        warnings = (*warnings, text)
    loss = ZeroOneLoss(distances, kind="upper_bound")
    return Answer(loss, lambda rows, distances, choices: points[rows], lower=lower, warnings=warnings)


class _Climb:
    """Points of higher loss for every row, found round by round without derivatives."""

    def __init__(self, question: Question) -> None:
        self.question = question
        codes = question.codes
        self.columns = Columns.of(
            codes, question.losses(codes, slice(None)), memory_limit=question.memory_limit
        )
        self.budget = np.full(len(codes), question.n_queries - 1, dtype=np.int64)
        self.space = MoveSpace(question.domain, codes)
        self.climber = Climber(self._losses, self.space, self.budget, question.theta1, question.rng)
        spread = float(np.std(self.columns.loss.losses)) or 1.0
        self.price = Price(2.0 * question.theta1 / spread)

    def first(self) -> Answer:
        """Add what a search for errors finds, and climb at a guess of the price."""
        question = self.question
        if question.classes is not None and question.n_queries >= 2 * _SEARCH_SHARE:
            self._add_errors(question.n_queries // _SEARCH_SHARE)
        self._climb(self.price.guess)
        return self._answer()

    def refine(self, dual: float) -> Answer | None:
        """Climb at the present price; None when no row gains, or no queries are left."""
        price = self.price.at(dual)
        self.climber.restart()
        while self.climber.able:
            if self._climb(price):
                return self._answer()
        return None

    def _add_errors(self, n_queries: int) -> None:
        found = find_counterexamples(self.question, n_queries=n_queries)
        self.budget -= found.queries
        away = np.flatnonzero(np.isfinite(found.distances) & (found.distances > 0.0))
        losses, distances = np.zeros(len(found.points)), np.full(len(found.points), np.inf)
        losses[away], distances[away] = self._losses(found.points[away], away), found.distances[away]
        self.budget[away] -= 1
        self.columns = self.columns.appended(found.points, losses, distances)
        if away.size and losses[away].mean() > 0.0:
            # at this price the errors begin to pay
            squared = np.median(np.square(distances[away]))
            self.price = Price(2.0 * self.question.theta1 * float(squared / np.median(losses[away])))

    def _climb(self, dual: float) -> bool:
        """Climb from the best points (the best other ones where that is the row itself); return whether that paid."""
        question = self.question
        start, value = self.columns.best(dual, question.theta1)
        away, value_away = self.columns.best_away(dual, question.theta1)
        resting = np.asarray(~differs(start, question.codes).any(axis=1))
        start = np.where(resting[:, None], away, start)
        points, losses = self.climber.climb(start, dual, np.where(resting, value_away, value))
        found = np.isfinite(losses)
        if not found.any():
            return False
        gain = np.zeros(len(value))
        for place, loss, known in zip(points, losses, found, strict=True):
            distances = np.where(known, question.domain.distances(place, question.codes), np.inf)
            losses_there = np.where(known, loss, 0.0)
            there = np.where(known, dual * losses_there - question.theta1 * np.square(distances), value)
            gain = np.maximum(gain, there - value)
            self.columns = self.columns.appended(place, losses_there, distances)
        return pays(gain, value, _RTOL)

    def _answer(self) -> Answer:
        return self.columns.answer(self.refine)

    def _losses(self, points: FloatArray, rows: IntArray) -> FloatArray:
        return self.question.losses(points, rows)
