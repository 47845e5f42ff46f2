"""Build a `Domain` from a coded table and the options of `Perturbation`: costs, bounds, frozen columns, categories.

What the table holds is a sum over its rows, `Summary`, wherever they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, is_in_chunks
from shiftmetrics._core.blocks import map_reduce, row_blocks
from shiftmetrics._core.placement import placed
from shiftmetrics._core.validation import check_number, check_vector, describe, first_few
from shiftmetrics.models.domain import Domain, Flip, positions_of
from shiftmetrics.models.table import CodedTable

_RANDOM_ROWS = (
    2.0  # mean squared distance of two random rows in a column, in its standard deviations
)
_Pattern = tuple[str, IntArray, FloatArray]
"""Name, columns and states of what flips."""
_Held = dict[tuple[float, ...], tuple[int, int]]
"""What some columns hold together, inf for a missing cell: in how many rows, and the first of them."""


@dataclass(frozen=True, eq=False)
class Summary:
    """What rows say of their columns; the summary of two samples together is the sum of theirs.

    Attributes
    ----------
    count, mean, squares, low, high : array of shape (n_features,)
        Of the cells that are not missing: number, mean, squared differences from it, least, highest.
    whole : bool array of shape (n_features,)
        Whether they are integers.
    held : tuple of dict
        Of the columns that flip together.
    """

    count: FloatArray
    mean: FloatArray
    squares: FloatArray
    low: FloatArray
    high: FloatArray
    whole: BoolArray
    held: tuple[_Held, ...]

    @classmethod
    def of(cls, codes: Any, groups: Sequence[IntArray]) -> Self:
        """Sum up coded rows, with the columns of each group that flips."""
        blocks = placed(row_blocks(len(codes), 8 * codes.shape[1]), [codes])
        return map_reduce(lambda rows: cls._of_block(codes[rows], groups, rows.start), blocks)

    @classmethod
    def _of_block(cls, codes: FloatArray, groups: Sequence[IntArray], first_row: int) -> Self:
        missing = np.isnan(codes)
        count = (~missing).sum(axis=0).astype(np.float64)
        mean = np.where(missing, 0.0, codes).sum(axis=0) / np.maximum(count, 1.0)
        squares = np.square(np.where(missing, 0.0, codes - mean)).sum(axis=0)
        low = np.where(missing, math.inf, codes).min(axis=0)
        high = np.where(missing, -math.inf, codes).max(axis=0)
        whole = ((codes == np.rint(codes)) | missing).all(axis=0)
        held = tuple(_held(codes[:, columns], first_row) for columns in groups)
        return cls(count, mean, squares, low, high, whole, held)

    def __add__(self, other: Self) -> Self:
        # Means and squared differences of two samples together, by Chan, Golub and LeVeque's update.
        count = self.count + other.count
        gap = other.mean - self.mean
        share = other.count / np.maximum(count, 1.0)
        held = []
        for mine, theirs in zip(self.held, other.held, strict=True):
            joined = dict(mine)
            for cells, (times, first) in theirs.items():
                known, start = mine.get(cells, (0, first))
                joined[cells] = known + times, min(start, first)
            held.append(joined)
        return type(self)(
            count=count,
            mean=self.mean + share * gap,
            squares=self.squares + other.squares + gap * gap * self.count * share,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            whole=self.whole & other.whole,
            held=tuple(held),
        )


def _held(cells: FloatArray, first_row: int) -> _Held:
    """Return what rows hold in some columns: how many times, and in which row first."""
    filled = np.where(np.isnan(cells), math.inf, cells)  # NaN differs from itself
    if filled.shape[1] == 1:
        filled = filled[:, 0]
    different, first, count = np.unique(filled, axis=0, return_index=True, return_counts=True)
    different = different.reshape(len(different), -1)
    held: _Held = {}
    for k, values in enumerate(different.tolist()):
        held[tuple(values)] = (int(count[k]), int(first[k]) + first_row)
    return held


def domain_of(table: CodedTable, perturbation: Any, *, everything: bool = False) -> Domain:
    """Return where the rows of a table may move, and at what distance.

    Scales and ranges are those of the cells that are not missing.

    Parameters
    ----------
    table : CodedTable
        Coded rows.
    perturbation : Perturbation
        The options.
    everything : bool, default False
        Whether ``moves.features`` restricts nothing.

    Raises
    ------
    ValueError
        If a column is unknown, a cost is not positive, bounds are in the wrong order, groups overlap, or a row holds
        none of the patterns of its group.
    """
    names = table.names
    # What flips together: columns of categories, and one-hot groups with the patterns that they hold.
    groups = list(_groups(names, table.n_categories, perturbation.one_hot))
    summary = Summary.of(table.codes, [columns for _, columns in groups])
    patterns = [
        (
            name,
            columns,
            _states(held, [names[column] for column in columns], table.n_categories, columns),
        )
        for (name, columns), held in zip(groups, summary.held, strict=True)
    ]
    flipping: BoolArray = np.zeros(len(names), dtype=np.bool_)
    empty = np.asarray(summary.count == 0.0)
    for (_, columns, _), held in zip(patterns, summary.held, strict=True):
        if flipping[columns].any():
            some = first_few([names[column] for column in columns])
            raise ValueError(
                describe("one_hot", "groups of distinct columns", f"{some} in two of them")
            )
        flipping[columns] = True
        empty[columns] = all(math.inf in cells for cells in held)
    # Numbers: the unit is the move that costs 1, a price in its place 1 / unit^2.
    prices = _prices(perturbation.cost, names)
    scale = perturbation.cost if isinstance(perturbation.cost, str) else "std"
    unit, constant = _units(summary, table.codes, scale)
    unit[flipping] = 1.0
    movable: BoolArray = np.ones(len(names), dtype=np.bool_)
    priced = np.array([name in prices for name in names])
    for column in np.flatnonzero(priced & ~flipping).tolist():
        price = prices.pop(names[column])
        movable[column] = math.isfinite(price)
        if movable[column]:
            unit[column] = 1.0 / math.sqrt(price)
    # Categories: by default two random rows are a squared distance of 2 apart on average, as in a number.
    flips = []
    for (name, columns, states), held in zip(patterns, summary.held, strict=True):
        counts = np.array([count for cells, (count, _) in held.items() if math.inf not in cells])
        shares = counts / max(counts.sum(), 1)
        chance = 1.0 - float(np.square(shares).sum())
        if scale in ("range", "unit"):
            default = 1.0
        elif chance > 0.0:
            default = _RANDOM_ROWS / chance
        else:
            default = math.inf
        price = _price_of_flip(prices, name, [names[column] for column in columns], default)
        movable[columns] = math.isfinite(price)
        flips.append(Flip(name, columns, states, math.sqrt(price), _with_missing_cells(held)))
    if prices:
        expected = "for columns of X or groups of one_hot"
        raise ValueError(describe("cost", expected, f"unknown {first_few(prices)}"))
    lower, upper = _bounds(table, summary, perturbation.bounds, flipping)
    domain = Domain(
        names=names,
        unit=unit,
        mutable=movable,
        lower=lower,
        upper=upper,
        integer=np.zeros(len(names), dtype=np.bool_),
        flips=tuple(flips),
    )
    features = perturbation.features
    if isinstance(features, Mapping):
        features = [column for group in features.values() for column in group]
    if features is not None and not everything:
        movable &= domain.mask(features)
    movable &= ~domain.mask(perturbation.immutable or (), "immutable")
    if perturbation.integer == "auto":
        integer = summary.whole & (table.row_shape is None)
    else:
        integer = domain.mask(perturbation.integer or (), "integer")
    # A constant column within the range of the data has nowhere to go.
    pinned = constant & (lower == upper)
    domain = replace(domain, mutable=movable & ~empty & ~pinned, integer=integer & ~flipping)
    unscaled = constant & ~priced & domain.numeric
    return replace(domain, warnings=tuple(_warnings(domain, summary, unscaled, movable & empty)))


def _prices(cost: Any, names: Sequence[str]) -> dict[str, float]:
    """Return the given costs by the name of a column, or of a group."""
    if cost is None or isinstance(cost, str):
        return {}
    if not isinstance(cost, Mapping):
        vector = check_vector(cost, "cost", length=len(names), low=0.0, allow_inf=True)
        if (vector == 0.0).any():
            name = names[int(np.argmax(vector == 0.0))]
            raise ValueError(
                describe("cost", "positive (inf freezes a column)", f"0 for column {name!r}")
            )
        return dict(zip(names, vector.tolist(), strict=True))
    prices = {}
    for key, price in cost.items():
        name = key  # of a column, or of a group
        if not isinstance(key, str):
            name = names[int(positions_of(key, names, "cost")[0])]
        prices[name] = check_number(price, f"cost[{key!r}]", low=0.0, open_low=True, allow_inf=True)
    return prices


def _price_of_flip(
    prices: dict[str, float], name: str, columns: list[str], default: float
) -> float:
    """Take the cost of a flip, given for the group or for its columns, out of ``prices``."""
    given = {prices.pop(key) for key in (name, *columns) if key in prices}
    if len(given) > 1:
        raise ValueError(describe("cost", f"one number for the group {name!r}", f"{sorted(given)}"))
    return given.pop() if given else default


def _units(summary: Summary, codes: Any, scale: str) -> tuple[FloatArray, BoolArray]:
    """Return the move that costs 1 in each column, and which columns are constant where they are not missing."""
    if scale == "unit":
        return np.ones(len(summary.mean)), np.zeros(len(summary.mean), dtype=np.bool_)
    spread = np.where(summary.count > 0.0, summary.high - summary.low, 0.0)
    if scale == "std":
        unit = np.sqrt(summary.squares / np.maximum(summary.count, 1.0))
    elif scale == "range":
        unit = spread.copy()
    elif is_in_chunks(codes):
        remedy = "Give the ranges as numbers, 1 / iqr**2 by column."
        raise ValueError(describe("cost", "other than 'iqr' for out-of-core data", "'iqr'", remedy))
    else:
        held = np.where(summary.count > 0.0, codes, 0.0)
        unit = np.subtract(*np.nanpercentile(held, [75.0, 25.0], axis=0))
    constant = (spread == 0.0) | ~(unit > 0.0)
    unit[constant] = 1.0
    return unit, constant


def _with_missing_cells(held: _Held) -> FloatArray | None:
    """Return what the rows that miss a cell hold, or None where there are none."""
    different = np.array(sorted(cells for cells in held if math.inf in cells))
    if len(different):
        return np.where(np.isinf(different), np.nan, different)
    return None


def _groups(
    names: Sequence[str], categories: Mapping[int, int], one_hot: Any
) -> Iterator[tuple[str, IntArray]]:
    """Yield name and columns of everything that flips: columns of categories, then one-hot groups."""
    for place in categories:
        yield names[place], np.array([place])
    named = (
        one_hot.items()
        if isinstance(one_hot, Mapping)
        else [(None, group) for group in one_hot or ()]
    )
    for name, group in named:
        columns = positions_of(group, names, "one_hot")
        of_group = [names[column] for column in columns]
        if len(columns) < 2 or len(set(of_group)) < len(columns):
            raise ValueError(
                describe("one_hot", "groups of two or more distinct columns", first_few(of_group))
            )
        yield name or _common_name(of_group), columns


def _states(
    held: _Held, names: list[str], categories: Mapping[int, int], columns: IntArray
) -> FloatArray:
    """Return what columns that flip together may hold."""
    if len(columns) == 1:
        return np.arange(categories[int(columns[0])], dtype=np.float64)[:, None]
    known = [cells for cells in held if math.inf not in cells]
    wrong = [cells for cells in known if not (set(cells) <= {0.0, 1.0} and sum(cells) <= 1.0)]
    if wrong:
        first = min(wrong, key=lambda cells: held[cells][1])
        raise ValueError(
            describe(
                "one_hot", f"groups with a single 1 among zeros ({first_few(names)})",
                f"{list(first)} at row {held[first][1]}", "Give the columns before they are scaled.",
            )
        )  # fmt: skip
    states = np.eye(len(columns))
    dropped = (0.0,) * len(columns)  # as encoders that drop a category write it
    if dropped in known:
        return np.concatenate([states, [dropped]])
    return states


def _common_name(names: Sequence[str]) -> str:
    """Return what the names of a group share, such as ``Region`` of ``Region_North`` and ``Region_South``."""
    letters = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(first for first, *_ in letters).rstrip("_-=: ") or "+".join(names[:2])


def _bounds(
    table: CodedTable, summary: Summary, bounds: Any, flipping: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest value of each column; a dict leaves the range of the data to the others."""
    names = table.names
    lower = np.full(len(names), -math.inf)
    upper = np.full(len(names), math.inf)
    if bounds is None:
        return lower, upper
    if isinstance(bounds, str | Mapping):  # "data"
        lower = np.where(summary.count > 0.0, summary.low, 0.0)
        upper = np.where(summary.count > 0.0, summary.high, 0.0)
        if table.row_shape is not None:
            lower[:] = lower.min()
            upper[:] = upper.max()
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
            raise ValueError(describe(argument, "a pair (lowest, highest)", value=pair)) from error
        low = -math.inf if low is None else check_number(low, argument, allow_inf=True)
        high = math.inf if high is None else check_number(high, argument, allow_inf=True)
        if not low <= high:
            raise ValueError(describe(argument, "a pair with lowest <= highest", value=pair))
        lower[place] = low
        upper[place] = high
    return lower, upper


def _warnings(
    domain: Domain, summary: Summary, constant: BoolArray, empty: BoolArray
) -> Iterator[str]:
    def listed(mask: BoolArray) -> str:
        return first_few([domain.names[column] for column in np.flatnonzero(mask)])

    n_constant = int(constant.sum())
    if n_constant:
        some = f"{n_constant:,} of {domain.n_features:,} columns are constant"
        yield (
            f"{some if n_constant > 1 else 'A column is constant'}, so that a move by one unit costs 1 there: "
            f"{listed(constant)}. Give their cost, or make them immutable."
        )
    outside = ((summary.low < domain.lower) | (summary.high > domain.upper)) & domain.numeric
    if outside.any():
        yield f"Some rows stand outside the bounds of {listed(outside)}: they may stay or move back."
    if empty.any():
        yield f"Missing in every row, and so left as they are: columns {listed(empty)}."
    if domain.is_fixed:
        yield "No column may move, so only the weights of the rows change (as with theta1=inf)."
