"""The result of the scores that are higher for a better sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shiftmetrics._core.result import Result, format_number


@dataclass(frozen=True, eq=False, kw_only=True)
class BaselineScore(Result):
    """A score of a sample; higher is better.

    Attributes
    ----------
    name : str
        Which score.
    units : str
        Units of ``value``; empty for a pure number.
    parts : dict
        Further numbers and arrays by name; the function that returns them lists them.
    remark : str
        Sentence about the parts.
    """

    measure = "baseline"
    title = "Baseline score"
    higher_is_better = True

    name: str
    units: str = ""
    parts: dict[str, Any] = field(default_factory=dict)
    remark: str = ""

    def headline(self) -> str:
        """Return one sentence with the value, and the remark."""
        units = f" {self.units}" if self.units else ""
        return f"{self.name}: {format_number(self.value)}{units}. {self.remark}".rstrip()
