"""Drawings of feature stability: which features break the model most easily, and for whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.validation import check_integer, describe
from shiftmetrics.views.plot.style import FAINT, INK, MUTED, REFERENCE, TEST, mark, new_axes, style

_BAR = 0.7
_ROW = 0.28
"""Inches of height for each bar."""


def plot_feature_stability(
    result: Any, ax: Any = None, *, top: int = 20, by: bool = False, feature: str | None = None
) -> Any:
    """Draw features by their stability, the most sensitive on top: short bars break first.

    Parameters
    ----------
    result : FeatureStabilityResult
        From `feature_stability`.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    top : int, default 20
        Most features to draw.
    by : bool, default False
        Draw subgroups instead, with intervals that are meant to be compared: two subgroups differ where theirs do
        not overlap.
    feature : str, optional
        With ``by``, the feature that may move. Default: all of them.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If subgroups are to be drawn and there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from shiftmetrics import feature_stability
    >>> from shiftmetrics.views.plot import plot_feature_stability
    >>> X = np.column_stack([np.arange(40.0), np.arange(40.0) % 7])
    >>> y = (X[:, 0] > 20).astype(int)
    >>> result = feature_stability(DecisionTreeClassifier().fit(X, y), X, y, 0.2)
    >>> [label.get_text() for label in plot_feature_stability(result).get_yticklabels()]
    ['x0', 'x1']
    """
    top = check_integer(top, "top", low=1)
    parts = list(result.features[:top])
    alone: float | None = result.reweighting_alone
    if by:
        from shiftmetrics.models.feature_result import EVERYTHING

        parts = [part for part in result.subgroups if part.feature == (feature or EVERYTHING)][:top]
        alone = None
        if not parts:
            raise ValueError(
                describe(
                    "result", f"one with subgroups for {feature or EVERYTHING!r}", "none",
                    "Compute it with moves=Moves(by=...).",
                )
            )  # fmt: skip
    with style():
        ax = new_axes(ax, height=1.3 + _ROW * len(parts))
        _draw(parts, alone, ax, by=by)
        asked = result.settings.get("threshold", float("nan"))
        what = f"subgroup ({feature or 'all features free'})" if by else "feature"
        ax.set_title(f"Stability at risk {asked:g}, by {what}")
    return ax


def _draw(parts: list[Any], alone: float | None, ax: Any, *, by: bool) -> None:
    places = np.arange(len(parts))[::-1]
    values = np.array([part.value for part in parts])
    finite = values[np.isfinite(values)]
    ends = [_interval(part, by).high for part in parts if _interval(part, by) is not None]
    reach = max([*finite, *[end for end in ends if np.isfinite(end)], 1e-12]) * 1.05
    lengths = np.where(np.isfinite(values), values, reach)
    colour = REFERENCE if by else TEST
    for place, part, length in zip(places, parts, lengths.tolist(), strict=True):
        idle = alone is not None and part.value >= alone - part.error_bound
        bar = ax.barh(place, length, height=_BAR, color=FAINT if idle else colour, alpha=0.85, linewidth=0)
        if part.kind != "exact" and not idle:
            bar[0].set(alpha=0.4, label="upper bound")
    for place, part in zip(places, parts, strict=True):
        interval = _interval(part, by)
        if interval is not None and np.isfinite(part.value):
            ax.plot([interval.low, interval.high], [place, place], color=INK, linewidth=1.1)
        if not np.isfinite(part.value):
            ax.text(reach, place, "not reached ", va="center", ha="right", fontsize=8, color=MUTED)
    if alone is not None and 0.0 < alone < np.inf and alone <= 1.02 * reach:
        ax.axvline(alone, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
        mark(
            ax,
            "reweighting alone",
            (alone, len(parts) - 0.45),
            shift=(-4, 0),
            ha="right",
            va="bottom",
            color=MUTED,
        )
    ax.set_yticks(places, [part.subgroup if by else part.feature for part in parts])
    ax.set(
        xlim=(0, 1.02 * reach), ylim=(-0.6, len(parts) - 0.2), xlabel="stability R (lower breaks more easily)"
    )
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", visible=True)
    handles, labels = ax.get_legend_handles_labels()
    if labels:
        ax.legend(handles[:1], labels[:1], loc="upper right")


def _interval(part: Any, by: bool) -> Any:
    return part.comparison_interval if by else part.interval
