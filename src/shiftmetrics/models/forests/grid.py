"""A forest and the axes of its inputs, put together: rows as cells, moves as cells, and back to points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain import Domain, differs
from shiftmetrics.models.forests.axes import NumberAxis, StateAxis, axes_without_edges
from shiftmetrics.models.forests.cells import CellForest, Splits
from shiftmetrics.models.forests.forest import LEAF, Forest

Encode = Callable[[FloatArray], FloatArray]
"""From coded rows to what the forest is given, of shape (n_rows, forest.n_features)."""

_PROBES = 12


@dataclass(frozen=True, eq=False)
class Grid:
    """Axes, and the forest on their cells."""

    axes: tuple[NumberAxis | StateAxis, ...]
    trees: CellForest

    @property
    def forest(self) -> Forest:
        """The forest."""
        return self.trees.forest

    @property
    def active(self) -> BoolArray:
        """Axes along which a move may change an output."""
        return np.array([axis.movable for axis in self.axes]) & (self.trees.n_open > 1)

    def cells(self, points: FloatArray) -> IntArray:
        """Return the cells of each point, of shape (n_points, n_axes)."""
        return np.stack([axis.cells(points) for axis in self.axes], axis=1)

    def points(self, start: FloatArray, cells: IntArray) -> FloatArray:
        """Return the nearest place of each row in its cells."""
        points = start.copy()
        own = self.cells(start)
        for position, axis in enumerate(self.axes):
            moved = np.flatnonzero(cells[:, position] != own[:, position])
            if moved.size:
                part = points[moved]
                axis.put(part, start[moved], cells[moved, position])
                points[moved] = part
        return points

    def axes_of(self, columns: Sequence[int]) -> IntArray:
        """Return the positions of the axes that these columns belong to."""
        wanted = set(columns)
        return np.array([k for k, axis in enumerate(self.axes) if wanted & set(axis.columns.tolist())])

    def within(self, domain: Domain) -> Grid:
        """Return the same grid for a domain that differs in what may move."""
        able = {tuple(flip.columns.tolist()) for flip in domain.movable_flips}
        axes = tuple(
            replace(axis, movable=tuple(axis.columns.tolist()) in able)
            if isinstance(axis, StateAxis)
            else replace(axis, movable=bool(domain.movable[axis.column]), domain=domain)
            for axis in self.axes
        )
        return Grid(axes, self.trees)


def grid_of(forest: Forest, domain: Domain, X: FloatArray, encode: Encode | None = None) -> Grid | None:
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
        What a pipeline does before the trees. Each of its columns must depend on one axis alone, and on a number
        monotonically.

    Returns
    -------
    Grid or None
        None where a column depends on several axes: there moves along one axis are not moves of the trees. Nor
        where categories are split on a column that moves as a number.
    """
    axes = axes_without_edges(domain, X)
    used = np.unique(forest.feature[forest.feature >= 0])
    owner = np.full(forest.n_features, LEAF)
    if encode is None:
        for position, axis in enumerate(axes):
            owner[axis.columns] = position
    else:
        moved = _dependence(axes, X, encode)
        if (moved[:, used].sum(axis=0) > 1).any():
            return None
        owner[used] = np.where(moved[:, used].any(axis=0), moved[:, used].argmax(axis=0), LEAF)
    nodes = np.flatnonzero(forest.feature >= 0)
    if forest.subset is not None:
        split = owner[forest.feature[forest.subset >= 0]]
        if any(isinstance(axes[position], NumberAxis) for position in np.unique(split[split >= 0])):
            return None
    edge, swapped = forest.threshold.copy(), np.zeros(len(forest.feature), dtype=bool)
    if encode is not None:
        edge[nodes], swapped[nodes] = _edges_before(forest, nodes, owner, axes, X, encode)
    axis_of = np.where(forest.feature >= 0, owner[np.maximum(forest.feature, 0)], LEAF)
    cut = np.full(len(edge), LEAF)
    table = np.full(len(edge), -1)
    tables: list[BoolArray] = []
    missing_left = forest.missing_left.copy()
    for position, axis in enumerate(axes):
        own = np.flatnonzero(axis_of == position)
        if isinstance(axis, NumberAxis):
            edges = np.unique(edge[own])
            edges = edges[np.isfinite(edges)]
            axes[position] = replace(axis, edges=edges)
            cut[own] = np.where(edge[own] == -np.inf, -1, np.searchsorted(edges, edge[own], side="left"))
            if encode is not None and axis.some_missing:
                without = X[:1].copy()
                without[:, axis.column] = np.nan
                missing_left[own] = forest.goes_left(own, encode(without)[0, forest.feature[own]])
            continue
        seen = _encoded_states(axis, X, encode)
        for node in own:
            table[node] = len(tables)
            tables.append(forest.goes_left(np.full(len(seen), node), seen[:, forest.feature[node]]))
    constant = np.flatnonzero((forest.feature >= 0) & (axis_of < 0))
    if constant.size:  # columns that nothing moves: an axis of one cell stands for them
        first = X[:1] if encode is None else encode(X[:1])
        axis_of[constant] = 0
        left = forest.goes_left(constant, first[0, forest.feature[constant]])
        cut[constant] = np.where(left, np.iinfo(np.int64).max, -1)
        missing_left[constant] = left
    width = max((len(row) for row in tables), default=1)
    goes_left = np.zeros((len(tables), width), dtype=bool)
    for row, states in enumerate(tables):
        goes_left[row, : len(states)] = states
    splits = Splits(
        axis=axis_of,
        cut=cut,
        table=table,
        goes_left=goes_left,
        left=np.where(swapped, forest.right, forest.left),
        right=np.where(swapped, forest.left, forest.right),
        missing_left=missing_left ^ swapped,
    )
    n_cells, missing = (np.array([getattr(axis, name) for axis in axes]) for name in ("n_cells", "missing"))
    return Grid(tuple(axes), CellForest(forest, splits, n_cells, missing))


