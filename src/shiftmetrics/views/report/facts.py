"""The figures of a result as short facts: one name, one printed value, one line on what it means.

The terminal and the report print the same facts.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.result import Result, format_number
from shiftmetrics.agreement import PosteriorAgreementResult
from shiftmetrics.comparison import ComparisonResult
from shiftmetrics.models import FeatureStabilityResult
from shiftmetrics.novelty import ConfirmedModes, NoveltyResult, NoveltyTable
from shiftmetrics.stability import StabilitySurface
from shiftmetrics.stability.result import ShiftResult
from shiftmetrics.stability.series import StabilitySeries

MOST_FEATURES = 10
"""Lines for the features of a model, and for groups of its rows."""

_FAMILIES: dict[type[Result], str] = {
    ComparisonResult: "comparison",
    PosteriorAgreementResult: "agreement",
    ShiftResult: "stability",
    StabilitySeries: "stability",
    FeatureStabilityResult: "stability",
    NoveltyResult: "novelty",
    NoveltyTable: "novelty",
    ConfirmedModes: "novelty",
}


@dataclass(frozen=True)
class Fact:
    """One figure of a result, ready to print."""

    name: str
    value: str
    meaning: str = ""


def family_of(result: Result) -> str:
    """Return the section that a result belongs to, such as "agreement" or "comparison"; else "other"."""
    return next((family for kind, family in _FAMILIES.items() if isinstance(result, kind)), "other")


def facts_of(result: Result) -> list[Fact]:
    """Return the figures of ``result`` worth printing, the measure itself first; of a comparison, its models."""
    if isinstance(result, ComparisonResult):
        return _comparison(result)
    facts = [Fact(result.title.lower(), with_unit(result.value, result.unit), direction_of(result))]
    if result.interval is not None:
        low, high = format_number(result.interval.low), format_number(result.interval.high)
        facts.append(
            Fact(f"{100 * result.interval.level:g} % interval", f"{low} to {high}", "sampling error")
        )
    add = {"agreement": _agreement, "stability": _stability, "novelty": _novelty}.get(
        family_of(result), _other
    )
    return facts + add(result)


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
    if family_of(result) == "novelty" and not isinstance(
        result, NoveltyTable
    ):  # whose value is how rankings agree
        return "higher is more novel"
    return "higher is better" if result.higher_is_better else "lower is better"


def _agreement(result: Any) -> list[Fact]:
    return [
        Fact("of the most possible", percent(result.normalized), "0 % is chance, 100 % all kept for sure"),
        Fact(
            "equivalent error", percent(result.equivalent_error), "a channel that flips this share of labels"
        ),
        Fact("pairs in disagreement", percent(result.disagreement), "no predicted class in common"),
        Fact("inverse temperature", format_number(result.beta), "beta, where the two sides agree best"),
        Fact("log posterior agreement", with_unit(result.log_pa, "nats"), "of the whole sample, at most 0"),
        Fact(
            "effective classes",
            format_number(result.effective_classes),
            f"of {result.n_classes}; 1 is a collapsed model",
        ),
    ]


def _comparison(result: ComparisonResult) -> list[Fact]:
    facts = []
    for model in result.models:
        ranks = f"rank {model.rank_low}" + (
            f" to {model.rank_high}" if model.rank_high > model.rank_low else ""
        )
        error = model.companions.get("equivalent_error")
        said = "" if error is None else f", equivalent error {percent(error)}"
        fallen = ", collapsed" if model.collapsed else ""
        value = with_unit(model.value, result.compared_unit)
        facts.append(Fact(model.name, f"{value} {model.interval}", ranks + said + fallen))
    return facts


def _stability(result: Any) -> list[Fact]:
    if isinstance(result, StabilitySeries):
        return _series(result)
    if isinstance(result, FeatureStabilityResult):
        return _features(result)
    added = result.excess_risk
    return [
        Fact("standard error", _number(result.standard_error), "of the value above"),
        Fact("risk as it is", format_number(result.base_risk), "mean loss, unshifted"),
        Fact("risk it reaches", format_number(result.risk), "mean loss, shifted"),
        Fact("added by moves", format_number(added.corruption), "moves first, weights after"),
        Fact("added by weights", format_number(added.reweighting)),
        Fact("root-mean-square move", format_number(result.rms_move), "in the units of the distances"),
        Fact("share of rows moved", percent(result.share_moved)),
        Fact("effective sample", percent(result.effective_sample_fraction), "100 %: all rows weigh the same"),
        Fact("cost of more risk", format_number(result.dual), "the slope in the threshold"),
        Fact("kind", str(result.kind).replace("_", " "), "exact, or a bound"),
        *_search(result),
    ]


def _search(result: Any) -> list[Fact]:
    """Return how the moves of a model were found."""
    route = getattr(result, "route", None)
    if route is None:
        return []
    facts = [Fact("route", str(route), "how the moves were found")]
    if result.lower_bound is not None:
        facts.append(Fact("certified lower bound", format_number(result.lower_bound), "never below this"))
    return [*facts, Fact("queries", f"{result.n_queries:,}", "rows that the model was asked for")]


def _features(result: FeatureStabilityResult) -> list[Fact]:
    """Return the most sensitive features, and the groups of people for whom the model is least stable."""
    facts = []
    groups = [part for part in result.subgroups if part.feature == "all features"]
    for part in (*result.features[:MOST_FEATURES], *groups[:MOST_FEATURES]):
        who = part.feature if part.subgroup is None else f"within {part.subgroup}"
        band = (
            "" if part.interval is None
            else f"{format_number(part.interval.low)} to {format_number(part.interval.high)}, "
        )  # fmt: skip
        facts.append(Fact(who, format_number(part.value), f"{band}{percent(part.share_moved)} of rows move"))
    return [*facts, Fact("reweighting alone", format_number(result.reweighting_alone), "no feature moves")]


def _series(result: StabilitySeries) -> list[Fact]:
    """Return a line for each point of a curve: the stability and its interval."""
    facts = []
    for line in result.to_frame().itertuples():
        at = f"at risk {line.threshold:.4g}"
        if isinstance(result, StabilitySurface):
            at = f"at prices {line.theta1:.3g} and {line.theta2:.3g}"
        low, high = format_number(line.low), format_number(line.high)
        band = "" if math.isnan(line.low) else f"{low} to {high}"
        said = line.status.replace("_", " ") if line.status != "converged" else band
        facts.append(Fact(at, format_number(line.stability), said))
    return facts


def _calibration(result: Any) -> list[Fact]:
    """Return what the score is worth beside relabelled rows, or the modes that would score the same."""
    null = result.null
    if null is None:
        return [Fact("equal modes", format_number(result.effective_modes), "that many would score the same")]
    spread = f"{format_number(null.mean)} ± {format_number(null.spread)} {result.unit}"
    return [
        Fact("in excess of chance", with_unit(null.excess, result.unit), f"p = {null.p_value:.2g}"),
        Fact("relabelled rows score", spread, f"{null.n_test:,} and {null.n_reference:,} rows"),
        Fact(
            "modes that stand out",
            str(result.n_significant),
            f"{percent(result.significant_total)} of the test",
        ),
    ]


def _novelty(result: Any) -> list[Fact]:
    if not isinstance(result, NoveltyResult):
        return _other(result)
    facts = []
    if result.reverse is not None:
        facts.append(
            Fact(
                "the other way round",
                with_unit(result.reverse, result.unit),
                "missing from the test sample",
            )
        )
    return [
        *facts,
        *_calibration(result),
        Fact("share in excess", percent(result.total), "beyond what the reference has, noise included"),
        Fact("rows", f"{result.n_samples:,} and {result.n_reference:,}", "test and reference"),
        Fact("kernel", result.kernel),
        *(
            []
            if result.bandwidth is None
            else [Fact("bandwidth", format_number(result.bandwidth), "of the kernel")]
        ),
        Fact(
            "modes within each",
            f"{format_number(result.mode_count)} and {format_number(result.reference_mode_count)}",
            "as many as rows would mean too narrow a bandwidth",
        ),
        Fact("method", f"{result.method}, rank {result.rank:,}", "route of the computation"),
    ]


def _other(result: Result) -> list[Fact]:
    """Print the plain numbers among a result's own fields."""
    common = {field.name for field in dataclasses.fields(Result)}
    own = [field.name for field in dataclasses.fields(result) if field.repr and field.name not in common]
    values = {name: getattr(result, name) for name in own}
    return [
        Fact(name.replace("_", " "), format_number(float(value)))
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
