"""The most sensitive sample as a picture: each row before and after the shift, as large as its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_integer
from shiftmetrics.stability import most_sensitive_sample
from shiftmetrics.stability.frames import frame_of, is_numeric, numbers_of
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import MUTED, REFERENCE, TEST, THIRD, new_axes

PALETTE = np.array([TEST, REFERENCE, THIRD, "#3f7d3a", "#8a6d1f", "#a03c63", "#4a5a9a", "#5b5b5b"])
SIZE = 14.0
"""Area of a row of weight 1, in square points."""
LARGEST = 600.0
N_FIGURES = 6
"""Columns of `most_sensitive_sample` before those of the table."""


@drawing(StabilityResult, kind="sample")
def draw_sample(
    result: Any,
    ax: Any = None,
    *,
    table: Any = None,
    after: Any = None,
    labels: Any = None,
    max_rows: int = 1000,
) -> Any:
    """Draw the most sensitive sample in two columns (figures 2 to 4 of arXiv:2405.03198).

    Pale points are the rows as they are; full ones are where the shift puts them, as large as their weight, with an
    arrow from one to the other. The columns are the two columns of numbers that change most, in standard deviations.
    Rows with a missing number are left out.

    Parameters
    ----------
    result : StabilityResult or WorstCaseRisk
        A result that holds its rows.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    table, after : DataFrame or array, optional
        The rows, and the same rows after the perturbation; see `most_sensitive_sample`. Results of `model_stability`
        know both. Without ``after`` rows are drawn as they are. Tables of two columns choose what is drawn.
    labels : array_like of shape (n_samples,), optional
        The class of each row gives its colour. Default: one colour for rows that change, one for the others.
    max_rows : int, default 1000
        Most rows to draw, evenly spaced.

    Raises
    ------
    ValueError
        If the rows are not known, or have fewer than two columns of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, stability_criterion
    >>> points = np.random.default_rng(0).normal(size=(40, 2)) + [1.5, 0]
    >>> result = stability_criterion(ZeroOneLoss(np.maximum(points[:, 0], 0)), 0.3, theta2=np.inf)
    >>> ax = result.plot(kind="sample", table=points)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('0', '1')
    """
    max_rows = check_integer(max_rows, "max_rows", low=1)
    if table is None and after is None:
        table, after = result.places()
    if table is None:
        expected = "the rows, which this result does not know"
        raise ArgumentValueError("table", expected, "none", "Give a table of them.")
    # rows are known by their positions from here on
    rows = frame_of(table, "table", result.n_samples).reset_index(drop=True)
    if hasattr(after, "reset_index"):
        after = after.reset_index(drop=True)
    # one line for each place that a row takes: a row whose weight is split has two
    sample = most_sensitive_sample(result, rows, after=after)
    position = sample.index.to_numpy()
    ends = sample.iloc[:, N_FIGURES : N_FIGURES + rows.shape[1]].set_axis(rows.columns, axis=1)
    names = [name for name in rows.columns if is_numeric(rows[name])]
    if len(names) < 2:
        expected = "of at least two columns of numbers"
        raise ArgumentValueError("table", expected, f"{len(names)}")
    start = np.stack([numbers_of(rows[name]) for name in names], axis=1)
    end = np.stack([numbers_of(ends[name]) for name in names], axis=1)
    chosen = _columns_that_change_most(start, end - start[position])
    start = start[position][:, chosen]
    end = end[:, chosen]
    groups = np.where(sample["changed"], "rows that change", "rows that stay")
    if labels is not None:
        groups = _labels_of(labels, result.n_samples)[position]
    known, codes = np.unique(groups, return_inverse=True)
    colours = PALETTE[codes % len(PALETTE)]
    # evenly spaced rows, without those that miss a number
    shown = np.linspace(0, len(rows) - 1, max_rows).round()
    kept = np.isin(position, shown) & np.isfinite(start).all(axis=1)
    ax = new_axes(ax, width=5.6, height=4.6)
    _draw_points(ax, start[kept], end[kept], sample[kept], colours[kept])
    # the legend has points of one size, because those of the drawing differ in theirs
    for text, colour in zip(known[: len(PALETTE)], PALETTE, strict=False):
        ax.scatter([], [], s=28, color=colour, label=text)
    ax.scatter([], [], s=SIZE, color=MUTED, alpha=0.3, label="as it was")
    ax.legend(loc="best", fontsize=8)
    ax.grid(visible=False)
    ax.set_xlabel(str(names[chosen[0]]))
    ax.set_ylabel(str(names[chosen[1]]))
    title = "The most sensitive sample"
    if not kept.all():
        n_drawn = len(np.unique(position[kept]))
        title += f" ({n_drawn:,} of {len(rows):,} rows)"
    ax.set_title(title)
    return ax


def _columns_that_change_most(start: FloatArray, change: FloatArray) -> Any:
    """Return the places of two columns, by the root mean square of their changes in standard deviations.

    A heuristic: weights do not count, and without any change the first two columns are drawn.
    """
    spread = np.ma.masked_invalid(start).std(axis=0).filled(0.0)
    spread[spread == 0.0] = 1.0
    size = np.nansum(change**2, axis=0) / spread**2
    return np.sort(np.argsort(-size, kind="stable")[:2])


def _labels_of(labels: Any, n_samples: int) -> Any:
    values = np.asarray(labels)
    if values.shape != (n_samples,):
        shape = f"of shape ({n_samples},), one a row"
        raise ArgumentValueError("labels", shape, f"shape {values.shape}")
    return values.astype(str)


def _draw_points(ax: Any, start: FloatArray, end: FloatArray, sample: Any, colours: Any) -> None:
    """Draw rows before the shift (pale), arrows, and rows after it, as large as their weight."""
    # a row whose weight is split over two places has one point before the shift
    first = ~sample["split"].to_numpy()
    ax.scatter(*start[first].T, s=SIZE, c=colours[first], alpha=0.22, linewidths=0)
    step = end - start
    away = sample["changed"].to_numpy() & step.any(axis=1)
    if away.any():
        scale = {"angles": "xy", "scale_units": "xy", "scale": 1}
        look = {"width": 0.0022, "headwidth": 5, "color": MUTED, "alpha": 0.45, "zorder": 1.5}
        ax.quiver(*start[away].T, *step[away].T, **scale, **look)
    # large points lie below small ones; points without weight are left out
    weight = sample["weight"].to_numpy()
    order = np.argsort(-weight, kind="stable")
    order = order[weight[order] > 1e-6]
    size = np.minimum(SIZE * weight[order], LARGEST)
    look = {"alpha": 0.85, "linewidths": 0.4, "edgecolors": "white"}
    ax.scatter(*end[order].T, s=size, c=colours[order], **look)
