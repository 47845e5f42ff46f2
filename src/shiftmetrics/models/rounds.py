"""Solve exactly among the points that are known, look for better ones at the dual price found, and solve again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shiftmetrics.models.result import SearchTrace
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.criterion import stability_criterion
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
    solved = stability_criterion(found.loss, threshold, **options)
    rounds = [(solved.value, solved.dual, asked())]
    while found.refine is not None and solved.value > 0.0 and len(rounds) < max_rounds:
        better = found.refine(solved.dual)
        if better is None:
            break
        found = better
        start = solved.dual if 0.0 < solved.dual < math.inf else None
        solved = stability_criterion(found.loss, threshold, **{**options, "initial_dual": start})
        rounds.append((solved.value, solved.dual, asked()))
    lower = None
    if found.lower is not None:
        lower = stability_criterion(found.lower, threshold, **{**options, "keep_rows": False}).value
    trace = None
    if len(rounds) > 1:
        values, duals, queries = zip(*rounds, strict=True)
        trace = SearchTrace(values=values, duals=duals, queries=queries)
    return Rounds(solved, found, lower, trace)
