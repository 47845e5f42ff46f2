"""The result of every distance: a value that is 0 where nothing moved, its standard error and its parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import normal_interval
from shiftmetrics._core.result import Result, Status, format_number, settings_of

LEVEL = 0.95

COMPUTED = Status("computed", "The number is exact up to rounding.")
INFINITE = Status(
    "infinite",
    "The reference gives probability 0 to a class that the sample does not, so the divergence is infinite.",
    "Take the Jensen-Shannon divergence, which is at most log 2, or smooth the probabilities.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Distance(Result):
    """A distance between a sample and a reference; lower is more alike.

    Attributes
    ----------
    name : str
        Which distance.
    units : str
        Units of ``value``; empty for a pure number.
    standard_error : float or None
        Sampling standard error of ``value``, where there is a formula.
    n_reference : int
        Rows of the reference.
    per_sample : ndarray of shape (n_samples,) or None
        The distance of each pair of rows, whose mean is ``value``; None for distances between whole samples.
    parts : dict
        Further numbers and arrays by name; the function that returns them lists them.
    remark : str
        Sentence about the parts.
    """

    measure = "distance"
    title = "Distance"
    higher_is_better = False

    name: str
    units: str = ""
    standard_error: float | None = None
    n_reference: int
    per_sample: FloatArray | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    remark: str = ""

    def headline(self) -> str:
        """Return one sentence with the value, its units and its standard error."""
        error = (
            ""
            if self.standard_error is None
            else f" (standard error {format_number(self.standard_error)})"
        )
        units = f" {self.units}" if self.units else ""
        return f"{self.name}: {format_number(self.value)}{units}{error}. {self.remark}".rstrip()

    def notes(self) -> list[str]:
        """Return the sentences after the headline; lower is more alike."""
        common = super().notes()
        common[0] = common[0].replace("Lower is better", "Lower is more alike")
        return common

    def __float__(self) -> float:
        return self.value


def mean_distance(
    name: str,
    rows: FloatArray,
    magnitude: float,
    *,
    units: str = "",
    n_classes: int = 1,
    gap: float = 0.0,
    settings: dict[str, Any],
) -> Distance:
    """Return the mean of the distances of the rows as a result.

    ``magnitude`` is the mean size of the terms of a row, which bounds the rounding error; ``gap`` is the mean error
    of the rows before rounding.
    """
    finite = bool(np.isfinite(rows).all())
    value = float(rows.mean()) if finite else math.inf
    error = float(rows.std(ddof=1) / math.sqrt(len(rows))) if finite and len(rows) > 1 else None
    rounding = (32 + 2 * n_classes) * float(np.finfo(float).eps) * (magnitude + abs(value))
    return Distance(
        name=name,
        units=units,
        value=value,
        error_bound=rounding + gap if finite else 0.0,
        interval=None
        if error is None
        else normal_interval(value, error, LEVEL, "standard error of the mean"),
        status=COMPUTED if finite else INFINITE,
        n_samples=len(rows),
        n_reference=len(rows),
        standard_error=error,
        per_sample=rows,
        settings=settings_of(**settings),
    )
