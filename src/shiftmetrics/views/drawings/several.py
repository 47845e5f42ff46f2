"""Drawings of several models, shifts or environments: curves, and all pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.agreement import AgreementCurvesResult, AgreementMatrixResult
from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    MUTED,
    REFERENCE,
    TEST,
    band,
    heat_map,
    mark,
    name_rows,
    new_axes,
)

MODEL_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#8a6d00",
    "#56b4e9",
    "#000000",
    "#7b5ea7",
)
"""One for each model, then again with another marker: the colours of Okabe and Ito for colour-blind readers."""

MARKERS = ("o", "s", "^", "D")

QUANTITIES = {
    "normalized": "agreement / its ceiling",
    "agreement": "agreement (nats)",
    "equivalent_error": "equivalent error",
    "beta": "inverse temperature beta",
    "afr_p": "unchanged predictions (AFR_P)",
    "afr_t": "right predictions (AFR_T)",
}
WITH_INTERVALS = ("normalized", "agreement", "afr_p", "afr_t")

NUMBERS_UP_TO = 12
"""Names up to which each cell of a matrix carries its number."""


@drawing(AgreementCurvesResult, kind="curves", default=True)
def draw_curves(result: Any, ax: Any = None, *, x: str = "auto", y: str = "normalized") -> Any:
    """Draw a quantity against the power or the ratio of the shift, with its interval; of several models by name.

    ``x`` is "ratio", at the last power, or "power", at the last ratio, or "auto" (the power where there are several);
    ``y`` one of `QUANTITIES`.
    """
    named = dict(result) if isinstance(result, Mapping) else {"": result}
    check_choice(y, "y", tuple(QUANTITIES))
    if y == "afr_t" and any(curves.afr_t is None for curves in named.values()):
        raise ValueError(describe("y", "a quantity of the result", f"{y!r}, which needs labels"))
    check_choice(x, "x", ("auto", "ratio", "power"))
    last = list(named.values())[-1]
    over_powers = x == "power" or (x == "auto" and len(last.powers) > 1)
    ax = new_axes(ax)
    # one curve for each model; the other axis is held at its end
    for place, (model, curves) in enumerate(named.items()):
        where = _levels(curves, over_powers)
        colour = MODEL_COLOURS[place % len(MODEL_COLOURS)]
        marker = MARKERS[place // len(MODEL_COLOURS) % len(MARKERS)]
        if y in WITH_INTERVALS:
            low = _curve(curves, f"{y}_low", over_powers)
            high = _curve(curves, f"{y}_high", over_powers)
            band(ax, where, low, high, colour)
        values = _curve(curves, y, over_powers)
        ax.plot(where, values, color=colour, marker=marker, markersize=4, label=model)
    quantity = "Agreement" if y in ("normalized", "agreement") else QUANTITIES[y]
    title = f"{quantity[0].upper()}{quantity[1:]} as the shift grows"
    if over_powers:
        ax.set_xticks(_levels(last, over_powers), [_text(power) for power in last.powers])
        ax.set_xlabel("power of the shift")
        if len(last.ratios) > 1:
            title += f", ratio {last.ratios[-1]:g}"
    else:
        ax.set_xlabel("ratio of shifted samples")
        if len(last.powers) > 1:
            title += f", power {_text(last.powers[-1])}"
    ax.set_ylabel(QUANTITIES[y])
    ax.set_title(title)
    if len(named) > 1:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def _levels(result: Any, over_powers: bool) -> FloatArray:
    """Return where the levels of a shift lie on the axis; named powers lie at 0, 1, ..."""
    if not over_powers:
        return np.asarray(result.ratios, dtype=np.float64)
    if all(isinstance(power, float) for power in result.powers):
        return np.asarray(result.powers, dtype=np.float64)
    return np.arange(len(result.powers), dtype=np.float64)


def _curve(result: Any, name: str, over_powers: bool) -> FloatArray:
    """Return a quantity over powers at the last ratio, or over ratios at the last power."""
    values = _quantity(result, name)
    values = values[:, -1] if over_powers else values[-1]
    return np.where(np.isfinite(values), values, np.nan)


def _quantity(result: Any, name: str) -> FloatArray:
    """Return an array of the result, or the ends of its interval; those of the normalized agreement are scaled."""
    if name == "beta":
        return np.asarray(result.search.beta)
    if name.startswith(("agreement", "afr_p", "afr_t")):
        quantity = name.removesuffix("_low").removesuffix("_high")
        end = name.removeprefix(quantity).removeprefix("_")
        return np.asarray(getattr(getattr(result, quantity), end or "value"))
    if name in ("normalized_low", "normalized_high"):
        return np.asarray(
            result.over_ceiling(_quantity(result, name.replace("normalized", "agreement")))
        )
    return np.asarray(getattr(result, name), dtype=np.float64)


def _text(place: Any) -> str:
    return f"{place:g}" if isinstance(place, float) else str(place)


@drawing(AgreementMatrixResult, kind="matrix", default=True)
def draw_matrix(result: Any, ax: Any = None, *, sort: bool = True) -> Any:
    """Draw the normalized agreement of all pairs as a heat map; ``sort`` puts names that agree side by side."""
    values = np.asarray(result.normalized, dtype=np.float64)
    n = len(result.names)
    order = np.arange(n)
    if sort and n > 2:
        order = _similar_side_by_side(values)
    shown = values[np.ix_(order, order)]
    names = [result.names[k] for k in order]
    # the agreement of a name with itself is always 1 and stays white
    diagonal = np.eye(n, dtype=bool)
    apart = shown[~diagonal]
    # the colours end three interquartile ranges below the lower quartile: outliers keep the contrast of the rest
    lower, upper = np.quantile(apart, (0.25, 0.75))
    low = max(float(apart.min()), float(lower - 3.0 * (upper - lower)))
    side = min(9.0, 2.4 + 0.3 * n)
    ax = new_axes(ax, width=side + 0.8, height=side)
    shown = np.where(diagonal, np.nan, shown)
    few = n <= NUMBERS_UP_TO
    text = "{:.2f}" if few else ""
    image = heat_map(ax, shown, names, text=text, cmap="viridis", vmin=low, vmax=float(apart.max()))
    ax.tick_params(axis="x", labelrotation=90 if n > 4 else 0)
    ax.tick_params(labelsize=9 if few else 8)
    extend = "min" if low > float(apart.min()) else "neither"
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, extend=extend)
    bar.outline.set_visible(False)
    bar.set_label("agreement / log K")
    ax.set_title("Agreement of all pairs")
    return ax


def _similar_side_by_side(values: FloatArray) -> IntArray:
    """Return the order of the leaves of a hierarchical clustering by agreement."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    apart = values.max() - (values + values.T) / 2
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), method="average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.int64)[::-1]


