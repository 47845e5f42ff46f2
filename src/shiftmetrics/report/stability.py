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
    if rows.loss is not None and result.n_samples <= MOST_ROWS_FOR_CURVES and math.isfinite(result.value):
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


def _curves(result: Any, rows: Rows) -> list[Markup]:
    from shiftmetrics.stability import stability_criterion

    arguments = {
        name: result.settings[name] for name in ("theta1", "theta2", "divergence") if name in result.settings
    }
    if not {"theta1", "theta2"} <= set(arguments):
        return []
    threshold = float(result.settings["threshold"])
    start = float(result.base_risk)
    drawings = []
    if threshold > start:
        thresholds = np.unique(
            np.append(np.linspace(start, start + 2.0 * (threshold - start), CURVE_POINTS), threshold)
        )
        values = [
            stability_criterion(rows.loss, float(r), keep_rows=False, **arguments).value for r in thresholds
        ]
        drawings.append(
            figure_svg(
                lambda ax: plot_stability_curve(thresholds, values, ax, threshold=threshold, risk=start),
                alt="Stability against the risk threshold",
                caption="How much the least damaging shift costs for each threshold. The slope at the "
                "mark is the dual: what one more unit of risk would cost.",
            )
        )
    theta1, theta2 = float(arguments["theta1"]), float(arguments["theta2"])
    budget = 1.0 / theta1 + 1.0 / theta2
    if threshold > start and math.isfinite(theta1) and math.isfinite(theta2):
        shares = np.linspace(0.05, 0.95, 10)
        split = []
        for share in shares:
            prices = {**arguments, "theta1": 1.0 / (budget * share), "theta2": 1.0 / (budget * (1.0 - share))}
            excess = stability_criterion(rows.loss, threshold, keep_rows=False, **prices).excess_risk
            split.append((excess.corruption, excess.reweighting))
        corruption, reweighting = np.array(split, dtype=np.float64).T
        if not corruption.any():
            return drawings
        drawings.append(
            figure_svg(
                lambda ax: plot_excess_risk(shares, corruption, reweighting, ax, share=1.0 / theta1 / budget),
                alt="Risk added by rows that move and by rows that gain weight, over the prices",
                caption="The two prices trade places at a constant 1/theta1 + 1/theta2. The dashed line "
                "marks the prices used here.",
            )
        )
    return drawings
