"""The most sensitive sample as a picture: each row before and after the shift, as large as its weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import check_integer, describe
from shiftmetrics.stability import most_sensitive_sample
from shiftmetrics.stability.frames import frame_of, is_numeric, numbers_of, strings_of
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import INK, MUTED, REFERENCE, TEST, THIRD, new_axes

PALETTE = (REFERENCE, TEST, THIRD, "#3f7d3a", "#8a6d1f", "#a03c63", "#4a5a9a", "#5b5b5b")
SIZE = 14.0
"""Area of a row of weight 1, in square points."""
LARGEST = 600.0
GRID = 300
"""Points along each axis at which a model predicts."""


@drawing(StabilityResult, kind="sample")
def draw_sample(
    result: Any,
    ax: Any = None,
    *,
    table: Any = None,
    after: Any = None,
    columns: Sequence[Any] | None = None,
    labels: Any = None,
    predict: Callable[[Any], Any] | None = None,
    max_rows: int = 1000,
) -> Any:
    """Draw the most sensitive sample in two columns (figures 2 to 4 of arXiv:2405.03198).

    Pale points are the rows as they are; full ones are where the shift puts them, as large as their weight, with an
    arrow from one to the other. Rows with a missing number are left out.

    Parameters
    ----------
    result : StabilityResult or WorstCaseRisk
        A result that holds its rows.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    table, after : DataFrame or array, optional
        The rows, and the same rows after the perturbation; see `most_sensitive_sample`. Results of `model_stability`
        know both. Without ``after`` rows are drawn as they are.
    columns : sequence of two column names, optional
        Default: the two columns of numbers that change most, in standard deviations.
    labels : array_like of shape (n_samples,), optional
        The class of each row gives its colour. Default: one colour for rows that change, one for the others.
    predict : callable, optional
        The model, from a table like the one drawn to its predictions: draws the decision boundary. Columns that are
        not drawn are held at their mean, categories at the commonest one.
    max_rows : int, default 1000
        Most rows to draw, evenly spaced.

    Raises
    ------
    ValueError
        If the rows are not known, or a column is not there.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, stability_criterion
    >>> points = np.random.default_rng(0).normal(size=(40, 2)) + [1.5, 0]
    >>> result = stability_criterion(ZeroOneLoss(np.maximum(points[:, 0], 0)), 0.3, theta2=np.inf)
    >>> ax = result.plot(kind="sample", table=points, predict=lambda p: p[:, 0] > 0)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('0', '1')
    """
    max_rows = check_integer(max_rows, "max_rows", low=1)
    known = table is None and after is None
    if known:
        table, after = result.places()
    if table is None:
        expected = "the rows, which this result does not know"
        raise ValueError(describe("table", expected, "none", "Give a table of them."))
    is_array = not result.changed.table.is_frame if known else not hasattr(table, "columns")
    rows = frame_of(table, "table", result.n_samples).reset_index(drop=True)
    if hasattr(after, "reset_index"):
        after = after.reset_index(drop=True)
    # one line for each place that a row takes; after six columns of figures stand the changed values
    sample = most_sensitive_sample(result, rows, after=after)
    ends = sample.iloc[:, 6 : 6 + rows.shape[1]].set_axis(rows.columns, axis=1)
    position = sample.index.to_numpy()
    names = _columns_to_draw(rows, ends, position, columns)
    start = np.stack([_codes(rows[name], rows[name]) for name in names], axis=1)[position]
    end = np.stack([_codes(ends[name], rows[name]) for name in names], axis=1)
    colours, legend = _colours(labels, result, sample, position)
    # evenly spaced rows, without those that miss a number
    drawn = np.unique(np.linspace(0, len(rows) - 1, max_rows).round().astype(int))
    kept = np.isin(position, drawn) & np.isfinite(start).all(axis=1)
    ax = new_axes(ax, width=5.6, height=4.6)
    _draw_points(ax, start[kept], end[kept], sample[kept], colours[kept])
    if predict is not None:
        _draw_boundary(ax, names, rows, predict, is_array=is_array)
    # empty clouds of one size, because points differ in theirs
    for text, colour in legend:
        ax.scatter([], [], s=28, color=colour, label=text)
    ax.scatter([], [], s=SIZE, color=MUTED, alpha=0.3, label="as it was")
    ax.legend(loc="best", fontsize=8)
    ax.grid(visible=False)
    ax.set(xlabel=str(names[0]), ylabel=str(names[1]))
    title = "The most sensitive sample"
    if not kept.all():
        title += f" ({len(np.unique(position[kept])):,} of {len(rows):,} rows)"
    ax.set_title(title)
    return ax


def _columns_to_draw(
    rows: Any, ends: Any, position: Any, columns: Sequence[Any] | None
) -> list[Any]:
    """Return the names of two columns: those asked for, else the numbers that change most."""
    if columns is not None:
        if len(columns) != 2 or not set(columns) <= set(rows.columns):
            known = [str(name) for name in rows.columns][:8]
            raise ValueError(describe("columns", f"two of {known}", value=columns))
        return list(columns)
    numeric = [name for name in rows.columns if is_numeric(rows[name])]
    if len(numeric) < 2:
        expected = "of at least two columns of numbers"
        raise ValueError(describe("table", expected, f"{len(numeric)}", "Give columns=."))
    # by the root of the summed squares of the changes, in standard deviations of the column; a heuristic:
    # weights do not count, and without any change the first two columns are drawn
    sizes = []
    for name in numeric:
        start = numbers_of(rows[name])
        change = numbers_of(ends[name]) - start[position]
        spread = np.std(start[np.isfinite(start)]) if np.isfinite(start).any() else 0.0
        sizes.append(np.sqrt(np.nansum(change**2)) / (spread or 1.0))
    largest = np.argsort(-np.array(sizes), kind="stable")[:2]
    return [numeric[place] for place in sorted(largest)]


def _codes(column: Any, known: Any) -> FloatArray:
    """Return numbers as they are, and a category as its place among those of ``known``."""
    if is_numeric(known):
        return numbers_of(column)
    levels = sorted(set(strings_of(known)))
    codes = {level: code for code, level in enumerate(levels)}
    return np.array([codes.get(text, len(codes)) for text in strings_of(column)], dtype=np.float64)


def _rows_at(points: FloatArray, names: list[Any], rows: Any) -> Any:
    """Return rows of the table at these points, their other columns at the mean or the commonest category."""
    import pandas as pd

    columns: dict[Any, Any] = {}
    for name in rows.columns:
        if name in names:
            columns[name] = points[:, names.index(name)]
        elif is_numeric(rows[name]):
            columns[name] = np.full(len(points), rows[name].mean())
        else:
            commonest = rows[name].mode().iloc[0]
            columns[name] = pd.Series([commonest] * len(points)).astype(rows[name].dtype)
    return pd.DataFrame(columns, columns=rows.columns)


def _draw_points(ax: Any, start: FloatArray, end: FloatArray, sample: Any, colours: Any) -> None:
    """Draw rows before the shift (pale), arrows, and rows after it, as large as their weight."""
    # a row whose weight is split over two places has two lines, and one point before the shift
    first = ~sample["split"].to_numpy()
    ax.scatter(*start[first].T, s=SIZE, c=colours[first], alpha=0.22, linewidths=0)
    step = end - start
    away = sample["changed"].to_numpy() & (np.abs(step).sum(axis=1) > 0.0)
    if away.any():
        scale = {"angles": "xy", "scale_units": "xy", "scale": 1}
        look = {"width": 0.0022, "headwidth": 5, "color": MUTED, "alpha": 0.45, "zorder": 1.5}
        ax.quiver(*start[away].T, *step[away].T, **scale, **look)
    # large points lie below small ones; points without weight are left out
    weight = sample["weight"].to_numpy()
    order = np.argsort(-weight, kind="stable")
    order = order[weight[order] > 1e-6]
    size = np.minimum(SIZE * weight[order], LARGEST)
    ax.scatter(
        *end[order].T, s=size, c=colours[order], alpha=0.85, linewidths=0.4, edgecolors="white"
    )


def _colours(
    labels: Any, result: Any, sample: Any, position: Any
) -> tuple[npt.NDArray[Any], list[Any]]:
    """Return a colour for each line of the sample, and what the colours mean."""
    if labels is None:
        if not sample["changed"].any():
            return np.full(len(sample), REFERENCE), [("as large as its weight", REFERENCE)]
        colours = np.where(sample["changed"].to_numpy(), TEST, REFERENCE)
        legend = [("rows that change", TEST), ("rows that do not", REFERENCE)]
        return colours, legend
    values = np.asarray(labels)
    if values.shape != (result.n_samples,):
        shape = f"of shape ({result.n_samples},), one a row"
        raise ValueError(describe("labels", shape, f"shape {values.shape}"))
    known, codes = np.unique(values.astype(str), return_inverse=True)
    palette = np.array([PALETTE[code % len(PALETTE)] for code in range(len(known))])
    legend = list(zip(known[: len(PALETTE)], palette, strict=False))
    return palette[codes][position], legend


def _draw_boundary(
    ax: Any, names: list[Any], rows: Any, predict: Callable[[Any], Any], *, is_array: bool
) -> None:
    """Draw where the predictions of the model change."""
    if not all(is_numeric(rows[name]) for name in names):
        raise ValueError(
            "predict draws its boundary over columns of numbers only. Choose two such columns."
        )
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    # the model predicts at a grid over the axes as they are
    x = np.linspace(float(left), float(right), GRID)
    y = np.linspace(float(bottom), float(top), GRID)
    across, up = np.meshgrid(x, y)
    grid = _rows_at(np.column_stack([across.ravel(), up.ravel()]), names, rows)
    outputs = np.asarray(predict(grid.to_numpy() if is_array else grid)).reshape(len(grid), -1)
    classes = outputs.argmax(axis=1)
    if outputs.shape[1] == 1:
        classes = np.unique(outputs[:, 0], return_inverse=True)[1]
    # the boundary between codes up to k and above k is where the step from 0 to 1 crosses one half
    for code in range(int(classes.max())):
        above = (classes > code).astype(np.float64).reshape(across.shape)
        ax.contour(x, y, above, levels=[0.5], colors=[INK], linewidths=1.2)
    ax.set(xlim=(left, right), ylim=(bottom, top))
