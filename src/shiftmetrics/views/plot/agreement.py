"""Drawings of agreement: pair by pair, over the inverse temperature, and the confidence of either side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics.views.plot.style import INK, MUTED, REFERENCE, TEST, mark, new_axes, plain_log_axis, style


def plot_agreement(result: Any, ax: Any = None, *, bins: int = 40) -> Any:
    """Draw the agreement of each pair as a histogram, with the mean that is the measure.

    Parameters
    ----------
    result : PosteriorAgreementResult
        From `posterior_agreement`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    bins : int, default 40
        Number of bars.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import posterior_agreement
    >>> from shiftmetrics.views.plot import plot_agreement
    >>> scores = np.random.default_rng(0).normal(size=(100, 3))
    >>> plot_agreement(posterior_agreement(scores, scores[::-1])).get_ylabel()
    'pairs'
    """
    with style():
        if result.per_sample is None:
            raise ValueError(
                "result must hold its pairs, got one without per_sample. Compute it with keep_rows=True."
            )
        ax = new_axes(ax)
        values = np.asarray(result.per_sample, dtype=np.float64)
        finite = values[np.isfinite(values)]
        ax.hist(finite, bins=_edges(finite, bins), color=TEST, alpha=0.85, rwidth=0.92)
        if _is_steep(finite, bins):
            ax.set_ylim(0.7, None)
            plain_log_axis(ax.yaxis)
        ax.axvline(result.value, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        mark(
            ax,
            f"mean {result.value:.3g}",
            (result.value, 1),
            xycoords=("data", "axes fraction"),
            shift=(-5, -2),
            ha="right",
            va="top",
        )
        ax.set(xlabel="agreement of the pair (nats)", ylabel="pairs")
        ax.set_title("Agreement, pair by pair")
    return ax


def plot_agreement_curve(result: Any, ax: Any = None) -> Any:
    """Draw the agreement against the inverse temperature, with the certificate that its maximum was found.

    Parameters
    ----------
    result : PosteriorAgreementResult
        From `posterior_agreement`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Dots are evaluated betas; between two of them the agreement cannot exceed the shaded bound.
    """
    with style():
        ax = new_axes(ax)
        beta = np.asarray(result.curve_beta, dtype=np.float64)
        value = np.asarray(result.curve_value, dtype=np.float64)
        bound = np.asarray(result.curve_bound, dtype=np.float64)
        shown = np.isfinite(beta) & (beta > 0) & np.isfinite(value)
        beta, value, bound = beta[shown], value[shown], bound[shown]
        low, high = _value_limits(result.value)
        if beta.size:
            ax.fill_between(
                beta, np.full_like(beta, low), np.minimum(bound, high), step="post", color=REFERENCE, alpha=0.1,
                linewidth=0, label="cannot exceed",
            )  # fmt: skip
            ax.plot(beta, value, color=TEST, marker="o", markersize=3, label="agreement")
        at = result.beta
        if not (math.isfinite(at) and at > 0) and beta.size:
            at = beta.max() if at > 0 else beta.min()
        if math.isfinite(at) and at > 0:
            ax.plot([at], [result.value], marker="o", markersize=7, color=INK, zorder=3)
            side = -1 if beta.size and at > math.sqrt(beta.min() * beta.max()) else 1
            mark(
                ax, f"{result.value:.3g} nats at {result.beta:.3g}", (at, result.value), shift=(8 * side, 8),
                ha="right" if side < 0 else "left",
            )  # fmt: skip
        ax.axhline(0, color=MUTED, linewidth=0.8)
        plain_log_axis(ax.xaxis)
        ax.set(ylim=(low, high), xlabel="inverse temperature beta", ylabel="agreement (nats)")
        if beta.size:
            ax.legend(loc="lower center", ncols=2)
        ax.set_title("Agreement at each confidence")
    return ax


def _value_limits(value: float) -> tuple[float, float]:
    """Show the maximum and what lies around it; far below it the curve falls without end."""
    top = max(value, 0.05)
    return -0.6 * top, 1.35 * top


def plot_confidence(
    shifted: npt.ArrayLike, reference: npt.ArrayLike, ax: Any = None, *, bins: int = 30, low: float = 0.0
) -> Any:
    """Draw how sure of its prediction the model is, before and after the shift.

    Parameters
    ----------
    shifted, reference : array of shape (n_samples,)
        Probability of the predicted class.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    bins : int, default 30
        Number of bars.
    low : float, default 0
        The least possible confidence, 1 / n_classes.

    Returns
    -------
    matplotlib.axes.Axes
    """
    with style():
        ax = new_axes(ax)
        edges = np.linspace(low, 1.0, bins + 1)
        before, after = np.asarray(reference, dtype=np.float64), np.asarray(shifted, dtype=np.float64)
        ax.hist(before, bins=edges, histtype="step", linewidth=1.8, color=REFERENCE, label="reference")
        ax.hist(after, bins=edges, color=TEST, alpha=0.45, label="shifted")
        ax.set(xlim=(low, 1.0), xlabel="probability of the predicted class", ylabel="rows")
        ax.legend(loc="upper left")
        ax.set_title("Confidence before and after")
    return ax


def _edges(values: npt.NDArray[np.float64], bins: int) -> npt.NDArray[np.float64]:
    if values.size == 0:
        return np.linspace(0.0, 1.0, 2)
    low, high = float(values.min()), float(values.max())
    return np.linspace(low, high, bins + 1) if high > low else np.array([low - 0.5, low + 0.5])


def _is_steep(values: npt.NDArray[np.float64], bins: int) -> bool:
    """Tell whether one bar would dwarf all others: then counts read better on a logarithmic scale."""
    counts = np.histogram(values, bins=_edges(values, bins))[0] if values.size else np.zeros(1)
    filled = counts[counts > 0]
    return bool(filled.size > 3 and filled.max() > 30 * np.median(filled))
