"""Drawings of several levels of a shift, environments or models: curves, all pairs, and ranks."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.result import format_percent
from shiftmetrics._core.validation import check_choice
from shiftmetrics.agreement import AgreementCurvesResult, AgreementMatrixResult
from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import (
    INK,
    READABLE,
    REFERENCE,
    TEST,
    band,
    cut,
    mark,
    name_rows,
    new_axes,
)

QUANTITIES = {
    "normalized": "agreement / its ceiling",
    "agreement": "agreement (nats)",
    "afr_p": "unchanged predictions",
    "afr_t": "right predictions",
}

NUMBERS_UP_TO = 12
"""Names up to which each cell of a matrix carries its number."""


@drawing(AgreementCurvesResult, kind="curves", default=True)
def draw_curves(
    result: Any,
    ax: Any = None,
    *,
    x: Literal["auto", "ratio", "power"] = "auto",
    y: str = "normalized",
    label: str = "",
) -> Any:
    """Draw a quantity against the power or the ratio of the shift, with its interval.

    ``x`` is "ratio", at the last power, or "power", at the last ratio, or "auto" (the power where there are several);
    ``y`` one of `QUANTITIES`. Curves of several models go into the same axes, each with its ``label``.
    """
    check_choice(y, "y", tuple(QUANTITIES))
    if y == "afr_t" and result.afr_t is None:
        raise ArgumentValueError("y", "a quantity of the result", f"{y!r}, which needs labels")
    check_choice(x, "x", ("auto", "ratio", "power"))
    over_powers = x == "power" or (x == "auto" and len(result.powers) > 1)
    # the level that is not on the axis is held at its end
    at: tuple[Any, Any] = (-1, slice(None))
    levels = result.ratios
    held = f", level {result.powers[-1]}" if len(result.powers) > 1 else ""
    if over_powers:
        at = (slice(None), -1)
        levels = result.powers
        held = (
            f", {format_percent(float(result.ratios[-1]))} shifted"
            if len(result.ratios) > 1
            else ""
        )
    # named levels lie at 0, 1, ...
    places = np.arange(len(levels), dtype=np.float64)
    if not any(isinstance(level, str) for level in levels):
        places = np.asarray(levels, dtype=np.float64)
    curve = result.agreement if y == "normalized" else getattr(result, y)
    lines = [curve.value, curve.low, curve.high]
    if y == "normalized":
        lines = [result.over_ceiling(line) for line in lines]
    value, low, high = (line[at] for line in lines)
    quantity = QUANTITIES[y].partition(" /")[0]
    ax = new_axes(ax)
    # the next colour of the axes tells models apart
    (line,) = ax.plot(places, value, marker="o", markersize=4, label=label or None)
    band(ax, places, low, high, line.get_color())
    if over_powers:
        ax.set_xticks(places, [str(level) for level in levels])
    ax.set(
        xlabel="level of the shift" if over_powers else "fraction of shifted samples",
        ylabel=QUANTITIES[y],
        title=f"{quantity[0].upper()}{quantity[1:]} as the shift grows{held}",
    )
    if label:
        ax.legend()
    return ax


@drawing(AgreementMatrixResult, kind="matrix", default=True)
def draw_matrix(result: Any, ax: Any = None) -> Any:
    """Draw the normalized agreement of all pairs as a heat map, names that agree side by side."""
    values = np.array(result.normalized, dtype=np.float64)
    n = len(result.names)
    # the agreement of a name with itself is always 1 and stays white
    np.fill_diagonal(values, np.nan)
    # groups of names that agree show as blocks
    order = _similar_side_by_side(values)
    shown = np.ma.masked_invalid(values[np.ix_(order, order)])
    names = [cut(str(result.names[k])) for k in order]
    letters = sum(map(len, names))
    side = min(9.0, 2.4 + 0.3 * n)
    ax = new_axes(ax, width=side + 0.8, height=side)
    image = ax.imshow(shown, cmap="viridis")
    if n <= NUMBERS_UP_TO:
        for row, column in np.argwhere(~shown.mask):
            # dark numbers on bright cells, white ones on dark cells
            red, green, blue, _ = image.cmap(image.norm(shown[row, column]))
            brightness = 0.3 * red + 0.6 * green + 0.1 * blue
            color = INK if brightness > READABLE else "white"
            number = f"{shown[row, column]:.2f}"
            ax.text(column, row, number, ha="center", va="center", color=color, fontsize=9)
    ax.set_xticks(range(n), names, rotation=90 if letters > 40 else 0)
    ax.set_yticks(range(n), names)
    ax.tick_params(length=0, labelcolor=INK)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label="agreement / log K")
    ax.set_title("Agreement of all pairs")
    return ax


def _similar_side_by_side(values: FloatArray) -> Any:
    """Return the order of the leaves of a hierarchical clustering by agreement."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    # agreement becomes a distance that is 0 for the pair that agrees most
    apart = np.nan_to_num(np.nanmax(values) - (values + values.T) / 2)
    tree = linkage(squareform(apart, checks=False), method="average", optimal_ordering=True)
    return leaves_list(tree)[::-1]


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
        beside = {"xycoords": ("axes fraction", "data"), "va": "center"}
        mark(ax, f"rank {model.ranks}", (1.03, place), shift=(0, 0), **beside)
    ax.locator_params(axis="x", nbins=6)
    unit = f" ({result.compared_unit})" if result.compared_unit else ""
    ax.set_xlabel(f"{result.criterion}{unit}")
    ax.set_title(f"Models with {100 * models[0].interval.confidence_level:g} % intervals")
    return ax
