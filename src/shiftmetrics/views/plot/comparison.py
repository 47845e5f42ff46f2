"""Drawings of comparisons: models with their intervals and the ranks they may have."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.views.plot.style import INK, MUTED, REFERENCE, TEST, new_axes, style


def plot_comparison(result: Any, ax: Any = None) -> Any:
    """Draw each model with its interval, the best on top, and the ranks that it may have in truth.

    Parameters
    ----------
    result : ComparisonResult
        From `compare_agreement` or `compare_results`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Models that may be the best are drawn in colour, those that have collapsed as hollow dots.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.comparison import compare_agreement
    >>> from shiftmetrics.views.plot import plot_comparison
    >>> rng = np.random.default_rng(0)
    >>> clean, noise = rng.normal(size=(2, 200, 3))
    >>> ax = plot_comparison(compare_agreement({"a": clean + noise, "b": clean + 0.1 * noise}, clean, rng=0))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'a']
    """
    with style():
        models = result.models
        ax = new_axes(ax, height=1.4 + 0.3 * len(models))
        places = np.arange(1, len(models) + 1)
        for place, model in zip(places, models, strict=True):
            colour = TEST if model.rank_low == 1 and not model.collapsed else REFERENCE
            ax.plot(
                [model.interval.low, model.interval.high], [place, place], color=colour, solid_capstyle="butt"
            )
            ax.plot(
                [model.value],
                [place],
                "o",
                markersize=6,
                color=colour,
                markerfacecolor="white" if model.collapsed else colour,
            )
            ranks = (
                str(model.rank_low)
                if model.rank_low == model.rank_high
                else f"{model.rank_low}–{model.rank_high}"
            )
            ax.annotate(
                ranks, (1.03, place), xycoords=("axes fraction", "data"), va="center", color=INK, fontsize=9
            )
        ax.annotate(
            "rank", (1.03, 1.0), xycoords="axes fraction", xytext=(0, 4), textcoords="offset points",
            color=MUTED, fontsize=9,
        )  # fmt: skip
        ax.set_yticks(places, [model.name for model in models])
        ax.set_ylim(len(models) + 0.6, 0.4)
        ax.grid(visible=True, axis="x")
        ax.grid(visible=False, axis="y")
        ax.locator_params(axis="x", nbins=6)
        ax.set_xlabel(
            f"{result.compared.lower()} ({result.compared_unit})" if result.compared_unit else result.compared
        )
        ax.set_title(f"Models with {100 * models[0].interval.level:g} % intervals")
    return ax
