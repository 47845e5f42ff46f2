"""Columns that may be scores and were not read, and scores that cannot be read as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from shiftmetrics._core.exceptions import shortened
from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence
from shiftmetrics.tables.finding import free_columns
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.spelling import distinct_words

MOST_NUMBERS = 0.5
"""Fraction of distinct words with a decimal mark from which a column is a column of numbers with some other cells."""

_FRACTION = re.compile(r"[-+]?\d*[.,]\d+(?:[eE][-+]?\d+)?\s*%?")


def unread_scores(roles: FoundRoles, used: Sequence[set[str]]) -> list[str]:
    """Return a sentence for each column without a role that differs between the files and is almost one of numbers.

    Parameters
    ----------
    roles : FoundRoles
    used : sequence of set of str
        The columns of each file that have a role.
    """
    sentences = {}
    for place, table in enumerate(roles.tables):
        for name in free_columns(roles, place):
            column = table.columns[name]
            if name in used[place] or name in roles.equal or name in sentences:
                continue
            word = _other_cell(column)
            if word is not None:
                sentences[name] = (
                    f"The column {name!r} of {table.label} may hold scores, but {shortened(word)} is no number. "
                    f"Correct such cells, or leave the column out with {roles.options.typed('--exclude', (name,))}."
                )
    return list(sentences.values())


def _other_cell(column: ColumnEvidence) -> str | None:
    """Return a cell that is no fraction in a column of words in which most cells are."""
    if column.is_number or column.typed.dtype.kind == "M":
        return None
    words = sorted(distinct_words(column.words))
    fractions = [word for word in words if _FRACTION.fullmatch(word)]
    if len(fractions) < 3 or len(fractions) < MOST_NUMBERS * len(words):
        return None
    return next((word for word in words if not _FRACTION.fullmatch(word)), words[0])


def refuse_large_integers(table: TableEvidence, names: Iterable[str]) -> None:
    """Refuse scores and outputs that are computed as floats, where these do not tell them apart.

    Raises
    ------
    UnreadableTableError
        With the first such column.
    """
    for name in names:
        if table.columns[name].has_large_integers:
            raise UnreadableTableError(
                f"{table.label} must hold scores that floats tell apart, got whole numbers beyond 2^53 in the column "
                f"{name!r}. Subtract one number from all scores of both files."
            )
