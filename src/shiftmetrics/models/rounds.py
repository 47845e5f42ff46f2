"""Solve exactly among the points that are known, look for better ones at the dual price found, and solve again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shiftmetrics.models.result import SearchTrace
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.options import Options
from shiftmetrics.stability.problem import Problem
from shiftmetrics.stability.result import StabilityResult


@dataclass(frozen=True)
class Rounds:
    """Where the search ended.

    Attributes
    ----------
    solved : StabilityResult
        The solution among all points found.
    found : Answer
        These points.
    lower_bound : float or None
        Stability of the certified lower loss, where there is one.
    trace : SearchTrace or None
        The rounds; None where one sufficed.
    """

    solved: StabilityResult
    found: Answer
    lower_bound: float | None
    trace: SearchTrace | None


def solve_in_rounds(
    found: Answer,
    threshold: float,
    options: Mapping[str, Any],
    *,
    max_rounds: int,
    asked: Callable[[], int] = lambda: 0,
) -> Rounds:
    """Solve, refine at the dual price, and solve again until nothing better is found.

    Parameters
    ----------
    found : Answer
        What a route answered.
    threshold : float
        The risk threshold.
    options : mapping
        Arguments of `stability_criterion`.
    max_rounds : int
        Most rounds.
    asked : callable
        Returns how many rows the model was asked for until now.
    """
    from tqdm.auto import tqdm

    solved = stability_criterion(found.loss, threshold, **options)
    asked_at, judged = [asked()], []
    rounds = [solved]
    quiet = {**options, "progress": False}
    with tqdm(
        desc="search", unit=" rounds", delay=2.0, disable=not options.get("progress", True), leave=False
    ) as bar:
        while found.refine is not None and solved.value > 0.0 and len(rounds) < max_rounds:
            better = found.refine(solved.dual)
            if better is None:
                break
            found = better
            judged.append(_judge(found, solved, threshold, options))
            start = solved.dual if 0.0 < solved.dual < math.inf else None
            solved = stability_criterion(found.loss, threshold, **{**quiet, "initial_dual": start})
            rounds.append(solved)
            asked_at.append(asked())
            bar.update()
    judged.append((solved.risk, solved.error_bound))
    lower = None
    if found.lower is not None:
        lower = stability_criterion(found.lower, threshold, **{**options, "keep_rows": False}).value
    trace = None
    if len(rounds) > 1:
        risks, gaps = zip(*judged, strict=True)
        trace = SearchTrace(
            values=tuple(one.value for one in rounds),
            duals=tuple(one.dual for one in rounds),
            risks=risks,
            gaps=gaps,
            queries=tuple(asked_at),
        )
    return Rounds(solved, found, lower, trace)


def _judge(
    found: Answer, solved: StabilityResult, threshold: float, options: Mapping[str, Any]
) -> tuple[float, float]:
    """Return the risk at the price of a solution, and what it may fall by, among the points found since."""
    if not (0.0 < solved.dual < math.inf):
        return solved.risk, math.inf
    prices = Options(
        theta1=options["theta1"], theta2=options["theta2"], divergence=options["divergence"],
        rtol=options["rtol"], max_iter=200, initial_dual=None, level=0.95, keep_rows=False,
        executor=options.get("executor"), progress=False,
    )  # fmt: skip
    moment = Problem.of(found.loss, options.get("sample_weight"), prices).dual.moment(solved.dual)
    bound = solved.dual * threshold - moment.conjugate
    return moment.risk, max(solved.value - bound, 0.0)
