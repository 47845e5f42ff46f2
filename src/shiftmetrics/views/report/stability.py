"""The stability section: the cost of each threshold, corruption against reweighting, and who gains weight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from shiftmetrics._core.result import Result
from shiftmetrics.models import FeatureStabilityResult
from shiftmetrics.stability import StabilityResult, stability_curve, stability_surface
from shiftmetrics.stability.series import StabilitySeries
from shiftmetrics.views.plot import (
    plot,
    plot_convergence,
    plot_excess_risk,
    plot_stability,
    plot_stability_curve,
)
from shiftmetrics.views.plot.stability import NEARLY_EVEN
from shiftmetrics.views.report import feature_stability
from shiftmetrics.views.report.context import Context, Rows
from shiftmetrics.views.report.facts import facts_of
from shiftmetrics.views.report.figures import figure_svg
from shiftmetrics.views.report.grid import Entry
from shiftmetrics.views.report.sensitive_sample import moved_rows, moves_by_column, picture
from shiftmetrics.views.report.shifted_rows import single_rows, who_changes
from shiftmetrics.views.report.templating import fragment

LEAD = (
    "The worst case within reach: rows move towards an error, or gain weight, whichever is cheaper, "
    "until the risk reaches the threshold. Its least cost is the stability."
)
STAND_IN = "The search was for the mark: elsewhere its places stand in for better ones."
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
    if isinstance(result, FeatureStabilityResult):
        return feature_stability.entry_of(name, result, detail)
    entry = Entry(name=name, facts=facts_of(result))
    if isinstance(result, StabilitySeries):
        entry.sentences.append(result.headline())
        entry.figures.append(figure_svg(lambda ax: plot(result, ax), alt=result.headline()))
        return entry
    rows = _with_own(result, rows)
    if remark:
        entry.sentences.append(remark)
    finite = math.isfinite(result.value)
    small = result.n_samples <= MOST_ROWS_FOR_CURVES
    if isinstance(result, StabilityResult) and rows.loss is not None and finite and small:
        entry.figures.extend(_curves(result, rows))
    if result.weights is None or not finite:
        return entry
    weights = np.asarray(result.weights, dtype=np.float64)
    moves = np.asarray(result.moved_distances, dtype=np.float64)
    uneven = result.effective_sample_fraction <= NEARLY_EVEN
    entry.figures.extend(picture(result, rows, name))
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
    if getattr(result, "trace", None) is not None:
        entry.figures.append(
            figure_svg(
                lambda ax: plot_convergence(result, ax),
                alt=f"Rounds of the search: {name}",
                caption="Each round looks for worse places at the present price of risk, then solves among all that "
                "are known; the search ends when none is better.",
            )
        )
    if detail:
        entry.tables.extend(who_changes(weights, moves, rows, detail))
        entry.tables.extend(moves_by_column(result, detail))
        first = moved_rows(result, rows, detail)
        if not first and result.share_moved > 0.0:
            nearest = np.flatnonzero(moves > 0.0)
            nearest = nearest[np.argsort(moves[nearest], kind="stable")][:detail]
            first = [single_rows(nearest, "The rows that break first.", weights, moves, rows)]
        entry.tables.extend(first)
        if uneven:
            heaviest = np.argsort(-weights, kind="stable")[:detail]
            entry.tables.append(
                single_rows(heaviest, "The rows that gain the most weight.", weights, moves, rows)
            )
    return entry


def _with_own(result: Any, rows: Rows) -> Rows:
    """Fill in what the result knows of its rows."""
    known: dict[str, Any] = {}
    if rows.loss is None:
        known["loss"] = getattr(result, "loss", None)
    if rows.table is None:
        known["table"] = result.places()[0]
    return replace(rows, **known)


def _curves(result: StabilityResult, rows: Rows) -> list[Markup]:
    """Return R against the threshold, and the added risk against the prices: the same rows, solved again."""
    threshold, start = float(result.settings["threshold"]), float(result.base_risk)
    weighted = result.settings.get("sample_weight") is not None
    if threshold <= start or (weighted and rows.sample_weight is None):
        return []
    theta1, theta2 = float(result.settings["theta1"]), float(result.settings["theta2"])
    divergence = result.settings["divergence"]
    searched = "" if getattr(result, "trace", None) is None else f" {STAND_IN}"
    thresholds = np.append(np.linspace(start, start + 2.0 * (threshold - start), CURVE_POINTS), threshold)
    curve = stability_curve(
        rows.loss,
        thresholds,
        theta1=theta1,
        theta2=theta2,
        divergence=divergence,
        sample_weight=rows.sample_weight,
        progress=False,
    )
    drawings = [
        figure_svg(
            lambda ax: plot_stability_curve(
                curve.thresholds,
                curve.stability,
                ax,
                threshold=threshold,
                risk=start,
                # The band of independent rows is not that of groups of rows.
                low=None if result.settings.get("groups") else curve.lows,
                high=None if result.settings.get("groups") else curve.highs,
            ),
            alt="Stability against the risk threshold",
            caption="How much the least damaging shift costs for each threshold, with its sampling interval. The "
            f"slope at the mark is the dual: what one more unit of risk would cost.{searched}",
        )
    ]
    if not (math.isfinite(theta1) and math.isfinite(theta2)):
        return drawings
    total = 1.0 / theta1 + 1.0 / theta2
    surface = stability_surface(
        rows.loss,
        threshold,
        total=total,
        shares=np.linspace(0.05, 0.95, 10),
        divergence=divergence,
        sample_weight=rows.sample_weight,
        progress=False,
    )
    if surface.corruption.any():
        drawings.append(
            figure_svg(
                lambda ax: plot_excess_risk(
                    surface.shares, surface.corruption, surface.reweighting, ax, share=1.0 / theta1 / total
                ),
                alt="Risk added by rows that move and by rows that gain weight, over the prices",
                caption="The two prices trade places at a constant 1/theta1 + 1/theta2. The dashed line marks the "
                f"prices used here.{searched}",
            )
        )
    return drawings
