"""The route of linear models: closed forms along the paths of rivals, and an ascent where there is none.

Where no closed form exists (several classes with the logistic loss, integer steps), the relaxed worst case of each
sample at a dual price is brought into the domain and climbed from, by steps that maximise the linearised loss, which
for a convex loss is never worse. What is found is an upper bound of stability, and the relaxation a certified lower
one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import softmax

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.linear.geometry import Geometry
from shiftmetrics.models.linear.nearest import nearest_errors
from shiftmetrics.models.linear.scores import AdditiveScores, points_to_check
from shiftmetrics.models.linear.value_risks import additive_value_risks
from shiftmetrics.models.reading.estimators import is_of_sklearn, last_step
from shiftmetrics.models.reading.model import LossName, ModelProblem, losses_of_scores
from shiftmetrics.models.reading.steps import is_additive
from shiftmetrics.models.search.importance import Draws
from shiftmetrics.models.search.worst_case import EVERYONE, Ascent, BestPoints, Route, WorstCase
from shiftmetrics.stability.losses import (
    AlternativesLoss,
    BoundedHingeLoss,
    BoundedLogisticLoss,
    BoundedLoss,
    BoundedSquaredLoss,
    Kind,
    Loss,
)

_TOLERANCE = 1e-6
_LARGEST_LOG_LOSS = 15.0
_BOUNDED: dict[str, type[BoundedLoss]] = {
    "hinge": BoundedHingeLoss,
    "log_loss": BoundedLogisticLoss,
    "squared": BoundedSquaredLoss,
}


class LinearRoute(Route):
    """Exact worst cases of models whose scores are a sum over the raw columns."""

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return True if the last step has coefficients; a regression must predict or a classifier score by them."""
        last = last_step(model)
        parts = [last]
        if type(last).__name__ == "OneVsRestClassifier":
            parts = getattr(last, "estimators_", parts)
        linear = all(hasattr(part, "coef_") and is_of_sklearn(part) for part in parts)
        method = "decision_function"
        if loss == "squared":
            method = "predict"
        return linear and hasattr(model, method)

    def worst_case(self, problem: ModelProblem) -> WorstCase | None:
        """Return the worst case in closed form where there is one; None when the scores are no such sum."""
        if not is_additive(problem):
            return None
        scores = problem.once("scores", AdditiveScores.of)
        if scores is None:
            return None
        if problem.loss == "zero_one":
            return nearest_errors(problem, scores)
        if not problem.once("is_loss", lambda problem: _is_loss(problem, scores)):
            return None
        geometry = Geometry(problem, scores)
        several = problem.loss == "log_loss" and len(scores.intercept) > 2
        if several or geometry.whole.any() or geometry.joined:
            return _searched(geometry)
        return closed_form(geometry)

    def by_group(
        self,
        problem: ModelProblem,
        groups: Sequence[Sequence[str | int]],
        draws: Draws | None = None,
    ) -> Iterator[tuple[int, WorstCase]]:
        """Yield the worst cases of groups of columns, with the risks at all values, which are sums as well."""
        for position, found in super().by_group(problem, groups, draws):
            scores = problem.once("scores", AdditiveScores.of)
            if draws is not None and scores is not None:
                columns = problem.domain.positions(groups[position])
                risks = additive_value_risks(problem, scores, columns, draws)
                found = replace(found, value_risks=risks)
            yield position, found


def _is_loss(problem: ModelProblem, scores: AdditiveScores) -> bool:
    """Return True if the loss of the model, such as that of its probabilities, is the one of these scores."""
    points = points_to_check(problem)
    repeated = replace(problem, y=np.resize(problem.y, len(points)))
    actual = repeated.losses(points, EVERYONE)
    formula = losses_of_scores(problem.loss, repeated.y, scores(points, problem))
    if problem.loss == "log_loss":  # a small probability is 1 minus another, rounded
        actual = np.minimum(actual, _LARGEST_LOG_LOSS)
        formula = np.minimum(formula, _LARGEST_LOG_LOSS)
    return bool(np.allclose(actual, formula, rtol=_TOLERANCE, atol=_TOLERANCE))


