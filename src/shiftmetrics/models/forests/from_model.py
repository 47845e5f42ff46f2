"""From a model, possibly a pipeline, to its forest on the axes of the columns that users move; checked on rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, is_table
from shiftmetrics.models.domain import Domain, differs
from shiftmetrics.models.forests.axes import Axis, NumberAxis, StateAxis, axes_without_edges
from shiftmetrics.models.forests.forest import LEAF, Forest
from shiftmetrics.models.forests.grid import Grid
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
    forest = forest_of(last_step(problem.model))
    if forest is None:
        return None
    forest = replace(forest, clip=problem.clip)
    if problem.cut is not None:
        forest = _cut_at(forest, problem.cut)
    grid = grid_of(forest, problem.domain, problem.codes, _encoder(problem))
    if grid is None or not _agrees(problem, grid):
        return None
    return grid


def _cut_at(forest: Forest, cut: Cut) -> Forest:
    """Return the forest whose second class leads from a cut of its probabilities, or scores, on."""
    if forest.link == "probability":
        lead = 2.0 * cut.value - 1.0
    elif cut.response == "decision_function":
        lead = cut.logit
    else:
        lead = cut.logit / forest.slope
    return replace(forest, base=forest.base - [0.0, lead])


def _encoder(problem: ModelProblem) -> Encode | None:
    """Return the map from coded rows to the inputs of the trees; None if it is the identity."""
    model, table = problem.model, problem.table
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
        if hasattr(rows, "toarray"):
            rows = rows.toarray()
        return np.asarray(rows, dtype=np.float64)

    return encode


def grid_of(
    forest: Forest,
    domain: Domain,
    X: FloatArray,
    encode: Encode | None = None,
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
        where categories are split on a column that moves as a number, or integer steps begin between integers.
    """
    axes = axes_without_edges(domain, X)
    stepping = X[:, domain.numeric & domain.integer]
    if (stepping != np.rint(stepping))[~np.isnan(stepping)].any():
        return None
    inner = np.flatnonzero(forest.feature >= 0)
    owner = _owners(forest, axes, X, encode)
    if owner is None:
        return None
    axis_of = np.full(len(forest.feature), LEAF)
    axis_of[inner] = owner[forest.feature[inner]]
    if forest.subset is not None:
        by_category = axis_of[forest.subset >= 0]
        if any(isinstance(axes[place], NumberAxis) for place in set(by_category.tolist()) - {LEAF}):
            return None
    edge = forest.threshold.copy()
    swapped = np.zeros(len(edge), dtype=np.bool_)
    if encode is not None:
        edge[inner], swapped[inner] = _edges_before(forest, inner, owner, axes, X, encode)
    # The cells of numbers lie between the edges; a node sends those up to its own edge left.
    cut = np.zeros(len(edge))
    missing_left = forest.missing_left.copy()
    for position, axis in enumerate(axes):
        nodes = np.flatnonzero(axis_of == position)
        if isinstance(axis, StateAxis):
            continue
        if axis.is_whole:  # between integers nothing stands
            edge[nodes] = np.floor(edge[nodes])
        edges = np.unique(edge[nodes])
        edges = edges[np.isfinite(edges)]
        axes[position] = replace(axis, edges=edges)
        cut[nodes] = np.searchsorted(edges, edge[nodes], side="left")
        cut[nodes[edge[nodes] == -np.inf]] = -1.0
        if encode is not None and axis.some_missing:
            without = X[:1].copy()
            without[:, axis.column] = np.nan
            missing_left[nodes] = forest.goes_left(nodes, encode(without)[0, forest.feature[nodes]])
    subset, left_categories = _states_left(forest, axes, axis_of, X, encode)
    # Nodes that split what nothing moves are passed over: all rows go the same way.
    fixed = inner[axis_of[inner] < 0]
    first = X[:1] if encode is None or not fixed.size else encode(X[:1])
    passed = np.arange(len(edge))
    goes_left = forest.goes_left(fixed, first[0, forest.feature[fixed]])
    passed[fixed] = np.where(goes_left, forest.left[fixed], forest.right[fixed])
    while (passed != passed[passed]).any():
        passed = passed[passed]
    left, right = passed[forest.left], passed[forest.right]
    on_cells = replace(
        forest,
        feature=axis_of,
        threshold=cut,
        missing_left=missing_left ^ swapped,
        left=np.where(swapped, right, left),
        right=np.where(swapped, left, right),
        roots=passed[forest.roots],
        n_features=len(axes),
        subset=subset,
        left_categories=left_categories,
    )
    return Grid(tuple(axes), on_cells)


