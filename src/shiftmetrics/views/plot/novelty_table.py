"""Drawings of pairwise novelty: who is novel to whom, and how sure the ranks are."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.views.plot.style import INK, TEST, new_axes, style

_DARK = 0.6
"""Share of the colour scale above which numbers are printed in white."""


def plot_novelty_table(
    table: Any, ax: Any = None, *, feature_set: str | None = None, bandwidth: int | None = None
) -> Any:
    """Draw the excess novelty of each sample (row) against each other (column) at one setting.

    Parameters
    ----------
    table : NoveltyTable
        From `shiftmetrics.novelty.novelty_table`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    feature_set : str, optional
        Name of the feature set. Default: the first.
    bandwidth : int, optional
        Position of the bandwidth. Default: the middle one.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.novelty import novelty_table
    >>> from shiftmetrics.views.plot import plot_novelty_table
    >>> a, b = np.random.default_rng(0).normal(size=(2, 40, 2))
    >>> ax = plot_novelty_table(novelty_table({"a": a, "b": b + 1}, bandwidths=[1.0]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b', 'mean']
    """
    place = table.bandwidths.shape[1] // 2 if bandwidth is None else bandwidth
    frame = table.pairs(feature_set=feature_set, bandwidth=place)
    values = frame.to_numpy(dtype=np.float64)
    names = [str(name) for name in frame.index]
    with style():
        from matplotlib.colors import LinearSegmentedColormap

        ax = new_axes(ax, width=1.0 + 0.85 * len(names), height=0.8 + 0.55 * len(names))
        largest = max(float(np.nanmax(values)), 1e-12)
        colours = LinearSegmentedColormap.from_list("novelty", ["#ffffff", TEST])
        ax.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=0.0, vmax=largest, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                colour = "white" if value > _DARK * largest else INK
                ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=9)
        ax.set_xticks(range(len(names)), names, rotation=30, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(names)), names)
        edge = len(names) - 1.5
        ax.axhline(edge, color=INK, linewidth=0.8)
        ax.axvline(edge, color=INK, linewidth=0.8)
        ax.grid(visible=False)
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set(xlabel="is the reference", ylabel="is tested")
        ax.set_title("Novelty beyond the null, in nats")
    return ax


def plot_novelty_ranks(table: Any, ax: Any = None) -> Any:
    """Draw the rank of each sample at each setting, with its interval over draws.

    Parameters
    ----------
    table : NoveltyTable
        From `shiftmetrics.novelty.novelty_table`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.novelty import novelty_table
    >>> from shiftmetrics.views.plot import plot_novelty_ranks
    >>> a, b = np.random.default_rng(0).normal(size=(2, 40, 2))
    >>> plot_novelty_ranks(novelty_table({"a": a, "b": b + 1}, bandwidths=[1.0, 2.0])).get_ylabel()
    'rank (1 is the most novel)'
    """
    sets, widths = table.bandwidths.shape
    count = len(table.names)
    labels = [
        f"σ = {width:.3g}" + (f"\n{name}" if sets > 1 and place == (widths - 1) // 2 else "")
        for name, row in zip(table.feature_sets, table.bandwidths, strict=True)
        for place, width in enumerate(row)
    ]
    places = np.arange(sets * widths, dtype=np.float64)
    with style():
        from matplotlib import colormaps
        from matplotlib.ticker import MaxNLocator

        ax = new_axes(ax, width=max(5.0, 2.0 + 0.9 * len(places)), height=3.4)
        parts = (table.ranks, table.rank_low, table.rank_high)
        ranks, low, high = (np.asarray(part).reshape(-1, count) for part in parts)
        for i, name in enumerate(table.names):
            shift = (i - (count - 1) / 2) * 0.5 / count
            # A rank of the mean over draws can lie outside the ranks of most draws.
            reach = np.maximum(np.stack([ranks[:, i] - low[:, i], high[:, i] - ranks[:, i]]), 0)
            for start in range(0, len(places), widths):  # a line for each feature set
                part = slice(start, start + widths)
                ax.errorbar(
                    places[part] + shift,
                    ranks[part, i],
                    yerr=reach[:, part],
                    color=colormaps["viridis"](0.9 * i / max(1, count - 1)),
                    marker="o",
                    markersize=5,
                    capsize=3,
                    linewidth=1.2,
                    label=None if start else str(name),
                )
        ax.set_xticks(places, labels)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.invert_yaxis()
        ax.set(ylabel="rank (1 is the most novel)")
        ax.set_title("Ranks, with 90 % of the draws")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
