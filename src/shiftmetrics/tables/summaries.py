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

FEWEST = 5
"""Rows from which it says something that the scores of all rows rise."""


def refuse_summary_rows(
    tables: Sequence[TableEvidence], key: RowKey, complaints: Complaints
) -> None:
    """Refuse a last row that is named after a sum among rows that are named by numbers."""
    for table, names in zip(tables, key.names, strict=False):
        column = table.columns[names[0]]
        last = column.word_at(-1) if len(names) == 1 and column.n_rows >= FEWEST else None
        if last is None or last.strip(" :").lower().replace(" ", "_") not in _SUMMARIES:
            continue
        others = number_words([word for word in column.words[:-1] if word is not None])
        if others is not None:
            complaints.add(
                f"The last row of {table.label}, {last!r}, sums up the others and is no prediction. "
                "Leave it out."
            )
    complaints.raise_any()


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
