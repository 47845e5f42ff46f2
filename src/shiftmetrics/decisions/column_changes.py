"""What changed in each column of two tables: one effect size, one adjusted p-value, and the change in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_percent
from shiftmetrics.encoding.parts import level_names, to_numbers
from shiftmetrics.encoding.roles import Column, read_dates

if TYPE_CHECKING:
    import pandas as pd

_NAMED_LEVELS = 3
_FEW_SAMPLES = 200
_LEAST_EXPECTED = 5.0
"""Expected count from which a level has a cell of its own in the test of a category."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnChange(Record):
    """How the values of one column differ between two samples.

    Attributes
    ----------
    column : str
        Its name.
    role : str
        "number", "category", "date" or "text".
    effect : float
        From 0 to 1: the largest difference of the two distribution functions (numbers, dates; Kolmogorov and
        Smirnov), or of the fractions of any set of levels (categories; total variation); or the change of the
        fraction that is missing, where that is larger.
    p_value : float
        Of "both samples have one distribution", adjusted for the number of columns (Holm).
    missing : tuple of two floats
        Fraction of missing cells in the reference, and in the current sample.
    new_levels : tuple of str
        Categories that the reference lacks, the most frequent first.
    text : str
        The change in words, such as "median 38, was 44".
    """

    column: str
    role: str
    effect: float
    p_value: float
    missing: tuple[float, float]
    new_levels: tuple[str, ...] = ()
    text: str = ""


