"""The stability section: the cost of each threshold, corruption against reweighting, rows, and features."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.options import Computing
from shiftmetrics._core.result import format_number
from shiftmetrics.models.feature_result import EVERYTHING, FeatureStabilityResult
from shiftmetrics.stability import (
    StabilityResult,
    least_named_change,
    stability_curve,
    trade_off,
)
from shiftmetrics.stability.curve_result import StabilityCurve
from shiftmetrics.stability.frames import is_numeric
from shiftmetrics.stability.words import NEARLY_EVEN
from shiftmetrics.views.report.parts import Entry, Fact, Number, number, percent, reports
from shiftmetrics.views.report.shifted_rows import add_row_tables

MOST_FACTS = 10
"""Facts for the features of a model, and for groups of its rows."""
MOST_BARS = 15
MOST_DRAWN = 250
"""Rows in the picture of the sample: each takes a few hundred bytes of the page."""
CURVE_POINTS = 17
MOST_ROWS_FOR_CURVES = 300_000


def shift_facts(result: Any) -> list[Fact]:
    """Return the figures of a shift, and the route of the search for a model's moves."""
    added = result.plan.excess_risk
    facts = [
        Fact("standard error", number(result.standard_error), "of the value above"),
        Fact(
            "added by perturbations", number(added.corruption), "perturbations first, weights after"
        ),
        Fact("added by weights", number(added.reweighting)),
        Fact(
            "root-mean-square change",
            number(result.plan.rms_distance),
            "in the units of the distances",
        ),
        Fact("cost of more risk", number(result.slopes.threshold), "the slope in the threshold"),
        Fact("kind", str(result.kind).replace("_", " "), "exact, or a bound"),
    ]
    if getattr(result, "search", None) is not None:
        facts.append(Fact("route", str(result.search.route), "how the perturbations were found"))
        facts.append(
            Fact("queries", f"{result.search.n_queries:,}", "samples that the model predicted")
        )
    return facts


@reports("stability", StabilityResult, facts=shift_facts)
def fill_shift(entry: Entry) -> None:
    """Show the curves, the shifted sample, and which rows, labels and columns the worst case is about."""
    result = entry.result
    known = {"loss": getattr(result, "loss", None), "table": result.places()[0]}
    missing = {name: part for name, part in known.items() if getattr(entry.rows, name) is None}
    entry.rows = replace(entry.rows, **missing)
    if not math.isfinite(result.value):
        return
    if result.status.code == "converged":
        entry.sentences.extend(result.reference_values())
    if result.measure != "worst_case_risk" and entry.rows.loss is not None:
        _draw_curves(entry)
    if result.plan.weights is None:
        return
    _draw_sample(entry)
    _add_named_change(entry)
    if result.plan.effective_sample_fraction <= NEARLY_EVEN:
        entry.draw("weights")
    if result.plan.changed_fraction > 0.0:
        entry.draw("moves")
    search = getattr(result, "search", None)
    if search is not None and search.trace is not None:
        entry.draw("search")
    if entry.detail:
        add_row_tables(entry)


def _add_named_change(entry: Entry) -> None:
    """Add the group whose growth alone reaches the threshold, with its held-out rates."""
    result = entry.result
    change = result.plan.named_change
    if change is None:
        # A result of losses knows no columns; the report may.
        searched = entry.rows.table is not None and len(entry.rows.table.columns) > 0
        reweighted = math.isfinite(float(result.settings["theta2"]))
        if not searched or not reweighted or "threshold" not in result.settings:
            return
        if result.status.code != "converged":
            return
        weights = entry.rows.sample_weight
        change = least_named_change(result, entry.rows.table, sample_weight=weights)
    if not change.is_found:
        words = change.in_words()
        entry.sentences.append(f"{words[0].upper()}{words[1:]}.")
        return
    line = {
        "Group": " and ".join(change.conditions),
        "Current fraction": percent(change.fraction),
        "Fraction at the threshold": percent(change.needed_fraction),
        "Risk inside": number(change.risk),
        "Risk outside": number(change.rest_risk),
        "p": Number(f"{change.p_value:.2g}"),
    }
    caption = f"Upweighted group: the least named change, measured on {change.n_samples:,} held-out samples."
    entry.add_table([line], caption)


def _draw_sample(entry: Entry) -> None:
    """Draw the shifted sample, where the result knows its rows and they have two columns of numbers."""
    table, after = entry.result.places()
    if table is None or sum(is_numeric(table[column]) for column in table.columns) < 2:
        return
    labels = None if entry.rows.labels is None else [str(label) for label in entry.rows.labels]
    entry.draw(
        "sample",
        table=table,
        after=after,
        labels=labels if labels is not None and len(set(labels)) <= 8 else None,
        max_rows=MOST_DRAWN,
    )


