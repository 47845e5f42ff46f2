"""Drawings of stability over thresholds, budgets and prices, each with its sampling interval."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from shiftmetrics.views.plot.stability import plot_excess_risk, plot_stability_curve
from shiftmetrics.views.plot.style import INK, MUTED, REFERENCE, TEST, mark, new_axes, percent_axes, style


def plot_stability_thresholds(curve: Any, ax: Any = None, *, threshold: float | None = None) -> Any:
    """Draw the stability against the risk threshold, with its interval.

    Parameters
    ----------
    curve : StabilityCurve
        From `stability_curve`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    threshold : float, optional
        The threshold to mark on the curve.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from shiftmetrics.views.plot import plot_stability_thresholds
    >>> from shiftmetrics.stability import FixedLoss, stability_curve
    >>> plot_stability_thresholds(stability_curve(FixedLoss([0.0, 0.5, 1.0]))).get_ylabel()
    'stability R(r)'
    """
    return plot_stability_curve(
        curve.thresholds,
        curve.stability,
        ax,
        threshold=threshold,
        risk=curve.base_risk,
        low=curve.lows,
        high=curve.highs,
    )


def plot_worst_case_risk(curve: Any, ax: Any = None, *, budget: float | None = None) -> Any:
    """Draw the highest risk within each budget: the inverse of the curve, read from the same sweep.

    Parameters
    ----------
    curve : StabilityCurve
        From `stability_curve`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    budget : float, optional
        The budget to mark.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from shiftmetrics.views.plot import plot_worst_case_risk
    >>> from shiftmetrics.stability import FixedLoss, stability_curve
    >>> plot_worst_case_risk(stability_curve(FixedLoss([0.0, 0.5, 1.0]))).get_xlabel()
    'budget for the shift'
    """
    finite = curve.stability[np.isfinite(curve.stability)]
    most = float(finite.max(initial=0.0)) or 1.0
    read = curve.worst_case_risk(np.linspace(0.0, most, 121))
    with style():
        ax = new_axes(ax)
        ax.fill_between(read["budget"], curve.base_risk, read["risk"], color=TEST, alpha=0.1, linewidth=0)
        ax.plot(read["budget"], read["risk"], color=TEST)
        ax.axhline(curve.base_risk, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        mark(ax, "risk as it is", (most, curve.base_risk), shift=(0, 4), ha="right", color=MUTED)
        if budget is not None:
            risk = float(curve.worst_case_risk([budget])["risk"].iloc[0])
            ax.plot([budget], [risk], marker="o", markersize=6, color=INK)
            mark(ax, f"{risk:.3g} for {budget:.3g}", (budget, risk), shift=(6, -12))
        ax.set(xlim=(0, most), xlabel="budget for the shift", ylabel="highest risk")
        ax.set_title("What each budget can do")
    return ax


def plot_stability_prices(
    surface: Any, ax: Any = None, *, kind: Literal["stability", "excess_risk"] = "stability"
) -> Any:
    """Draw the stability, or the split of the added risk, as the two prices trade places.

    Parameters
    ----------
    surface : StabilitySurface
        From `stability_surface`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    kind : {"stability", "excess_risk"}, default "stability"
        "stability" draws R with its interval, "excess_risk" what moves and weights add to the risk.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from shiftmetrics.views.plot import plot_stability_prices
    >>> from shiftmetrics.stability import ZeroOneLoss, stability_surface
    >>> surface = stability_surface(ZeroOneLoss([0.0, 0.5, 1.0]), 0.5)
    >>> plot_stability_prices(surface).get_ylabel()
    'stability R'
    """
    finite = np.isfinite(surface.stability)
    shares = surface.shares[finite]
    if kind == "excess_risk":
        return plot_excess_risk(shares, surface.corruption[finite], surface.reweighting[finite], ax)
    with style():
        ax = new_axes(ax)
        low, high, value = (part[finite] for part in (surface.lows, surface.highs, surface.stability))
        ax.fill_between(shares, low, high, color=REFERENCE, alpha=0.15, linewidth=0)
        ax.plot(shares, value, color=REFERENCE)
        ax.set(xlim=(0, 1), xlabel="how cheap moving is, against reweighting", ylabel="stability R")
        ax.set_ylim(0, 1.08 * max(float(np.nanmax(high, initial=0.0)), float(value.max(initial=0.0)), 1e-12))
        percent_axes(ax, "x")
        ax.set_title(f"Stability at 1/theta1 + 1/theta2 = {surface.total:g}")
    return ax
