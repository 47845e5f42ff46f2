"""Answers that are codes of the classes, 0..K-1 or 1..K, where the labels or what was typed are their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.counted_answers import numbers_of_counted
from shiftmetrics.tables.evidence import TableEvidence, Words
from shiftmetrics.tables.naming import LabelledAnswers, names_of_columns
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.spelling import distinct_words


def answer_words(roles: FoundRoles) -> list[Words | None]:
    """Return the answers of each file as text; names that only count the classes, LABEL_0, as their numbers."""
    words = [
        None if name is None else roles.column(place, name).words
        for place, name in enumerate(roles.answers)
    ]
    truth = roles.truth_words()
    return words if truth is None else numbers_of_counted(words, distinct_words(truth))


def translated_codes(own: Words, classes: Sequence[str], table: TableEvidence, name: str) -> Words:
    """Return codes of answers as classes."""
    places = np.array([-1 if word is None else int(word) for word in own])
    if len(places) and places.max() >= len(classes):
        raise UnreadableTableError(
            f"The column {name!r} of {table.label} must hold places of {len(classes)} classes, got {places.max()}."
        )
    lookup = np.array([*classes, None], dtype=object)
    return np.asarray(lookup[places])


def are_codes_of(own: Words, classes: tuple[str, ...] | None) -> bool:
    """Return True if answers are whole numbers where the classes that were typed are others."""
    words = distinct_words(own)
    return (
        classes is not None and not words <= set(classes) and all(word.isdigit() for word in words)
    )


def _places_of_answers(roles: FoundRoles) -> list[IntArray]:
    """Return the codes that the files answer in the matched rows, -1 in gaps; none for answers that are no codes."""
    places = []
    for place, words in enumerate(answer_words(roles)):
        if words is None:
            continue
        own = words[roles.rows[place]]
        if any(word is not None and not word.isdigit() for word in distinct_words(own)):
            return []
        places.append(np.array([-1 if word is None else int(word) for word in own], dtype=np.int64))
    return places


def _count_from_one(places: Sequence[IntArray], n_classes: int) -> bool:
    """Return True if codes are 1..K of K classes, as R, MATLAB and SPSS count them."""
    codes = {int(code) for part in places for code in np.unique(part) if code >= 0}
    return bool(codes) and min(codes) >= 1 and max(codes) == n_classes


def typed_classes_of_codes(roles: FoundRoles, classes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the classes that were typed by their codes: of codes 1..K the first one is no class."""
    return ("", *classes) if _count_from_one(_places_of_answers(roles), len(classes)) else classes


def classes_of_codes(roles: FoundRoles, truth: Words | None, known: set[str]) -> tuple[str, ...]:
    """Return the classes that answers 0..K-1 stand for, as for numbered columns; of 1..K the first is no class."""
    import pandas as pd

    assert truth is not None
    there = ~np.asarray(pd.isna(truth))
    places = _places_of_answers(roles)
    n_classes = max(int(part.max(initial=0)) for part in places) + 1
    n_named = len(known) if roles.options.classes is None else len(roles.options.classes)
    first = 1 if _count_from_one(places, n_named) else 0
    if first:
        places = [np.where(part < 0, part, part - 1) for part in places]
        n_classes = n_named
    n_classes = max(n_classes, len(known))
    labelled = LabelledAnswers(find=lambda: ([part[there] for part in places], truth[there]))
    columns = tuple(str(place + first) for place in range(n_classes))
    names = names_of_columns(columns, known, labelled, roles.options, roles.tables[0].label)
    return ("", *names) if first else names
