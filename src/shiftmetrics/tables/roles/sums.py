"""The classes are the columns whose rows add up to one constant: 1, 100, or a number of votes.

Latencies, ages, losses, counts, totals and largest probabilities add up to nothing. The search goes over all sets of
up to a dozen columns, and over likely sets of more: all, those of one beginning, and the least-squares solution of
"which weights make every row 1", which is 1 on the classes and 0 elsewhere where nothing else is linear in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics.tables.evidence import TableEvidence

FEW_COLUMNS = 12
"""Columns of which all sets are tried."""

SAMPLE = 256
"""Rows of each file on which sets are tried; a set that is found is checked on all rows."""

TOLERANCES = (1e-9, 1e-6, 1e-5, 1e-4, 1e-3)
"""Relative differences of sums, tried in turn: a tight fit comes before a loose one, which may lack a rare class."""

ROUNDED_TOTALS = (1.0, 100.0)
"""Sums that may be off by the rounding of their parts."""


def constant_sums(tables: Sequence[TableEvidence], names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the smallest sets of columns whose rows add up to one constant in each file.

    Parameters
    ----------
    tables : sequence of TableEvidence
        Files that all have the columns.
    names : sequence of str
        Columns of numbers that may be scores of classes.
    """
    usable = [name for name in names if _may_be_part(tables, name)]
    if len(usable) < 2:
        return []
    samples = [_sample(table, usable) for table in tables]
    for one in TOLERANCES:
        tolerance = _Tolerance(relative=one)
        found = _smallest(samples, usable, [tolerance] * len(tables))
        found = [
            part for part in found if all(_holds_in(table, part, tolerance) for table in tables)
        ]
        if found:
            return found
    return _rounded(tables, usable, samples)


def _rounded(
    tables: Sequence[TableEvidence], names: Sequence[str], samples: Sequence[FloatArray]
) -> list[tuple[str, ...]]:
    """Return the sets among columns of rounded numbers, each file rounded in its own way."""
    steps = np.array([[_step(column) for column in sample.T] for sample in samples])
    places = np.flatnonzero((steps > 0.0).all(axis=0))
    if len(places) < 2:
        return []
    # Columns of whole numbers, such as ages, have a coarser step than the scores beside them.
    tolerances = [_Tolerance(step=float(part[places].min())) for part in steps]
    part_names = [names[place] for place in places.tolist()]
    found = _smallest([sample[:, places] for sample in samples], part_names, tolerances)
    return [
        part
        for part in found
        if all(
            _holds_in(table, part, tolerance)
            for table, tolerance in zip(tables, tolerances, strict=True)
        )
    ]


@dataclass(frozen=True)
class _Tolerance:
    """By how much sums may differ from their constant: relatively, or by the rounding of their parts."""

    relative: float = 0.0
    step: float = 0.0

    def allowed(self, total: float, n_columns: int) -> float:
        """Return the largest difference of sums of so many columns."""
        # Each part is off by half a step at most; sums of 1 or 100 alone are known to be rounded.
        # A hundred columns of two digits may be off by half of 1 together, which any columns may
        # be: hence the limit of a twentieth.
        error = 0.5 * self.step * n_columns
        if self.step and any(abs(total - whole) <= error for whole in ROUNDED_TOTALS):
            return min(error, 0.05 * abs(total)) * (1.0 + 1e-9)
        return self.relative * abs(total)


def _may_be_part(tables: Sequence[TableEvidence], name: str) -> bool:
    """Return True if a column has no negative, missing or infinite number, and is not the same in all rows."""
    # A constant column can join any set of classes, and the sums stay constant: no search would end
    # with one set.
    varies = False
    for table in tables:
        numbers = table.columns[name].numbers
        if numbers is None or not len(numbers):
            return False
        low = numbers.min()
        high = numbers.max()
        # NaN is not at least 0 either.
        if not low >= 0.0 or not np.isfinite(high):
            return False
        # A total of 1 or 100 differs by rounding errors alone.
        varies = varies or high - low > 1e-9 * high
    return varies


def _sample(table: TableEvidence, names: Sequence[str]) -> FloatArray:
    """Return the columns in rows spread over the file."""
    n_taken = min(table.n_rows, SAMPLE)
    rows = np.linspace(0, table.n_rows - 1, n_taken).astype(np.int64)
    return np.stack([_numbers(table, name)[rows] for name in names], axis=1)


def _numbers(table: TableEvidence, name: str) -> FloatArray:
    """Return a column that is known to hold numbers."""
    numbers = table.columns[name].numbers
    assert numbers is not None
    return numbers


