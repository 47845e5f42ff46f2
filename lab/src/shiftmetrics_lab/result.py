"""The result of every number that the laboratory computes beside the measures."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import normal_interval
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.result import Result, Status, format_number, settings_of
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import TEST, integer_ticks, line_at, new_axes

CONFIDENCE_LEVEL = 0.95

COMPUTED = Status("computed", "The number is exact up to rounding.")
INFINITE = Status(
    "infinite",
    "The reference gives probability 0 to a class that the sample does not, so the divergence is infinite.",
    "Take the Jensen-Shannon divergence, which is at most log 2, or smooth the probabilities.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class LabResult(Drawn, Result):
    """A distance or score of the field, or a number as a paper computes it.

    Attributes
    ----------
    title : str
        Which number.
    higher_is_better : bool
        Its direction. Distances are 0 where nothing changed: lower is more alike.
    unit : str
        Unit of ``value``; empty for a pure number.
    remark : str
        What else is to be said of it, in words.
    standard_error : float or None
        Sampling error of ``value``, where there is a formula.
    per_sample : ndarray of shape (n_samples,) or None
        What each sample (or pair of samples) adds to ``value``, which is their mean.
    parts : dict
        Further numbers and arrays by name; the function that returns them lists them. Arrays whose names begin with
        "trace" hold one number for each step of a solver.
    """

    measure = "laboratory"

    title: str
    higher_is_better: bool = False
    unit: str = ""
    remark: str = ""
    standard_error: float | None = None
    per_sample: FloatArray | None = None
    parts: dict[str, Any] = field(default_factory=dict)

    def headline(self) -> str:
        """Return the value with its unit and its standard error, and the remark."""
        text = f"{self.title}: {format_number(self.value)} {self.unit}".rstrip()
        if self.standard_error is not None:
            text += f" (standard error {format_number(self.standard_error)})"
        return f"{text}. {self.remark}".rstrip()


@drawing(LabResult, kind="search")
def draw_trace(result: Any, ax: Any = None) -> Any:
    """Draw the risk after each step of a gradient method, which ends at the threshold."""
    if "trace_risk" not in result.parts:
        raise ArgumentValueError("result", "of a solver in steps", "one without a trace")
    ax = new_axes(ax)
    ax.plot(result.parts["trace_risk"], color=TEST)
    threshold = float(result.settings["threshold"])
    line_at(ax, "y", threshold, f"threshold {threshold:.3g}", zorder=1)
    integer_ticks(ax.xaxis)
    ax.set(
        xlabel="step", ylabel="risk of the worst case", title="How the risk comes to the threshold"
    )
    return ax


def mean_distance(
    title: str,
    rows: FloatArray,
    magnitude: float,
    *,
    unit: str = "",
    n_classes: int = 1,
    gap: float = 0.0,
    settings: dict[str, Any],
) -> LabResult:
    """Return the mean of the distances of the rows as a result.

    ``magnitude`` is the mean size of the terms of a row, which bounds the rounding error; ``gap`` is the mean error
    of the rows before rounding.
    """
    finite = bool(np.isfinite(rows).all())
    value = math.inf
    error_bound = 0.0
    if finite:
        value = float(rows.mean())
        rounding = (32 + 2 * n_classes) * float(np.finfo(float).eps) * (magnitude + abs(value))
        error_bound = rounding + gap
    error = None
    interval = None
    if finite and len(rows) > 1:
        error = float(rows.std(ddof=1) / math.sqrt(len(rows)))
        method = "standard error of the mean"
        interval = normal_interval(value, error, CONFIDENCE_LEVEL, method)
    return LabResult(
        title=title,
        unit=unit,
        value=value,
        error_bound=error_bound,
        interval=interval,
        status=COMPUTED if finite else INFINITE,
        n_samples=len(rows),
        standard_error=error,
        per_sample=rows,
        parts={"n_reference": len(rows)},
        settings=settings_of(**settings),
    )