def _owners(
    forest: Forest,
    axes: Sequence[Axis],
    X: FloatArray,
    encode: Encode | None,
) -> IntArray | None:
    """Return the axis that each column of the trees depends on; None where one depends on several."""
    owner = np.full(forest.n_features, LEAF)
    if encode is None:
        for position, axis in enumerate(axes):
            owner[axis.columns] = position
        return owner
    used = np.unique(forest.feature[forest.feature >= 0])
    moved = _dependence(axes, X, encode)[:, used]
    if (moved.sum(axis=0) > 1).any():
        return None
    owner[used] = np.where(moved.any(axis=0), moved.argmax(axis=0), LEAF)
    return owner


def _states_left(
    forest: Forest,
    axes: Sequence[Axis],
    axis_of: IntArray,
    X: FloatArray,
    encode: Encode | None,
) -> tuple[IntArray | None, BoolArray | None]:
    """Return which nodes split states, and which states each of these sends left."""
    at_states = _encoded_states(axes, X, encode)
    if not at_states:
        return None, None
    nodes = np.flatnonzero(np.isin(axis_of, list(at_states)))
    subset = np.full(len(axis_of), LEAF)
    subset[nodes] = np.arange(len(nodes))
    width = max(len(states) for states in at_states.values())
    left = np.zeros((max(len(nodes), 1), width), dtype=np.bool_)
    for row, node in enumerate(nodes.tolist()):
        states = at_states[int(axis_of[node])][:, forest.feature[node]]
        left[row, : len(states)] = forest.goes_left(np.full(len(states), node), states)
    return subset, left


