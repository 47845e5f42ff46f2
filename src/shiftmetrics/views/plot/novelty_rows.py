"""Drawings of novelty on parts of the rows: against their number, and modes on held-out ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.views.plot.style import INK, MUTED, TEST, new_axes, plain_log_axis, style


def plot_novelty_sizes(sizes: Any, ax: Any = None) -> Any:
    """Draw the score at each number of rows against relabelled rows.

    Parameters
    ----------
    sizes : NoveltySizes
        From `shiftmetrics.novelty.novelty_against_size`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.novelty import novelty_against_size
    >>> from shiftmetrics.views.plot import plot_novelty_sizes
    >>> x, y = np.random.default_rng(0).normal(size=(2, 60, 2))
    >>> plot_novelty_sizes(novelty_against_size(x + 3, y, sizes=[20, 40, 60], bandwidth=1.0)).get_xlabel()
    'rows of each sample'
    """
    with style():
        ax = new_axes(ax)
        n, means, spreads = sizes.sizes, sizes.null_means, 2.0 * sizes.null_spreads
        ax.fill_between(n, means - spreads, means + spreads, color=MUTED, alpha=0.3, linewidth=0)
        ax.plot(n, means, color=MUTED, linewidth=1.2, label="relabelled rows, ± 2 deviations")
        ax.errorbar(
            n, sizes.scores, 2.0 * sizes.score_spreads, fmt="o-", color=TEST, markersize=5, elinewidth=1.2,
            label=f"score, ± 2 deviations of {sizes.n_draws} draws",
        )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks(n, [f"{size:,}" for size in n])
        ax.minorticks_off()
        highest = max(float((sizes.scores + 2.0 * sizes.score_spreads).max()), float((means + spreads).max()))
        ax.set_ylim(0.0, 1.3 * max(highest, 1e-9))
        ax.set(xlabel="rows of each sample", ylabel="novelty in nats")
        ax.legend(loc="upper left")
        ax.set_title("Novelty by the number of rows")
    return ax


def plot_confirmed_modes(result: Any, ax: Any = None) -> Any:
    """Draw how many times as frequent each mode is on held-out rows, with its lower bound.

    Parameters
    ----------
    result : ConfirmedModes
        From `shiftmetrics.novelty.confirm_modes`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.novelty import confirm_modes
    >>> from shiftmetrics.views.plot import plot_confirmed_modes
    >>> x, y = np.random.default_rng(0).normal(size=(2, 200, 2))
    >>> x[:80] += 6.0
    >>> plot_confirmed_modes(confirm_modes(x, y, bandwidth=2.0)).get_ylabel()
    'mode'
    """
    with style():
        ax = new_axes(ax, height=1.6 + 0.36 * max(2, len(result.modes)))
        place = np.arange(1, len(result.modes) + 1)
        low = np.array([mode.ratio_low for mode in result.modes])
        ratio = np.array([mode.ratio for mode in result.modes])
        finite = np.concatenate([low[low > 0.0], ratio[np.isfinite(ratio)], [result.eta]])
        left, right = float(finite[finite > 0.0].min()) / 2.0, 3.0 * float(finite.max())
        ends = np.where(np.isfinite(ratio), ratio, right)
        colours = [TEST if mode.confirmed else MUTED for mode in result.modes]
        ax.set_xlim(left, right)
        plain_log_axis(ax.xaxis)
        ax.hlines(place, np.maximum(low, left), ends, color=colours, linewidth=1.6)
        ax.scatter(np.maximum(low, left), place, color=colours, marker="|", s=80, linewidth=1.6)
        seen = np.isfinite(ratio)
        ax.scatter(
            ratio[seen],
            place[seen],
            color=[c for c, s in zip(colours, seen, strict=True) if s],
            s=36,
            zorder=3,
        )
        open_end = [c for c, s in zip(colours, seen, strict=True) if not s]
        ax.scatter(
            np.full(len(open_end), right), place[~seen], color=open_end, marker=">", s=36, clip_on=False
        )
        ax.axvline(result.eta, color=INK, linewidth=1.0, linestyle="--")
        ax.annotate(
            f"eta = {result.eta:g}", (result.eta, 0.0), (4, -2), xycoords=("data", "axes fraction"),
            textcoords="offset points", va="bottom", fontsize=9,
        )  # fmt: skip
        ax.set(xlabel="times as frequent in the test sample", ylabel="mode", ylim=(len(place) + 0.7, 0.3))
        ax.set_yticks(place)
        ax.grid(visible=True, axis="x")
        ax.grid(visible=False, axis="y")
        ax.set_title("Modes on held-out rows, with lower bounds")
    return ax