def column_changes(
    reference: pd.DataFrame, current: pd.DataFrame, columns: Sequence[Column]
) -> tuple[ColumnChange, ...]:
    """Compare two samples column by column; the largest effect comes first.

    Ids, text and columns that are left out are passed over. Samples are taken as independent, within and across.

    Parameters
    ----------
    reference, current : DataFrame
        The two samples.
    columns : sequence of Column
        The columns and their roles, such as `TableEncoder.columns`.
    """
    found = [
        _change(column, reference[column.name], current[column.name])
        for column in columns
        if column.role in ("number", "category", "date")
    ]
    adjusted = holm(np.array([change.p_value for change in found]))
    changes = [
        ColumnChange(**{**vars(change), "p_value": float(p_value)})
        for change, p_value in zip(found, adjusted, strict=True)
    ]
    return tuple(sorted(changes, key=lambda change: -change.effect))


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values that hold together (S. Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = np.argsort(p_values, kind="stable")
    n = len(p_values)
    stepped = np.maximum.accumulate(p_values[order] * np.arange(n, 0, -1))
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _change(column: Column, reference: pd.Series, current: pd.Series) -> ColumnChange:
    gaps = float(reference.isna().mean()), float(current.isna().mean())
    if column.role == "category":
        effect, p_value, new, text = _levels_change(reference, current)
    else:
        effect, p_value, text = _numbers_change(column.role, reference, current)
        new = ()
        # Two questions are asked of a column with gaps: its values, and whether they are there.
        if max(gaps) > 0.0:
            counts = [round(gaps[0] * len(reference)), round(gaps[1] * len(current))]
            p_missing = _two_fractions(counts, [len(reference), len(current)])
            p_value = min(1.0, 2.0 * min(p_value, p_missing))
            if abs(gaps[1] - gaps[0]) > effect:
                effect = abs(gaps[1] - gaps[0])
                text = f"missing in {format_percent(gaps[1])}, was {format_percent(gaps[0])}"
    return ColumnChange(
        column=str(column.name),
        role=column.role,
        effect=effect,
        p_value=p_value,
        missing=gaps,
        new_levels=new,
        text=text,
    )


def _numbers_change(
    role: str, reference: pd.Series, current: pd.Series
) -> tuple[float, float, str]:
    """Return the statistic of Kolmogorov and Smirnov, its p-value, and both medians in words."""
    import pandas as pd
    from scipy.stats import ks_2samp

    sides = [ordered_values(role, side.dropna()) for side in (reference, current)]
    if not all(len(side) for side in sides):
        return 0.0, 1.0, ""
    # The exact distribution takes long for many samples, and its limit does not hold for few.
    few = max(map(len, sides)) <= _FEW_SAMPLES
    test = ks_2samp(sides[0], sides[1], method="exact" if few else "asymp")
    medians = [np.median(side) for side in sides]
    if role == "date":
        dates = [pd.Timestamp(median, unit="s").date() for median in medians]
        return float(test.statistic), float(test.pvalue), f"median {dates[1]}, was {dates[0]}"
    before, now = medians
    if before == now:
        # The medians say nothing here: name the quartile that moved most.
        quartiles = [np.quantile(side, [0.1, 0.25, 0.75, 0.9]) for side in sides]
        place = int(np.argmax(np.abs(quartiles[1] - quartiles[0])))
        words = (
            "lowest tenth up to",
            "lowest quarter up to",
            "highest quarter from",
            "highest tenth from",
        )
        text = f"{words[place]} {quartiles[1][place]:.4g}, was {quartiles[0][place]:.4g}"
        return float(test.statistic), float(test.pvalue), text
    return float(test.statistic), float(test.pvalue), f"median {now:.4g}, was {before:.4g}"


def ordered_values(role: str, values: pd.Series) -> FloatArray:
    """Return the values of a number or date without gaps, as numbers that can be ordered."""
    if role == "date":
        dates = read_dates(values)
        assert dates is not None  # the column is one of dates
        return np.asarray(dates.to_numpy(dtype="datetime64[ns]").astype(np.int64) / 1e9)
    numbers = to_numbers(values)
    return numbers[np.isfinite(numbers)]


def _levels_change(
    reference: pd.Series, current: pd.Series
) -> tuple[float, float, tuple[str, ...], str]:
    """Return the total variation of two categories, the p-value of a chi-squared test, and what is new."""
    sides = [level_names(reference), level_names(current)]
    levels, codes = np.unique(np.concatenate(sides), return_inverse=True)
    table = np.stack(
        [
            np.bincount(codes[: len(sides[0])], minlength=len(levels)),
            np.bincount(codes[len(sides[0]) :], minlength=len(levels)),
        ]
    ).astype(np.float64)
    fractions = table / table.sum(axis=1, keepdims=True)
    apart = fractions[1] - fractions[0]
    new = np.flatnonzero((table[0] == 0.0) & (levels != "missing"))
    new = new[np.argsort(-table[1, new], kind="stable")]
    order = np.argsort(-np.abs(apart), kind="stable")[:_NAMED_LEVELS]
    parts = [
        f"{levels[place]} {format_percent(fractions[1, place])}, was {format_percent(fractions[0, place])}"
        for place in order
        if apart[place] != 0.0
    ]
    named = tuple(str(level) for level in levels[new])
    return 0.5 * float(np.abs(apart).sum()), _chi_squared(table), named, "; ".join(parts)


def _chi_squared(table: npt.NDArray[np.float64]) -> float:
    """Return the p-value of one distribution; levels that are too rare for the test share a cell."""
    from scipy.stats import chi2_contingency

    expected = table.sum(axis=0) * table.sum(axis=1).min() / table.sum()
    rare = expected < _LEAST_EXPECTED
    cells = table[:, ~rare]
    if rare.any():
        cells = np.column_stack([cells, table[:, rare].sum(axis=1)])
    cells = cells[:, cells.sum(axis=0) > 0.0]
    if cells.shape[1] < 2:
        return 1.0
    if cells.shape[1] == 2:
        return _two_fractions(cells[:, 0].tolist(), cells.sum(axis=1).tolist())
    return float(chi2_contingency(cells).pvalue)


def _two_fractions(counts: Sequence[float], sizes: Sequence[float]) -> float:
    """Return Fisher's exact p-value that two fractions are one."""
    from scipy.stats import fisher_exact

    rows = [[int(k), int(n) - int(k)] for k, n in zip(counts, sizes, strict=True)]
    return float(fisher_exact(rows).pvalue)
