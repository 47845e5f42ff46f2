"""The stability section: the least shift, curves over thresholds and prices, rows, and features."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from typing import Any

from shiftmetrics._core.result import format_number, p_number, plain_figure
from shiftmetrics.models.measures.feature_result import EVERYTHING, FeatureStabilityResult
from shiftmetrics.stability import StabilityResult, column_changes
from shiftmetrics.stability.curve_result import StabilityCurve
from shiftmetrics.stability.frames import is_numeric
from shiftmetrics.stability.words import NEARLY_EVEN, risk_name, risk_number, two_digits
from shiftmetrics.views.report.answer import Answer, Tile, Tone, answers
from shiftmetrics.views.report.parts import Entry, Fact, Number, number, percent, reports
from shiftmetrics.views.report.shifted_rows import add_row_tables

MOST_FACTS = 10
"""Facts for the features of a model, and for groups of its rows."""
MOST_BARS = 15
MOST_DRAWN = 250
"""Rows in the picture of the sample: each takes a few hundred bytes of the page."""
MOST_COLOURS = 8


@answers(StabilityResult)
def stability_answer(result: StabilityResult) -> Answer:
    """Return the least shift that breaks the model, or that none is found within what may change."""
    word, tone, sentence = _in_short(result)
    steps = _what_to_do(result) if word == "BREAKS" else ()
    return Answer(
        word=word,
        tone=tone,
        sentence=sentence,
        steps=steps,
        tiles=tuple(_tiles(result)),
        chart=_chart_of(result),
    )


def _what_to_do(result: StabilityResult) -> tuple[str, ...]:
    """Return what to do where a shift breaks the model."""
    again = "shiftmetrics stability FILE"
    steps = ["Look below at what the least shift changes: is such a shift likely?"]
    if result.plan.changed_fraction > 0.0 and result.places()[0] is not None:
        column = str(column_changes(result)["column"].iloc[0])
        steps.append(
            f"If {column} cannot change like this, forbid it: {again} --immutable {shlex.quote(column)}"
        )
    steps.append(f"See what other thresholds would take: {again} --curve")
    return tuple(steps)


def _chart_of(result: StabilityResult) -> str:
    """Return the drawing: errors up to the threshold, or the shift where the risk is no rate of errors."""
    # a result without its rows has nothing to draw, nor has one without a shift
    if not math.isfinite(result.value) or result.plan.weights is None:
        return ""
    if result.plan.changed_fraction > 0.0:
        if risk_name(result.settings) == "error rate":
            return "errors"
        if result.plan.effective_sample_fraction > NEARLY_EVEN:
            return "distances"
    return "weights"


def _in_short(result: StabilityResult) -> tuple[str, Tone, str]:
    """Return the word, its colour and the sentence."""
    settings = result.settings
    name = risk_name(settings)
    code = result.status.code
    reached = risk_number(result.plan.risk, settings)
    if code == "already_at_risk":
        now = risk_number(result.base_risk, settings)
        return "BROKEN", "bad", f"The {name} is {now} already, without any shift."
    if code == "unattainable":
        return "HOLDS", "good", f"No allowed shift raises the {name} above {reached}."
    if code == "unbounded_loss":
        return (
            "NO LIMIT",
            "open",
            "Any risk is reached at no cost: the loss grows faster than the cost.",
        )
    change = "once some samples count more than others"
    if result.plan.rms_distance > 0.0:
        change = f"if {percent(result.plan.changed_fraction)} of the samples change"
    if "budget" in settings:
        return "AT WORST", "plain", f"The {name} is {reached} at worst within the budget, {change}."
    # A shift that breaks the model is neither good nor bad until one knows how likely it is.
    return "BREAKS", "plain", f"The {name} reaches {reached} {change}."


def _tiles(result: StabilityResult) -> list[Tile]:
    """Return the risk now and at the threshold, and the size of the shift between them."""
    settings = result.settings
    plan = result.plan
    now = risk_number(result.base_risk, settings)
    figures = [Tile(name="Now", value=now, meaning=risk_name(settings))]
    # No shift lies between both risks, so that there is no size of one to show.
    if not math.isfinite(result.value) or result.status.code == "already_at_risk":
        if "threshold" in settings:  # the worst case within a budget has none
            threshold = risk_number(settings["threshold"], settings)
            figures.append(Tile(name="Threshold", value=threshold, meaning=risk_name(settings)))
        figures.append(Tile(name="Samples", value=f"{result.n_samples:,}"))
        return figures
    figures.append(
        Tile(
            name="After the shift",
            value=risk_number(plan.risk, settings),
            meaning=risk_name(settings),
        )
    )
    if plan.rms_distance > 0.0:
        meaning = f"by {two_digits(plan.rms_distance)}{result.distance_unit}"
        figures.append(
            Tile(name="Samples changed", value=percent(plan.changed_fraction), meaning=meaning)
        )
    figures.append(
        Tile(
            name="Effective sample",
            value=percent(plan.effective_sample_fraction),
            meaning="100 % is even weights",
        )
    )
    # Within a budget the value is the risk after the shift, which has its tile already.
    if "budget" not in settings:
        meaning = result.kind.replace("_", " ")
        if result.interval is not None:
            level = f"{100 * result.interval.confidence_level:g} %"
            low = plain_figure(result.interval.low)
            high = plain_figure(result.interval.high)
            ends = f"{level}: {low} to {high}"
            meaning = ends if result.kind == "exact" else f"{meaning}; {ends}"
        figures.append(Tile(name="Stability", value=plain_figure(result.value), meaning=meaning))
    return figures


def shift_facts(result: Any) -> list[Fact]:
    """Return the figures of a shift, and the route of the search for a model's perturbations."""
    added = result.plan.excess_risk
    change = number(result.plan.rms_distance)
    # what each kind of change adds depends on the order; this is perturbations before weights
    facts = [
        Fact("standard error", number(result.standard_error), "of the value above"),
        Fact("added by perturbations", number(added.corruption), "first, weights after"),
        Fact("added by weights", number(added.reweighting)),
        Fact("root-mean-square change", change, "in the units of the distances"),
        Fact("cost of more risk", number(result.slopes.threshold), "the slope in the threshold"),
        Fact("kind", result.kind.replace("_", " "), "exact, or a bound"),
    ]
    search = getattr(result, "search", None)
    if search is not None:
        facts.append(Fact("route", search.route, "how the perturbations were found"))
        facts.append(Fact("queries", f"{search.n_queries:,}", "samples that the model predicted"))
    return facts


