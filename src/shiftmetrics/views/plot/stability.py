"""Drawings of stability: who gains weight, the cost of each threshold, corruption against reweighting."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics.views.plot.style import INK, MUTED, REFERENCE, TEST, mark, new_axes, percent_axes, style

NEARLY_EVEN = 0.99
"""Effective sample fraction above which the weights hardly differ."""


def plot_stability(result: Any, ax: Any = None, *, kind: Literal["auto", "weights", "moves"] = "auto") -> Any:
    """Draw the least shift that breaks the model: how it weights the rows, or how far it moves them.

    Parameters
    ----------
    result : StabilityResult or WorstCaseRisk
        From `stability_criterion` or `worst_case_risk`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    kind : {"auto", "weights", "moves"}, default "auto"
        "weights" draws the share of the weight that the heaviest rows hold, "moves" how far rows move; "auto" takes
        the moves where the weights hardly differ.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the result was computed with ``keep_rows=False``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.views.plot import plot_stability
    >>> from shiftmetrics.stability import FixedLoss, stability_criterion
    >>> result = stability_criterion(FixedLoss(np.arange(10.0)), 6.0)
    >>> plot_stability(result).get_ylabel()
    'share of the weight'
    """
    if result.weights is None:
        raise ValueError(
            "result must hold its rows, got one without weights. Compute it with keep_rows=True."
        )
    if kind == "auto":
        kind = (
            "moves"
            if getattr(result, "share_moved", 0.0) > 0.0 and result.effective_sample_fraction > NEARLY_EVEN
            else "weights"
        )
    with style():
        ax = new_axes(ax)
        (_draw_moves if kind == "moves" else _draw_weights)(result, ax)
    return ax


def _draw_weights(result: Any, ax: Any) -> None:
    weights = np.sort(np.asarray(result.weights, dtype=np.float64))[::-1]
    held = np.concatenate([[0.0], np.cumsum(weights) / max(weights.sum(), 1e-300)])
    rows, held = _thinned(np.linspace(0.0, 1.0, held.size), held)
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    ax.fill_between(rows, rows, held, color=TEST, alpha=0.12, linewidth=0)
    ax.plot(rows, held, color=TEST)
    half = float(np.interp(0.5, held, rows))
    ax.plot([half], [0.5], marker="o", markersize=6, color=INK)
    ax.text(0.98, 0.05, f"half of the weight\non {100 * half:.0f} % of the rows", ha="right", fontsize=9)
    ax.set(
        xlim=(0, 1), ylim=(0, 1.02), xlabel="share of the rows, heaviest first", ylabel="share of the weight"
    )
    percent_axes(ax, "xy")
    ax.set_title("Where the worst case puts its weight")


def _draw_moves(result: Any, ax: Any) -> None:
    moves = np.asarray(result.moved_distances, dtype=np.float64)
    moves = moves[moves > 0.0]
    ax.hist(moves, bins=30, color=TEST, alpha=0.85, rwidth=0.92)
    ax.text(
        0.02,
        0.97,
        f"{100 * result.share_moved:.3g} % of the rows move",
        transform=ax.transAxes,
        va="top",
        fontsize=9,
    )
    ax.set(xlim=(0, None), xlabel="distance of the move", ylabel="rows that move")
    ax.set_ylim(0, 1.18 * ax.get_ylim()[1])
    ax.set_title("How far the worst case moves rows")


def plot_stability_curve(
    thresholds: npt.ArrayLike,
    values: npt.ArrayLike,
    ax: Any = None,
    *,
    threshold: float | None = None,
    risk: float | None = None,
    low: npt.ArrayLike | None = None,
    high: npt.ArrayLike | None = None,
) -> Any:
    """Draw the stability R(r) against the risk threshold r.

    Parameters
    ----------
    thresholds, values : array of shape (n_points,)
        The curve.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    threshold : float, optional
        The threshold to mark on the curve.
    risk : float, optional
        The risk of the sample as it is, where the curve leaves zero.
    low, high : array of shape (n_points,), optional
        Ends of the sampling interval at each point, nan where there is none.

    Returns
    -------
    matplotlib.axes.Axes
    """
    with style():
        ax = new_axes(ax)
        x, y = np.asarray(thresholds, dtype=np.float64), np.asarray(values, dtype=np.float64)
        finite = np.isfinite(y)
        x, y = x[finite], y[finite]
        highest = float(y.max(initial=0.0))
        if low is None or high is None:
            ax.fill_between(x, 0, y, color=REFERENCE, alpha=0.08, linewidth=0)
        else:
            ends = [np.asarray(end, dtype=np.float64)[finite] for end in (low, high)]
            ax.fill_between(x, *ends, color=REFERENCE, alpha=0.15, linewidth=0)
            highest = max(highest, float(np.nan_to_num(ends[1], posinf=0.0).max(initial=0.0)))
        ax.plot(x, y, color=REFERENCE)
        top = 1.12 * highest if highest > 0.0 else 1.0
        if risk is not None:
            ax.axvline(risk, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
            mark(ax, "risk as it is", (risk, top), shift=(4, -2), va="top", color=MUTED)
        if threshold is not None and x.size:
            at = float(np.interp(threshold, x, y))
            ax.plot([threshold], [at], marker="o", markersize=6, color=TEST)
            mark(ax, f"R({threshold:g}) = {at:.3g}", (threshold, at), shift=(-8, 6), ha="right")
        ax.set(ylim=(0, top), xlabel="risk threshold r", ylabel="stability R(r)")
        ax.set_title("What each level of risk would cost")
    return ax


def plot_excess_risk(
    shares: npt.ArrayLike,
    corruption: npt.ArrayLike,
    reweighting: npt.ArrayLike,
    ax: Any = None,
    *,
    share: float | None = None,
) -> Any:
    """Draw how the added risk splits into corruption and reweighting as their prices trade places.

    Parameters
    ----------
    shares : array of shape (n_points,)
        Cheapness of corruption: (1/theta1) / (1/theta1 + 1/theta2), from 0 (rows stay) to 1 (weights stay).
    corruption, reweighting : array of shape (n_points,)
        The risk that each adds in the worst case.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    share : float, optional
        The prices of the result at hand, to be marked.

    Returns
    -------
    matplotlib.axes.Axes
    """
    with style():
        ax = new_axes(ax)
        x = np.asarray(shares, dtype=np.float64)
        moved, weighted = np.asarray(corruption, dtype=np.float64), np.asarray(reweighting, dtype=np.float64)
        ax.stackplot(
            x, moved, weighted, colors=[TEST, REFERENCE], alpha=0.8, labels=["rows move", "rows gain weight"]
        )
        if share is not None:
            ax.axvline(share, ymax=0.8, color=INK, linewidth=1, linestyle=(0, (4, 3)))
        ax.set(xlim=(float(x.min()), float(x.max())), ylim=(0, None))
        ax.set(xlabel="how cheap moving is, against reweighting", ylabel="added risk")
        ax.set_ylim(0, 1.28 * float((moved + weighted).max() or 1.0))
        ax.legend(loc="upper left", ncols=2, borderaxespad=0)
        percent_axes(ax, "x")
        ax.set_title("Corruption against reweighting")
    return ax


def _thinned(x: Any, y: Any, most: int = 400) -> tuple[Any, Any]:
    """Keep enough points of a smooth curve to draw it."""
    if x.size <= most:
        return x, y
    keep = np.unique(np.linspace(0, x.size - 1, most).astype(int))
    return x[keep], y[keep]
