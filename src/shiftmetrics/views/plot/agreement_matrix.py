"""Drawings of several environments or models: the matrix of all pairs, and one beta carried to others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics.views.plot.style import INK, REFERENCE, TEST, new_axes, style

VALUES_UP_TO = 12
"""Names up to which each cell carries its number."""


def plot_agreement_matrix(result: Any, ax: Any = None, *, sort: bool = True) -> Any:
    """Draw the normalized agreement of all pairs as a heat map, similar names side by side.

    Parameters
    ----------
    result : AgreementMatrixResult
        From `agreement_matrix`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    sort : bool, default True
        Whether to order the names by a hierarchical clustering of their agreement; else as they stand.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import agreement_matrix
    >>> from shiftmetrics.views.plot import plot_agreement_matrix
    >>> scores = np.random.default_rng(0).normal(size=(100, 3))
    >>> matrix = agreement_matrix({"a": scores, "b": scores + 0.1 * scores[::-1], "c": scores[::-1]})
    >>> [label.get_text() for label in plot_agreement_matrix(matrix, sort=False).get_xticklabels()]
    ['a', 'b', 'c']
    """
    values = np.asarray(result.normalized, dtype=np.float64)
    n = len(result.names)
    order = _similar_side_by_side(values) if sort and n > 2 else np.arange(n)
    shown = values[np.ix_(order, order)]
    names = [result.names[k] for k in order]
    apart = shown[~np.eye(n, dtype=bool)]
    with style():
        side = min(9.0, 2.4 + 0.3 * n)
        ax = new_axes(ax, width=side + 0.8, height=side)
        masked = np.ma.masked_where(np.eye(n, dtype=bool), shown)  # a name with itself says nothing
        low, high = _range(apart)
        image = ax.imshow(masked, cmap="viridis", vmin=low, vmax=high)
        ax.set_xticks(np.arange(n), names, rotation=90 if n > 4 else 0)
        ax.set_yticks(np.arange(n), names)
        ax.tick_params(length=0, labelcolor=INK, labelsize=9 if n <= VALUES_UP_TO else 8)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        if n <= VALUES_UP_TO:
            middle = (low + high) / 2
            for (row, column), value in np.ndenumerate(shown):
                if row != column:
                    colour = INK if value > middle else "white"
                    ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)
        extend = "min" if low > float(apart.min()) else "neither"
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, extend=extend)
        bar.outline.set_visible(False)
        bar.set_label("agreement / log K")
        ax.set_title("Agreement of all pairs")
    return ax


def plot_agreement_transfer(result: Any, ax: Any = None) -> Any:
    """Draw each environment's agreement at the fitted beta, and what it would reach at a beta of its own.

    Parameters
    ----------
    result : AgreementTransferResult
        From `agreement_transfer`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    with style():
        ax = new_axes(ax, height=1.4 + 0.32 * len(result.names))
        place = np.arange(len(result.names))[::-1]
        at = np.where(np.isfinite(result.agreement), result.agreement, np.nan)
        ax.hlines(
            place, np.fmin(at, result.own_agreement), result.own_agreement, color=REFERENCE, linewidth=1.2
        )
        ax.plot(result.own_agreement, place, "o", color=REFERENCE, markersize=5, label="at its own beta")
        error = np.where(np.isfinite(result.standard_error), result.standard_error, 0.0)
        ax.errorbar(
            at,
            place,
            xerr=error,
            fmt="o",
            color=TEST,
            markersize=5,
            label="at the fitted beta, with its standard error",
        )
        labels = [f"{name} (fitted)" if name == result.fitted_on else name for name in result.names]
        ax.set_yticks(place, labels)
        ax.tick_params(axis="y", labelcolor=INK)
        ax.set(xlabel="agreement (nats)", ylim=(-0.7, len(place) - 0.3))
        ax.grid(visible=True, axis="x")
        ax.grid(visible=False, axis="y")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18 - 0.5 / len(place)), ncols=2)
        ax.set_title(f"At beta = {result.beta:.3g}, fitted on {result.fitted_on}")
    return ax


def _range(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the ends of the colours: a few names far from all others take none of the contrast of the rest."""
    lower, upper = (float(part) for part in np.quantile(values, (0.25, 0.75)))
    return max(float(values.min()), lower - 3.0 * (upper - lower)), float(values.max())


def _similar_side_by_side(values: npt.NDArray[np.float64]) -> IntArray:
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    apart = values.max() - (values + values.T) / 2
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), method="average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.int64)[::-1]