@drawing(ComparisonResult, kind="models")
def draw_models(result: Any, ax: Any = None) -> Any:
    """Draw each model with its interval, the best on top: orange where it may be the best, hollow if constant."""
    models = result.models
    ax = new_axes(ax, height=1.4 + 0.3 * len(models))
    places = name_rows(ax, [model.name for model in models])
    for place, model in zip(places, models, strict=True):
        may_be_best = model.rank_low == 1 and not model.collapsed
        colour = TEST if may_be_best else REFERENCE
        ends = [model.interval.low, model.interval.high]
        ax.plot(ends, [place, place], color=colour, solid_capstyle="butt")
        inside = "white" if model.collapsed else colour
        ax.plot([model.value], [place], "o", markersize=6, color=colour, markerfacecolor=inside)
        mark(
            ax,
            model.ranks,
            (1.03, place),
            xycoords=("axes fraction", "data"),
            shift=(0, 0),
            va="center",
        )
    mark(ax, "rank", (1.03, 1.0), xycoords="axes fraction", shift=(0, 4), color=MUTED)
    ax.locator_params(axis="x", nbins=6)
    unit = f" ({result.compared_unit})" if result.compared_unit else ""
    ax.set_xlabel(f"{result.criterion}{unit}")
    ax.set_title(f"Models with {100 * models[0].interval.confidence_level:g} % intervals")
    return ax
