"""The stability section: the cost of each threshold, corruption against reweighting, and who gains weight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from shiftmetrics._core.result import Result
from shiftmetrics.plot import plot_excess_risk, plot_stability, plot_stability_curve
from shiftmetrics.plot.stability import NEARLY_EVEN
from shiftmetrics.report.context import Context, Rows
from shiftmetrics.report.facts import facts_of
from shiftmetrics.report.figures import figure_svg
from shiftmetrics.report.grid import Entry
from shiftmetrics.report.shifted_rows import single_rows, who_changes
from shiftmetrics.report.templating import fragment
from shiftmetrics.stability import StabilityResult, stability_criterion

LEAD = (
    "The worst case within reach: rows move towards an error, or gain weight, whichever is cheaper, "
    "until the risk reaches the threshold. Its least cost is the stability."
)
CURVE_POINTS = 17
MOST_ROWS_FOR_CURVES = 300_000


def build(results: Mapping[str, Result], context: Context, detail: int) -> Markup:
    """Return the section."""
    entries = [
        _entry(name, result, context.rows.get(name, Rows()), context.remarks.get(name), detail)
        for name, result in results.items()
    ]
    return fragment("measure.html.j2", lead=LEAD, comparison=None, entries=entries)


def _entry(name: str, result: Any, rows: Rows, remark: str | None, detail: int) -> Entry:
    entry = Entry(name=name, facts=facts_of(result))
    if remark:
        entry.sentences.append(remark)
    if (
        isinstance(result, StabilityResult)
        and rows.loss is not None
        and result.n_samples <= MOST_ROWS_FOR_CURVES
        and math.isfinite(result.value)
    ):
        entry.figures.extend(_curves(result, rows))
    if result.weights is None or not math.isfinite(result.value):
        return entry
    weights = np.asarray(result.weights, dtype=np.float64)
    moves = np.asarray(result.moved_distances, dtype=np.float64)
    uneven = result.effective_sample_fraction <= NEARLY_EVEN
    if uneven:
        entry.figures.append(
            figure_svg(
                lambda ax: plot_stability(result, ax, kind="weights"),
                alt=f"Share of the weight that the heaviest rows hold: {name}",
                caption="On the dashed line every row would count the same. The further the curve "
                "bulges, the smaller the group of rows that the worst case is about.",
            )
        )
    if result.share_moved > 0.0:
        entry.figures.append(
            figure_svg(
                lambda ax: plot_stability(result, ax, kind="moves"),
                alt=f"How far rows move: {name}",
                caption="The rows nearest to an error move first; all others stay where they are.",
            )
        )
    if detail:
        entry.tables.extend(who_changes(weights, moves, rows, detail))
        if result.share_moved > 0.0:
            first = np.flatnonzero(moves > 0.0)
            first = first[np.argsort(moves[first], kind="stable")][:detail]
            entry.tables.append(single_rows(first, "The rows that break first.", weights, moves, rows))
        if uneven:
            heaviest = np.argsort(-weights, kind="stable")[:detail]
            entry.tables.append(
                single_rows(heaviest, "The rows that gain the most weight.", weights, moves, rows)
            )
    return entry


def _curves(result: StabilityResult, rows: Rows) -> list[Markup]:
    """Return R against the threshold, and the added risk against the prices: the same rows, solved again."""
    threshold, start = float(result.settings["threshold"]), float(result.base_risk)
    weighted = result.settings.get("sample_weight") is not None
    if threshold <= start or (weighted and rows.sample_weight is None):
        return []
    theta1, theta2 = float(result.settings["theta1"]), float(result.settings["theta2"])

    def solve(at: float, price1: float, price2: float) -> StabilityResult:
        return stability_criterion(
            rows.loss,
            at,
            theta1=price1,
            theta2=price2,
            divergence=result.settings["divergence"],
            sample_weight=rows.sample_weight,
            keep_rows=False,
        )

    thresholds = np.append(np.linspace(start, start + 2.0 * (threshold - start), CURVE_POINTS), threshold)
    thresholds = np.unique(thresholds)
    values = [solve(float(at), theta1, theta2).value for at in thresholds]
    drawings = [
        figure_svg(
            lambda ax: plot_stability_curve(thresholds, values, ax, threshold=threshold, risk=start),
            alt="Stability against the risk threshold",
            caption="How much the least damaging shift costs for each threshold. The slope at the mark is the dual: "
            "what one more unit of risk would cost.",
        )
    ]
    if not (math.isfinite(theta1) and math.isfinite(theta2)):
        return drawings
    budget = 1.0 / theta1 + 1.0 / theta2
    shares = np.linspace(0.05, 0.95, 10)
    split = [solve(threshold, 1.0 / (budget * s), 1.0 / (budget * (1.0 - s))).excess_risk for s in shares]
    corruption = np.array([excess.corruption for excess in split])
    reweighting = np.array([excess.reweighting for excess in split])
    if corruption.any():
        drawings.append(
            figure_svg(
                lambda ax: plot_excess_risk(shares, corruption, reweighting, ax, share=1.0 / theta1 / budget),
                alt="Risk added by rows that move and by rows that gain weight, over the prices",
                caption="The two prices trade places at a constant 1/theta1 + 1/theta2. The dashed line marks the "
                "prices used here.",
            )
        )
    return drawings
