"""Drawings of novelty: the spectrum of what is new and of what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.views.plot.style import MUTED, REFERENCE, TEST, new_axes, percent_axes, style


def plot_novelty(result: Any, ax: Any = None, *, n_eigenvalues: int = 20) -> Any:
    """Draw the largest eigenvalues: new in the test sample above the line, missing from it below.

    Parameters
    ----------
    result : NoveltyResult
        From `kernel_entropic_novelty`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    n_eigenvalues : int, default 20
        How many of each sign.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.novelty import kernel_entropic_novelty
    >>> from shiftmetrics.views.plot import plot_novelty
    >>> rng = np.random.default_rng(0)
    >>> result = kernel_entropic_novelty(rng.normal(size=(50, 2)) + 3, rng.normal(size=(50, 2)), bandwidth=1.0)
    >>> plot_novelty(result).get_ylabel()
    'eigenvalue'
    """
    with style():
        ax = new_axes(ax)
        gained = np.asarray(result.eigenvalues, dtype=np.float64)[:n_eigenvalues]
        lost = (
            np.zeros(0)
            if result.reverse_eigenvalues is None
            else -np.asarray(result.reverse_eigenvalues)[:n_eigenvalues]
        )
        if gained.size:
            ax.bar(
                np.arange(1, gained.size + 1), gained, color=TEST, width=0.72, label="more in the test sample"
            )
        if lost.size:
            ax.bar(
                np.arange(1, lost.size + 1), lost, color=REFERENCE, width=0.72, label="more in the reference"
            )
        for null, sign in ((result.null, 1.0), (result.reverse_null, -1.0)):
            if null is not None and (sign > 0 or lost.size):
                edges = [0.3, max(gained.size, lost.size, 1) + 0.7]
                ax.fill_between(edges, sign * null.largest, color=MUTED, alpha=0.22, linewidth=0, zorder=0.5)
                ax.axhline(sign * null.largest, color=MUTED, linewidth=1.0, linestyle="--")
        if result.null is not None:
            ax.plot([], [], color=MUTED, linewidth=1.0, linestyle="--", label="largest of relabelled rows")
        ax.axhline(0, color=MUTED, linewidth=0.8)
        ax.set(xlabel="rank of the mode", ylabel="eigenvalue")
        ax.set_xlim(0.3, max(gained.size, lost.size, 1) + 0.7)
        ax.xaxis.get_major_locator().set_params(integer=True)
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.5 * (high - low))  # the legend stands above the band, not in it
        ax.legend(loc="upper right")
        ax.set_title("Spectrum of what is new")
    return ax


def plot_mode_frequencies(result: Any, ax: Any = None) -> Any:
    """Draw how frequent each described mode is in the test sample and in the reference.

    Parameters
    ----------
    result : NoveltyResult
        From `kernel_entropic_novelty`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    with style():
        ax = new_axes(ax)
        place = np.arange(1, len(result.modes) + 1)
        test = np.array([mode.frequency for mode in result.modes])
        reference = np.array([mode.reference_frequency for mode in result.modes])
        ax.hlines(place, np.minimum(test, reference), np.maximum(test, reference), color=MUTED, linewidth=1.2)
        ax.plot(test, place, "o", color=TEST, markersize=6, label="test")
        ax.plot(reference, place, "o", color=REFERENCE, markersize=6, label="reference")
        ax.set(xlabel="mean membership", ylabel="mode", ylim=(len(place) + 0.7, 0.3))
        ax.set_xlim(0, 1.1 * float(max(test.max(initial=0.0), reference.max(initial=0.0), 1e-9)))
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.grid(visible=True, axis="x")
        ax.grid(visible=False, axis="y")
        percent_axes(ax, "x")
        ax.legend(loc="lower right")
        ax.set_title("How frequent each mode is")
    return ax


def plot_bandwidth_sweep(sweep: Any, ax: Any = None) -> Any:
    """Draw the score at each bandwidth against relabelled rows, with the number of modes that stand out.

    Parameters
    ----------
    sweep : BandwidthSweep
        From `shiftmetrics.novelty.bandwidth_sweep`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.novelty import bandwidth_sweep
    >>> from shiftmetrics.views.plot import plot_bandwidth_sweep
    >>> x, y = np.random.default_rng(0).normal(size=(2, 40, 2))
    >>> plot_bandwidth_sweep(bandwidth_sweep(x + 3, y, bandwidths=[0.5, 1.0, 2.0])).get_xlabel()
    'bandwidth'
    """
    with style():
        ax = new_axes(ax)
        widths, means, spreads = sweep.bandwidths, sweep.null_means, 2.0 * sweep.null_spreads
        ax.fill_between(widths, means - spreads, means + spreads, color=MUTED, alpha=0.3, linewidth=0)
        ax.plot(widths, means, color=MUTED, linewidth=1.2, label="relabelled rows, ± 2 deviations")
        ax.plot(widths, sweep.scores, "o-", color=TEST, markersize=5, label="score")
        for width, score, count in zip(widths, sweep.scores, sweep.n_significant, strict=True):
            ax.annotate(
                str(int(count)), (width, score), (0, 7), textcoords="offset points", ha="center", fontsize=9
            )
        ax.set_xscale("log")
        ax.set_xticks(widths, [f"{width:.2g}" for width in widths])
        ax.minorticks_off()
        ax.set_ylim(0.0, 1.18 * max(float(sweep.scores.max()), float((means + spreads).max()), 1e-9))
        ax.set(xlabel="bandwidth", ylabel="novelty in nats")
        ax.legend(loc="upper right")
        ax.set_title("Novelty by bandwidth, and modes that stand out")
    return ax
