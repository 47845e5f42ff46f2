"""The verdict: how rules ended, and one card for each result, with its value, its sentence and its direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shiftmetrics._core.result import Result, format_number
from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.views.report.context import Context
from shiftmetrics.views.report.facts import direction_of, family_of, percent

if TYPE_CHECKING:
    from shiftmetrics.tools.rules import Outcome, RulesResult


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One card."""

    measure: str
    name: str
    value: str
    unit: str
    says: str
    concludes: str
    foot: str
    status: str = ""
    meter: float | None = None
    meter_text: str = ""
    meter_is_new: bool = False


@dataclass(frozen=True, kw_only=True)
class Gate:
    """How rules ended: a sentence, and a line for each outcome, what stands in the way first."""

    says: str
    ended: str
    lines: tuple[Outcome, ...]
    n_more: int
    unchecked: str


MOST_OUTCOMES = 200
"""Lines for the outcomes of rules."""

ORDER = ("error", "failed", "warned", "passed")


def gate_of(checked: RulesResult | None) -> Gate | None:
    """Return how rules ended, where there are any."""
    if checked is None:
        return None
    ended = "passed" if checked.passed else "error" if checked.errors else "failed"
    lines = sorted(checked.outcomes, key=lambda outcome: ORDER.index(outcome.ended))
    return Gate(
        says=checked.headline().partition(": ")[2],
        ended=ended,
        lines=tuple(lines[:MOST_OUTCOMES]),
        n_more=max(0, len(lines) - MOST_OUTCOMES),
        unchecked=", ".join(checked.unchecked),
    )


def verdict_of(name: str, result: Result, context: Context) -> Verdict:
    """Return the card of one result."""
    foot = direction_of(result).capitalize() + "."
    if result.interval is not None:
        foot = f"Interval {result.interval}. {foot}"
    meter, text = _meter(result)
    return Verdict(
        measure=result.title,
        name="" if name == result.title else name,
        value=format_number(result.value),
        unit=result.unit,
        says=result.headline(),
        concludes=context.conclusions.get(name, ""),
        foot=foot,
        status="" if result.status.ok else str(result.status),
        meter=meter,
        meter_text=text,
        meter_is_new=family_of(result) == "novelty",
    )


def warnings_of(results: Mapping[str, Result]) -> list[str]:
    """Return what the reader must know before trusting the numbers, each with the result it belongs to."""
    found = []
    for name, result in results.items():
        where = f"{result.title}, {name}: " if name != result.title else f"{result.title}: "
        if not result.status.ok:
            found.append(where + result.status.text)
        found.extend(where + warning for warning in result.warnings)
    return found


def _meter(result: Any) -> tuple[float | None, str]:
    """Return a share of something that has an end, with its words; most measures have none."""
    normalized = getattr(result, "normalized", None)
    if family_of(result) == "agreement" and normalized is not None:
        share = min(max(float(normalized), 0.0), 1.0)
        return share, f"{percent(share)} of the most possible"
    if isinstance(result, NoveltyResult):
        known = result.significant_total
        share = min(max(float(result.total if known is None else known), 0.0), 1.0)
        where = "" if known is None else ", in modes that stand out"
        return share, f"{percent(share)} of the test sample is in excess{where}"
    return None, ""
