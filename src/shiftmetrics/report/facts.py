"""The figures of a result as short facts: one name, one printed value, one line on what it means.

The terminal and the report print the same facts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.result import Result, format_number


@dataclass(frozen=True)
class Fact:
    """One figure of a result, ready to print."""

    name: str
    value: str
    meaning: str = ""


def family_of(result: Result) -> str:
    """Return the room that a result comes from: "agreement", "stability", "novelty" or another one's name."""
    parts = type(result).__module__.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def facts_of(result: Result) -> list[Fact]:
    """Return the figures of ``result`` worth printing, the measure itself first."""
    facts = [Fact(result.title.lower(), with_unit(result.value, result.unit), direction_of(result))]
    if result.interval is not None:
        facts.append(
            Fact("interval", str(result.interval), "what other samples of this size would plausibly give")
        )
    add = {"agreement": _agreement, "stability": _stability, "novelty": _novelty}.get(family_of(result))
    return facts + (add(result) if add is not None else [])


def with_unit(value: float | None, unit: str) -> str:
    """Print a number with its unit; None as a dash."""
    return "–" if value is None else f"{format_number(value)} {unit}".strip()


def percent(value: float | None, *, digits: int = 1) -> str:
    """Print a share as a percentage, with more digits where it is small."""
    if value is None or math.isnan(value):
        return "–"
    if 0.0 < abs(value) < 10.0 ** -(digits + 2):
        return f"{100 * value:.1g} %"
    return f"{100 * value:.{digits}f} %"


def _number(value: float | None) -> str:
    return "–" if value is None else format_number(value)


def direction_of(result: Result) -> str:
    """Say in which direction a value is better; novelty is neither good nor bad."""
    if family_of(result) == "novelty":
        return "higher is more novel"
    return "higher is better" if result.higher_is_better else "lower is better"


def _agreement(result: Any) -> list[Fact]:
    return [
        Fact(
            "of the most possible",
            percent(result.normalized),
            "0 % is chance, 100 % is every prediction kept for sure",
        ),
        Fact(
            "equivalent error",
            percent(result.equivalent_error),
            "agrees as well as a channel that flips this share of the labels",
        ),
        Fact("inverse temperature", format_number(result.beta), "beta, where the two sides agree best"),
        Fact(
            "log posterior agreement",
            with_unit(result.log_pa, "nats"),
            "of the whole sample; 0 is the most possible",
        ),
        Fact("pairs in disagreement", percent(result.disagreement), "no predicted class in common"),
        Fact(
            "effective classes",
            format_number(result.effective_classes),
            f"of {result.n_classes}; near 1 when the model always predicts the same",
        ),
    ]


def _stability(result: Any) -> list[Fact]:
    added = result.excess_risk
    return [
        Fact("standard error", _number(result.standard_error), "sampling error of the value above"),
        Fact("risk as it is", format_number(result.base_risk), "mean loss of the sample, unshifted"),
        Fact("risk it reaches", format_number(result.risk), "mean loss of the shifted sample"),
        Fact("added by rows that move", format_number(added.corruption), "moves first, weights after"),
        Fact("added by rows that gain weight", format_number(added.reweighting), ""),
        Fact("root-mean-square move", format_number(result.rms_move), "in the units of the distances"),
        Fact("share of rows moved", percent(result.share_moved)),
        Fact(
            "effective sample",
            percent(result.effective_sample_fraction),
            "100 % means that no row gained weight",
        ),
        Fact(
            "cost of one more unit of risk",
            format_number(result.dual),
            "the dual, slope of the stability in the threshold",
        ),
        Fact("kind", str(result.kind).replace("_", " "), "exact, or a bound on the true stability"),
    ]


def _novelty(result: Any) -> list[Fact]:
    facts = []
    if result.reverse is not None:
        facts.append(
            Fact(
                "the other way round",
                with_unit(result.reverse, result.unit),
                "what the reference has and the test lacks",
            )
        )
    facts += [
        Fact("share in excess", percent(result.total), "of the test sample, beyond what the reference has"),
        Fact("equal modes", format_number(result.effective_modes), "that many equal modes would score the same"),
        Fact("rows", f"{result.n_samples:,} and {result.n_reference:,}", "of the test sample and of the reference"),
        Fact("kernel", result.kernel if result.bandwidth is None else f"{result.kernel}, {result.bandwidth:.4g} wide",
             "rows much nearer than that count as alike"),
        Fact("modes within each sample", f"{result.mode_count:.3g} and {result.reference_mode_count:.3g}",
             "near the number of rows, the bandwidth is too narrow"),
        Fact("method", f"{result.method}, rank {result.rank:,}", "route of the computation"),
    ]  # fmt: skip
    return facts
