"""Hinge, logistic and squared losses of a linear model: closed forms along the paths of its rivals, or a search.

Where no closed form exists (several classes with the logistic loss, integer steps), the relaxed worst case of each
row at a dual price is brought into the domain and climbed from, by steps that maximise the linearised loss, which
for a convex loss is never worse. What is found is an upper bound of stability, and the relaxation a certified lower
one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.climb import Columns
from shiftmetrics.models.linear.geometry import Geometry
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import (
    AlternativesLoss,
    BoundedHingeLoss,
    BoundedLogisticLoss,
    BoundedLoss,
    BoundedSquaredLoss,
    Kind,
    Loss,
)

_BOUNDED: dict[str, type[BoundedLoss]] = {
    "hinge": BoundedHingeLoss,
    "log_loss": BoundedLogisticLoss,
    "squared": BoundedSquaredLoss,
}


def closed_form(geometry: Geometry, *, kind: Kind = "exact", least: bool = False) -> Answer:
    """Return the loss with its worst case in closed form.

    Parameters
    ----------
    geometry : Geometry
        The rivals of the rows.
    kind : {"exact", "lower_bound"}, default "exact"
        What its stability is for the model.
    least : bool, default False
        Whether flips are priced at a lower bound of their distance, where prices were joined.

    Notes
    -----
    With more than two classes the logistic loss ``log(1 + sum_k exp(gap_k))`` is taken for the greatest
    ``log(1 + exp(gap_k + log(number of rivals)))``, which it never exceeds.
    """
    question = geometry.question
    rivals = list(geometry.rivals())
    parts: list[Loss] = []
    offsets: list[FloatArray] = []
    ratios: list[FloatArray] = []
    ways: list[tuple[int, BoolArray]] = []
    lift = math.log(len(rivals)) if question.loss == "log_loss" else 0.0
    for number, rival in enumerate(rivals):
        for plan in geometry.plans(rival):
            distance = plan.least_distance if least else plan.distance
            gain = np.where(np.isfinite(distance), plan.gain, 0.0)
            parts.append(_BOUNDED[question.loss](rival.gap + gain + lift, rival.path))
            offsets.append(distance)
            ratios.append(plan.from_ratio)
            ways.append((number, plan.flipped))
    # These losses rise by at most as much as the score, so that a flip must gain its price.
    ratio = None if question.loss == "squared" else np.stack(ratios, axis=1)
    loss = AlternativesLoss(parts, np.stack(offsets, axis=1), kind=kind, from_ratio=ratio)

    def points(rows: IntArray, distances: FloatArray, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        placed = np.array(question.codes[rows])
        for part in np.unique(choices):  # the parts have no choices of their own
            number, flipped = ways[part]
            rival = rivals[number]
            mine = np.flatnonzero(choices == part)
            chosen = rows[mine]
            squared = np.maximum(distances[mine] ** 2 - loss.offsets[chosen, part] ** 2, 0.0)
            place = rival.path.take(chosen).place_of_squared(squared)
            placed[mine] = geometry.place(chosen, rival, flipped[chosen], place)
        return placed

    return Answer(loss, points)


_CLIMBS = 12
_SEEDS = 2.0 ** np.arange(
    -3.0, 5.0
)  # dual prices to begin with, times theta1 over the squared norm
_WORTH = 1e-9  # relative gain of the objective that counts


def searched(geometry: Geometry) -> Answer:
    """Return candidates, with a search for more at each dual price, and the relaxation as a lower bound."""
    question = geometry.question
    relaxed = closed_form(geometry, kind="lower_bound", least=True)
    base = losses_of(question, geometry.at_rows)
    rivals = list(geometry.rivals())
    steepest = max(float((rival.slopes**2).sum(axis=1).max()) for rival in rivals)
    scale = question.theta1 / max(steepest, 1e-300)
    search = _LinearSearch(geometry, relaxed, Columns.of(question, base), scale * _SEEDS[-1])
    for dual in scale * _SEEDS:
        search.extend(float(dual))
    return search.answer()


@dataclass(eq=False)
class _LinearSearch:
    """The candidates known so far."""

    geometry: Geometry
    relaxed: Answer
    """Where the search starts, and a certified lower bound."""
    columns: Columns
    highest: float
    """Highest dual price that was searched."""

    def answer(self) -> Answer:
        """Return the candidates with their places, and the way on."""
        return self.columns.answer(self._refine, lower=self.relaxed.loss)

    def _refine(self, dual: float) -> Answer | None:
        price = dual if 0.0 < dual < math.inf else 4.0 * self.highest
        return self.answer() if self.extend(price) else None

    def extend(self, dual: float) -> bool:
        """Add the candidates for one dual price; return whether a row gains by them."""
        question = self.geometry.question
        theta1 = question.theta1
        everyone = slice(0, question.n_samples)
        known = self.columns.loss.transform(dual, theta1, everyone).value
        # Start from the relaxed worst case, brought into the domain.
        relaxed = self.relaxed.loss.transform(dual, theta1, everyone)
        rows = np.arange(question.n_samples)
        start = self.relaxed.points(rows, np.sqrt(relaxed.squared_distance), relaxed.choice)
        best = point = question.domain.clip(start, question.codes)
        best_value = self._value(best, dual)
        # Climb while a row gains.
        for _ in range(_CLIMBS):
            point = self._climb(point, dual)
            value = self._value(point, dual)
            better = value > best_value
            if not (value > best_value + _WORTH * np.abs(best_value)).any():
                break
            best = np.where(better[:, None], point, best)
            best_value = np.maximum(value, best_value)
        # Rows that do better than among the candidates known so far get one more.
        size = np.maximum(np.abs(known), 1e-3 * float(np.abs(known).mean()))
        worth = best_value > known + _WORTH * size
        if worth.any():
            losses = losses_of(question, self.geometry.scores(best, question))
            distances = np.where(worth, question.domain.distances(best, question.codes), np.inf)
            self.columns = self.columns.appended(best, losses, distances)
            self.highest = max(self.highest, dual)
        return bool(worth.any())

    def _value(self, points: FloatArray, dual: float) -> FloatArray:
        question = self.geometry.question
        losses = losses_of(question, self.geometry.scores(points, question))
        return (
            dual * losses - question.theta1 * question.domain.distances(points, question.codes) ** 2
        )

    def _climb(self, points: FloatArray, dual: float) -> FloatArray:
        """Move numbers to where the loss, linearised at ``points``, is worth most."""
        question = self.geometry.question
        domain = self.geometry.question.domain
        scores = self.geometry.scores(points, question)
        row = np.arange(len(scores))
        # The slope of the loss in each score.
        if question.loss == "squared":
            slope = 2.0 * (scores - np.asarray(question.y)[:, None])
        else:
            gaps = scores - scores.max(axis=1, keepdims=True)
            if question.loss == "log_loss":
                slope = np.exp(gaps)
                slope /= slope.sum(axis=1, keepdims=True)
                slope[row, question.y] -= 1.0
            else:
                gaps[row, question.y] = -np.inf
                slope = np.zeros_like(gaps)
                slope[row, gaps.argmax(axis=1)] = 1.0
                slope[row, question.y] = -1.0
        # The linearised loss less the price of the move is highest at dual / (2 theta1) gradient unit^2.
        gradient = slope @ self.geometry.scores.weights.T
        step = dual / (2.0 * question.theta1) * gradient * domain.unit**2
        target = np.where(self.geometry.sliding, question.codes + step, points)
        return domain.clip(target, question.codes)


def losses_of(question: Question, scores: FloatArray) -> FloatArray:
    """Return the loss of each row from its scores; no probability is rounded to 0 on the way."""
    if question.loss == "squared":
        return np.asarray((scores[:, 0] - question.y) ** 2)
    row = np.arange(len(scores))
    gaps = scores - scores[row, question.y][:, None]
    if question.loss == "log_loss":
        top = np.maximum(gaps.max(axis=1), 0.0)
        return np.asarray(top + np.log(np.exp(gaps - top[:, None]).sum(axis=1)))
    gaps[row, question.y] = -np.inf
    return np.asarray(np.maximum(1.0 + gaps.max(axis=1), 0.0))
