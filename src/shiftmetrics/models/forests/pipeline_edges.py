"""Edges of cells before a pipeline: the number of a column at which a step of it passes a threshold, by bisection."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain.domain import Domain
from shiftmetrics.models.forests.axes import Axis, NumberAxis, PieceAxis
from shiftmetrics.models.forests.forest import LEAF, Forest
from shiftmetrics.models.reading.outputs import matrix_of
from shiftmetrics.models.reading.pieces import Before, Turn

Encode = Callable[[FloatArray], FloatArray]
"""From coded rows to the inputs of the forest, of shape (n_rows, forest.n_features)."""

_FARTHEST = 2.0**100
"""Beyond it no threshold is sought."""
_SMALLEST = np.iinfo(np.int64).min

_NEAR = 2.0**-40
"""Fraction of what is searched within which the edge lies on each side of where a linear step has it."""


def edges_before(
    forest: Forest,
    nodes: IntArray,
    owner: IntArray,
    axes: Sequence[Axis],
    X: FloatArray,
    encode: Encode,
) -> tuple[FloatArray, BoolArray]:
    """Find each threshold on the scale of the column that a pipeline maps to it.

    Returns the largest number before the encoded column passes the threshold, and whether it falls as the number
    grows.
    """
    edge = forest.threshold[nodes]
    falls = np.zeros(len(nodes), dtype=np.bool_)
    # The column of the number that each node splits, none for states and for what nothing moves.
    columns = np.full(len(axes) + 1, LEAF)
    for position, axis in enumerate(axes):
        if isinstance(axis, NumberAxis) and not axis.by_state:
            columns[position] = axis.column
            domain = axis.domain
    axis_of = owner[forest.feature[nodes]]
    column = columns[axis_of]
    sought = np.flatnonzero(column >= 0)
    if sought.size:
        # Each threshold of a feature once.
        feature = forest.feature[nodes[sought]]
        keys = np.stack([column[sought], feature, edge[sought].view(np.int64)])
        keys, place = np.unique(keys, axis=1, return_inverse=True)
        place = place.ravel()
        column, feature, bits = keys
        threshold = bits.view(np.float64)
        low, high = _ends(column, X, domain)
        edges, falling = _bisect(column, feature, threshold, X, encode, low, high)
        edge[sought] = edges[place]
        falls[sought] = falling[place]
    return edge, falls


def turning_edges(turns: Sequence[Turn], axis: NumberAxis, X: FloatArray) -> FloatArray:
    """Return the last number of a raw column before each turn of the steps behind it."""
    found = []
    for before in {turn.before for turn in turns}:
        held = [turn for turn in turns if turn.before == before]
        column = np.full(len(held), axis.column)
        place = np.array([turn.place for turn in held])
        threshold = np.array([turn.threshold for turn in held])
        low, high = _ends(column, X, axis.domain)
        encode = functools.partial(_matrix_before, before)
        edges, _ = _bisect(column, place, threshold, X, encode, low, high)
        found.append(edges)
    return np.concatenate(found)


def _matrix_before(before: Before, points: FloatArray) -> FloatArray:
    return matrix_of(before(points))


def edges_in_pieces(
    forest: Forest, nodes: IntArray, axis: PieceAxis, X: FloatArray, encode: Encode
) -> FloatArray:
    """Return where the encoded columns pass the thresholds of nodes within the pieces of an axis.

    A column is monotone in a piece, so that it passes a threshold at most once there: the two ends say whether.
    """
    splits = np.stack([forest.feature[nodes], forest.threshold[nodes].view(np.int64)])
    # Many nodes share a threshold, and each that is sought costs calls of the pipeline.
    feature, bits = np.unique(splits, axis=1)
    threshold = bits.view(np.float64)
    one = np.array([axis.column])
    low, high = _ends(one, X, axis.domain)
    cuts = axis.edges[(axis.edges > low) & (axis.edges < high)]
    first = np.concatenate([low, axis.after(cuts)])
    last = np.append(cuts, high)
    # A cut at the last number before an end leaves no number behind it.
    holds_some = first <= last
    first = first[holds_some]
    last = last[holds_some]

    def is_below(numbers: FloatArray) -> BoolArray:
        points = np.repeat(X[:1], len(numbers), axis=0)
        points[:, axis.column] = numbers
        with np.errstate(all="ignore"):
            encoded = encode(points)
        return np.asarray(encoded[:, feature] <= threshold)

    piece, split = np.nonzero(is_below(first) != is_below(last))
    if not piece.size:
        return np.zeros(0)
    column = np.full(len(piece), axis.column)
    edges, _ = _bisect(
        column, feature[split], threshold[split], X, encode, first[piece], last[piece]
    )
    return edges


def _ends(column: IntArray, X: FloatArray, domain: Domain) -> tuple[FloatArray, FloatArray]:
    """Return numbers below, and above, all places that the numbers of columns may take."""
    smallest, largest = ranges(X)
    width = np.maximum(largest - smallest, 1.0)
    lowest = np.maximum(domain.lower, -_FARTHEST) - width
    highest = np.minimum(domain.upper, _FARTHEST) + width
    low = np.minimum(smallest - 16.0 * width, lowest)
    high = np.maximum(largest + 16.0 * width, highest)
    return low[column], high[column]


# Floats in their order are integers (see `_ordered`), so bisection between two of them ends at neighbours: the edge
# is exact, after at most 64 steps for all thresholds together. Each step asks the pipeline once, which takes more
# time than all else; scalers are linear, so the search starts near where a line has the edge, and takes about ten.
def _bisect(
    column: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    X: FloatArray,
    encode: Encode,
    low: FloatArray,
    high: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """Return the last number between two before each encoded feature passes its threshold, and whether it falls."""
    # One row of the probe holds a number for each column at once: the k-th threshold of each.
    first = np.searchsorted(column, column)
    slot = np.arange(len(column)) - first
    n_slots = slot.max() + 1
    base = np.repeat(X[:1], n_slots, axis=0)

    def encoded(order: IntArray) -> FloatArray:
        probe = base.copy()
        probe[slot, column] = _floats(order)
        # Far off, a logarithm has no value and an exponential none that fits.
        with np.errstate(all="ignore"):
            return np.asarray(encode(probe)[slot, feature])

    # A logarithm has no value there; it is only taken where numbers stay within those of the rows.
    no_value = np.isnan(encoded(_ordered(low)))
    smallest, _ = ranges(X)
    low = np.where(no_value, np.maximum(smallest[column], low), low)
    a = _ordered(low)
    b = _ordered(high)
    first_value = encoded(a)
    last_value = encoded(b)
    at_low = first_value <= threshold
    never = at_low == (last_value <= threshold)
    b = np.where(never, a + 1, b)
    # Neighbours of the edge of a line through both ends; where the step is no line, they only halve what is left.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        fraction = (threshold - first_value) / (last_value - first_value)
        guess = low + fraction * (high - low)
    for side in (-_NEAR, _NEAR):
        near = np.clip(_ordered(guess + side * (high - low)), a, b)
        same = (encoded(near) <= threshold) == at_low
        a = np.where(same, near, a)
        b = np.where(same, b, near)
    while (b > a + 1).any():
        middle = (a >> 1) + (b >> 1) + (a & b & 1)
        same = (encoded(middle) <= threshold) == at_low
        a = np.where(same, middle, a)
        b = np.where(same, b, middle)
    # A threshold out of sight: all numbers are on one side.
    one_side = np.where(at_low, np.inf, -np.inf)
    edges = np.where(never, one_side, _floats(a))
    return edges, ~at_low & ~never


def _ordered(numbers: FloatArray) -> IntArray:
    """Return integers in the order of the floats, neighbours for neighbours."""
    bits = (numbers + 0.0).view(np.int64)
    return np.where(bits < 0, _SMALLEST - bits, bits)


def _floats(order: IntArray) -> FloatArray:
    """Return the floats of these integers."""
    bits = np.where(order < 0, _SMALLEST - order, order)
    return bits.view(np.float64)


def ranges(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest number of each column; 0 where all are missing."""
    empty = np.isnan(X).all(axis=0)
    held = np.where(empty, 0.0, X)
    smallest = np.nanmin(held, axis=0)
    largest = np.nanmax(held, axis=0)
    return smallest, largest