def _step(sample: FloatArray) -> float:
    """Return the step to which numbers are rounded; 0 where more than four digits are given."""
    for digits in range(5):
        scaled = sample * 10.0**digits
        if np.abs(scaled - np.round(scaled)).max() < 1e-6:
            return float(10.0**-digits)
    return 0.0


def _are_constant(sums: FloatArray, n_columns: FloatArray, tolerance: _Tolerance) -> BoolArray:
    """Return for each set of columns whether its sums are one constant above 0."""
    middle = np.median(sums, axis=0)
    off = np.abs(sums - middle).max(axis=0)
    allowed = np.array(
        [
            tolerance.allowed(float(total), int(count))
            for total, count in zip(middle, n_columns, strict=True)
        ]
    )
    return np.asarray((off <= allowed) & (middle > 0.0))


def _smallest(
    samples: Sequence[FloatArray], names: Sequence[str], tolerances: Sequence[_Tolerance]
) -> list[tuple[str, ...]]:
    """Return the sets of columns of constant sums that contain no other one."""
    masks = _all_sets(len(names)) if len(names) <= FEW_COLUMNS else _likely_sets(samples, names)
    sizes = masks.sum(axis=0)
    fits = np.ones(masks.shape[1], dtype=bool)
    for sample, tolerance in zip(samples, tolerances, strict=True):
        # Sets that failed in one file are not tried in the next one.
        candidates = np.flatnonzero(fits)
        sums = sample @ masks[:, candidates]
        fits[candidates] = _are_constant(sums, sizes[candidates], tolerance)
    # From small to large, and none that holds another one: the classes of two models in one file,
    # taken together, have constant sums as well.
    kept: list[BoolArray] = []
    for place in np.flatnonzero(fits)[np.argsort(sizes[fits], kind="stable")]:
        mask = masks[:, place] > 0.0
        if not any((mask >= one).all() for one in kept):
            kept.append(mask)
    return [tuple(np.array(names, dtype=object)[mask]) for mask in kept]


def _all_sets(n_columns: int) -> FloatArray:
    """Return all sets of at least two columns, one a column of zeros and ones."""
    # Bit b of a number says whether column b is in the set: of twelve columns 4,083 sets, whose
    # sums over `SAMPLE` rows take 8 MB.
    numbers = np.arange(2**n_columns)
    masks = (numbers[None, :] >> np.arange(n_columns)[:, None]) & 1
    return np.asarray(masks[:, masks.sum(axis=0) >= 2], dtype=np.float64)


def _likely_sets(samples: Sequence[FloatArray], names: Sequence[str]) -> FloatArray:
    """Return sets of many columns: all, all but one, those of one beginning, and what least squares finds."""
    n_columns = len(names)
    everything = np.ones((n_columns, 1))
    all_but_one = 1.0 - np.eye(n_columns)
    masks = [everything, all_but_one]
    for beginning in {_beginning(name) for name in names}:
        own = np.array([_beginning(name) == beginning for name in names], dtype=np.float64)
        if 2.0 <= own.sum() < n_columns:
            masks.append(own[:, None])
    stacked = np.vstack(samples)
    weights, *_ = np.linalg.lstsq(stacked, np.ones(len(stacked)), rcond=None)
    # The classes have one weight, which is 1 over the constant.
    for level in np.unique(np.round(weights, 6)):
        own = (np.abs(weights - level) <= 1e-4 * abs(level)).astype(np.float64)
        if level > 0.0 and 2.0 <= own.sum() < n_columns:
            masks.append(own[:, None])
    return np.hstack(masks)


def _beginning(name: str) -> str:
    """Return what stands before the last mark or number of a name; a number is told by a 0."""
    rest = name.rstrip("0123456789")
    if rest != name:
        return rest + "0"
    ends = [name.rfind(mark) for mark in "_.:( "]
    return name[: max(ends) + 1]


def _holds_in(table: TableEvidence, names: Sequence[str], tolerance: _Tolerance) -> bool:
    """Return True if the rows add up to one constant in all rows of one file."""
    # Asked several times on the way to the roles, and for each tolerance.
    spread = table.spreads.get(tuple(names))
    if spread is None:
        sums = np.zeros(table.n_rows)
        for name in names:
            sums += _numbers(table, name)
        middle = float(np.median(sums))
        sums -= middle
        spread = middle, float(np.abs(sums, out=sums).max())
        table.spreads[tuple(names)] = spread
    middle, off = spread
    return middle > 0.0 and off <= tolerance.allowed(middle, len(names))
