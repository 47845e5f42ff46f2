"""Drawings of stability: the least shift, its search, its cost over thresholds and prices, and features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.result import format_percent
from shiftmetrics._core.validation import check_integer
from shiftmetrics.models.measures.feature_result import EVERYTHING, FeatureStabilityResult
from shiftmetrics.stability.curve_result import StabilityCurve
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.stability.shift import NO_ROWS
from shiftmetrics.stability.words import NEARLY_EVEN, risk_number
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    DASHED,
    FAINT,
    INK,
    MUTED,
    REFERENCE,
    TEST,
    band,
    integer_ticks,
    line_at,
    mark,
    name_rows,
    new_axes,
    percent_axes,
)

MOST_POINTS = 400
"""Points of a smooth curve that are drawn."""

BOUND_ALPHA = 0.4
"""Opacity of a bar that is an upper bound."""


@drawing(StabilityResult, kind="shift", default=True)
def draw_shift(result: Any, ax: Any = None) -> Any:
    """Draw the weights of the least shift or, where these hardly differ, the distances of its perturbations."""
    if result.plan.effective_sample_fraction > NEARLY_EVEN and result.plan.changed_fraction > 0.0:
        return draw_distances(result, ax)
    return draw_weights(result, ax)


@drawing(StabilityResult, kind="errors")
def draw_errors(result: Any, ax: Any = None) -> Any:
    """Draw the error rate of the shifted sample against the size of its changes, up to the threshold.

    Samples nearest to an error change first. At size 0 only their weights differ from those of the sample.
    """
    _check_rows(result)
    ax = new_axes(ax)
    plan = result.plan
    weights = np.asarray(plan.weights, dtype=np.float64) / np.sum(plan.weights)
    distances = np.asarray(plan.distances, dtype=np.float64)
    is_changed = distances > 0.0
    order = np.argsort(distances[is_changed], kind="stable")
    sizes = np.append(0.0, distances[is_changed][order])
    gained = np.append(0.0, np.cumsum(weights[is_changed][order]))
    # Each sample that changes becomes an error once its size is reached; all of them together end
    # at the risk of the shift.
    risks = plan.risk - gained[-1] + gained
    steps = {"where": "post", "color": TEST}
    ax.step(np.append(sizes, 1.08 * sizes[-1]), np.append(risks, risks[-1]), **steps)
    ax.plot([0.0], [result.base_risk], "o", color=INK, markersize=5, clip_on=False, zorder=3)
    now = risk_number(result.base_risk, result.settings)
    mark(ax, f"now {now}", (0.0, result.base_risk), shift=(6, -13))
    line_at(ax, "y", plan.risk, format_percent(plan.risk))
    low = min(result.base_risk, risks[0])
    room = 0.25 * (plan.risk - low)
    # twice below, for what is written there; no rate is below 0
    ax.set(xlim=(0.0, 1.08 * sizes[-1]), ylim=(low - 2.0 * room, plan.risk + room))
    percent_axes(ax, "y")
    bottom, top = ax.get_ylim()
    ax.set_yticks([tick for tick in ax.get_yticks() if max(bottom, 0.0) <= tick <= top])
    ax.set(xlabel=f"largest change,{result.distance_unit}", ylabel="error rate")
    ax.set_title("Errors, as samples change more", loc="left")
    return ax


@drawing(StabilityResult, kind="weights")
def draw_weights(result: Any, ax: Any = None) -> Any:
    """Draw the fraction of the weight that the heaviest samples hold."""
    _check_rows(result)
    ax = new_axes(ax)
    # a Lorenz curve from the heaviest sample on; equal weights give the diagonal
    weights = np.sort(np.asarray(result.plan.weights, dtype=np.float64))[::-1]
    held = np.append(0.0, np.cumsum(weights) / max(weights.sum(), 1e-300))
    samples = np.linspace(0.0, 1.0, held.size)
    # a few hundred points make a smooth curve, however many samples there are
    x = np.linspace(0.0, 1.0, min(held.size, MOST_POINTS))
    y = np.interp(x, samples, held)
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=DASHED)
    band(ax, x, x, y, TEST)
    ax.plot(x, y, color=TEST)
    # how few samples hold half of the weight
    half = float(np.interp(0.5, held, samples))
    ax.plot([half], [0.5], marker="o", markersize=6, color=INK)
    text = f"half of the weight\non {100 * half:.0f} % of the samples"
    ax.text(0.98, 0.05, text, ha="right", fontsize=9)
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="fraction of the samples, heaviest first",
        ylabel="fraction of the weight",
        title="Where the worst case puts its weight",
    )
    percent_axes(ax, "xy")
    return ax


@drawing(StabilityResult, kind="distances")
def draw_distances(result: Any, ax: Any = None) -> Any:
    """Draw the distances of the samples that change."""
    _check_rows(result)
    ax = new_axes(ax)
    distances = np.asarray(result.plan.distances, dtype=np.float64)
    ax.hist(distances[distances > 0.0], bins=30, color=TEST, alpha=0.85, rwidth=0.92)
    # the sentence has room above the bars
    text = f"{100 * result.plan.changed_fraction:.3g} % of the samples change"
    ax.text(0.02, 0.97, text, transform=ax.transAxes, va="top", fontsize=9)
    ax.set(
        xlim=(0, None),
        ylim=(0, 1.18 * ax.get_ylim()[1]),
        xlabel="distance of the perturbation",
        ylabel="samples that change",
        title="How far the worst case perturbs samples",
    )
    integer_ticks(ax.yaxis)
    return ax


def _check_rows(result: Any) -> None:
    if result.plan.weights is None:
        raise ValueError(NO_ROWS)


@drawing(StabilityResult, kind="search")
def draw_search(result: Any, ax: Any = None) -> Any:
    """Draw the risk of the worst case in each round of a search (figures 5 and 6b of arXiv:2405.03198)."""
    # only results of models have been searched for
    search = getattr(result, "search", None)
    trace = None if search is None else search.trace
    if trace is None:
        expected = "a result of a search in rounds"
        remedy = "Closed forms and the 0/1 loss need a single solve."
        raise ArgumentValueError("result", expected, "one without a trace", remedy)
    ax = new_axes(ax)
    # the risk at the dual price of each round ends at the threshold
    rounds = 1 + np.arange(len(trace.risks))
    ax.plot(rounds, trace.risks, "o-", markersize=4.5, color=TEST)
    threshold = float(result.settings["threshold"])
    line_at(ax, "y", threshold, f"threshold {threshold:.3g}", zorder=1)
    integer_ticks(ax.xaxis)
    ax.margins(y=0.12)
    ax.set(
        xlabel="round of the search",
        ylabel="risk of the worst case",
        title="How the search comes to the threshold",
    )
    return ax


@drawing(StabilityCurve, kind="stability")
def draw_curve(curve: Any, ax: Any = None) -> Any:
    """Draw the stability over thresholds with its interval or, over prices, what each kind of change adds."""
    ax = new_axes(ax)
    if curve.points.cheapness is not None:
        return _draw_prices(curve.points, ax)
    # thresholds that no shift reaches have infinite stability, and are left out
    points = curve.points
    finite = np.isfinite(points.stability)
    threshold = points.threshold[finite]
    stability = points.stability[finite]
    high = points.interval_high[finite]
    band(ax, threshold, points.interval_low[finite], high, REFERENCE)
    ax.plot(threshold, stability, color=REFERENCE)
    # the interval may be unknown or without end; the curve is drawn in full
    tops = np.append(high[np.isfinite(high)], stability)
    line_at(ax, "x", curve.base_risk, "current risk")
    ax.set(
        ylim=(0, 1.12 * tops.max(initial=0.0) or 1.0),
        xlabel="risk threshold r",
        ylabel="stability R(r)",
        title="What each level of risk would cost",
    )
    return ax


def _draw_prices(points: Any, ax: Any) -> Any:
    """Draw what perturbations and weights add to the risk as one price falls and the other rises."""
    finite = np.isfinite(points.stability)
    perturbed = points.corruption[finite]
    weighted = points.reweighting[finite]
    labels = ["by perturbations", "by weights"]
    look = {"colors": [TEST, REFERENCE], "alpha": 0.8, "labels": labels}
    ax.stackplot(points.cheapness[finite], perturbed, weighted, **look)
    # room for the legend above the areas
    highest = float((perturbed + weighted).max(initial=0.0)) or 1.0
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1.28 * highest),
        xlabel="how cheap perturbing is, against reweighting",
        ylabel="added risk",
        title="Corruption against reweighting",
    )
    ax.legend(loc="upper left", ncols=2, borderaxespad=0)
    percent_axes(ax, "x")
    return ax


@drawing(FeatureStabilityResult, kind="features", default=True)
def draw_features(result: Any, ax: Any = None, *, top: int = 20) -> Any:
    """Draw the permutation importance of each feature with its interval, and the added risk at worst as a dot."""
    parts = result.features[: check_integer(top, "top", low=1)]
    ax = new_axes(ax, height=1.5 + 0.28 * len(parts))
    places = name_rows(ax, [part.feature for part in parts])
    importance = np.array([part.permutation_importance for part in parts])
    worst = np.array([part.worst_case_risk - part.base_risk for part in parts])
    # pale bars are of features whose permutation shows no effect
    colours = [TEST if result.has_effect(part) else FAINT for part in parts]
    ax.barh(places, importance, height=0.7, color=colours, alpha=0.85, label="on average")
    ends = _draw_intervals(ax, places, [part.importance_interval for part in parts])
    # infinite risks end at the margin of the axes
    known = [0.0, *importance, *ends, *worst[np.isfinite(worst)]]
    highest = 1.05 * max(known) or 1.0
    ax.plot(np.minimum(worst, highest), places, "o", color=INK, markersize=4, label="at worst")
    line_at(ax, "x", 0.0, "", zorder=1)
    ax.set_xlim(min(known), highest)
    ax.set_xlabel("added mean loss")
    if result.settings["loss"] == "zero_one":
        percent_axes(ax, "x")
        ax.set_xlabel("added errors")
    ax.legend(loc="lower right")
    ax.set_title("Values of one feature permuted")
    return ax


@drawing(FeatureStabilityResult, kind="subgroups")
def draw_subgroups(result: Any, ax: Any = None, *, top: int = 20) -> Any:
    """Draw subgroups by their stability when all features may change, with intervals."""
    parts = [part for part in result.subgroups if part.feature == EVERYTHING]
    parts = parts[: check_integer(top, "top", low=1)]
    if not parts:
        remedy = "Compute it with a Perturbation that has subgroups (by)."
        raise ArgumentValueError("result", "one with subgroups", "none", remedy)
    ax = new_axes(ax, height=1.3 + 0.28 * len(parts))
    places = name_rows(ax, [part.subgroup for part in parts])
    values = np.array([part.value for part in parts])
    finite = np.isfinite(values)
    shown = [part.interval if known else None for part, known in zip(parts, finite, strict=True)]
    ends = np.array(_draw_intervals(ax, places, shown))
    # the axis ends beyond the largest finite value or end of an interval; infinite bars fill it
    reach = 1.05 * max(1e-12, *values[finite], *ends[np.isfinite(ends)], 0.0)
    bars = ax.barh(places, np.where(finite, values, reach), height=0.7, color=REFERENCE)
    for bar, part in zip(bars, parts, strict=True):
        bar.set_alpha(0.85 if part.kind == "exact" else BOUND_ALPHA)
    for place in places[~finite]:
        ax.text(reach, place, "not reached ", va="center", ha="right", fontsize=8, color=MUTED)
    if any(part.kind != "exact" for part in parts):
        # an empty bar explains the pale colour once
        ax.barh([], [], color=REFERENCE, alpha=BOUND_ALPHA, label="upper bound")
        ax.legend(loc="upper right")
    ax.set_xlim(0, 1.02 * reach)
    threshold = result.settings["threshold"]
    ax.set_xlabel(f"stability R at risk {threshold:g} (lower breaks more easily)")
    ax.set_title("Stability by subgroup")
    return ax


def _draw_intervals(ax: Any, places: Any, intervals: Sequence[Any]) -> list[float]:
    """Draw the known ones of some intervals as lines over bars, and return all their ends."""
    ends = []
    for place, interval in zip(places, intervals, strict=True):
        if interval is not None:
            ax.plot([interval.low, interval.high], [place, place], color=INK, linewidth=1.1)
            ends += [interval.low, interval.high]
    return ends
