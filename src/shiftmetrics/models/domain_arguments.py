"""Build a `Domain` from a coded table and the options of `Moves`: costs, bounds, frozen columns, categories."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.validation import check_number, check_vector, describe, first_few
from shiftmetrics.models.domain import Domain, Flip, positions_of
from shiftmetrics.models.table import Table

_RANDOM_ROWS = 2.0  # mean squared distance of two random rows in a column, in its standard deviations
_Pattern = tuple[str, IntArray, FloatArray]
"""Name, columns and states of what flips."""


def domain_of(table: Table, moves: Any, *, everything: bool = False) -> Domain:
    """Return where the rows of a table may move, and at what distance.

    Scales and ranges are those of the cells that are not missing.

    Parameters
    ----------
    table : Table
        Coded rows.
    moves : Moves
        The options.
    everything : bool, default False
        Whether ``moves.features`` restricts nothing.

    Raises
    ------
    ValueError
        If a column is unknown, a cost is not positive, bounds are in the wrong order, groups overlap, or a row holds
        none of the patterns of its group.
    """
    codes, names = table.codes, table.names
    patterns = list(_patterns(codes, names, table.n_categories, moves.one_hot))
    flipping: BoolArray = np.zeros(len(names), dtype=np.bool_)
    empty = np.asarray(np.isnan(codes).all(axis=0))
    for _, columns, _ in patterns:
        if flipping[columns].any():
            some = first_few([names[column] for column in columns])
            raise ValueError(describe("one_hot", "groups of distinct columns", f"{some} in two of them"))
        flipping[columns] = True
        empty[columns] = np.isnan(codes[:, columns]).any(axis=1).all()
    prices, scale = _prices(moves.cost, names), moves.cost if isinstance(moves.cost, str) else "std"
    unit, constant = _units(codes, scale)
    unit[flipping] = 1.0
    movable: BoolArray = np.ones(len(names), dtype=np.bool_)
    priced = np.array([name in prices for name in names])
    for column in np.flatnonzero(priced & ~flipping).tolist():
        price = prices.pop(names[column])
        movable[column] = math.isfinite(price)
        unit[column] = 1.0 / math.sqrt(price) if math.isfinite(price) else unit[column]
    flips = []
    for name, columns, states in patterns:
        flip = Flip(name, columns, states, 1.0, _with_missing_cells(codes[:, columns]))
        chance = flip.chance_to_differ(codes)
        default = 1.0 if scale in ("range", "unit") else _RANDOM_ROWS / chance if chance > 0.0 else math.inf
        price = _price_of_flip(prices, name, [names[column] for column in columns], default)
        movable[columns] = math.isfinite(price)
        flips.append(replace(flip, distance=math.sqrt(price)))
    if prices:
        expected = "for columns of X or groups of one_hot"
        raise ValueError(describe("cost", expected, f"unknown {first_few(prices)}"))
    lower, upper = _bounds(table, moves.bounds, flipping)
    domain = Domain(
        names=names,
        unit=unit,
        movable=movable,
        lower=lower,
        upper=upper,
        integer=np.zeros(len(names), dtype=np.bool_),
        flips=tuple(flips),
        label_flip=moves.label_flip,
    )
    features = moves.features
    if isinstance(features, Mapping):
        features = [column for group in features.values() for column in group]
    if features is not None and not everything:
        movable &= domain.mask(features)
    movable &= ~domain.mask(moves.immutable or (), "immutable")
    if moves.integer == "auto":
        integer = ((codes == np.rint(codes)) | np.isnan(codes)).all(axis=0) & (table.row_shape is None)
    else:
        integer = domain.mask(moves.integer or (), "integer")
    pinned = constant & (lower == upper)
    domain = replace(domain, movable=movable & ~empty & ~pinned, integer=integer & ~flipping)
    unscaled = constant & ~priced & domain.sliding
    return replace(domain, warnings=tuple(_warnings(domain, codes, unscaled, movable & empty)))


def _prices(cost: Any, names: Sequence[str]) -> dict[str, float]:
    """Return the given costs by the name of a column, or of a group."""
    if cost is None or isinstance(cost, str):
        return {}
    if not isinstance(cost, Mapping):
        vector = check_vector(cost, "cost", length=len(names), low=0.0, allow_inf=True)
        if (vector == 0.0).any():
            name = names[int(np.argmax(vector == 0.0))]
            raise ValueError(describe("cost", "positive (inf freezes a column)", f"0 for column {name!r}"))
        return dict(zip(names, vector.tolist(), strict=True))
    return {
        key if isinstance(key, str) else names[int(positions_of(key, names, "cost")[0])]: check_number(
            price, f"cost[{key!r}]", low=0.0, open_low=True, allow_inf=True
        )
        for key, price in cost.items()
    }


def _price_of_flip(prices: dict[str, float], name: str, columns: list[str], default: float) -> float:
    """Take the cost of a flip, given for the group or for its columns, out of ``prices``."""
    given = {prices.pop(key) for key in (name, *columns) if key in prices}
    if len(given) > 1:
        raise ValueError(describe("cost", f"one number for the group {name!r}", f"{sorted(given)}"))
    return given.pop() if given else default


def _units(codes: FloatArray, scale: str) -> tuple[FloatArray, BoolArray]:
    """Return the move that costs 1 in each column, and which columns are constant where they are not missing."""
    if scale == "unit":
        return np.ones(codes.shape[1]), np.zeros(codes.shape[1], dtype=np.bool_)
    held = _without_empty(codes)
    spread = np.nanmax(held, axis=0) - np.nanmin(held, axis=0)
    if scale == "std":
        unit = np.nanstd(held, axis=0) if np.isnan(held).any() else held.std(axis=0)
    elif scale == "iqr":
        unit = np.subtract(*np.nanpercentile(held, [75.0, 25.0], axis=0))
    else:
        unit = spread.copy()
    constant = (spread == 0.0) | ~(unit > 0.0)
    unit[constant] = 1.0
    return unit, constant


def _without_empty(codes: FloatArray) -> FloatArray:
    """Return the rows with 0 in columns whose cells are all missing."""
    return np.where(np.isnan(codes).all(axis=0), 0.0, codes)


def _with_missing_cells(held: FloatArray) -> FloatArray | None:
    """Return the different rows that miss a cell, or None where there are none."""
    rows = held[np.isnan(held).any(axis=1)]
    if not len(rows):
        return None
    different = np.unique(np.where(np.isnan(rows), np.inf, rows), axis=0)  # NaN differs from itself
    return np.where(np.isinf(different), np.nan, different)


def _patterns(
    codes: FloatArray, names: Sequence[str], categories: Mapping[int, int], one_hot: Any
) -> Iterator[_Pattern]:
    """Yield everything that flips: columns of categories, then one-hot groups."""
    for place, count in categories.items():
        yield names[place], np.array([place]), np.arange(count, dtype=np.float64)[:, None]
    named = one_hot.items() if isinstance(one_hot, Mapping) else [(None, group) for group in one_hot or ()]
    for name, group in named:
        columns = positions_of(group, names, "one_hot")
        of_group = [names[column] for column in columns]
        if len(columns) < 2 or len(set(of_group)) < len(columns):
            raise ValueError(
                describe("one_hot", "groups of two or more distinct columns", first_few(of_group))
            )
        states = np.eye(len(columns))
        held = codes[:, columns]
        known = ~np.isnan(held).any(axis=1)
        if (known & ~held.any(axis=1)).any():  # as encoders that drop a category write it
            states = np.concatenate([states, np.zeros((1, len(columns)))])
        wrong = known & ~(((held == 0.0) | (held == 1.0)).all(axis=1) & (held.sum(axis=1) <= 1.0))
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                describe(
                    "one_hot", f"groups with a single 1 among zeros ({first_few(of_group)})",
                    f"{held[row].tolist()} at row {row}", "Give the columns before they are scaled.",
                )
            )  # fmt: skip
        yield name or _common_name(of_group), columns, states


def _common_name(names: Sequence[str]) -> str:
    """Return what the names of a group share, such as ``Region`` of ``Region_North`` and ``Region_South``."""
    letters = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(first for first, *_ in letters).rstrip("_-=: ") or "+".join(names[:2])


def _bounds(table: Table, bounds: Any, flipping: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest value of each column; a dict leaves the range of the data to the others."""
    names = table.names
    lower, upper = np.full(len(names), -math.inf), np.full(len(names), math.inf)
    if bounds is None:
        return lower, upper
    if isinstance(bounds, str | Mapping):  # "data"
        held = _without_empty(table.codes)
        lower, upper = np.nanmin(held, axis=0), np.nanmax(held, axis=0)
        if table.row_shape is not None:
            lower[:], upper[:] = lower.min(), upper.max()
    if isinstance(bounds, str):
        return lower, upper
    if isinstance(bounds, Mapping):
        pairs = {int(positions_of(key, names, "bounds")[0]): pair for key, pair in bounds.items()}
    else:
        pairs = dict.fromkeys(np.flatnonzero(~flipping).tolist(), bounds)
    for place, pair in pairs.items():
        argument = f"bounds[{names[place]!r}]" if isinstance(bounds, Mapping) else "bounds"
        if flipping[place]:
            raise ValueError(describe(argument, "of a column of numbers", "a column of categories"))
        try:
            low, high = pair
        except (TypeError, ValueError) as error:
            raise ValueError(describe(argument, "a pair (lowest, highest)", repr(pair))) from error
        low = -math.inf if low is None else check_number(low, argument, allow_inf=True)
        high = math.inf if high is None else check_number(high, argument, allow_inf=True)
        if not low <= high:
            raise ValueError(describe(argument, "a pair with lowest <= highest", repr(pair)))
        lower[place], upper[place] = low, high
    return lower, upper


def _warnings(domain: Domain, codes: FloatArray, constant: BoolArray, empty: BoolArray) -> Iterator[str]:
    def listed(mask: BoolArray) -> str:
        return first_few([domain.names[column] for column in np.flatnonzero(mask)])

    n_constant = int(constant.sum())
    if n_constant:
        some = f"{n_constant:,} of {domain.n_features:,} columns are constant"
        yield (
            f"{some if n_constant > 1 else 'A column is constant'}, so that a move by one unit costs 1 there: "
            f"{listed(constant)}. Give their cost, or make them immutable."
        )
    outside = ((codes < domain.lower) | (codes > domain.upper)) & domain.sliding
    if outside.any():
        n_rows, columns = int(outside.any(axis=1).sum()), np.asarray(outside.any(axis=0))
        yield f"{n_rows} rows stand outside the bounds of {listed(columns)}: they may stay or move back."
    if empty.any():
        yield f"Missing in every row, and so left as they are: columns {listed(empty)}."
    if domain.immovable:
        yield "No column may move, so only the weights of the rows change (as with theta1=inf)."
