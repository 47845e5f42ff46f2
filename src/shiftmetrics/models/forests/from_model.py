"""From a model, possibly a pipeline, to its forest on the axes of the columns that users move; checked on rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, is_table
from shiftmetrics.models.domain import Domain, differs
from shiftmetrics.models.forests.answers import losses_of
from shiftmetrics.models.forests.axes import Axis, NumberAxis, StateAxis, axes_without_edges
from shiftmetrics.models.forests.forest import LEAF, Forest
from shiftmetrics.models.forests.grid import Boxes, Grid
from shiftmetrics.models.forests.reading import category_codes, forest_of
from shiftmetrics.models.model import ModelProblem
from shiftmetrics.models.outputs import last_step
from shiftmetrics.models.rules import Cut

Encode = Callable[[FloatArray], FloatArray]
"""From coded rows to the inputs of the forest, of shape (n_rows, forest.n_features)."""

_PROBES = 12
_BESIDE = (1 << 10, 1 << 24)
"""How many floats away a threshold is sought first."""
_N_CHECKED = 256
_LOSS_ERROR = 1e-4
"""Relative error of losses: models that compute probabilities in float32 are this far off."""


def grid_of_problem(problem: ModelProblem) -> Grid | None:
    """Return the forest of a model on the axes of its domain.

    None where the model is not made of trees, where a step before them mixes columns, or where the losses of trees
    and model differ on a few rows.
    """
    model = problem.model
    forest = forest_of(last_step(model))
    if forest is None:
        return None
    forest = replace(forest, clip=problem.clip)
    if problem.cut is not None:
        forest = _cut_at(forest, problem.cut)
    grid = grid_of(forest, problem.domain, problem.codes, _encoder(model, problem))
    return grid if grid is not None and _agrees(problem, grid) else None


def _cut_at(forest: Forest, cut: Cut) -> Forest:
    """Return the forest whose second class leads from a cut of its probabilities, or scores, on."""
    lead = cut.logit if cut.response == "decision_function" else cut.logit / forest.slope
    if forest.link == "probability":
        lead = 2.0 * cut.value - 1.0
    return replace(forest, base=forest.base - [0.0, lead])


def _encoder(model: Any, problem: ModelProblem) -> Encode | None:
    """Return the map from coded rows to the inputs of the trees; None if it is the identity."""
    table = problem.table
    steps = getattr(model, "steps", None)
    to_codes = category_codes(last_step(model))
    if not steps and to_codes is None and all(column.kind == "number" for column in table.columns):
        return None
    before = model[:-1] if steps and len(steps) > 1 else None

    def encode(points: FloatArray) -> FloatArray:
        rows = table.decode(points)
        if before is not None:
            rows = before.transform(rows)
        if to_codes is not None:
            rows = to_codes(rows)
        if is_table(rows):
            return np.asarray(rows.to_numpy(dtype=np.float64, na_value=np.nan))
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        return np.asarray(rows, dtype=np.float64)

    return encode


def grid_of(
    forest: Forest, domain: Domain, X: FloatArray, encode: Encode | None = None
) -> Grid | None:
    """Cut the axes of a domain at the thresholds of a forest.

    Parameters
    ----------
    forest : Forest
        The trees.
    domain : Domain
        Where rows may move.
    X : array of shape (n_samples, n_features)
        The rows, coded.
    encode : callable, optional
        The steps of a pipeline before the trees. Each of its columns must depend on one axis alone, and on a number
        monotonically.

    Returns
    -------
    Grid or None
        None where a column depends on several axes: there moves along one axis are not moves of the trees. Nor
        where categories are split on a column that moves as a number.
    """
    axes = axes_without_edges(domain, X)
    inner = np.flatnonzero(forest.feature >= 0)
    feature = forest.feature[inner]
    owner = np.full(forest.n_features, LEAF)
    if encode is None:
        for position, axis in enumerate(axes):
            owner[axis.columns] = position
    else:
        used = np.unique(feature)
        moved = _dependence(axes, X, encode)[:, used]
        if (moved.sum(axis=0) > 1).any():
            return None
        owner[used] = np.where(moved.any(axis=0), moved.argmax(axis=0), LEAF)
    axis_of = np.full(len(forest.feature), LEAF)
    axis_of[inner] = owner[feature]
    if forest.subset is not None:
        by_category = np.unique(axis_of[forest.subset >= 0])
        if any(
            isinstance(axes[position], NumberAxis) for position in by_category[by_category >= 0]
        ):
            return None
    edge, swapped = forest.threshold.copy(), np.zeros(len(forest.feature), dtype=bool)
    if encode is not None:
        edge[inner], swapped[inner] = _edges_before(forest, inner, owner, axes, X, encode)
    cut, missing_left = np.full(len(edge), LEAF), forest.missing_left.copy()
    goes_left: dict[int, Any] = {}
    at_states = _encoded_states(axes, X, encode)
    for position, axis in enumerate(axes):
        nodes = np.flatnonzero(axis_of == position)
        if isinstance(axis, StateAxis):
            for node in nodes.tolist():
                states = at_states[position][:, forest.feature[node]]
                goes_left[node] = forest.goes_left(np.full(len(states), node), states)
            continue
        edges = np.unique(edge[nodes])
        edges = edges[np.isfinite(edges)]
        axes[position] = replace(axis, edges=edges)
        cut[nodes] = np.where(
            edge[nodes] == -np.inf, -1, np.searchsorted(edges, edge[nodes], side="left")
        )
        if encode is not None and axis.some_missing:
            without = X[:1].copy()
            without[:, axis.column] = np.nan
            missing_left[nodes] = forest.goes_left(nodes, encode(without)[0, forest.feature[nodes]])
    fixed = inner[axis_of[inner] < 0]
    first = X[:1] if encode is None or not fixed.size else encode(X[:1])
    always_left = forest.goes_left(fixed, first[0, forest.feature[fixed]])
    goes_left |= dict(zip(fixed.tolist(), always_left.tolist(), strict=True))
    left, right = forest.left, forest.right
    forest = replace(
        forest, left=np.where(swapped, right, left), right=np.where(swapped, left, right)
    )
    boxes = Boxes.of(
        axes,
        forest,
        axis=axis_of,
        cut=cut,
        missing_left=missing_left ^ swapped,
        goes_left=goes_left,
    )
    return Grid(tuple(axes), forest, boxes)


def _dependence(axes: Sequence[Axis], X: FloatArray, encode: Encode) -> BoolArray:
    """Return which encoded columns change with each axis, of shape (n_axes, n_encoded), by trying a few rows."""
    missing = np.isnan(X)
    probes = np.linspace(0, len(X) - 1, _PROBES).astype(int)
    rows = X[np.unique(np.concatenate([probes, missing[:, missing.any(axis=0)].argmax(axis=0)]))]
    smallest, largest = _ranges(X)
    tried = [rows]
    for axis in axes:
        if isinstance(
            axis, StateAxis
        ):  # every state, since its encoded column may be that of no other
            size = len(rows) * -(-axis.n_cells // len(rows))
            place = np.arange(
                2 * size
            )  # each row in two states: one of them is not that of the row
            changed = rows[place % len(rows)]
            axis.flip.put(changed, (place + place // size) % axis.n_cells)
        else:
            changed = rows.copy()
            low, high = smallest[axis.column], largest[axis.column]
            spread = np.linspace(
                low - 0.1 * (high - low) - 1.0, high + 0.1 * (high - low) + 1.0, len(rows)
            )
            changed[:, axis.column] = np.where(spread == rows[:, axis.column], high + 2.0, spread)
            if axis.some_missing:
                changed = np.concatenate([changed, rows])
                changed[len(rows) :, axis.column] = np.nan
        tried.append(changed)
    # In one call: pipelines take as long for a few rows as for many.
    before, *after = np.split(
        encode(np.concatenate(tried)), np.cumsum([len(part) for part in tried])[:-1]
    )
    moved = (differs(part, before[np.arange(len(part)) % len(rows)]).any(axis=0) for part in after)
    return np.stack(list(moved))


def _ranges(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest number of each column; 0 where all are missing."""
    held = np.where(np.isnan(X).all(axis=0), 0.0, X)
    return np.nanmin(held, axis=0), np.nanmax(held, axis=0)