@reports("stability", StabilityResult, facts=shift_facts)
def fill_shift(entry: Entry) -> None:
    """Show the shifted sample, and which rows, labels and columns the worst case is about."""
    result = entry.result
    plan = result.plan
    # without a shift that reaches the threshold there is nothing to show
    if not math.isfinite(result.value):
        return
    if result.status.code == "converged":
        entry.sentences.extend(result.reference_values())
    if plan.weights is None:
        return
    # a result of a model knows its rows
    if entry.rows.table is None:
        entry.rows = replace(entry.rows, table=result.places()[0])
    _draw_sample(entry)
    if plan.named_change is not None:
        _add_named_change(entry)
    if plan.effective_sample_fraction <= NEARLY_EVEN:
        entry.draw("weights")
    if plan.changed_fraction > 0.0:
        entry.draw("distances")
    search = getattr(result, "search", None)
    if search is not None and search.trace is not None:
        entry.draw("search")
    # a page that has grown too large has no tables of rows
    if entry.detail:
        add_row_tables(entry)


def _draw_sample(entry: Entry) -> None:
    """Draw the shifted sample, where the result knows its rows and they have two columns of numbers."""
    table = entry.result.places()[0]
    if table is None or sum(is_numeric(table[column]) for column in table.columns) < 2:
        return
    # more colours than these cannot be told apart
    labels = entry.rows.labels
    if labels is not None and len({str(label) for label in labels}) > MOST_COLOURS:
        labels = None
    entry.draw("sample", labels=labels, max_rows=MOST_DRAWN)


