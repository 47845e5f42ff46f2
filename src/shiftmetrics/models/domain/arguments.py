"""Build a `Domain` from a coded table and the options of `Perturbation`: costs, bounds, fixed columns, categories.

What the table holds is a sum over its samples, `Summary`, wherever they are.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import map_reduce, row_blocks
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.placement import placed
from shiftmetrics._core.validation import check_number, first_few
from shiftmetrics.models.domain.domain import Domain, Flip
from shiftmetrics.models.domain.perturbation import positions_of
from shiftmetrics.models.domain.table import CodedTable

_RANDOM_PAIR = 2.0
"""Mean squared distance of two random samples in a column of numbers, in its standard deviations."""
_Cells = Counter[tuple[float, ...]]
"""In how many samples some columns hold the same together, inf for a missing cell."""


@dataclass(frozen=True, eq=False)
class Summary:
    """What samples say of their columns; the summary of two parts together is the sum of theirs.

    Attributes
    ----------
    count, mean, squares, low, high : array of shape (n_features,)
        Of the cells that are not missing: number, mean, squared differences from it, least, highest.
    whole : bool array of shape (n_features,)
        Whether they are integers.
    held : tuple of Counter
        Of the columns that flip together.
    """

    count: FloatArray
    mean: FloatArray
    squares: FloatArray
    low: FloatArray
    high: FloatArray
    whole: BoolArray
    held: tuple[_Cells, ...]

    @classmethod
    def of(cls, codes: Any, groups: Sequence[IntArray]) -> Self:
        """Sum up coded samples, with the columns of each group that flips."""
        row_bytes = 8 * codes.shape[1]
        blocks = placed(row_blocks(len(codes), row_bytes), [codes])
        return map_reduce(lambda rows: cls._of_block(codes[rows], groups), blocks)

    @classmethod
    def _of_block(cls, codes: FloatArray, groups: Sequence[IntArray]) -> Self:
        missing = np.isnan(codes)
        present = ~missing
        count = present.sum(axis=0).astype(np.float64)
        total = np.where(missing, 0.0, codes).sum(axis=0)
        mean = total / np.maximum(count, 1.0)
        deviations = np.where(missing, 0.0, codes - mean)
        whole = (codes == np.rint(codes)) | missing
        return cls(
            count=count,
            mean=mean,
            squares=np.square(deviations).sum(axis=0),
            low=np.where(missing, math.inf, codes).min(axis=0),
            high=np.where(missing, -math.inf, codes).max(axis=0),
            whole=whole.all(axis=0),
            held=tuple(_held(codes[:, columns]) for columns in groups),
        )

    def __add__(self, other: Self) -> Self:
        # Means and squared differences of two samples together, by Chan, Golub and LeVeque's update.
        count = self.count + other.count
        gap = other.mean - self.mean
        part = other.count / np.maximum(count, 1.0)
        return type(self)(
            count=count,
            mean=self.mean + part * gap,
            squares=self.squares + other.squares + gap * gap * self.count * part,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            whole=self.whole & other.whole,
            held=tuple(map(operator.add, self.held, other.held)),
        )


def _held(cells: FloatArray) -> _Cells:
    """Return what samples hold in some columns, and how many do."""
    filled = np.where(np.isnan(cells), math.inf, cells)  # NaN differs from itself
    if filled.shape[1] == 1:  # many times as fast
        filled = filled[:, 0]
    different, count = np.unique(filled, axis=0, return_counts=True)
    rows = different.reshape(len(different), -1).tolist()
    times = count.tolist()
    together = map(tuple, rows)
    return Counter(dict(zip(together, times, strict=True)))


def domain_of(table: CodedTable, perturbation: Any, *, everything: bool = False) -> Domain:
    """Return where the samples of a table may go, and at what distance.

    Scales and ranges are those of the cells that are not missing.

    Parameters
    ----------
    table : CodedTable
        Coded samples.
    perturbation : Perturbation
        The options.
    everything : bool, default False
        Whether ``perturbation.features`` restricts nothing.

    Raises
    ------
    ValueError
        If a column is unknown, a cost is not positive, bounds are in the wrong order, groups overlap, or a sample
        holds none of the patterns of its group.
    """
    names = table.names
    groups = _groups(names, list(table.categories), perturbation.one_hot)
    categorical: BoolArray = np.zeros(len(names), dtype=np.bool_)
    for _, columns in groups:
        categorical[columns] = True
    summary = Summary.of(table.codes, [columns for _, columns in groups])
    empty = np.asarray(summary.count == 0.0)
    # Numbers: the unit is the change that costs 1, and a price 1 / unit^2.
    scale = "std"
    if isinstance(perturbation.cost, str):
        scale = perturbation.cost
    prices = _prices(perturbation.cost, names)
    unit, constant = _units(summary, scale)
    unit[categorical] = 1.0
    mutable: BoolArray = np.ones(len(names), dtype=np.bool_)
    for column in np.flatnonzero(~categorical).tolist():
        price = prices.pop(names[column], None)
        if price is not None:
            constant[column] = False
            mutable[column] = math.isfinite(price)
            unit[column] = 1.0
            if mutable[column]:
                unit[column] = 1.0 / math.sqrt(price)
    # Categories.
    flips = []
    for (name, columns), held in zip(groups, summary.held, strict=True):
        flip = _flip(table, name, columns, held, scale, prices)
        mutable[columns] = math.isfinite(flip.distance)
        empty[columns] = all(math.inf in cells for cells in held)
        flips.append(flip)
    if prices:
        expected = "for columns of X or groups of one_hot"
        raise ArgumentValueError("cost", expected, f"unknown {first_few(prices)}")
    lower, upper = _bounds(table, summary, perturbation.bounds, categorical)
    domain = Domain(
        names=names,
        unit=unit,
        mutable=mutable,
        lower=lower,
        upper=upper,
        integer=summary.whole & (table.row_shape is None),
        flips=tuple(flips),
        narrow=table.narrow,
    )
    # What the options fix, and what steps by integers.
    features = perturbation.features
    if isinstance(features, Mapping):
        named_groups = features.values()
        features = list(itertools.chain.from_iterable(named_groups))
    if features is not None and not everything:
        mutable &= domain.mask(features)
    mutable &= ~domain.mask(perturbation.immutable or (), "immutable")
    integer = domain.integer
    if perturbation.integer != "auto":
        integer = domain.mask(perturbation.integer or (), "integer")
    # A constant column within the range of the data has nowhere to go.
    confined = constant & (lower == upper)
    free = mutable & ~empty & ~confined
    integer = integer & ~categorical
    domain = replace(domain, mutable=free, integer=integer)
    unscaled = constant & domain.numeric
    unheld = mutable & empty
    warnings = _warnings(domain, summary, unscaled, unheld)
    return replace(domain, warnings=tuple(warnings))


# Categories.


def _groups(
    names: Sequence[str], categories: Sequence[int], one_hot: Any
) -> list[tuple[str, IntArray]]:
    """Return name and columns of everything that flips: columns of categories, then one-hot groups."""
    groups = [(names[place], np.array([place])) for place in categories]
    taken = set(categories)
    for group in one_hot or ():
        columns = positions_of(group, names, "one_hot")
        of_group = [names[column] for column in columns]
        if len(columns) < 2 or len(set(of_group)) < len(columns):
            expected = "groups of two or more distinct columns"
            raise ArgumentValueError("one_hot", expected, first_few(of_group))
        of_this = set(columns.tolist())
        if taken & of_this:
            got = f"{first_few(of_group)} in two of them"
            raise ArgumentValueError("one_hot", "groups of distinct columns", got)
        taken |= of_this
        groups.append((_common_name(of_group), columns))
    return groups


def _common_name(names: Sequence[str]) -> str:
    """Return the common part of the names of a group, such as ``Region`` of ``Region_North`` and ``Region_South``."""
    columns = zip(*names, strict=False)  # of letters
    same = []
    for letters in columns:
        if len(set(letters)) > 1:
            break
        same.append(letters[0])
    shared = "".join(same)
    shared = shared.rstrip("_-=: ")
    if len(shared) < 2:  # such as the x of x0, x1
        return "+".join(names[:2])
    return shared


def _flip(
    table: CodedTable,
    name: str,
    columns: IntArray,
    held: _Cells,
    scale: str,
    prices: dict[str, float],
) -> Flip:
    """Return what columns that flip together may hold, at their distance; takes its price from ``prices``."""
    names = [table.names[column] for column in columns]
    known = {cells: times for cells, times in held.items() if math.inf not in cells}
    given = set()
    for key in (name, *names):
        if key in prices:
            given.add(prices.pop(key))
    if len(given) > 1:
        expected = f"one number for the group {name!r}"
        raise ArgumentValueError("cost", expected, f"{sorted(given)}")
    if given:
        price = given.pop()
    elif scale in ("range", "unit"):
        price = 1.0
    else:
        # Two random samples are as far apart on average as in a column of numbers.
        counts = np.array(list(known.values()))
        fractions = counts / max(counts.sum(), 1)
        chance = 1.0 - float(fractions @ fractions)
        price = math.inf
        if chance > 0.0:
            price = _RANDOM_PAIR / chance
    if len(columns) == 1:
        n_states = len(table.categories[int(columns[0])])
        states = np.arange(n_states, dtype=np.float64)[:, None]
    else:
        states = _one_hot_states(names, known)
    # Samples that miss a cell are stuck in what they hold.
    stuck = None
    incomplete = sorted(held.keys() - known.keys())
    if incomplete:
        stuck = np.array(incomplete)
        stuck[np.isinf(stuck)] = np.nan
    return Flip(name, columns, states, math.sqrt(price), stuck)


def _one_hot_states(names: list[str], known: Mapping[tuple[float, ...], int]) -> FloatArray:
    """Return the states of a one-hot group: one for each column, and none where an encoder drops a category."""
    for cells, times in known.items():
        if not set(cells) <= {0.0, 1.0} or sum(cells) > 1.0:
            expected = f"groups with a single 1 among zeros ({first_few(names)})"
            got = f"{list(cells)} in {times} rows"
            remedy = "Give the columns before they are scaled."
            raise ArgumentValueError("one_hot", expected, got, remedy)
    states = np.eye(len(names))
    dropped = (0.0,) * len(names)
    if dropped in known:
        return np.concatenate([states, [dropped]])
    return states


# Costs and bounds of numbers.


def _prices(cost: Any, names: Sequence[str]) -> dict[str, float]:
    """Return the given costs by the name of a column, or of a group."""
    if isinstance(cost, str):
        return {}
    prices = {}
    for key, price in cost.items():
        name = key  # of a column, or of a group
        if not isinstance(key, str):
            place = positions_of(key, names, "cost")[0]
            name = names[int(place)]
        argument = f"cost[{key!r}]"
        prices[name] = check_number(price, argument, low=0.0, open_low=True, allow_inf=True)
    return prices


def _units(summary: Summary, scale: str) -> tuple[FloatArray, BoolArray]:
    """Return the change that costs 1 in each column, and which columns are constant where they are not missing."""
    n_features = len(summary.mean)
    if scale == "unit":
        none = np.zeros(n_features, dtype=np.bool_)
        return np.ones(n_features), none
    present = summary.count > 0.0
    spread = np.where(present, summary.high - summary.low, 0.0)
    unit = spread.copy()
    if scale == "std":
        variance = summary.squares / np.maximum(summary.count, 1.0)
        unit = np.sqrt(variance)
    constant = (spread == 0.0) | ~(unit > 0.0)
    unit[constant] = 1.0
    return unit, constant


def _bounds(
    table: CodedTable, summary: Summary, bounds: Any, categorical: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest value of each column; a dict leaves the range of the data to the others."""
    names = table.names
    lower = np.full(len(names), -math.inf)
    upper = np.full(len(names), math.inf)
    if isinstance(bounds, str | Mapping):  # "data"
        # A column that is missing in every sample stays as it is, whatever its bounds.
        present = summary.count > 0.0
        lower = np.where(present, summary.low, 0.0)
        upper = np.where(present, summary.high, 0.0)
        # Of pictures all pixels share one range: one that is always dark may become bright.
        if table.row_shape is not None:
            lower[:] = lower.min()
            upper[:] = upper.max()
    if bounds is None or isinstance(bounds, str):
        return lower, upper
    if not isinstance(bounds, Mapping):  # one pair for all numbers
        low, high = _pair(bounds, "bounds")
        lower = np.where(categorical, lower, low)
        upper = np.where(categorical, upper, high)
        return lower, upper
    for key, pair in bounds.items():
        argument = f"bounds[{key!r}]"
        position = positions_of(key, names, "bounds")[0]
        place = int(position)
        if categorical[place]:
            expected = "of a column of numbers"
            raise ArgumentValueError(argument, expected, "a column of categories")
        lower[place], upper[place] = _pair(pair, argument)
    return lower, upper