def _dependence(axes: Sequence[Axis], X: FloatArray, encode: Encode) -> BoolArray:
    """Return which encoded columns change with each axis, of shape (n_axes, n_encoded), by trying a few rows."""
    missing = np.isnan(X)
    probes = np.linspace(0, len(X) - 1, _PROBES).astype(int)
    incomplete = missing[:, missing.any(axis=0)].argmax(axis=0)
    rows = X[np.unique(np.concatenate([probes, incomplete]))]
    smallest, largest = _ranges(X)
    tried = [rows]
    for axis in axes:
        if isinstance(axis, StateAxis):
            # Every state, since its encoded column may be that of no other; each row in two states, one of which is
            # not that of the row.
            size = len(rows) * -(-axis.n_cells // len(rows))
            place = np.arange(2 * size)
            changed = rows[place % len(rows)]
            axis.flip.put(changed, (place + place // size) % axis.n_cells)
        else:
            changed = rows.copy()
            low, high = smallest[axis.column], largest[axis.column]
            room = 0.1 * (high - low) + 1.0
            spread = np.linspace(low - room, high + room, len(rows))
            changed[:, axis.column] = np.where(spread == rows[:, axis.column], high + 2.0, spread)
            if axis.some_missing:
                changed = np.concatenate([changed, rows])
                changed[len(rows) :, axis.column] = np.nan
        tried.append(changed)
    # In one call: pipelines take as long for a few rows as for many.
    ends = np.cumsum([len(part) for part in tried])
    encoded = np.split(encode(np.concatenate(tried)), ends[:-1])
    before = encoded[0]
    moved = [differs(part, before[np.arange(len(part)) % len(rows)]) for part in encoded[1:]]
    return np.stack([changed.any(axis=0) for changed in moved])


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
    """Find each threshold on the scale of the column that a pipeline maps to it.

    Returns the largest number before the encoded column passes the threshold, and whether it falls as the number
    grows.
    """
    edge = forest.threshold[nodes]
    falls = np.zeros(len(nodes), dtype=np.bool_)
    columns = [axis.column if isinstance(axis, NumberAxis) else LEAF for axis in axes]
    column = np.array([*columns, LEAF])[owner[forest.feature[nodes]]]
    sought = np.flatnonzero(column >= 0)
    if sought.size:
        feature = forest.feature[nodes[sought]]
        keys = np.stack([column[sought], feature, edge[sought].view(np.int64)])
        (column, feature, bits), place = np.unique(keys, axis=1, return_inverse=True)
        edges, falling = _bisect(column, feature, bits.view(np.float64), X, encode)
        edge[sought] = edges[place.ravel()]
        falls[sought] = falling[place.ravel()]
    return edge, falls


# Floats in their order are integers (see `_ordered`), so bisection between two of them ends at neighbours: the edge
# is exact. Most pipelines pass a column on as it is, or scale it; these two guesses save most of the 64 steps.
def _bisect(
    column: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    X: FloatArray,
    encode: Encode,
) -> tuple[FloatArray, BoolArray]:
    """Return the last number before each encoded feature passes its threshold, and whether it falls."""
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
    low = low - 16.0 * width
    high = high + 16.0 * width
    first, last = encoded(low), encoded(high)
    at_low, at_high = first <= threshold, last <= threshold
    never = at_low == at_high
    a, b = _ordered(low), _ordered(high)
    # Passed on as it is: then the threshold itself is the edge.
    inside = (low < threshold) & (threshold < high)
    raw = np.where(inside, threshold, low)
    as_it_is = inside & (is_left(raw) != is_left(np.nextafter(raw, np.inf)))
    a = np.where(as_it_is, _ordered(raw), a)
    b = np.where(as_it_is, _ordered(raw) + 1, b)
    # Scaled: then the edge is beside the place between both ends where a straight line has it.
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = np.clip(np.nan_to_num((threshold - first) / (last - first)), 0.0, 1.0)
    line = _ordered(low + fraction * (high - low))
    for beside in _BESIDE:
        left, right = np.maximum(line - beside, a), np.minimum(line + beside, b)
        found = (is_left(_floats(left)) == at_low) & (is_left(_floats(right)) == at_high)
        a = np.where(found, left, a)
        b = np.where(found, right, b)
    b = np.where(never, a + 1, b)
    while (b > a + 1).any():
        middle = (a >> 1) + (b >> 1) + (a & b & 1)
        same = is_left(_floats(middle)) == at_low
        a = np.where(same, middle, a)
        b = np.where(same, b, middle)
    # A threshold out of sight: all numbers are on one side.
    one_side = np.where(at_low, np.inf, -np.inf)
    return np.where(never, one_side, _floats(a)), ~at_low & ~never


def _ordered(numbers: FloatArray) -> IntArray:
    """Return integers in the order of the floats, neighbours for neighbours."""
    bits = (numbers + 0.0).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _floats(order: IntArray) -> FloatArray:
    """Return the floats of these integers."""
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
    points = problem.codes[rows].copy()
    cells = grid.cells(points)
    for position, axis in enumerate(grid.axes):
        if not axis.movable:
            continue
        target = rng.integers(axis.n_cells, size=n_rows)
        reachable = np.isfinite(axis.costs(points))[np.arange(n_rows), target]
        change = np.flatnonzero(reachable & (rng.random(n_rows) < 0.5))
        if change.size:
            part = points[change]
            axis.put(part, part.copy(), target[change])
            points[change] = part
            cells[change, position] = target[change]
    uncounted = replace(problem, count=type(problem.count)())
    expected = uncounted.losses(points, rows)
    y = problem.y[rows]
    outputs = grid.outputs(cells)
    if problem.loss == "zero_one":
        margins = grid.forest.margins(outputs, y)
        clear = np.abs(margins) > grid.forest.tolerance
        return bool(((margins < 0.0) == (expected > 0.0))[clear].all())
    losses = grid.forest.losses(outputs, y, problem.loss)
    return bool(np.allclose(losses, expected, rtol=_LOSS_ERROR, atol=_LOSS_ERROR))
