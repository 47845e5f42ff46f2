"""The rule of a mode: a few conditions on columns that hold for most of its samples and for few others.

Kernels find a mode in some thousand samples; among a million, their edge takes in many samples that are there anyway.
The conditions are chosen by counts of both sides, and say what the mode is in the words of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.decisions.audit.column_changes import COMPARED, in_words
from shiftmetrics.decisions.audit.conditions import log_likelihood_ratio
from shiftmetrics.tables.encoder.categories import level_codes
from shiftmetrics.tables.encoder.parts import to_numbers
from shiftmetrics.tables.encoder.roles import Column

if TYPE_CHECKING:
    import pandas as pd

_EDGES = 128
"""Ends of ranges that are tried in each column."""
_LEVELS = 16
"""Levels that a category has about, for the number of conditions to choose from."""
_STEPS = 200
"""Steps of rounding between the deciles of a column, so that a range is said exactly by short numbers."""
_MOST_CONDITIONS = 4
_MOST_LEVELS = 3
_ROUNDS = 3
_TIMES = 3.0
"""How many times as frequent as on the other side samples must be to count as new."""
_GAIN = 0.01
"""Part of the samples that meet a rule, by which its worth must rise for one more condition."""
_LEAST_NATS = 3.0
"""By how much the logarithm of the likelihood must rise beyond that of the number of conditions to choose from."""
_DAY = 86_400.0


@dataclass(frozen=True, eq=False)
class OrderedCells:
    """The cells of a column: numbers or days that can be ordered, NaN for missing ones; of a category, codes.

    Attributes
    ----------
    values : array
        The numbers, the days in seconds, or places among the names.
    names : array of str
        The levels of a category.
    """

    values: npt.NDArray[Any]
    names: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=str))

    @classmethod
    def of(cls, role: str, values: pd.Series) -> OrderedCells:
        """Read the cells of a column."""
        if role == "category":
            codes, names = level_codes(values)
            return cls(codes, np.array(names))
        if role == "date":
            seconds = values.to_numpy(dtype="datetime64[ns]").astype(np.int64) / 1e9
            return cls(np.where(values.isna(), np.nan, np.floor(seconds / _DAY) * _DAY))
        return cls(to_numbers(values))

    def at(self, is_taken: BoolArray) -> OrderedCells:
        """Return some of them."""
        return OrderedCells(self.values[is_taken], self.names)

    def finite(self) -> FloatArray:
        """Return the numbers in order, without those that are missing."""
        return np.sort(self.values[np.isfinite(self.values)])

    def counts(self) -> dict[str, int]:
        """Return how often each level stands."""
        counts: dict[str, int] = {}
        n_of_code = np.bincount(self.values, minlength=len(self.names)).tolist()
        # Two values may have one name, such as 1 and "1".
        for name, n in zip(self.names.tolist(), n_of_code, strict=True):
            counts[name] = counts.get(name, 0) + n
        return counts


@dataclass(frozen=True)
class RuleCondition:
    """A condition on one column: a range of a number or a date, or some levels of a category.

    Attributes
    ----------
    column : Column
        The column and its role.
    low, high : float
        Ends of the range, both included; infinite where it has none. Dates are days, in seconds.
    levels : tuple of str
        The levels, for a category; "missing" alone for a number or a date.
    """

    column: Column
    low: float = -np.inf
    high: float = np.inf
    levels: tuple[str, ...] = ()

    def is_met(self, values: pd.Series) -> BoolArray:
        """Return which cells meet it; missing ones only meet the level "missing"."""
        return self.is_met_by(OrderedCells.of(self.column.role, values))

    def is_met_by(self, cells: OrderedCells) -> BoolArray:
        """Return which of some cells that are read meet it."""
        if self.levels and self.column.role == "category":
            return np.asarray(np.isin(cells.names, self.levels)[cells.values])
        if self.levels:  # of numbers and dates: "missing"
            return np.asarray(np.isnan(cells.values))
        return np.asarray((cells.values >= self.low) & (cells.values <= self.high))

    @property
    def text(self) -> str:
        """In words, such as "x from 1.2 to 1.8", "job = cook or clerk"."""
        name = self.column.name
        if self.levels == ("missing",):
            return f"{name} missing"
        if self.levels:
            return f"{name} = {' or '.join(self.levels)}"
        low = _end_in_words(self.column.role, self.low)
        high = _end_in_words(self.column.role, self.high)
        if np.isinf(self.high):
            return f"{name} at least {low}"
        if np.isinf(self.low):
            return f"{name} at most {high}"
        if low == high:
            return f"{name} {low}"
        return f"{name} from {low} to {high}"


@dataclass(frozen=True, eq=False)
class ModeSide:
    """The samples of one side among which a rule is chosen.

    Attributes
    ----------
    frame : DataFrame
        Samples of the side: all that choose a rule, or the mode and what lies around it.
    n_samples : int
        Samples of the side that they were taken from.
    """

    frame: pd.DataFrame
    n_samples: int
    _read: dict[Any, OrderedCells] = field(default_factory=dict)

    def cells(self, column: Column) -> OrderedCells:
        """Return a column of it, which is read once."""
        if column.name not in self._read:
            self._read[column.name] = OrderedCells.of(column.role, self.frame[column.name])
        return self._read[column.name]

    def meets(self, rule: Iterable[RuleCondition]) -> BoolArray:
        """Return which samples meet all conditions."""
        met: BoolArray = np.ones(len(self.frame), dtype=bool)
        for condition in rule:
            met &= condition.is_met_by(self.cells(condition.column))
        return met


def rule_of(
    columns: Sequence[Column],
    own: ModeSide,
    other: ModeSide,
    start: Sequence[RuleCondition] = (),
) -> tuple[RuleCondition, ...]:
    """Return the conditions that tell a mode from what is there anyway, the most telling first.

    Of own samples that meet a rule, as many are ordinary as the other side has in proportion. The samples that
    meet it, less three times the ordinary ones, are to be as many as possible: ranges end where a third of the
    samples is ordinary. Of the columns, the one is added whose condition makes the sides likeliest to differ, if the
    likelihood rises by more than a choice among so many conditions explains. Conditions are then chosen again beside
    the others, and left out where they have become of no use. This is greedy: two conditions that only help together
    are not found.

    Parameters
    ----------
    columns : sequence of Column
        The columns and their roles.
    own, other : ModeSide
        The side that has the mode, and the other one.
    start : sequence of RuleCondition, optional
        A rule to begin with.
    """
    compared = [column for column in columns if column.role in COMPARED]
    balance = _Balance(own, other)
    rule = list(start)
    for _ in range(_ROUNDS):
        before = list(rule)
        while len(rule) < _MOST_CONDITIONS:
            condition = balance.best_addition(compared, rule)
            if condition is None:
                break
            rule.append(condition)
        # The first ones were chosen without the last ones, and may be wider or narrower beside them.
        for condition in list(rule):
            place = rule.index(condition)
            others = [*rule[:place], *rule[place + 1 :]]
            again = balance.best_condition(condition.column, others)
            if again is None or not balance.is_worth(again, others, len(compared)):
                rule = others
            else:
                rule[place] = again
        if rule == before:
            break
    return tuple(rule)


def rows_of_rule(
    conditions: Iterable[RuleCondition], frame: pd.DataFrame, rows: IntArray
) -> IntArray:
    """Return those of some rows of a table that meet all conditions."""
    for condition in conditions:
        rows = rows[condition.is_met(frame[condition.column.name].iloc[rows])]
    return rows


@dataclass(frozen=True, eq=False)
class _Balance:
    """Both sides of a mode."""

    own: ModeSide
    other: ModeSide

    @property
    def ratio(self) -> float:
        """Ordinary samples of the own side for each sample of the other one."""
        return self.own.n_samples / max(self.other.n_samples, 1)

    def best_addition(
        self, columns: Sequence[Column], rule: Sequence[RuleCondition]
    ) -> RuleCondition | None:
        """Return the condition on one more column that is worth most, if any is worth it."""
        taken = [condition.column.name for condition in rule]
        best: RuleCondition | None = None
        highest = 0.0
        for column in columns:
            if column.name in taken:
                continue
            condition = self.best_condition(column, rule)
            if condition is None or not self.is_worth(condition, rule, len(columns)):
                continue
            gain = self._gain(condition, rule)
            if gain > highest:
                highest = gain
                best = condition
        return best

    def is_worth(
        self, condition: RuleCondition, rule: Sequence[RuleCondition], n_columns: int
    ) -> bool:
        """Return True if a condition raises worth and likelihood by more than its choice among others explains."""
        choices = _LEVELS if condition.levels else _EDGES
        return bool(self._gain(condition, rule) >= _LEAST_NATS + np.log(n_columns * choices))

    def _gain(self, condition: RuleCondition, rule: Sequence[RuleCondition]) -> float:
        """Return by how much a condition makes it likelier that the sides differ; 0 where its worth hardly rises."""
        before = self._counts(rule)
        after = self._counts([*rule, condition])
        # A rule is worth its own samples less three times the ordinary ones: what a condition cuts
        # off must raise that by a hundredth of what stays.
        cut = before[0] - after[0]
        if _TIMES * self.ratio * (before[1] - after[1]) - cut < _GAIN * after[0]:
            return 0.0
        sizes = self.own.n_samples, self.other.n_samples
        return log_likelihood_ratio(*after, *sizes) - log_likelihood_ratio(*before, *sizes)

    def _counts(self, rule: Sequence[RuleCondition]) -> tuple[int, int]:
        """Return how many samples of each side meet a rule."""
        return int(self.own.meets(rule).sum()), int(self.other.meets(rule).sum())

    def best_condition(self, column: Column, rule: Sequence[RuleCondition]) -> RuleCondition | None:
        """Return the condition on a column that makes the best rule with others."""
        own = self.own.cells(column).at(self.own.meets(rule))
        other = self.other.cells(column).at(self.other.meets(rule))
        if column.role == "category":
            return self._best_levels(column, own, other)
        return self._best_range(column, own.finite(), other.finite())

    def _best_levels(
        self, column: Column, own: OrderedCells, other: OrderedCells
    ) -> RuleCondition | None:
        """Return the best one to three levels of a category."""
        others = other.counts()
        counts = {level: n for level, n in own.counts().items() if n}
        weight = _TIMES * self.ratio
        # Those of which most is new come first; others may add to them by chance.
        worth = {}
        noise = {}
        for level, n in counts.items():
            n_others = others.get(level, 0)
            worth[level] = n - weight * n_others
            # The standard deviation of the worth, where counts are those of Poisson.
            noise[level] = np.sqrt(n + weight**2 * n_others)
        levels = sorted(counts, key=lambda level: -worth[level])[:_MOST_LEVELS]
        levels = levels[:1] + [level for level in levels[1:] if worth[level] > noise[level]]
        if len(levels) == len(counts):
            return None
        return RuleCondition(column, levels=tuple(sorted(levels)))

    def _best_range(
        self, column: Column, own: FloatArray, other: FloatArray
    ) -> RuleCondition | None:
        """Return the best range of a number or a date."""
        if len(own) < 2:
            return None
        # Ends are own values: between two of them no sample of the mode is lost or gained.
        edges = np.quantile(own, np.linspace(0.0, 1.0, _EDGES + 1), method="nearest")
        ends = np.concatenate([[-np.inf], _rounded(column.role, edges), [np.inf]])
        # All ranges at once: lower ends by rows, upper ends by columns.
        n_own = np.triu(_n_between(own, ends))
        n_other = np.triu(_n_between(other, ends))
        weight = _TIMES * self.ratio
        worth = n_own - weight * n_other
        low, high = np.unravel_index(int(np.argmax(worth)), worth.shape)
        # What lies at the ends may add to it by chance: the narrowest range in it that does as well but for that.
        cut = n_own[low, high] - n_own + weight**2 * (n_other[low, high] - n_other)
        is_close = worth[low, high] - worth < np.sqrt(np.maximum(cut, 0.0))
        is_close[:low] = False
        is_close[:, high + 1 :] = False
        is_close[low, high] = True
        narrow = np.where(is_close, n_own, n_own.max() + 1)
        low, high = np.unravel_index(int(np.argmin(narrow)), narrow.shape)
        if np.isinf(ends[low]) and np.isinf(ends[high]):
            return None
        return RuleCondition(column, low=float(ends[low]), high=float(ends[high]))


def _n_between(values: FloatArray, ends: FloatArray) -> IntArray:
    """Return how many sorted values lie from each end to each other one, both included."""
    upto = np.searchsorted(values, ends, side="right")
    below = np.searchsorted(values, ends, side="left")
    return np.asarray(upto[None, :] - below[:, None])


def _rounded(role: str, edges: FloatArray) -> FloatArray:
    """Return distinct ends of ranges, rounded to steps that are small in the range of the column."""
    low, high = np.quantile(edges, [0.1, 0.9]).tolist()
    if role == "date" or high <= low:
        return np.unique(edges)
    digits = int(np.ceil(-np.log10((high - low) / _STEPS)))
    return np.unique(np.round(edges, digits))


def _end_in_words(role: str, end: float) -> str:
    """Return the end of a range as people write it, without loss, so that a recount gives the same."""
    if np.isinf(end):
        return ""
    if role == "date":
        return in_words(role, end)
    for digits in range(4, 17):
        text = f"{end:.{digits}g}"
        if float(text) == end and "e" not in text:
            return text
    return f"{end!r}"