def _pair(pair: Any, argument: str) -> tuple[float, float]:
    """Return the two ends of a pair; None and inf are no bound."""
    try:
        low, high = pair
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ArgumentValueError(argument, "a pair (lowest, highest)", value=pair) from error
    if low is None:
        low = -math.inf
    if high is None:
        high = math.inf
    low = check_number(low, argument, allow_inf=True)
    high = check_number(high, argument, allow_inf=True)
    if not low <= high:
        raise ArgumentValueError(argument, "a pair with lowest <= highest", value=pair)
    return low, high


def _warnings(
    domain: Domain, summary: Summary, constant: BoolArray, empty: BoolArray
) -> Iterator[str]:
    def listed(mask: BoolArray) -> str:
        columns = np.flatnonzero(mask)
        return first_few([domain.names[column] for column in columns])

    if constant.any():
        yield (
            f"{int(constant.sum()):,} of {domain.n_features:,} columns are constant, so that a change by one unit "
            f"costs 1 there: {listed(constant)}. Give their cost, or make them immutable."
        )
    below = summary.low < domain.lower
    above = summary.high > domain.upper
    outside = (below | above) & domain.numeric
    if outside.any():
        yield f"Some samples stand outside the bounds of {listed(outside)}: they may stay or come back."
    if empty.any():
        yield f"Missing in every sample, and so left as they are: columns {listed(empty)}."
    if domain.is_fixed:
        yield "No column may change, so only the weights of the samples do (as with theta1=inf)."
