"""Rows that sum up the others, and scores that are none of one class each, such as sums, ranks and distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.tables.ask import (
    AmbiguousReadingError,
    Complaints,
    PossibleReading,
    UnreadableTableError,
)
from shiftmetrics.tables.evidence import TableEvidence
from shiftmetrics.tables.number_words import number_words
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.prediction_tables import PredictionTable
from shiftmetrics.tables.roles.ids import RowKey
from shiftmetrics.tables.roles.names import plain_name

_SUMMARIES = (
    "total", "totals", "grand_total", "sum", "count", "n", "mean", "average", "avg", "all", "overall",
    "macro_avg", "weighted_avg", "summe", "gesamt", "mittelwert",
)  # fmt: skip
"""Names of rows that spreadsheets and reports write below a table."""

ROUNDING = 0.02
"""Differences of sums that come from rounding."""

SEEN = 1_000
"""Rows that are looked at before all of them are."""

NEARLY = 1e-12
"""Differences of sums that come from floats, for each unit of the sum."""

SUMMARY_ROUNDING = 1e-3
"""How far a cell that is called a sum may be from it, for each number of the sum, since both are rounded."""

FEWEST_DIGITS = 6
"""Decimals that the mean of rounded numbers has beyond theirs."""

FEWEST = 5
"""Rows from which it says something that the scores of all rows rise."""


def refuse_summary_rows(
    tables: Sequence[TableEvidence], key: RowKey, complaints: Complaints
) -> None:
    """Refuse a last row that is named after a sum among numbers, or that holds sums or means of the others."""
    for table, names in zip(tables, key.names or [()] * len(tables), strict=False):
        column = table.columns[names[0]] if len(names) == 1 else None
        last = column.word_at(-1) if column is not None and column.n_rows >= FEWEST else None
        if column is not None and last is not None and _is_summary(last):
            others = number_words([word for word in column.words[:-1] if word is not None])
            if others is not None:
                complaints.add(_of_summary(table, f", {last!r},"))
                continue
        word = _summary_word(table)
        is_unnamed = word is None and _ends_without_word(table)
        if _sums_up(table, is_named=word is not None or is_unnamed):
            complaints.add(_of_summary(table, "" if word is None else f", {word!r},"))
    complaints.raise_any()


def _of_summary(table: TableEvidence, name: str) -> str:
    return f"The last row of {table.label}{name} sums up the others and is no prediction. Leave it out."


def _is_summary(word: str) -> bool:
    return word.strip(" :").lower().replace(" ", "_") in _SUMMARIES


def _summary_word(table: TableEvidence) -> str | None:
    """Return the name of a sum in a cell of the last row."""
    for column in table.columns.values():
        if column.is_number or column.n_rows < FEWEST:
            continue
        word = column.word_at(-1)
        if word is not None and _is_summary(word):
            return word
    return None


def _ends_without_word(table: TableEvidence) -> bool:
    """Return True if some column has its only gap in the last row, where a name of the row would stand."""
    for column in table.columns.values():
        if column.is_fractional or column.n_rows <= FEWEST or column.word_at(-1) is not None:
            continue
        if int(np.asarray(column.is_missing).sum()) == 1:
            return True
    return False


def _sums_up(table: TableEvidence, *, is_named: bool) -> bool:
    """Return True if the last row has the sums or the means of all columns of fractions.

    A row without a name holds means only if they have more digits than a mean of few rounded numbers has by chance.
    """
    rounding = SUMMARY_ROUNDING if is_named else 0.0
    # All columns have to hold sums, or all of them means: each column may refute either.
    are_sums = True
    are_means = True
    columns = [column for column in table.columns.values() if column.is_fractional]
    for column in columns:
        numbers = column.numbers
        if numbers is None or len(numbers) <= FEWEST or np.ptp(numbers[:-1]) == 0.0:
            return False
        n_others = len(numbers) - 1
        total = float(numbers[:-1].sum())
        last = float(numbers[-1])
        slack = n_others * rounding + NEARLY * abs(total)
        are_sums = are_sums and abs(last - total) <= slack
        if is_named:
            is_mean = abs(last - total / n_others) <= rounding
        else:
            has_digits = last != round(last, FEWEST_DIGITS)
            is_mean = has_digits and abs(last - total / n_others) <= NEARLY * abs(last)
        are_means = are_means and is_mean
        if not (are_sums or are_means):
            return False
    return bool(columns)


def refuse_single_rows(roles: FoundRoles) -> None:
    """Refuse files of one row each, which are totals of tools more often than predictions.

    Raises
    ------
    UnreadableTableError
        If two files share one row, and no saved reading says that it is a prediction.
    """
    if len(roles.tables) < 2 or roles.n_rows != 1 or roles.is_remembered:
        return
    if roles.options.prediction is not None or roles.options.columns is not None:
        return
    columns = roles.options.typed("--prediction", "COLUMN")
    raise UnreadableTableError(
        f"Files must hold a row for each prediction, got a single one in {roles.tables[0].label}. Give the file of "
        f"all rows where this one has their totals; of a single prediction, name its column with {columns}."
    )


_SMALLER = frozenset(["dist", "distance", "nll", "loss", "losses", "rank", "ranks", "cost"])
"""Words in the names of scores of which the smallest is the best."""


def refuse_doubtful_scores(
    roles: FoundRoles, files: Sequence[PredictionTable], known: set[str]
) -> None:
    """Refuse scores that are none of one class each, larger for the better one, and ask where that is open."""
    if roles.is_remembered:
        return
    _refuse_cumulative(roles.tables, files)
    scored = [file for file in files if file.scores is not None and len(file.columns) > 1]
    if not scored or any(file.served is not None for file in files) or roles.options.columns:
        return
    _refuse_smaller_is_better(scored)
    is_told = roles.options.classes or roles.options.exclude
    if known or is_told or any(len(file.columns) != 2 for file in scored):
        return
    values = [np.asarray(file.scores) for file in scored]
    are_fractions = all(bool(((part >= 0.0) & (part <= 1.0)).all()) for part in values)
    are_sums = all(float(np.ptp(part.sum(axis=1))) < ROUNDING for part in values)
    if are_fractions and not are_sums:
        # Two measures, the ends of an interval, or a probability before and after its calibration.
        first, second = scored[0].columns
        typed = roles.options.typed
        raise AmbiguousReadingError(
            f"{scored[0].name} has two columns of numbers from 0 to 1 that do not add up to 1, {first} and {second}.",
            [
                PossibleReading(
                    "they are the scores of two classes", typed("--columns", (first, second))
                ),
                PossibleReading(f"{first} is the prediction", typed("--columns", (first,))),
                PossibleReading(f"{second} is the prediction", typed("--columns", (second,))),
            ],
        )


def _refuse_smaller_is_better(files: Sequence[PredictionTable]) -> None:
    """Refuse distances, losses and ranks, by what all names share or by rows that hold 1, 2, ..., K."""
    are_ranks = True
    are_named = True
    for file in files:
        counts = np.arange(1.0, len(file.columns) + 1.0)
        scores = np.asarray(file.scores)
        are_ranks = are_ranks and len(counts) > 2 and _all_rows(scores, _are_counts)
        names = [set(plain_name(name).split("_")) & _SMALLER for name in file.columns]
        are_named = are_named and bool(set.intersection(*names))
    if are_ranks or are_named:
        first = files[0].columns[0]
        what = "ranks" if are_ranks else "distances or losses"
        raise UnreadableTableError(
            f"Scores must be larger for the better class, but {first} and the columns beside it look like {what}, of "
            "which the smallest is the best. Give them with the opposite sign, under other names."
        )


def _refuse_cumulative(tables: Sequence[TableEvidence], files: Sequence[PredictionTable]) -> None:
    """Refuse probabilities that rise from column to column in every row, up to 1: those of a class or a lower one."""
    for table, file in zip(tables, files, strict=True):
        scores = file.scores
        if scores is None or len(file.columns) < 2 or len(scores) < FEWEST:
            return
        if not _all_rows(scores, _are_rising) or float(scores.min()) < 0.0:
            return
        # Constant predictions rise as well, and those add up to 1.
        sums = scores.sum(axis=1)
        is_sum = bool((np.abs(scores[:, -1] - 1.0) < 1e-3).all()) or _ends_in_one(table, file)
        if not is_sum or np.ptp(sums) < 1e-3:
            return
    if not files:
        return
    first, last = files[0].columns[0], files[0].columns[-1]
    raise UnreadableTableError(
        f"Scores must be those of one class each, but in every row they rise from {first} to {last} and end at 1, as "
        "the probabilities of a class or a lower one do. Subtract from each column the one before it."
    )


def _all_rows(scores: FloatArray, test: Callable[[FloatArray], bool]) -> bool:
    """Return True if all rows pass a test; the first ones mostly do not."""
    return test(scores[:SEEN]) and test(scores)


def _are_counts(scores: FloatArray) -> bool:
    """Return True if each row holds 1, 2, ..., K."""
    counts = np.arange(1.0, scores.shape[1] + 1.0)
    return bool((np.sort(scores, axis=1) == counts).all())


def _are_rising(scores: FloatArray) -> bool:
    """Return True if no number of a row is below the one before it."""
    return bool((np.diff(scores, axis=1) >= 0.0).all())


def _ends_in_one(table: TableEvidence, file: PredictionTable) -> bool:
    """Return True if the column behind those of the scores is 1 in all rows."""
    names = list(table.columns)
    after = names.index(file.columns[-1]) + 1 if file.columns[-1] in names else len(names)
    if after >= len(names):
        return False
    numbers = table.columns[names[after]].numbers
    return numbers is not None and bool(len(numbers)) and bool((np.abs(numbers - 1.0) < 1e-3).all())
