"""A shift in words: the risk in the unit of its loss, what moves, who gains weight, and reference values for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import format_number

_LOSSES = {
    "hinge": "hinge loss", "HingeLoss": "hinge loss", "log_loss": "log loss", "LogisticLoss": "log loss",
    "squared": "squared error", "SquaredLoss": "squared error",
}  # fmt: skip
MOST_GROUPS = 50
NEARLY_EVEN = 0.99
"""Effective share of the rows above which weights hardly matter beside moves."""


def risk_in_words(risk: float, settings: Mapping[str, Any], now: float | None = None) -> str:
    """Return a risk with its unit: ``25 % errors (now 5 %)``, or ``a mean log loss of 0.9 (now 0.4)``."""
    errors = bool(settings.get("errors"))
    if now is not None:
        known = f"{100 * now:.3g} %" if errors else format_number(now)
        return f"{risk_in_words(risk, settings)} (now {known})"
    if errors:
        return f"{100 * risk:.3g} % errors"
    if "costs" in settings.get("decision", {}):
        return f"a mean cost of errors of {format_number(risk)}"
    return f"a mean {_LOSSES.get(str(settings.get('loss')), 'loss')} of {format_number(risk)}"


def shift_in_words(
    rms_move: float,
    share_moved: float,
    effective_sample_fraction: float,
    longest: float | None = None,
    unit: str = "",
) -> str:
    """Say what a shift with these figures does to the rows."""
    parts = []
    if rms_move > 0.0:
        far = f"root mean square {format_number(rms_move)}"
        if longest is not None:
            far = f"by at most {format_number(longest)}{unit}"
        parts.append(f"{100 * share_moved:.3g} % of the rows move, {far}")
    if effective_sample_fraction < (NEARLY_EVEN if parts else 0.9995):
        parts.append(
            f"weights change until an effective {100 * effective_sample_fraction:.3g} % of the rows count"
        )
    return ", and ".join(parts) or "nothing changes"


def times_in_words(factor: float) -> str:
    """Return ``doubles`` or ``grows 3.1-fold``."""
    return "doubles" if abs(factor - 2.0) < 0.05 else f"grows {factor:.3g}-fold"


def growth_in_words(weights: FloatArray, base_losses: FloatArray, errors: bool) -> str:
    """Say which rows gain weight: those that are wrong now, or the tenth with the highest losses."""
    if errors and base_losses.any():
        factor, who = (
            float(weights[base_losses > 0.0].mean()),
            "the weight of the rows that are wrong now",
        )
    else:
        worst = np.argsort(-base_losses, kind="stable")[: max(len(weights) // 10, 1)]
        factor, who = (
            float(weights[worst].mean()),
            "the weight of the tenth of the rows with the highest losses",
        )
    return f"{who} {times_in_words(factor)}"


def most_grown(
    weights: FloatArray, groups: npt.NDArray[Any], sample_weight: Any = None
) -> tuple[str, float] | None:
    """Return the group whose weight grows most, and how many times; None where there is no such group."""
    sample_weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    names, codes = np.unique(groups, return_inverse=True)
    if not 1 < len(names) <= MOST_GROUPS:
        return None
    before = np.bincount(codes, sample_weight)
    after = np.bincount(codes, weights if sample_weight is None else weights * sample_weight)
    growth = np.divide(after, before, out=np.zeros(len(names)), where=before > 0.0)
    best = int(growth.argmax())
    return (str(names[best]), float(growth[best])) if growth[best] > 1.05 else None


def halves_in_words(base_losses: FloatArray, settings: Mapping[str, Any]) -> str:
    """Say how far the risks of two random halves of the sample are apart, on the average."""
    apart = (
        2.0 * math.sqrt(2.0 / math.pi) * float(np.std(base_losses)) / math.sqrt(len(base_losses))
    )
    size = f"{format_number(apart)} in their means"
    if settings.get("errors"):
        size = f"{100 * apart:.2g} points of the error rate"
    return f"For comparison: two random halves of these rows differ by {size} on the average."
