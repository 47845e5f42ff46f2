"""Drawings of stability: the least shift, its search, its cost over thresholds and prices, and features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import check_integer, describe
from shiftmetrics.models.feature_result import EVERYTHING, FeatureStabilityResult
from shiftmetrics.stability.curve_result import StabilityCurve
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.stability.shift import NO_ROWS
from shiftmetrics.stability.words import NEARLY_EVEN
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    DASHED,
    FAINT,
    INK,
    MUTED,
    REFERENCE,
    TEST,
    THIRD,
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

PRICES = "how cheap perturbing is, against reweighting"

SEARCH_COLOURS = (TEST, REFERENCE, THIRD, INK, MUTED)

BOUND_ALPHA = 0.4
"""Opacity of a bar that is an upper bound."""


@drawing(StabilityResult, kind="shift", default=True)
def draw_shift(result: Any, ax: Any = None) -> Any:
    """Draw the weights of the least shift or, where these hardly differ, the distances of its perturbations."""
    if result.plan.effective_sample_fraction > NEARLY_EVEN and result.plan.changed_fraction > 0.0:
        return draw_moves(result, ax)
    return draw_weights(result, ax)


@drawing(StabilityResult, kind="weights")
def draw_weights(result: Any, ax: Any = None) -> Any:
    """Draw the fraction of the weight that the heaviest samples hold."""
    _check_rows(result)
    ax = new_axes(ax)
    # a Lorenz curve from the heaviest sample on, thinned to a few hundred points; equal weights give the diagonal
    weights = np.sort(np.asarray(result.plan.weights, dtype=np.float64))[::-1]
    held = np.concatenate([[0.0], np.cumsum(weights) / max(weights.sum(), 1e-300)])
    rows = np.linspace(0.0, 1.0, held.size)
    kept = np.unique(np.linspace(0, held.size - 1, MOST_POINTS).astype(int))
    rows = rows[kept]
    held = held[kept]
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=DASHED)
    band(ax, rows, rows, held, TEST)
    ax.plot(rows, held, color=TEST)
    # how few samples hold half of the weight
    half = float(np.interp(0.5, held, rows))
    ax.plot([half], [0.5], marker="o", markersize=6, color=INK)
    ax.text(
        0.98,
        0.05,
        f"half of the weight\non {100 * half:.0f} % of the samples",
        ha="right",
        fontsize=9,
    )
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    ax.set(xlabel="fraction of the samples, heaviest first", ylabel="fraction of the weight")
    percent_axes(ax, "xy")
    ax.set_title("Where the worst case puts its weight")
    return ax


@drawing(StabilityResult, kind="moves")
def draw_moves(result: Any, ax: Any = None) -> Any:
    """Draw the distances of the samples that change."""
    _check_rows(result)
    ax = new_axes(ax)
    moves = np.asarray(result.plan.distances, dtype=np.float64)
    ax.hist(moves[moves > 0.0], bins=30, color=TEST, alpha=0.85, rwidth=0.92)
    text = f"{100 * result.plan.changed_fraction:.3g} % of the samples change"
    ax.text(0.02, 0.97, text, transform=ax.transAxes, va="top", fontsize=9)
    ax.set(xlim=(0, None), xlabel="distance of the perturbation", ylabel="samples that change")
    ax.set_ylim(0, 1.18 * ax.get_ylim()[1])
    integer_ticks(ax.yaxis)
    ax.set_title("How far the worst case perturbs samples")
    return ax


def _check_rows(result: Any) -> None:
    if result.plan.weights is None:
        raise ValueError(NO_ROWS)


@drawing(StabilityResult, kind="search")
def draw_search(result: Any, ax: Any = None) -> Any:
    """Draw the rounds of a search or the steps of a gradient method (figures 5 and 6b of arXiv:2405.03198).

    It is the risk of the worst case at the dual price of each round, which ends at the threshold. ``result`` may be a
    mapping of results by name.
    """
    named = dict(result) if isinstance(result, Mapping) else {"": result}
    # steps of a gradient method count from 0, rounds of a search from 1
    steps = all("trace_risk" in getattr(one, "parts", {}) for one in named.values())
    first = 0 if steps else 1
    ax = new_axes(ax)
    for place, (name, one) in enumerate(named.items()):
        values = _risks(one)
        colour = SEARCH_COLOURS[place % len(SEARCH_COLOURS)]
        line = "o-" if len(values) <= 60 else "-"
        ax.plot(
            first + np.arange(len(values)), values, line, markersize=4.5, color=colour, label=name
        )
    for threshold in sorted({float(one.settings["threshold"]) for one in named.values()}):
        line_at(ax, "y", threshold, f"threshold {threshold:.3g}", zorder=1)
    integer_ticks(ax.xaxis)
    ax.set(xlabel="step" if steps else "round of the search", ylabel="risk of the worst case")
    ax.set_title("How the search comes to the threshold")
    if len(named) > 1:
        ax.legend()
    ax.margins(y=0.12)
    return ax


def _risks(result: Any) -> FloatArray:
    """Return one number for each round or step, nan where it is infinite."""
    trace = getattr(getattr(result, "search", None), "trace", None)
    parts = getattr(result, "parts", {})
    if "trace_risk" not in parts and trace is None:
        got = f"a {type(result).__name__} without a trace"
        remedy = "Closed forms and the 0/1 loss need a single solve."
        raise ValueError(describe("result", "a result of a search in rounds", got, remedy))
    risks = parts["trace_risk"] if trace is None else trace.risks
    values = np.asarray(risks, dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)


@drawing(StabilityCurve, kind="stability", default=True)
def draw_curve(
    curve: Any, ax: Any = None, *, threshold: float | None = None, interval: bool = True
) -> Any:
    """Draw the stability over thresholds or over prices, with its interval; a ``threshold`` is marked."""
    ax = new_axes(ax)
    # thresholds that no shift reaches have infinite stability, and are left out
    finite = np.isfinite(curve.points.stability)
    over_prices = curve.points.cheapness is not None
    x = curve.points.cheapness[finite] if over_prices else curve.points.threshold[finite]
    y = curve.points.stability[finite]
    highest = float(y.max(initial=0.0))
    if interval:
        high = curve.points.interval_high[finite]
        band(ax, x, curve.points.interval_low[finite], high, REFERENCE)
        highest = max(highest, float(np.nan_to_num(high, posinf=0.0).max(initial=0.0)))
    ax.plot(x, y, color=REFERENCE)
    ax.set_ylim(0, 1.12 * highest or 1.0)
    if over_prices:
        ax.set(xlim=(0, 1), xlabel=PRICES, ylabel="stability R")
        percent_axes(ax, "x")
        ax.set_title(f"Stability at 1/theta1 + 1/theta2 = {curve.settings['total']:g}")
        return ax
    line_at(ax, "x", curve.base_risk, "current risk")
    if threshold is not None and x.size:
        # between the points that were solved the curve is a line
        at = float(np.interp(threshold, x, y))
        ax.plot([threshold], [at], marker="o", markersize=6, color=TEST)
        mark(ax, f"R({threshold:g}) = {at:.3g}", (threshold, at), shift=(-8, 6), ha="right")
    ax.set(xlabel="risk threshold r", ylabel="stability R(r)")
    ax.set_title("What each level of risk would cost")
    return ax


@drawing(StabilityCurve, kind="excess_risk")
def draw_excess_risk(curve: Any, ax: Any = None, *, share: float | None = None) -> Any:
    """Draw what perturbations and weights add to the risk as one price falls and the other rises; mark ``share``."""
    if curve.points.cheapness is None:
        remedy = "Use trade_off."
        raise ValueError(describe("curve", "over prices", "one over thresholds", remedy))
    ax = new_axes(ax)
    finite = np.isfinite(curve.points.stability)
    x = curve.points.cheapness[finite]
    moved = curve.points.corruption[finite]
    weighted = curve.points.reweighting[finite]
    labels = ["by perturbations", "by weights"]
    ax.stackplot(x, moved, weighted, colors=[TEST, REFERENCE], alpha=0.8, labels=labels)
    if share is not None:
        ax.axvline(share, ymax=0.8, color=INK, linewidth=1, linestyle=DASHED)
    # room for the legend above the areas
    highest = float((moved + weighted).max()) or 1.0
    ax.set(xlim=(float(x.min()), float(x.max())), ylim=(0, 1.28 * highest))
    ax.set(xlabel=PRICES, ylabel="added risk")
    ax.legend(loc="upper left", ncols=2, borderaxespad=0)
    percent_axes(ax, "x")
    ax.set_title("Corruption against reweighting")
    return ax


@drawing(FeatureStabilityResult, kind="features", default=True)
def draw_features(result: Any, ax: Any = None, *, top: int = 20) -> Any:
    """Draw the permutation importance of each feature with its interval, and the added risk at worst as a dot."""
    parts = result.features[: check_integer(top, "top", low=1)]
    ax = new_axes(ax, height=1.5 + 0.28 * len(parts))
    places = name_rows(ax, [part.feature for part in parts])
    importance = np.array([part.permutation_importance for part in parts])
    worst = np.array([part.worst_case_risk - part.base_risk for part in parts])
    bands = [part.importance_interval for part in parts]
    # infinite risks end at the margin of the axes
    highs = [ends.high for ends in bands if ends is not None]
    lows = [ends.low for ends in bands if ends is not None]
    highest = 1.05 * max([*worst[np.isfinite(worst)], *importance, *highs, 0.0]) or 1.0
    colours = [TEST if result.has_effect(part) else FAINT for part in parts]
    ax.barh(places, importance, height=0.7, color=colours, alpha=0.85, label="on average")
    for place, ends in zip(places, bands, strict=True):
        if ends is not None:
            ax.plot([ends.low, ends.high], [place, place], color=INK, linewidth=1.1)
    ax.plot(np.minimum(worst, highest), places, "o", color=INK, markersize=4, label="at worst")
    line_at(ax, "x", 0.0, "", zorder=1)
    ax.set_xlim(min(0.0, *importance, *lows), highest)
    ax.set_xlabel("added mean loss")
    if result.settings["loss"] == "zero_one":
        percent_axes(ax, "x")
        ax.set_xlabel("added errors")
    ax.legend(loc="lower right")
    ax.set_title("Values of one feature permuted")
    return ax


@drawing(FeatureStabilityResult, kind="subgroups")
def draw_subgroups(result: Any, ax: Any = None, *, top: int = 20, feature: str = EVERYTHING) -> Any:
    """Draw subgroups by their stability when ``feature`` may change; with intervals."""
    parts = [part for part in result.subgroups if part.feature == feature]
    parts = parts[: check_integer(top, "top", low=1)]
    if not parts:
        remedy = "Compute it with perturbation=Perturbation(by=...)."
        raise ValueError(describe("result", f"one with subgroups for {feature!r}", "none", remedy))
    ax = new_axes(ax, height=1.3 + 0.28 * len(parts))
    # the axis ends beyond the largest finite value or end of an interval; infinite bars fill it
    highs = [part.value for part in parts]
    highs += [part.interval.high for part in parts if part.interval is not None]
    reach = 1.05 * max(1e-12, *(high for high in highs if np.isfinite(high)), 0.0)
    places = name_rows(ax, [part.subgroup for part in parts])
    for place, part in zip(places, parts, strict=True):
        finite = bool(np.isfinite(part.value))
        length = part.value if finite else reach
        alpha = 0.85 if part.kind == "exact" else BOUND_ALPHA
        ax.barh(place, length, height=0.7, color=REFERENCE, linewidth=0, alpha=alpha)
        if not finite:
            ax.text(reach, place, "not reached ", va="center", ha="right", fontsize=8, color=MUTED)
        elif part.interval is not None:
            ax.plot(
                [part.interval.low, part.interval.high], [place, place], color=INK, linewidth=1.1
            )
    ax.set_xlim(0, 1.02 * reach)
    ax.set_xlabel(
        f"stability R at risk {result.settings['threshold']:g} (lower breaks more easily)"
    )
    if any(part.kind != "exact" for part in parts):
        # an empty bar explains the pale colour once
        ax.barh([], [], color=REFERENCE, alpha=BOUND_ALPHA, label="upper bound")
        ax.legend(loc="upper right")
    title = "Stability by subgroup"
    if feature != EVERYTHING:
        title += f", only {feature} may change"
    ax.set_title(title)
    return ax
