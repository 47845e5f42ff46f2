"""By how much a new model may be worse, and in which rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shiftmetrics._core.validation import check_choice, check_number

Population = Literal["future", "these"]
POPULATIONS = ("future", "these")
"""The rows that a verdict speaks of."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What a new model is allowed.

    Attributes
    ----------
    allow : float, optional
        By how much the new model may be worse: accuracy as a fraction, mean cost, or mean absolute
        error.
    population : {"future", "these"}, optional
        Which rows the verdict speaks of. "future": rows like these, for which the interval alone decides; it
        needs the label of each changed row, and is the default where all are known. "these": the compared rows,
        whose difference is then known exactly, and otherwise bounded or estimated from the labels of a plan.
    """

    allow: float | None = None
    population: Population | None = None

    def __post_init__(self) -> None:
        if self.allow is not None:
            object.__setattr__(self, "allow", check_number(self.allow, "allow", low=0.0))
        if self.population is not None:
            check_choice(self.population, "population", POPULATIONS)
