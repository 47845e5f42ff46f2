"""Answers that are not called so: a column of classes that follows the largest score."""

from __future__ import annotations

from shiftmetrics.tables.ask import AmbiguousReadingError, PossibleReading
from shiftmetrics.tables.evidence import Words
from shiftmetrics.tables.finding import taken_columns
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.roles.answers import may_be_answer
from shiftmetrics.tables.roles.names import has_name_of
from shiftmetrics.tables.spelling import distinct_words

FOLLOWING = 0.8
"""Fraction of rows in which a column goes with the largest score that may have been served."""


def refuse_hidden_answers(roles: FoundRoles, truth: Words | None) -> None:
    """Ask where a column without the name of an answer follows the scores as closely as answers do.

    A column that is equal in all files is most often the truth, so that it must follow the scores more closely than
    the true labels do.
    """
    if any(name is not None for name in roles.answers) or not all(roles.scores):
        return
    if roles.options.task == "scores":
        return
    # the scores of a class may follow the largest one, such as zeros and ones
    taken = {*taken_columns(roles, 0), *roles.scores[0]}
    for name, column in roles.tables[0].columns.items():
        is_shared = all(name in table.columns for table in roles.tables)
        if name in taken or not is_shared or (name in roles.equal and truth is None):
            continue
        if has_name_of(name, "truth") or has_name_of(name, "beside") or not may_be_answer(column):
            continue
        if not all(
            _follows_scores(roles, place, name, truth) for place in range(len(roles.tables))
        ):
            continue
        options = roles.options
        readings = [
            PossibleReading(f"{name} was served and counts", options.typed("--prediction", name)),
            PossibleReading("the largest score is the answer", options.typed("--exclude", (name,))),
        ]
        raise AmbiguousReadingError(
            f"The column {name!r} follows the largest score, and is not called an answer.", readings
        )


def _follows_scores(roles: FoundRoles, place: int, name: str, truth: Words | None) -> bool:
    """Return True if a column holds classes, and goes with the largest score of one file as answers do."""
    import pandas as pd

    names = roles.scores[place]
    if len(names) < 2:
        return False
    rows = roles.rows[place]
    own = roles.column(place, name).words[rows]
    words = distinct_words(own)
    known = set(names) if truth is None else distinct_words(truth)
    are_classes = words <= known or all(any(word in part for part in names) for word in words)
    if not are_classes or len(words) < 2:
        return False
    largest = roles.tables[place].numeric(names)[rows].argmax(axis=1)
    together = pd.crosstab(largest, own)
    fraction = float(together.max(axis=1).sum()) / len(largest)
    if name not in roles.equal:
        return fraction >= FOLLOWING
    # The same words as the truth in all rows are the truth once more.
    if truth is None or bool((own == truth).all()):
        return False
    right = pd.crosstab(largest, truth)
    return fraction >= FOLLOWING and fraction >= float(right.max(axis=1).sum()) / len(largest)