def _add_named_change(entry: Entry) -> None:
    """Add the group whose growth alone reaches the threshold, with its held-out rates."""
    change = entry.result.plan.named_change
    if not change.is_found:
        words = change.in_words()
        entry.sentences.append(f"{words[0].upper()}{words[1:]}.")
        return
    line = {
        "Group": " and ".join(change.conditions),
        "Current fraction": percent(change.fraction),
        "Fraction at the threshold": _needed(change),
        "Risk inside": number(change.risk),
        "Risk outside": number(change.rest_risk),
        "p": Number(p_number(change.p_value)),
    }
    caption = f"Upweighted group: the least named change, measured on {change.n_samples:,} held-out samples."
    entry.add_table([line], caption)


def _needed(change: Any) -> str:
    """Return the fraction that a group needs, as a range where it is known."""
    if change.needed_range is None:
        return percent(change.needed_fraction)
    return f"{percent(change.needed_range.low)} to {percent(change.needed_range.high)}"


def series_facts(result: Any) -> list[Fact]:
    """Return a line for each point of a curve: the stability and its interval."""
    facts = []
    for line in result.to_frame().itertuples():
        at = f"at risk {line.threshold:.4g}"
        if result.points.cheapness is not None:
            at = f"at prices {line.theta1:.3g} and {line.theta2:.3g}"
        meaning = ""
        if line.status != "converged":
            meaning = line.status.replace("_", " ")
        elif not math.isnan(line.interval_low):
            meaning = _ends(line.interval_low, line.interval_high)
        facts.append(Fact(at, number(line.stability), meaning, is_answer=True))
    return facts


@reports("stability", StabilityCurve, facts=series_facts)
def fill_series(entry: Entry) -> None:
    """Draw a curve."""
    entry.sentences.append(entry.result.headline())
    if entry.result.points.cheapness is None:
        entry.draw("stability")
    else:
        entry.draw(note="One price falls as the other rises, at a constant 1/theta1 + 1/theta2.")


def feature_facts(result: Any) -> list[Fact]:
    """Return the most influential features, and the subgroups for which the model is least stable."""
    facts = []
    for part in result.features[:MOST_FACTS]:
        worst = number(part.worst_case_risk - part.base_risk)
        meaning = f"more risk if permuted, {worst} at worst"
        facts.append(Fact(part.feature, number(part.permutation_importance), meaning))
    for part in _subgroups(result)[:MOST_FACTS]:
        meaning = f"stability, {percent(part.changed_fraction)} of samples change"
        facts.append(Fact(f"within {part.subgroup}", number(part.value), meaning))
    return facts


@reports("stability", FeatureStabilityResult, facts=feature_facts)
def fill_features(entry: Entry) -> None:
    """Show the most influential features, and the subgroups."""
    result = entry.result
    entry.sentences.append(result.headline())
    groups = _subgroups(result)
    # each bar takes a quarter of an inch
    for kind, parts in (("features", result.features), ("subgroups", groups)):
        if parts:
            height = max(1.0 + 0.24 * min(len(parts), MOST_BARS), 2.2)
            entry.draw(kind, height=height, top=MOST_BARS)
    features = []
    for part in result.features[: entry.detail]:
        line = {
            "Feature": part.feature,
            "Added risk if permuted": number(part.permutation_importance),
            "at worst": number(part.worst_case_risk - part.base_risk),
        }
        features.append(line | _stability_cells(part))
    entry.add_table(features, "The most important features.")
    lines = []
    for part in groups[: 2 * entry.detail]:
        line = {
            "Group": str(part.subgroup),
            "Samples": Number(f"{part.n_samples:,}"),
            "Current risk": number(part.base_risk),
        }
        lines.append(line | _stability_cells(part))
    entry.add_table(lines, "Groups, the least stable first.")


def _subgroups(result: Any) -> list[Any]:
    return [part for part in result.subgroups if part.feature == EVERYTHING]


def _stability_cells(part: Any) -> dict[str, str]:
    interval = part.interval
    kind = part.kind if str(part.status) == "converged" else str(part.status)
    return {
        "Stability": number(part.value),
        "Interval": Number("–" if interval is None else _ends(interval.low, interval.high)),
        "Typical change": number(part.rms_distance),
        "Samples changed": percent(part.changed_fraction),
        "Kind": kind.replace("_", " "),
    }


def _ends(low: float, high: float) -> str:
    return f"{format_number(low)} to {format_number(high)}"
