"""The inverse question beside a ranking by stability: the highest risk of each model within one budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shiftmetrics.stability import StabilityResult, worst_case_risk
from shiftmetrics.stability.losses import Loss


def common_budget(results: Mapping[str, Any]) -> float:
    """Return the smallest stability above 0, which is what breaks the least stable model; 0 where there is none."""
    return min((result.value for result in results.values() if 0.0 < result.value < math.inf), default=0.0)


def risk_within(loss: Loss, budget: float, **options: Any) -> dict[str, float]:
    """Return the companion of one model; ``options`` are those of `worst_case_risk`."""
    return {"worst_case_risk": worst_case_risk(loss, budget, **options).value}


def risks_within_budget(results: Mapping[str, Any]) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Return the companions of results that know the losses behind them, and the budget; else nothing.

    Sample weights are not part of a result, so that weighted ones have no such companion.
    """
    if not isinstance(results, Mapping):
        return {}, {}
    known = all(
        isinstance(result, StabilityResult)
        and isinstance(getattr(result, "loss", None), Loss)
        and result.settings.get("sample_weight") is None
        for result in results.values()
    )
    if not known:
        return {}, {}
    budget = common_budget(results)
    prices = ("theta1", "theta2", "divergence")
    return {
        name: risk_within(result.loss, budget, **{price: result.settings[price] for price in prices})
        for name, result in results.items()
    }, {"budget": budget}