def _encoded_states(
    axes: Sequence[Axis], X: FloatArray, encode: Encode | None
) -> dict[int, FloatArray]:
    """Return the inputs of the trees at each state, by the position of the axis."""
    points = {}
    for position, axis in enumerate(axes):
        if isinstance(axis, StateAxis):
            points[position] = np.repeat(X[:1], axis.n_cells, axis=0)
            axis.flip.put(points[position], np.arange(axis.n_cells))
    if encode is None or not points:
        return points
    encoded = encode(np.concatenate(list(points.values())))
    ends = np.cumsum([len(part) for part in points.values()])[:-1]
    return dict(zip(points, np.split(encoded, ends), strict=True))


def _edges_before(
    forest: Forest,
    nodes: IntArray,
    owner: IntArray,
    axes: Sequence[Axis],
    X: FloatArray,
    encode: Encode,
) -> tuple[FloatArray, BoolArray]:
    """Find each threshold on the scale of the column that a pipeline maps to it, by bisection over floats.

    Returns the largest number before the encoded column passes the threshold, and whether it falls as the number
    grows.
    """
    edge, falls = forest.threshold[nodes], np.zeros(len(nodes), dtype=bool)
    columns = np.array(
        [axis.column if isinstance(axis, NumberAxis) else LEAF for axis in axes] + [LEAF]
    )
    column = columns[owner[forest.feature[nodes]]]
    sought = np.flatnonzero(column >= 0)
    if sought.size:
        keys = np.stack(
            [column[sought], forest.feature[nodes[sought]], edge[sought].view(np.int64)]
        )
        (column, feature, threshold), place = np.unique(keys, axis=1, return_inverse=True)
        edges, swapped = _bisect(column, feature, threshold.view(np.float64), X, encode)
        edge[sought], falls[sought] = edges[place.ravel()], swapped[place.ravel()]
    return edge, falls