def _dependence(axes: Sequence[NumberAxis | StateAxis], X: FloatArray, encode: Encode) -> BoolArray:
    """Tell which encoded columns change with each axis, of shape (n_axes, n_encoded), by trying a few rows."""
    missing = np.isnan(X)
    probes = np.linspace(0, len(X) - 1, _PROBES).astype(int)
    rows = X[np.unique(np.concatenate([probes, missing[:, missing.any(axis=0)].argmax(axis=0)]))]
    smallest, largest = _ranges(X)
    stacked, starts = [rows], [0]
    for axis in axes:
        if isinstance(axis, StateAxis):  # every state, since its encoded column may be that of no other
            size = len(rows) * -(-axis.n_cells // len(rows))
            place = np.arange(2 * size)  # each row in two states: one of them is not its own
            changed = rows[place % len(rows)]
            axis.flip.put(changed, (place + place // size) % axis.n_cells)
        else:
            changed = rows.copy()
            low, high = smallest[axis.column], largest[axis.column]
            spread = np.linspace(low - 0.1 * (high - low) - 1.0, high + 0.1 * (high - low) + 1.0, len(rows))
            changed[:, axis.column] = np.where(spread == rows[:, axis.column], high + 2.0, spread)
            if axis.some_missing:
                without = rows.copy()
                without[:, axis.column] = np.nan
                changed = np.concatenate([changed, without])
        starts.append(starts[-1] + len(stacked[-1]))
        stacked.append(changed)
    encoded = encode(np.concatenate(stacked))
    moved = np.empty((len(axes), encoded.shape[1]), dtype=bool)
    for position, (start, changed) in enumerate(zip(starts[1:], stacked[1:], strict=True)):
        before = encoded[np.arange(len(changed)) % len(rows)]
        moved[position] = differs(encoded[start : start + len(changed)], before).any(axis=0)
    return moved


def _ranges(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest number of each column; 0 where all are missing."""
    held = np.where(np.isnan(X).all(axis=0), 0.0, X)
    return np.nanmin(held, axis=0), np.nanmax(held, axis=0)


def _encoded_states(axis: StateAxis, X: FloatArray, encode: Encode | None) -> FloatArray:
    points = np.repeat(X[:1], axis.n_cells, axis=0)
    axis.flip.put(points, np.arange(axis.n_cells))
    return points if encode is None else encode(points)


def _edges_before(
    forest: Forest, nodes: IntArray, owner: IntArray, axes: Sequence[Any], X: FloatArray, encode: Encode
) -> tuple[FloatArray, BoolArray]:
    """Find each threshold on the scale of the column that a pipeline maps to it, by bisection over floats.

    Returns the largest number before the encoded column passes the threshold, and whether it falls as the number
    grows.
    """
    feature = forest.feature[nodes]
    column = np.array([axis.column if isinstance(axis, NumberAxis) else LEAF for axis in axes])[
        owner[feature]
    ]
    column = np.where(owner[feature] >= 0, column, LEAF)
    wanted, inverse = np.unique(
        np.stack([column, feature, forest.threshold[nodes].view(np.int64)]), axis=1, return_inverse=True
    )
    column, feature, threshold = wanted[0], wanted[1], wanted[2].view(np.float64)
    sought = np.flatnonzero(column >= 0)
    edge, falls = threshold.copy(), np.zeros(len(threshold), dtype=bool)
    if sought.size:
        edge[sought], falls[sought] = _bisect(column[sought], feature[sought], threshold[sought], X, encode)
    return edge[inverse.ravel()], falls[inverse.ravel()]


def _bisect(
    column: IntArray, feature: IntArray, threshold: FloatArray, X: FloatArray, encode: Encode
) -> tuple[FloatArray, BoolArray]:
    # One row of the probe holds a number for each column at once: the k-th threshold of each.
    slot = np.zeros(len(column), dtype=np.int64)
    for one in np.unique(column):
        slot[column == one] = np.arange((column == one).sum())
    base = np.repeat(X[:1], slot.max() + 1, axis=0)

    def is_left(numbers: FloatArray) -> BoolArray:
        probe = base.copy()
        probe[slot, column] = numbers
        return np.asarray(encode(probe)[slot, feature] <= threshold)

    low, high = (limit[column] for limit in _ranges(X))
    width = np.maximum(high - low, 1.0)
    low, high = low - 16.0 * width, high + 16.0 * width
    at_low, at_high = is_left(low), is_left(high)
    never = at_low == at_high
    a, b = _ordered(low), _ordered(high)
    # Most pipelines pass some columns on as they are: then the threshold itself is the edge.
    inside = (low < threshold) & (threshold < high)
    raw = np.where(inside, threshold, low)
    as_it_is = inside & (is_left(raw) != is_left(np.nextafter(raw, np.inf)))
    a, b = np.where(as_it_is, _ordered(raw), a), np.where(as_it_is, _ordered(raw) + 1, b)
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
