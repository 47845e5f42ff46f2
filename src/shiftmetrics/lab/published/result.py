"""The result of every function that re-runs a paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Result


@dataclass(frozen=True, eq=False, kw_only=True)
class PublishedResult(Drawn, Result):
    """A number as a paper computes it.

    Attributes
    ----------
    measure, title : str
        Name of the measure, for programs and for people.
    higher_is_better : bool
        Direction of the measure.
    sentence : str
        The value in words.
    parts : dict of str to float, array or None
        Everything else that the function computed, by the names that its docstring gives. Arrays whose names begin
        with "trace" hold one number for each step of a solver.
    standard_error : float or None
        Sampling error of ``value`` from its influence function.
    weights : array of shape (n_samples,) or None
        Weight of each row, relative to its sample weight; mean 1.
    influence : array of shape (n_samples,) or (n_groups,), or None
        What one more row (or group) like each would add to ``value``, to first order; see `StabilityResult`.
    """

    measure: str
    title: str
    higher_is_better: bool
    sentence: str
    parts: dict[str, Any] = field(default_factory=dict)
    standard_error: float | None = None
    weights: FloatArray | None = None
    influence: FloatArray | None = None

    def headline(self) -> str:
        """Return the value in words."""
        return self.sentence
