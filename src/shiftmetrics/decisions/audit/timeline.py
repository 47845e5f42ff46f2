"""Since when: the fraction of samples of a mode in each period, and the period in which it changed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_percent
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.kinds import decide_kinds

if TYPE_CHECKING:
    import pandas as pd

MOST_PERIODS = 60
_PERIODS = (
    ("h", "hour"),
    ("D", "day"),
    ("W", "week"),
    ("M", "month"),
    ("Q", "quarter"),
    ("Y", "year"),
)
_ACCEPTED = 3.68
"""How far the log-likelihood of a change point may lie below the best one: 95 % of a limit distribution.

The limit of twice the difference has the distribution function (1 - exp(-x / 2))^2, whose 95 % quantile is 7.35
(B. Hansen, Econometrica 68, 2000, table 1).
"""
_PARTS = 20
"""Parts of a column of many distinct numbers."""
_PERMUTATIONS = 999
_SHOWN = 0.05
"""Level at which a change of the fraction is said."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Periods(Record):
    """The periods that the samples of a table fall in.

    Attributes
    ----------
    labels : tuple of str
        Names of the periods, in order, such as "2024-10-16".
    unit : str
        "day", "month", ...; "value" for a column of few distinct numbers, "part" for tenths of many.
    of_sample : array of shape (n_samples,)
        The place of each sample's period; -1 where its time is missing.
    """

    labels: tuple[str, ...]
    unit: str
    of_sample: IntArray

    def counts(self, members: BoolArray | None = None) -> IntArray:
        """Return how many samples, or members, each period has."""
        chosen = self.of_sample >= 0
        if members is not None:
            chosen = chosen & members
        return np.bincount(self.of_sample[chosen], minlength=len(self.labels)).astype(np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangePoint(Record):
    """When the fraction of a mode changed.

    Attributes
    ----------
    period : str
        The first period after the change.
    earliest, latest : str
        The ends of the 95 % interval of that period.
    before, after : float
        The fraction of members in the periods before, and from that period on.
    p_value : float
        Of "the fraction is the same in all periods", from permuted samples.
    first, last : str
        The periods between which the fraction was higher; empty where it was from the start, or is to the end.
    inside : float
        The fraction between them.
    """

    period: str
    earliest: str
    latest: str
    before: float
    after: float
    p_value: float
    first: str
    last: str
    inside: float

    @property
    def is_shown(self) -> bool:
        """Whether the fraction changed by more than chance explains."""
        return self.p_value <= _SHOWN

    @property
    def in_words(self) -> str:
        """Since when; for a mode that has ended, until when: "since 2024-10-16 (0 % > 16 %)"."""
        if self.first and self.last:
            span = f"in {self.first}"
            if self.first != self.last:
                span = f"from {self.first} to {self.last}"
            return f"{span} ({format_percent(self.inside)})"
        before_and_after = f"({format_percent(self.before)} > {format_percent(self.after)})"
        if self.last:
            return f"until {self.last} {before_and_after}"
        return f"since {self.period} {before_and_after}"


def periods_of(times: pd.Series) -> Periods:
    """Cut a column of times into periods: the shortest unit of the calendar that gives at most 60 of them.

    Raises
    ------
    ValueError
        If the column holds neither dates nor numbers, or no time at all.
    """
    import pandas as pd

    times = _typed(times)
    known = times.dropna()
    if not len(known):
        raise ArgumentValueError("time", "a column with times", f"{times.name!r}, all missing")
    if pd.api.types.is_numeric_dtype(known.dtype):
        return _periods_of_numbers(times)
    if times.dtype.kind != "M":
        # Name the first value that is no date, or is written in another way than the first one.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a format that pandas has to guess
            unread = pd.to_datetime(known.astype(str), errors="coerce", utc=True).isna()
        wrong = known[unread] if unread.any() else known
        expected = f"a column of dates or numbers, and {times.name!r} is none"
        remedy = "Write dates as 2024-10-16."
        raise ArgumentValueError("time", expected, value=wrong.iloc[0], remedy=remedy)
    # Each time is placed once: a million samples may be of thirty days.
    codes, distinct = pd.factorize(known)
    unit, cut = _calendar(pd.Series(distinct))
    first = cut.min()
    last = cut.max()
    labels = [str(first + step) for step in range((last - first).n + 1)]
    if unit == "week":
        # pandas writes both ends of a week: the Monday is enough.
        labels = [label.split("/")[0] for label in labels]
    places = np.full(len(times), -1, dtype=np.int64)
    ordinals = cut.map(lambda period: period.ordinal).to_numpy(dtype=np.int64)
    places[times.notna().to_numpy()] = ordinals[codes] - first.ordinal
    return Periods(labels=tuple(labels), unit=unit, of_sample=places)


def _typed(times: pd.Series) -> pd.Series:
    """Return times as dates or numbers where its cells are some; those of a table that was read are already."""
    if times.dtype.kind in "iuf" or times.dtype == "datetime64[ns]":
        return times
    column = times.reset_index(drop=True)
    words = frozenset([str(times.name)]) if column.dtype.kind in "OUT" else frozenset()
    cells = Cells(argument="time", table=column.to_frame(name=str(times.name)), written=words)
    typed = decide_kinds([cells])
    typed.check([str(times.name)])
    return typed.frames[0][str(times.name)]


def _calendar(dates: pd.Series) -> tuple[str, pd.Series]:
    """Return the shortest unit of the calendar that gives at most `MOST_PERIODS` periods, and the dates in it."""
    for code, unit in _PERIODS:
        cut = dates.dt.to_period(code)
        if unit == "year" or (cut.max() - cut.min()).n < MOST_PERIODS:
            break
    return unit, cut


def _periods_of_numbers(times: pd.Series) -> Periods:
    """Take few distinct numbers as they are, such as years; cut many into equally frequent parts."""
    values = np.asarray(times, dtype=np.float64)
    known = np.isfinite(values)
    edges = np.unique(values[known])
    unit = "value"
    if len(edges) > MOST_PERIODS:
        edges = np.unique(np.quantile(values[known], np.linspace(0.0, 1.0, _PARTS + 1)[:-1]))
        unit = "part"
    # A sample belongs to the last edge that it reaches.
    places = np.full(len(values), -1, dtype=np.int64)
    places[known] = np.searchsorted(edges, values[known], side="right") - 1
    # As many digits as tell the edges apart: 20241016 and seconds since 1970 differ in the last ones.
    for digits in range(6, 18):
        labels = tuple(f"{edge:.{digits}g}" for edge in edges.tolist())
        if len(set(labels)) == len(labels):
            break
    return Periods(labels=labels, unit=unit, of_sample=places)


def change_point(
    periods: Periods, members: BoolArray, rng: np.random.Generator
) -> ChangePoint | None:
    """Find the period from which the fraction of members changed, by a scan of binomial likelihoods.

    For every split of the periods the log-likelihood of two fractions is compared with that of one; the best split
    is the change point, and its interval holds the splits whose likelihood is not much lower. The same scan on
    permuted samples gives the p-value. The side of the higher fraction is scanned once more: a mode that came may
    have ended, and one that ended may have come.

    Parameters
    ----------
    periods : Periods
        When each sample was taken.
    members : array of bool of shape (n_samples,)
        Which samples belong to the mode.
    rng : Generator
        Permutes.

    Returns
    -------
    ChangePoint or None
        None where fewer than two periods have samples, or no sample or all of them are members.
    """
    sizes = periods.counts()
    # Periods without samples, such as nights, tell nothing and are passed over.
    filled = np.flatnonzero(sizes)
    sizes = sizes[filled]
    counts = periods.counts(members)[filled]
    total = int(counts.sum())
    if len(filled) < 2 or total in (0, int(sizes.sum())):
        return None
    gains = split_gains(counts, sizes)
    best = int(np.argmax(gains))
    p_value = _p_value_of_split(counts, sizes, rng)
    # The interval holds the splits whose likelihood is not much lower. Split i lies before period i + 1.
    after = best + 1
    near = np.flatnonzero(gains >= gains[best] - _ACCEPTED)
    names = [periods.labels[place] for place in filled]
    first, last = _span(counts, sizes, after, rng) if p_value <= _SHOWN else (after, len(names))
    return ChangePoint(
        period=names[after],
        earliest=names[int(near[0]) + 1],
        latest=names[int(near[-1]) + 1],
        before=float(counts[:after].sum() / sizes[:after].sum()),
        after=float(counts[after:].sum() / sizes[after:].sum()),
        p_value=p_value,
        first=names[first] if first > 0 else "",
        last=names[last - 1] if last < len(names) else "",
        inside=float(counts[first:last].sum() / sizes[first:last].sum()),
    )


def _span(
    counts: IntArray, sizes: IntArray, split: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Return the first period of the higher fraction, and the one after the last.

    A heuristic, binary segmentation: the higher side of the split is split again where that gains enough, and its
    higher part has to lie at the first split.
    """
    start = 0
    end = len(counts)
    rises = counts[split:].sum() * sizes[:split].sum() > counts[:split].sum() * sizes[split:].sum()
    if rises:
        start = split
    else:
        end = split
    k = counts[start:end]
    n = sizes[start:end]
    # One period cannot be split, and samples that all are members have one fraction.
    if len(k) < 2 or k.sum() == n.sum():
        return start, end
    again = 1 + int(np.argmax(split_gains(k, n)))
    is_shown = _p_value_of_split(k, n, rng) <= _SHOWN
    falls = k[again:].sum() * n[:again].sum() < k[:again].sum() * n[again:].sum()
    if is_shown and falls == rises:
        if rises:
            end = start + again
        else:
            start = start + again
    return start, end


def _p_value_of_split(counts: IntArray, sizes: IntArray, rng: np.random.Generator) -> float:
    """Return the p-value of "the fraction is the same in all periods", by the best split."""
    # Permuting samples over the periods keeps both margins: each set of counts is one multivariate hypergeometric
    # sample.
    highest = split_gains(counts, sizes).max()
    total = int(counts.sum())
    permuted = rng.multivariate_hypergeometric(sizes, total, size=_PERMUTATIONS, method="marginals")
    reached = split_gains(permuted, sizes).max(axis=-1) >= highest - 1e-9
    return (1 + int(reached.sum())) / (1 + _PERMUTATIONS)


def split_gains(counts: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> FloatArray:
    """Return how much two fractions gain over one in log-likelihood, for each split of the periods."""
    k = np.cumsum(counts, axis=-1)[..., :-1]
    n = np.cumsum(sizes)[:-1]
    all_k = counts.sum(axis=-1)[..., None]
    all_n = sizes.sum()
    two: FloatArray = _log_likelihood(k, n) + _log_likelihood(all_k - k, all_n - n)
    return two - _log_likelihood(all_k, all_n)


def _log_likelihood(k: npt.NDArray[Any], n: Any) -> FloatArray:
    """Return the highest log-likelihood of k successes in n trials."""
    from scipy.special import xlogy

    rate = k / n
    return np.asarray(xlogy(k, rate) + xlogy(n - k, 1.0 - rate))
