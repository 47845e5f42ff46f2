"""From a model, possibly a pipeline, to its forest on the axes of the columns that may change; checked on rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain.domain import Domain, differs
from shiftmetrics.models.forests.axes import (
    Axis,
    NumberAxis,
    PieceAxis,
    StateAxis,
    axes_without_edges,
)
from shiftmetrics.models.forests.forest import LEAF, Forest
from shiftmetrics.models.forests.grid import Grid
from shiftmetrics.models.forests.pipeline_edges import (
    Encode,
    edges_before,
    edges_in_pieces,
    ranges,
    turning_edges,
)
from shiftmetrics.models.forests.reading import category_codes, forest_of
from shiftmetrics.models.forests.same_model import reads_the_model
from shiftmetrics.models.reading.estimators import last_step, steps_of
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.reading.outputs import matrix_of, matrix_with_gaps
from shiftmetrics.models.reading.pieces import Turn
from shiftmetrics.models.reading.rules import Cut
from shiftmetrics.models.reading.steps import (
    absent_are_missing,
    is_monotone,
    needs_range,
    turns_before,
)

_PROBES = 12
_MOST_PIECES = 2000  # cells of numbers in no order, which take more time than others


def grid_of_problem(problem: ModelProblem) -> Grid | None:
    """Return the forest of a model on the axes of its domain.

    None where the model is not made of trees, where a step before them mixes columns, or where the losses of trees
    and model differ on a few rows.
    """
    forest = forest_of(last_step(problem.model))
    if forest is None:
        return None
    if not is_monotone(problem):
        return None
    # Log losses at a probability of 0 have to end where those of the model do.
    forest = replace(forest, clip=problem.clip)
    if problem.cut is not None:
        forest = _cut_at(forest, problem.cut)
    encode = _encoder(problem)
    turns = turns_before(problem)
    grid = grid_of(forest, problem.domain, problem.codes, encode, turns)
    if grid is None:
        return None
    # A subclass may override what its trees say, and their bounds would not be its own.
    if not reads_the_model(problem, grid):
        name = type(problem.rule.model).__name__
        problem.note(
            f"The trees read from this {name} do not give what its predict says at some points, so that changes are "
            "searched through its outputs: an upper bound."
        )
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
    model = problem.model
    table = problem.table
    steps = getattr(model, "steps", None)
    to_codes = category_codes(last_step(model))
    only_numbers = all(column.kind == "number" for column in table.columns)
    if not steps and to_codes is None and only_numbers:
        return None
    before = list(steps_of(model))
    as_matrix = matrix_of
    if absent_are_missing(problem):
        as_matrix = matrix_with_gaps
    # Where a logarithm is taken no number goes below those of the rows, nor does the search for edges.
    lowest = None
    if needs_range(model):
        smallest, _ = ranges(problem.codes)
        lowest = np.where(problem.domain.categorical, -np.inf, smallest)

    def encode(points: FloatArray) -> FloatArray:
        if lowest is not None:
            points = np.maximum(points, lowest)
        rows = table.decode(points)
        for step in before:
            rows = step.transform(rows)
        if to_codes is not None:
            rows = to_codes(rows)
        return as_matrix(rows)

    return encode


def grid_of(
    forest: Forest,
    domain: Domain,
    X: FloatArray,
    encode: Encode | None = None,
    turns: Mapping[int, Sequence[Turn]] | None = None,
) -> Grid | None:
    """Cut the axes of a domain at the thresholds of a forest.

    Parameters
    ----------
    forest : Forest
        The trees.
    domain : Domain
        What may change in the rows.
    X : array of shape (n_samples, n_features)
        The rows, coded.
    encode : callable, optional
        The steps of a pipeline before the trees. Each of its columns must depend on one axis alone, and on a number
        monotonically between its turns.
    turns : dict of int to sequence of Turn, optional
        Where the steps turn, by the column.

    Returns
    -------
    Grid or None
        None where a column depends on several axes: there a change along one axis is not one in the inputs of the
        trees. Nor where categories are split on a column that changes as a number, or integer steps begin between
        integers.
    """
    axes = axes_without_edges(domain, X)
    stepping = X[:, domain.numeric & domain.integer]
    stepping = stepping[~np.isnan(stepping)]
    if (stepping != np.rint(stepping)).any():
        return None
    for position, axis in enumerate(axes):
        if isinstance(axis, NumberAxis) and turns and axis.column in turns:
            axes[position] = _in_pieces(axis, turning_edges(turns[axis.column], axis, X))
    inner = np.flatnonzero(forest.feature >= 0)
    owner = _owners(forest, axes, X, encode)
    if owner is None:
        return None
    axis_of = np.full(len(forest.feature), LEAF)
    axis_of[inner] = owner[forest.feature[inner]]
    if forest.subset is not None:
        at_sets = axis_of[forest.subset >= 0]
        for place in np.unique(at_sets):
            if place != LEAF and not axes[place].by_state:
                return None
    # Where an encoded column falls as the number grows, the children of a node change sides
    # (`swapped`).
    edge = forest.threshold.copy()
    swapped = np.zeros(len(edge), dtype=np.bool_)
    if encode is not None:
        edge[inner], swapped[inner] = edges_before(forest, inner, owner, axes, X, encode)
    # The cells of numbers lie between the edges; a node sends those up to its own edge left.
    cut = np.zeros(len(edge))
    missing_left = forest.missing_left.copy()
    for position, axis in enumerate(axes):
        nodes = np.flatnonzero(axis_of == position)
        if isinstance(axis, PieceAxis) and encode is not None:
            more = edges_in_pieces(forest, nodes, axis, X, encode)
            axes[position] = _in_pieces(axis, np.concatenate([axis.edges, more]))
        if axis.by_state:
            continue
        assert isinstance(axis, NumberAxis)
        edge[nodes] = axis.grounded(edge[nodes])
        edges = np.unique(edge[nodes])
        edges = edges[np.isfinite(edges)]
        axes[position] = replace(axis, edges=edges)
        cut[nodes] = np.searchsorted(edges, edge[nodes], side="left")
        # An edge below all numbers sends every row right.
        below_all = edge[nodes] == -np.inf
        cut[nodes[below_all]] = -1.0
        if encode is not None and axis.some_missing:
            without = X[:1].copy()
            without[:, axis.column] = np.nan
            inputs = encode(without)[0]
            encoded = inputs[forest.feature[nodes]]
            missing_left[nodes] = forest.goes_left(nodes, encoded)
    n_pieces = sum(axis.n_cells for axis in axes if isinstance(axis, PieceAxis))
    if n_pieces > _MOST_PIECES:
        return None
    subset, left_categories = _states_left(forest, axes, axis_of, X, encode)
    # Nodes that split what nothing changes are passed over: all rows go the same way.
    fixed = inner[axis_of[inner] < 0]
    first = X[:1]
    if encode is not None and fixed.size:
        first = encode(first)
    held = first[0, forest.feature[fixed]]
    goes_left = forest.goes_left(fixed, held)
    passed = np.arange(len(edge))
    passed[fixed] = np.where(goes_left, forest.left[fixed], forest.right[fixed])
    # Chains of such nodes are followed to their ends, twice as far in each round.
    while (passed != passed[passed]).any():
        passed = passed[passed]
    left = passed[forest.left]
    right = passed[forest.right]
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


def _in_pieces(axis: NumberAxis, edges: FloatArray) -> PieceAxis:
    """Return a column of numbers cut at places between which the steps before the trees are monotone."""
    held = axis.grounded(edges)
    held = np.unique(held[np.isfinite(held)])
    if not held.size:
        held = np.zeros(1)  # one at least, which stands for nothing
    return PieceAxis(axis.column, held, axis.domain, axis.may_change, axis.some_missing)


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
    some = moved.any(axis=0)
    owner[used] = np.where(some, moved.argmax(axis=0), LEAF)
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
    splits_states = np.isin(axis_of, list(at_states))
    nodes = np.flatnonzero(splits_states)
    subset = np.full(len(axis_of), LEAF)
    subset[nodes] = np.arange(len(nodes))
    width = max(len(states) for states in at_states.values())
    n_sets = max(len(nodes), 1)
    left = np.zeros((n_sets, width), dtype=np.bool_)
    for row, node in enumerate(nodes.tolist()):
        encoded = at_states[int(axis_of[node])]
        states = encoded[:, forest.feature[node]]
        repeated = np.full(len(states), node)
        left[row, : len(states)] = forest.goes_left(repeated, states)
    return subset, left


def _dependence(axes: Sequence[Axis], X: FloatArray, encode: Encode) -> BoolArray:
    """Return which encoded columns change with each axis, of shape (n_axes, n_encoded), by trying a few rows."""
    # Some rows, and one that misses each column where any does.
    missing = np.isnan(X)
    probes = np.linspace(0, len(X) - 1, _PROBES).astype(int)
    some_missing = missing.any(axis=0)
    incomplete = missing[:, some_missing].argmax(axis=0)
    chosen = np.unique(np.concatenate([probes, incomplete]))
    rows = X[chosen]
    smallest, largest = ranges(X)
    tried = [rows]
    for axis in axes:
        if isinstance(axis, PieceAxis):
            # All pieces, each row in two of them.
            n_rounds = -(-axis.n_cells // len(rows))
            changed = np.tile(rows, (2 * n_rounds, 1))
            place = np.arange(len(changed))
            held = axis.samples(rows[:1])[:, axis.column]
            state = (place + place // (len(rows) * n_rounds)) % axis.n_cells
            changed[:, axis.column] = held[state]
        elif isinstance(axis, StateAxis):
            # Every state, since its encoded column may be that of no other; each row in two states, one of which is
            # not that of the row.
            n_rounds = -(-axis.n_cells // len(rows))  # rounded up
            size = len(rows) * n_rounds
            place = np.arange(2 * size)
            changed = rows[place % len(rows)]
            state = (place + place // size) % axis.n_cells
            axis.flip.put(changed, state)
        else:
            changed = rows.copy()
            low = smallest[axis.column]
            high = largest[axis.column]
            room = 0.1 * (high - low) + 1.0
            spread = np.linspace(low - room, high + room, len(rows))
            same = spread == rows[:, axis.column]
            changed[:, axis.column] = np.where(same, high + 2.0, spread)
            # In the other order too: rows may be sorted by this column, and a step of bins then see no change.
            reverse = rows.copy()
            reverse[:, axis.column] = spread[::-1]
            changed = np.concatenate([changed, reverse])
            if axis.some_missing:
                without = rows.copy()
                without[:, axis.column] = np.nan
                changed = np.concatenate([changed, without])
        tried.append(changed)
    # In one call, since pipelines take as long for a few rows as for many.
    before, *after = _encoded_parts(tried, encode)
    moved = []
    for part in after:
        place = np.arange(len(part)) % len(rows)
        changed = differs(part, before[place])
        moved.append(changed.any(axis=0))
    return np.stack(moved)


def _encoded_parts(parts: Sequence[FloatArray], encode: Encode) -> list[FloatArray]:
    """Return points encoded in one call, as long as the parts they came in."""
    ends = np.cumsum([len(part) for part in parts])
    encoded = encode(np.concatenate(parts))
    return np.split(encoded, ends[:-1])


def _encoded_states(
    axes: Sequence[Axis], X: FloatArray, encode: Encode | None
) -> dict[int, FloatArray]:
    """Return the inputs of the trees at each state, by the position of the axis."""
    points = {}
    for position, axis in enumerate(axes):
        if isinstance(axis, StateAxis | PieceAxis):
            points[position] = axis.samples(X[:1])
    if encode is None or not points:
        return points
    encoded = _encoded_parts(list(points.values()), encode)
    return dict(zip(points, encoded, strict=True))
