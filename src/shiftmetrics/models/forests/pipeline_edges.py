"""Edges of cells before a pipeline: the number of a column at which a step of it passes a threshold, by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain.domain import Domain
from shiftmetrics.models.forests.axes import Axis, NumberAxis
from shiftmetrics.models.forests.forest import LEAF, Forest

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
        if isinstance(axis, NumberAxis):
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
        edges, falling = _bisect(column, feature, threshold, X, encode, domain)
        edge[sought] = edges[place]
        falls[sought] = falling[place]
    return edge, falls


# Floats in their order are integers (see `_ordered`), so bisection between two of them ends at neighbours: the edge
# is exact, after at most 64 steps for all thresholds together. Each step asks the pipeline once, which takes more
# time than all else; scalers are linear, so the search starts near where a line has the edge, and takes about ten.
def _bisect(
    column: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    X: FloatArray,
    encode: Encode,
    domain: Domain,
) -> tuple[FloatArray, BoolArray]:
    """Return the last number before each encoded feature passes its threshold, and whether it falls."""
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

    # From below all places that a number may take to above them.
    smallest, largest = ranges(X)
    width = np.maximum(largest - smallest, 1.0)
    lowest = np.maximum(domain.lower, -_FARTHEST) - width
    highest = np.minimum(domain.upper, _FARTHEST) + width
    low = np.minimum(smallest - 16.0 * width, lowest)[column]
    high = np.maximum(largest + 16.0 * width, highest)[column]
    # A logarithm has no value there; it is only taken where numbers stay within those of the rows.
    no_value = np.isnan(encoded(_ordered(low)))
    low = np.where(no_value, smallest[column], low)
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
