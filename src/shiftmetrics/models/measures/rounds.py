"""Column generation: solve among the points known, look for better ones at the dual price, and solve again.

In the end the model predicts the shifted samples once more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.validation import check_weights
from shiftmetrics.models.measures.result import SearchTrace
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.search.worst_case import WorstCase
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.problem import Prices, StabilityProblem
from shiftmetrics.stability.result import StabilityResult

_MOST_ROUNDS = 50  # of a search that adds points at the present dual price
_PUSHES = (1e-6, 1e-5, 1e-4, 1e-3)
"""Fractions of its way by which a sample goes on where the model, asked again with other rows, rounds otherwise."""
_MEET = 1e-9
"""Relative difference of two bounds that are one value."""
_SLACK = 1e-3
"""How much of its risk, or cost, a shift may miss when the model predicts its samples again, in its own precision."""


class SolvedRounds(NamedTuple):
    """The solution among all points found, these points, a certified lower bound, and the rounds of the search."""

    solved: StabilityResult
    found: WorstCase
    lower_bound: float | None = None
    trace: SearchTrace | None = None


def solve_in_rounds(
    problem: ModelProblem, found: WorstCase, threshold: float | None, options: Mapping[str, Any]
) -> SolvedRounds:
    """Solve, refine at the dual price, and solve again until nothing better is found.

    Parameters
    ----------
    problem : ModelProblem
        The model and its samples.
    found : WorstCase
        What a route found first.
    threshold : float or None
        The risk threshold; None for that of `stability_criterion`.
    options : mapping
        Arguments of `stability_criterion`.
    """
    computing = options["computing"]
    quiet = {**options, "computing": replace(computing, progress=False)}
    # Solve among the first points, and again whenever a round at the dual price has found better ones.
    rounds = [stability_criterion(found.loss, threshold, **options)]
    queries = [problem.count.rows]
    known = []  # risk and gap among the points of the next round
    with progress_bar(computing.progress, "search", unit=" rounds") as bar:
        while found.refine is not None and rounds[-1].value > 0.0 and len(rounds) < _MOST_ROUNDS:
            better = found.refine(rounds[-1].slopes.threshold)
            if better is None:
                break
            found = better
            known.append(_risk_and_gap(found, rounds[-1], options))
            rounds.append(stability_criterion(found.loss, threshold, **quiet))
            queries.append(problem.count.rows)
            bar.update()
    solved = rounds[-1]
    lower = None
    if found.lower is not None:
        lower = stability_criterion(found.lower, threshold, **quiet).value
        # Bounds from both sides that meet: samples that are not known exactly do not matter here.
        if lower >= solved.value * (1.0 - _MEET):
            solved = replace(solved, kind="exact")
            lower = None
    if len(rounds) == 1:
        return SolvedRounds(solved, found, lower)
    known.append((solved.plan.risk, solved.error_bound))
    trace = SearchTrace(
        values=tuple(one.value for one in rounds),
        duals=tuple(one.slopes.threshold for one in rounds),
        risks=tuple(risk for risk, _ in known),
        gaps=tuple(gap for _, gap in known),
        queries=tuple(queries),
    )
    return SolvedRounds(solved, found, lower, trace)


def _risk_and_gap(
    found: WorstCase, solved: StabilityResult, options: Mapping[str, Any]
) -> tuple[float, float]:
    """Return the risk at the dual price of a solution, and what it may fall by, among the points found since."""
    dual = solved.slopes.threshold
    if not 0.0 < dual < math.inf:
        return solved.plan.risk, math.inf
    # The value of the dual at this price bounds the minimum from below: dual r - conjugate(dual).
    problem = StabilityProblem.of(
        found.loss,
        options["sample_weight"],
        Prices(options["theta1"], options["theta2"], options["divergence"]),
        computing=options["computing"],
    )
    moment = problem.dual.moment(dual)
    bound = dual * solved.settings["threshold"] - moment.conjugate
    return moment.risk, max(solved.value - bound, 0.0)


def shifted_samples(
    problem: ModelProblem,
    solution: SolvedRounds,
    sample_weight: Any,
    of: IntArray | None = None,
) -> FloatArray:
    """Return where samples stand in a shift, second places last; the model predicts them again.

    Parameters
    ----------
    problem : ModelProblem
        The model and its samples.
    solution : SolvedRounds
        The shift, and the points among which it was found.
    sample_weight : array_like of shape (n_samples,) or None
        Weights of the samples.
    of : array of shape (n_samples,), optional
        The samples that were solved for. Default: all.

    Raises
    ------
    ValueError
        If the shift misses its risk or its cost where the model predicts the changed samples again.
    """
    # The places of the plan: each sample in its first one, and those that are split in two again at the end.
    solved, found, *_ = solution
    plan = solved.plan.places()
    rows = plan["row"]
    if of is not None:
        rows = of[rows]
    places: FloatArray = np.asarray(problem.codes[rows])
    away = np.flatnonzero(plan["distance"] > 0.0)
    if not away.size:
        return places
    changing = rows[away]
    distances = plan["distance"][away]
    choices = None
    if "choice" in plan:
        choices = plan["choice"][away]
    points = found.points(changing, distances, choices)
    places[away] = points
    if not (solved.status.ok and 0.0 < solved.value < math.inf):
        return places
    # The model predicts the changed samples again: what risk do they lose by rounding?
    weights = plan["weight"][away] / solved.n_samples
    given = check_weights(sample_weight, "sample_weight", solved.n_samples)
    if given is not None:
        weights = weights * given[plan["row"][away]]
    origins = problem.codes[changing]
    losses = plan["loss"][away]
    allowed = _SLACK * (solved.plan.risk - solved.base_risk)
    short = losses - problem.losses(points, changing)
    for push in _PUSHES:  # past a boundary that rounding shifts
        if weights @ short <= allowed:
            break
        farther = origins + (1.0 + push) * (points - origins)
        pushed = problem.domain.clip(farther, origins)
        points = np.where((short > 0.0)[:, None], pushed, points)
        short = losses - problem.losses(points, changing)
    places[away] = points
    added = problem.domain.distances(points, origins) ** 2 - distances**2
    lost = float(weights @ short)
    extra_cost = problem.theta1 * float(weights @ added)
    if lost > allowed or extra_cost > _SLACK * solved.value:
        expected = "one that predicts samples alike, whatever others are with them"
        missed = f"a risk lower by {lost:.3g}, or a cost higher by {extra_cost:.3g}"
        got = f"{missed}, where changed samples are predicted again"
        raise ArgumentValueError("model", expected, got)
    return places
