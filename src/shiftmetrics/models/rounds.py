"""Column generation: solve among the points known, look for better ones at the dual price, and solve again.

In the end the model predicts the shifted rows once more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.validation import check_weights, describe
from shiftmetrics.models.chunked import PUSHES
from shiftmetrics.models.model import ModelProblem
from shiftmetrics.models.result import SearchTrace
from shiftmetrics.models.worst_case import WorstCase
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.problem import Prices, StabilityProblem
from shiftmetrics.stability.result import StabilityResult

MOST_ROUNDS = 50  # of a search that adds points at the present dual price
_SLACK = 1e-3
"""How much of its risk, or cost, a shift may miss when the model predicts its rows again, in its own precision."""


def shifted_rows(
    problem: ModelProblem,
    solved: StabilityResult,
    found: WorstCase,
    sample_weight: Any,
    of: IntArray | None = None,
) -> FloatArray:
    """Return where rows stand in a shift, second places last; the model predicts them again.

    Parameters
    ----------
    problem : ModelProblem
        The model and its rows.
    solved : StabilityResult
        The shift.
    found : WorstCase
        The points among which it was found.
    sample_weight : array_like of shape (n_samples,) or None
        Weights of the rows.
    of : array of shape (n_samples,), optional
        The rows that were solved for. Default: all.

    Raises
    ------
    ValueError
        If the shift misses its risk or its cost where the model predicts the moved rows again.
    """
    plan = solved.plan
    assert plan.weights is not None
    assert plan.losses is not None
    assert plan.distances is not None
    n = len(plan.weights)
    own = np.arange(n)  # positions among the rows that were solved for
    weights = plan.weights
    choices = plan.choices
    losses = plan.losses
    distances = plan.distances
    # Rows that are split between two places stand twice, each time with a part of their weight.
    second = plan.splits
    if second is not None:
        own = np.concatenate([own, second.rows])
        losses = np.concatenate([losses, second.losses])
        distances = np.concatenate([distances, second.distances])
        weights = np.concatenate([weights, second.weights])
        weights[second.rows] -= second.weights
        if choices is not None and second.choices is not None:
            choices = np.concatenate([choices, second.choices])
    rows = own if of is None else of[own]
    places = problem.codes[rows]
    away = np.flatnonzero(distances > 0.0)
    if away.size:
        chosen = None if choices is None else choices[away]
        places[away] = found.points(rows[away], distances[away], chosen)
    if not (away.size and solved.status.ok and 0.0 < solved.value < math.inf):
        return places
    # The model predicts the moved rows again: what risk do they lose by rounding?
    weights = weights[away] / n
    share = check_weights(sample_weight, "sample_weight", n)
    if share is not None:
        weights = weights * share[own[away]]
    origins = problem.codes[rows[away]]
    allowed = _SLACK * (solved.plan.risk - solved.base_risk)
    short = losses[away] - problem.losses(places[away], rows[away])
    for push in PUSHES:  # past a boundary that rounding moves
        if weights @ short <= allowed:
            break
        farther = origins + (1.0 + push) * (places[away] - origins)
        pushed = problem.domain.clip(farther, origins)
        places[away] = np.where((short > 0.0)[:, None], pushed, places[away])
        short = losses[away] - problem.losses(places[away], rows[away])
    lost = float(weights @ short)
    added = problem.domain.distances(places[away], origins) ** 2 - distances[away] ** 2
    extra_cost = problem.theta1 * float(weights @ added)
    refuse_lost(lost, extra_cost, solved)
    return places


def refuse_lost(lost: float, extra_cost: float, solved: StabilityResult) -> None:
    """Refuse a shift that misses too much of its risk, or of its cost, where the model predicts its rows again."""
    if lost > _SLACK * (solved.plan.risk - solved.base_risk) or extra_cost > _SLACK * solved.value:
        expected = "one that predicts rows alike, whatever others are with them"
        missed = f"a risk lower by {lost:.3g}, or a cost higher by {extra_cost:.3g}"
        got = f"{missed}, where shifted rows are predicted again"
        raise ValueError(describe("model", expected, got))


class Rounds(NamedTuple):
    """The end of a search: the solution among all points found, these points, a certified lower bound, the rounds."""

    solved: StabilityResult
    found: WorstCase
    lower_bound: float | None
    trace: SearchTrace | None


def solve_in_rounds(
    problem: ModelProblem, found: WorstCase, threshold: float, options: Mapping[str, Any]
) -> Rounds:
    """Solve, refine at the dual price, and solve again until nothing better is found.

    Parameters
    ----------
    problem : ModelProblem
        The model and its rows.
    found : WorstCase
        The first answer of a route.
    threshold : float
        The risk threshold.
    options : mapping
        Arguments of `stability_criterion`.
    """
    computing = options["computing"]
    quiet = {**options, "computing": replace(computing, progress=False)}
    rounds = [stability_criterion(found.loss, threshold, **options)]
    # known: risk and gap among the points of the next round
    queries = [problem.count.rows]
    known = []
    with progress_bar(computing.progress, "search", unit=" rounds") as bar:
        while found.refine is not None and rounds[-1].value > 0.0 and len(rounds) < MOST_ROUNDS:
            better = found.refine(rounds[-1].slopes.threshold)
            if better is None:
                break
            found = better
            known.append(_risk_and_gap(found, rounds[-1], threshold, options))
            rounds.append(stability_criterion(found.loss, threshold, **quiet))
            queries.append(problem.count.rows)
            bar.update()
    solved = rounds[-1]
    lower = (
        None if found.lower is None else stability_criterion(found.lower, threshold, **quiet).value
    )
    trace = None
    if len(rounds) > 1:
        risks, gaps = zip(*known, (solved.plan.risk, solved.error_bound), strict=True)
        trace = SearchTrace(
            values=tuple(one.value for one in rounds),
            duals=tuple(one.slopes.threshold for one in rounds),
            risks=risks,
            gaps=gaps,
            queries=tuple(queries),
        )
    return Rounds(solved, found, lower, trace)


def _risk_and_gap(
    found: WorstCase, solved: StabilityResult, threshold: float, options: Mapping[str, Any]
) -> tuple[float, float]:
    """Return the risk at the dual price of a solution, and what it may fall by, among the points found since."""
    dual = solved.slopes.threshold
    if not (0.0 < dual < math.inf):
        return solved.plan.risk, math.inf
    prices = Prices(options["theta1"], options["theta2"], options["divergence"])
    problem = StabilityProblem.of(
        found.loss, options["sample_weight"], prices, computing=options["computing"]
    )
    moment = problem.dual.moment(dual)
    return moment.risk, max(solved.value - (dual * threshold - moment.conjugate), 0.0)
