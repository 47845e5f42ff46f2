"""From what users say of their columns to a `Domain`: costs, bounds, frozen columns, whole steps, categories."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.validation import (
    check_choice,
    check_matrix,
    check_number,
    check_vector,
    describe,
    first_few,
)
from shiftmetrics.models.domain import Domain, Flip, positions_of

SCALES = ("std", "iqr", "range", "unit")
FLIP_COST = 1.0  # as much as a move by one standard deviation


def domain_of(
    X: Any,
    *,
    names: Sequence[str] | None = None,
    categories: Mapping[int, int] | None = None,
    one_hot: Any = None,
    features: Any = None,
    cost: Any = None,
    bounds: Any = None,
    immutable: Any = None,
    integer: Any = None,
    label_flip: float = math.inf,
) -> Domain:
    """Return where the rows of a numeric matrix may move, and at what distance.

    Parameters
    ----------
    X : array_like of shape (n_samples, n_features)
        Rows under evaluation; categories stand as 0, 1, ... A cell that is NaN is missing and stays so, and a group
        of ``one_hot`` with such a cell stays as it is; scales and ranges are those of the cells that are there.
    names : sequence of str, optional
        Names of the columns; ``x0``, ``x1``, ... by default. All other arguments take names or positions.
    categories : dict of int to int, optional
        For the position of each column of categories, how many there are.
    one_hot : sequence of sequences, or dict of str to sequence, optional
        Groups of columns (with their names) of which one is 1 and the others 0. They move from one such pattern to
        another. Rows of zeros, as encoders that drop a category write them, are one more pattern if there are any.
    features : sequence, optional
        The columns that may move, all by default.
    cost : {"std", "iqr", "range", "unit"}, dict, or array of shape (n_features,), optional
        What a move costs in the squared distance. A name is the move that costs 1: one standard deviation (ddof 0)
        of the column, the default; its interquartile range; its range; or one unit of the column. Numbers are the
        cost of a move by one unit of the column (inf freezes it); a dict may leave columns to the default. For
        categories it is the cost of a flip, by default 1.
    bounds : "data", pair, or dict of pairs, optional
        Lowest and highest value that numbers may move to (None or inf: no bound), for all or by column; "data" is
        the range of each column.
    immutable : sequence, optional
        Columns that may not move.
    integer : sequence, optional
        Columns of numbers that move by whole steps.
    label_flip : float, default inf
        Distance of a change of the label; inf forbids it.

    Returns
    -------
    Domain

    Raises
    ------
    ValueError
        If a column is unknown, a cost is negative, zero or NaN, bounds are in the wrong order, groups overlap, or a
        row holds none of the patterns of its group.

    Examples
    --------
    >>> from shiftmetrics.models.domain_arguments import domain_of
    >>> rows = [[20.0, 0.0], [40.0, 1.0]]
    >>> domain = domain_of(rows, names=["age", "smoker"], categories={1: 2}, immutable=["smoker"])
    >>> domain.unit.tolist()
    [10.0, 1.0]
    >>> import numpy as np
    >>> domain.distances(np.array([[40.0, 0.0]]), np.array([[20.0, 0.0]]))  # two standard deviations
    array([2.])
    """
    codes = np.asarray(check_matrix(X, "X", allow_nan=True), dtype=np.float64)
    names = tuple(f"x{place}" for place in range(codes.shape[1])) if names is None else tuple(names)
    if len(names) != codes.shape[1]:
        raise ValueError(describe("names", f"of length {codes.shape[1]}", f"length {len(names)}"))
    patterns = list(_patterns(codes, names, categories or {}, one_hot))
    flipping = np.zeros(len(names), dtype=np.bool_)
    gone: BoolArray = np.asarray(np.isnan(codes).all(axis=0))
    for _, columns, _ in patterns:
        gone[columns] = np.isnan(codes[:, columns]).any(axis=1).all()
        if flipping[columns].any():
            raise ValueError(
                describe("one_hot", "groups of distinct columns", f"{_listed(names, columns)} in two of them")
            )
        flipping[columns] = True
    prices = _Prices(codes, names, cost, flipping)
    movable = np.ones(len(names), dtype=np.bool_)
    if features is not None:
        movable[:] = False
        movable[_with_groups(positions_of(features, names, "features"), patterns)] = True
    if immutable is not None:
        movable[_with_groups(positions_of(immutable, names, "immutable"), patterns)] = False
    movable &= ~prices.frozen
    lost = movable & gone
    movable &= ~gone
    whole = np.zeros(len(names), dtype=np.bool_)
    if integer is not None:
        whole[positions_of(integer, names, "integer")] = True
        whole &= ~flipping
    lower, upper = _bounds(codes, names, bounds, flipping)
    flips = []
    for name, columns, states in patterns:
        price = prices.of_flip(name, columns)
        if math.isinf(price):
            movable[columns] = False
        distance = math.sqrt(price) if math.isfinite(price) else math.inf
        flips.append(Flip(name, columns, states, distance, _with_missing_cells(codes[:, columns])))
    label_flip = check_number(label_flip, "label_flip", low=0.0, open_low=True, allow_inf=True)
    domain = Domain(
        names=names, unit=prices.unit, movable=movable, lower=lower, upper=upper, integer=whole,
        flips=tuple(flips), label_flip=label_flip,
    )  # fmt: skip
    warnings = tuple(_warnings(domain, codes, prices, lost))
    return Domain(**{**vars(domain), "warnings": warnings})


class _Prices:
    """What a move of each column costs."""

    def __init__(self, codes: FloatArray, names: Sequence[str], cost: Any, flipping: BoolArray) -> None:
        self.names, self.default = names, np.ones(len(names), dtype=np.bool_)
        scale = check_choice(cost, "cost", SCALES) if isinstance(cost, str) else "std"
        self.unit, self.constant = _units(codes, scale)
        self.unit[flipping] = 1.0
        self.constant &= ~flipping
        self.given: dict[str, float] = {}
        self.frozen = np.zeros(len(names), dtype=np.bool_)
        if cost is None or isinstance(cost, str):
            return
        if isinstance(cost, Mapping):
            priced = {}
            for key, value in cost.items():
                price = check_number(value, f"cost[{key!r}]", low=0.0, open_low=True, allow_inf=True)
                if isinstance(key, str) and key not in names:
                    self.given[key] = price  # perhaps the name of a group
                else:
                    priced[int(positions_of(key, names, "cost")[0])] = price
        else:
            vector = check_vector(cost, "cost", length=len(names), low=0.0, allow_inf=True)
            if (vector == 0.0).any():
                name = names[int(np.argmax(vector == 0.0))]
                raise ValueError(
                    describe("cost", "positive (inf freezes a column)", f"0 for column {name!r}")
                )
            priced = dict(enumerate(vector.tolist()))
        for place, price in priced.items():
            self.default[place] = False
            if flipping[place]:
                self.given[names[place]] = price
            elif math.isinf(price):
                self.frozen[place] = True
            else:
                self.unit[place] = 1.0 / math.sqrt(price)

    def of_flip(self, name: str, columns: IntArray) -> float:
        """Return the cost of a flip, given for the group or one of its columns."""
        prices = {
            self.given.pop(key) for key in [name, *(self.names[c] for c in columns)] if key in self.given
        }
        if len(prices) > 1:
            raise ValueError(describe("cost", f"one number for the group {name!r}", f"{sorted(prices)}"))
        return prices.pop() if prices else FLIP_COST


def _units(codes: FloatArray, scale: str) -> tuple[FloatArray, BoolArray]:
    """Return the move that costs 1 in each column, and which columns are constant where they are not missing."""
    if scale == "unit":
        return np.ones(codes.shape[1]), np.zeros(codes.shape[1], dtype=np.bool_)
    codes = _without_empty(codes)
    spread = np.nanmax(codes, axis=0) - np.nanmin(codes, axis=0)
    if scale == "std":
        unit = np.nanstd(codes, axis=0) if np.isnan(codes).any() else codes.std(axis=0)
    elif scale == "iqr":
        unit = np.subtract(*np.nanpercentile(codes, [75.0, 25.0], axis=0))
    else:
        unit = spread.copy()
    constant = (spread == 0.0) | ~(unit > 0.0)
    unit[constant] = 1.0
    return unit, constant


def _without_empty(codes: FloatArray) -> FloatArray:
    """Return the rows with 0 in columns that hold nothing at all."""
    empty = np.isnan(codes).all(axis=0)
    return np.where(empty, 0.0, codes) if empty.any() else codes


def _with_missing_cells(held: FloatArray) -> FloatArray | None:
    """Return the different rows that miss a cell, or None where there are none."""
    missing = np.isnan(held)
    rows = missing.any(axis=1)
    if not rows.any():
        return None
    held = np.unique(np.where(missing, np.inf, held)[rows], axis=0)
    return np.where(np.isinf(held), np.nan, held)


def _patterns(
    codes: FloatArray, names: Sequence[str], categories: Mapping[int, int], one_hot: Any
) -> Iterator[tuple[str, IntArray, FloatArray]]:
    """Yield name, columns and states of everything that flips."""
    for place, count in categories.items():
        yield names[place], np.array([place]), np.arange(count, dtype=np.float64)[:, None]
    if one_hot is None:
        return
    named = one_hot.items() if isinstance(one_hot, Mapping) else ((None, group) for group in one_hot)
    for name, group in named:
        columns = positions_of(group, names, "one_hot")
        if len(columns) < 2 or len(set(columns.tolist())) < len(columns):
            raise ValueError(
                describe("one_hot", "groups of two or more distinct columns", f"{_listed(names, columns)}")
            )
        states = np.eye(len(columns))
        held = codes[:, columns]
        known = ~np.isnan(held).any(axis=1)
        nothing = known & ~held.any(axis=1)
        if nothing.any():
            states = np.concatenate([states, np.zeros((1, len(columns)))])
        wrong = known & ~(((held == 0.0) | (held == 1.0)).all(axis=1) & (held.sum(axis=1) <= 1.0))
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                describe(
                    "one_hot", f"groups with a single 1 among zeros ({_listed(names, columns)})",
                    f"{held[row].tolist()} at row {row}", "Give the columns before they are scaled.",
                )
            )  # fmt: skip
        yield name or _common_name([names[c] for c in columns]), columns, states


def _common_name(names: Sequence[str]) -> str:
    """Return what the names of a group share, such as ``Region`` of ``Region_North`` and ``Region_South``."""
    first, last = min(names), max(names)
    shared = next(
        (place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    return first[:shared].rstrip("_-=: ") or "+".join(names[:2])


def _with_groups(positions: IntArray, patterns: Sequence[tuple[str, IntArray, FloatArray]]) -> IntArray:
    """Return positions with all columns of every group that has one of them: a group moves as a whole."""
    chosen = set(positions.tolist())
    for _, columns, _ in patterns:
        if chosen & set(columns.tolist()):
            chosen |= set(columns.tolist())
    return np.array(sorted(chosen), dtype=np.int64)


def _bounds(
    codes: FloatArray, names: Sequence[str], bounds: Any, flipping: BoolArray
) -> tuple[FloatArray, FloatArray]:
    lower, upper = np.full(len(names), -math.inf), np.full(len(names), math.inf)
    if bounds is None:
        return lower, upper
    if isinstance(bounds, str):
        check_choice(bounds, "bounds", ("data",))
        held = _without_empty(codes)
        return np.nanmin(held, axis=0), np.nanmax(held, axis=0)
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


def _warnings(domain: Domain, codes: FloatArray, prices: _Prices, lost: BoolArray) -> Iterator[str]:
    if prices.given:
        raise ValueError(
            describe(
                "cost",
                "for columns of X or groups of one_hot",
                f"unknown {', '.join(map(repr, prices.given))}",
            )
        )
    constant = np.flatnonzero(prices.constant & prices.default & domain.sliding)
    if constant.size:
        some = f"{constant.size:,} of {domain.n_features:,} columns are constant"
        yield (
            f"{some if constant.size > 1 else 'A column is constant'}, so that a move by one unit costs 1 there: "
            f"{_listed(domain.names, constant)}. Give their cost, or make them immutable."
        )
    outside = ((codes < domain.lower) | (codes > domain.upper)) & domain.sliding
    if outside.any():
        yield (
            f"{int(outside.any(axis=1).sum())} rows stand outside the bounds of "
            f"{_listed(domain.names, np.flatnonzero(outside.any(axis=0)))}: they may stay or move back."
        )
    if lost.any():
        yield f"Missing in every row, and so left as they are: columns {_listed(domain.names, np.flatnonzero(lost))}."
    if domain.immovable:
        yield "No column may move, so only the weights of the rows change (as with theta1=inf)."


def _listed(names: Sequence[str], places: IntArray) -> str:
    return first_few(names[place] for place in places)