def closed_form(geometry: Geometry, *, kind: Kind = "exact", least: bool = False) -> WorstCase:
    """Return the loss with its worst case in closed form.

    Parameters
    ----------
    geometry : Geometry
        The rivals of the samples.
    kind : {"exact", "lower_bound"}, default "exact"
        What its stability is for the model.
    least : bool, default False
        Whether flips are priced at a lower bound of their distance, where prices were joined.

    Notes
    -----
    With more than two classes the logistic loss ``log(1 + sum_k exp(gap_k))`` is taken for the greatest
    ``log(1 + exp(gap_k + log(number of rivals)))``, which it never exceeds.
    """
    problem = geometry.problem
    rivals = list(geometry.rivals())
    lift = 0.0
    if problem.loss == "log_loss":
        lift = math.log(len(rivals))
    parts: list[Loss] = []
    offsets: list[FloatArray] = []
    ratios: list[FloatArray] = []
    ways: list[tuple[int, BoolArray]] = []  # the rival of each part, and which categories flip
    for number, rival in enumerate(rivals):
        for plan in geometry.plans(rival):
            distance = plan.distance
            if least:
                distance = plan.least_distance
            gain = np.where(np.isfinite(distance), plan.gain, 0.0)
            score = rival.gap + gain + lift
            parts.append(_BOUNDED[problem.loss](score, rival.path))
            offsets.append(distance)
            ratios.append(plan.from_ratio)
            ways.append((number, plan.flipped))
    # These losses rise by at most as much as the score, so that a flip must gain its price.
    ratio = None
    if problem.loss != "squared":
        ratio = np.stack(ratios, axis=1)
    prices = np.stack(offsets, axis=1)
    loss = AlternativesLoss(parts, prices, kind=kind, from_ratio=ratio)

    def points(rows: IntArray, distances: FloatArray, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        placed = problem.codes[rows]
        for part in np.unique(choices):  # the parts have no choices of their own
            number, flipped = ways[part]
            rival = rivals[number]
            mine = np.flatnonzero(choices == part)
            chosen = rows[mine]
            # What flips do not take of the distance is for the numbers.
            squared = distances[mine] ** 2 - loss.offsets[chosen, part] ** 2
            squared = np.maximum(squared, 0.0)
            place = rival.path[chosen].place_of_squared(squared)
            placed[mine] = geometry.place(chosen, rival, flipped[chosen], place)
        return placed

    return WorstCase(loss, points)


_CLIMBS = 12
_SEEDS = 2.0 ** np.arange(-3.0, 5.0)
"""Dual prices to begin with, times theta1 over the squared norm."""


def _searched(geometry: Geometry) -> WorstCase:
    """Return candidates, with a search for more at each dual price, and the relaxation as a lower bound."""
    ascent = _LinearAscent(geometry)
    for seed in _SEEDS:
        ascent.price = float(ascent.scale * seed)
        ascent.round(ascent.price)
    return ascent.worst_case()


class _LinearAscent(Ascent):
    """Ascent from the relaxed worst case, by steps that maximise the linearised loss."""

    def __init__(self, geometry: Geometry) -> None:
        problem = geometry.problem
        losses = losses_of_scores(problem.loss, problem.y, geometry.at_rows)
        super().__init__(problem, losses)
        self.geometry = geometry
        self.relaxed = closed_form(geometry, kind="lower_bound", least=True)
        self.lower = self.relaxed.loss
        steepest = 1e-300
        for rival in geometry.rivals():
            squares = (rival.slopes**2).sum(axis=1)
            steepest = max(steepest, float(squares.max()))
        self.scale = self.problem.theta1 / steepest

    def climb(
        self,
        start: FloatArray,
        best: BestPoints,
        price: float,
    ) -> None:
        """Climb from the relaxed worst case, brought into the domain, while a sample gains."""
        problem = self.problem
        everyone = np.arange(problem.n_samples)
        relaxed = self.relaxed.loss.transform(price, problem.theta1, EVERYONE)
        distances = np.sqrt(relaxed.squared_distance)
        points = self.relaxed.points(everyone, distances, relaxed.choice)
        points = problem.domain.clip(points, problem.codes)
        highest = np.full(problem.n_samples, -np.inf)
        for _ in range(_CLIMBS):
            scores = self.geometry.scores(points, problem)
            losses = losses_of_scores(problem.loss, problem.y, scores)
            squared = problem.domain.distances(points, problem.codes) ** 2
            values = price * losses - problem.theta1 * squared
            gained = values > highest + self.rtol * np.abs(values)
            if not gained.any():
                break
            highest = np.maximum(values, highest)
            # A gain has to exceed rounding, which near a value of 0 is that of a thousandth of the mean.
            size = np.abs(best.values)
            size = np.maximum(size, 1e-3 * float(size.mean()))
            worth = np.flatnonzero(values > best.values + self.rtol * size)
            best.keep(worth, points[worth], losses[worth], values[worth])
            points = self._stepped(points, scores, price)

    def _stepped(
        self,
        points: FloatArray,
        scores: FloatArray,
        price: float,
    ) -> FloatArray:
        """Change numbers to where the loss, linearised at ``points``, is worth most."""
        problem = self.problem
        everyone = np.arange(len(scores))
        # The slope of the loss in each score.
        if problem.loss == "squared":
            slope = 2.0 * (scores - np.asarray(problem.y)[:, None])
        elif problem.loss == "log_loss":
            slope = softmax(scores, axis=1)
            slope[everyone, problem.y] -= 1.0
        else:
            rivals = scores.copy()
            rivals[everyone, problem.y] = -np.inf
            slope = np.zeros_like(scores)
            slope[everyone, rivals.argmax(axis=1)] = 1.0
            slope[everyone, problem.y] = -1.0
        # The linearised loss less the price of the change is highest at price / (2 theta1) gradient unit^2.
        gradient = slope @ self.geometry.scores.weights.T
        reach = price / (2.0 * problem.theta1)
        step = reach * gradient * problem.domain.unit**2
        moved = problem.codes + step
        target = np.where(problem.domain.numeric, moved, points)
        return problem.domain.clip(target, problem.codes)