def _draw_curves(entry: Entry) -> None:
    """Draw R against the threshold, and the added risk against the prices: the same rows, solved again."""
    result, rows, settings = entry.result, entry.rows, entry.result.settings
    threshold = float(settings["threshold"])
    start = float(result.base_risk)
    weights_unknown = settings.get("sample_weight") is not None and rows.sample_weight is None
    if threshold <= start or weights_unknown or result.n_samples > MOST_ROWS_FOR_CURVES:
        return
    theta1 = float(settings["theta1"])
    theta2 = float(settings["theta2"])
    options: dict[str, Any] = {
        "theta1": theta1,
        "theta2": theta2,
        "divergence": settings["divergence"],
        "sample_weight": rows.sample_weight,
        "computing": Computing(progress=False),
    }
    searched = ""
    search = getattr(result, "search", None)
    if search is not None and search.trace is not None:
        searched = "The search was for the marked threshold: elsewhere its perturbations are not the best ones."
    # evenly from the current risk to as far beyond the threshold, which is solved itself
    thresholds = np.append(
        np.linspace(start, start + 2.0 * (threshold - start), CURVE_POINTS), threshold
    )
    entry.draw(
        "stability",
        searched,
        result=stability_curve(rows.loss, thresholds, **options),
        threshold=threshold,
        # The band of independent rows is not that of groups of rows.
        interval=not (settings.get("resampling") or {}).get("groups"),
    )
    if not (math.isfinite(theta1) and math.isfinite(theta2)):
        return
    over_prices = trade_off(rows.loss, threshold, cheapness=np.linspace(0.05, 0.95, 10), **options)
    if over_prices.points.corruption.any():
        # the marked place: how much of 1/theta1 + 1/theta2 perturbing takes
        share = 1.0 / theta1 / (1.0 / theta1 + 1.0 / theta2)
        entry.draw("excess_risk", searched, result=over_prices, share=share)


def series_facts(result: Any) -> list[Fact]:
    """Return a line for each point of a curve: the stability and its interval."""
    facts = []
    for line in result.to_frame().itertuples():
        at = f"at risk {line.threshold:.4g}"
        if result.points.cheapness is not None:
            at = f"at prices {line.theta1:.3g} and {line.theta2:.3g}"
        band = (
            ""
            if math.isnan(line.interval_low)
            else f"{format_number(line.interval_low)} to {format_number(line.interval_high)}"
        )
        meaning = band if line.status == "converged" else line.status.replace("_", " ")
        facts.append(Fact(at, number(line.stability), meaning))
    return facts


@reports("stability", StabilityCurve, facts=series_facts)
def fill_series(entry: Entry) -> None:
    """Draw a curve."""
    entry.sentences.append(entry.result.headline())
    entry.draw()


def feature_facts(result: Any) -> list[Fact]:
    """Return the most influential features, and the subgroups for which the model is least stable."""
    groups = [part for part in result.subgroups if part.feature == EVERYTHING]
    facts = []
    for part in result.features[:MOST_FACTS]:
        band = ""
        if part.importance_interval is not None:
            band = f" ({_ends(part.importance_interval)})"
        worst = number(part.worst_case_risk - part.base_risk)
        meaning = f"more risk if permuted{band}, {worst} at worst"
        facts.append(Fact(part.feature, number(part.permutation_importance), meaning))
    for part in groups[:MOST_FACTS]:
        band = "" if part.interval is None else f"{_ends(part.interval)}, "
        meaning = f"stability, {band}{percent(part.changed_fraction)} of samples change"
        facts.append(Fact(f"within {part.subgroup}", number(part.value), meaning))
    return facts


@reports("stability", FeatureStabilityResult, facts=feature_facts)
def fill_features(entry: Entry) -> None:
    """Show the most influential features, and the subgroups."""
    result, detail = entry.result, entry.detail
    entry.sentences.append(result.headline())
    groups = [part for part in result.subgroups if part.feature == EVERYTHING]

    for kind, parts in (("features", result.features), ("subgroups", groups)):
        if parts:
            height = max(1.0 + 0.24 * min(len(parts), MOST_BARS), 2.2)
            entry.draw(kind, height=height, top=MOST_BARS)
    features = [
        {
            "Feature": part.feature,
            "Added risk if permuted": number(part.permutation_importance),
            "at worst": number(part.worst_case_risk - part.base_risk),
            **_feature_line(part),
        }
        for part in result.features[:detail]
    ]
    entry.add_table(features, "The most important features.")
    lines = [
        {
            "Group": str(part.subgroup),
            "Samples": Number(f"{part.n_samples:,}"),
            "Current risk": number(part.base_risk),
            **_feature_line(part),
        }
        for part in groups[: 2 * detail]
    ]
    entry.add_table(lines, "Groups, the least stable first.")


def _feature_line(part: Any) -> dict[str, str]:
    converged = str(part.status) == "converged"
    return {
        "Stability": number(part.value),
        "Interval": Number("–" if part.interval is None else _ends(part.interval)),
        "Typical change": number(part.rms_distance),
        "Samples changed": percent(part.changed_fraction),
        "Kind": str(part.kind if converged else part.status).replace("_", " "),
    }


def _ends(interval: Any) -> str:
    return f"{format_number(interval.low)} to {format_number(interval.high)}"
