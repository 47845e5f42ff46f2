"""Answers that only count the classes, and answers that name the columns which count them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import AmbiguousReadingError, PossibleReading
from shiftmetrics.tables.classes import are_places, classes_by_name, place_numbers
from shiftmetrics.tables.evidence import Words
from shiftmetrics.tables.naming import FEW_LABELS
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.prediction_tables import PredictionTable
from shiftmetrics.tables.roles.names import has_name_of
from shiftmetrics.tables.spelling import distinct_words, respelled

_COUNTED = re.compile(r"(.*\D)(\d+)")


def numbers_of_counted(words: Sequence[Words | None], labels: set[str]) -> list[Words | None]:
    """Return answers such as LABEL_0 and LABEL_1 as their numbers, where the labels have other names.

    Nothing is changed where some answer, or its number, is a label.
    """
    distinct = set().union(*(distinct_words(part) for part in words if part is not None))
    parts = {word: _COUNTED.fullmatch(word) for word in distinct}
    if not distinct or not all(parts.values()):
        return list(words)
    numbers = {word: str(int(part[2])) for word, part in parts.items() if part is not None}
    beginnings = {part[1] for part in parts.values() if part is not None}
    is_named = distinct & labels or set(numbers.values()) & labels
    # Rooms and codes are counted as well, among labels that are no plain words.
    if len(beginnings) != 1 or is_named or any(re.search(r"\d", label) for label in labels):
        return list(words)
    return [None if part is None else respelled(part, numbers) for part in words]


def classes_of_largest(
    scores: FloatArray, answers: Words, known: set[str]
) -> tuple[str, ...] | None:
    """Return the class of each column, where the answer is one class for each place of the largest score.

    None where a place goes with several answers, or where more than one column is never the largest.
    """
    import pandas as pd

    if pd.isna(answers).any():
        return None
    # Rows with two largest scores say nothing: which of them is served is the model's own rule.
    largest = scores.max(axis=1, keepdims=True)
    is_tied = (scores == largest).sum(axis=1) > 1
    places = scores.argmax(axis=1)
    names: dict[int, str] = {}
    for place, answer in zip(places[~is_tied].tolist(), answers[~is_tied], strict=True):
        if names.setdefault(place, str(answer)) != str(answer):
            return None
    if len(set(names.values())) < len(names):
        return None
    # One column that is never the largest belongs to the one class that no answer names.
    open_places = [place for place in range(scores.shape[1]) if place not in names]
    rest = sorted(known - set(names.values()))
    if len(open_places) != len(rest) or len(rest) > 1:
        return None
    names.update(zip(open_places, rest, strict=True))
    return tuple(names[place] for place in range(scores.shape[1]))


def classes_of_answers(
    roles: FoundRoles, place: int, served: Sequence[Words | None], known: set[str]
) -> tuple[str, ...] | None:
    """Return the classes of columns without their names by the answers beside them; None where these do not tell.

    Parameters
    ----------
    roles : FoundRoles
    place : int
        Which file.
    served : sequence of array of str or None
        The answers of each file.
    known : set of str
        The classes that labels and answers name.
    """
    own = served[place]
    name = roles.answers[place]
    if own is None or name is None or roles.options.classes is not None:
        return None
    columns = roles.scores[place]
    is_plain = has_name_of(name, "answer") and are_places(columns)
    if not is_plain and (len(own) < FEW_LABELS or _say_classes(columns, known)):
        return None
    found = classes_of_largest(roles.tables[place].numeric(columns), own, known)
    if found is not None or is_plain:
        return found
    # one model may never answer with a class that the other names
    alike = [other for other, names in enumerate(roles.scores) if names == columns]
    answers = [words for words in (served[other] for other in alike) if words is not None]
    if len(answers) < len(alike):
        return None
    scores = [roles.tables[other].numeric(columns) for other in alike]
    return classes_of_largest(np.concatenate(scores), np.concatenate(answers), known)


def _say_classes(columns: Sequence[str], known: set[str]) -> bool:
    """Return True if names of columns are those of the classes, or numbers that may be."""
    return bool(classes_by_name(columns, known)) or known <= set(map(str, place_numbers(columns)))


def ask_for_counted(roles: FoundRoles, files: Sequence[PredictionTable]) -> None:
    """Ask whether columns that count the classes stand in the order in which the other file names them."""
    counted = [file for file in files if all(word.isdigit() for word in file.classes)]
    named = {file.classes for file in files if file not in counted}
    if len(named) != 1 or not counted:
        return
    (classes,) = named
    if any(len(file.classes) != len(classes) for file in counted):
        return
    listed = " and ".join(file.name or file.argument for file in counted)
    raise AmbiguousReadingError(
        f"The columns {first_few(list(counted[0].columns), 6, show=str)} of {listed} count the classes that the "
        "other file names.",
        [PossibleReading("in the same order", roles.options.typed("--classes", classes))],
    )