def _bisect(
    column: IntArray, feature: IntArray, threshold: FloatArray, X: FloatArray, encode: Encode
) -> tuple[FloatArray, BoolArray]:
    # One row of the probe holds a number for each column at once: the k-th threshold of each.
    slot = np.arange(len(column)) - np.searchsorted(column, column)
    base = np.repeat(X[:1], slot.max() + 1, axis=0)

    def encoded(numbers: FloatArray) -> FloatArray:
        probe = base.copy()
        probe[slot, column] = numbers
        return np.asarray(encode(probe)[slot, feature])

    def is_left(numbers: FloatArray) -> BoolArray:
        return np.asarray(encoded(numbers) <= threshold)

    low, high = (limit[column] for limit in _ranges(X))
    width = np.maximum(high - low, 1.0)
    low, high = low - 16.0 * width, high + 16.0 * width
    first, last = encoded(low), encoded(high)
    at_low, at_high = first <= threshold, last <= threshold
    never = at_low == at_high
    a, b = _ordered(low), _ordered(high)
    # Most pipelines pass some columns on as they are: then the threshold itself is the edge.
    inside = (low < threshold) & (threshold < high)
    raw = np.where(inside, threshold, low)
    as_it_is = inside & (is_left(raw) != is_left(np.nextafter(raw, np.inf)))
    a, b = np.where(as_it_is, _ordered(raw), a), np.where(as_it_is, _ordered(raw) + 1, b)
    # Others scale: then the threshold is beside the place between both ends where a straight line has it.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(np.nan_to_num((threshold - first) / (last - first)), 0.0, 1.0)
    line = _ordered(low + share * (high - low))
    for beside in _BESIDE:
        left, right = np.maximum(line - beside, a), np.minimum(line + beside, b)
        found = (is_left(_floats(left)) == at_low) & (is_left(_floats(right)) == at_high)
        a, b = np.where(found, left, a), np.where(found, right, b)
    b = np.where(never, a + 1, b)
    while (b > a + 1).any():
        middle = (a >> 1) + (b >> 1) + (a & b & 1)
        same = is_left(_floats(middle)) == at_low
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    edge = _floats(a)
    # A threshold out of sight: all numbers are on one side.
    edge = np.where(never, np.where(at_low, np.inf, -np.inf), edge)
    return edge, ~at_low & ~never


def _ordered(numbers: FloatArray) -> IntArray:
    """Return integers in the order of the floats, neighbours for neighbours."""
    bits = (numbers + 0.0).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _floats(order: IntArray) -> FloatArray:
    bits = np.where(order < 0, np.iinfo(np.int64).min - order, order)
    return bits.view(np.float64)


def _agrees(problem: ModelProblem, grid: Grid) -> bool:
    """Compare the forest with the model on rows whose columns are shuffled among each other, at thresholds too."""
    rng = np.random.default_rng(0)
    n_rows = min(_N_CHECKED, max(64, problem.n_samples))
    rows = rng.integers(problem.n_samples, size=n_rows)
    incomplete = np.flatnonzero(np.isnan(problem.codes).any(axis=1))
    if incomplete.size:
        rows[: n_rows // 2] = rng.choice(incomplete, n_rows // 2)
    cells, points = grid.cells(problem.codes[rows]), problem.codes[rows].copy()
    for position, axis in enumerate(grid.axes):
        if not axis.movable:
            continue
        target = rng.integers(axis.n_cells, size=n_rows)
        reachable = np.isfinite(axis.costs(points))[np.arange(n_rows), target]
        change = np.flatnonzero(reachable & (rng.random(n_rows) < 0.5))
        if change.size:
            part = points[change]
            axis.put(part, part.copy(), target[change])
            points[change], cells[change, position] = part, target[change]
    expected = replace(problem, count=type(problem.count)()).losses(points, rows)
    outputs = grid.outputs(cells)
    if problem.loss == "zero_one":
        margins = grid.forest.margins(outputs, problem.y[rows])
        clear = np.abs(margins) > grid.forest.tolerance
        return bool(((margins < 0.0) == (expected > 0.0))[clear].all())
    losses = losses_of(grid.forest, outputs, problem.y[rows], problem.loss)
    return bool(np.allclose(losses, expected, rtol=_LOSS_ERROR, atol=_LOSS_ERROR))
