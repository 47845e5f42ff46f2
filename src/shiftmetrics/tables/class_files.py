"""The predictions of one classifier: its scores and answers under the names of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import AmbiguousReadingError, PossibleReading, UnreadableTableError
from shiftmetrics.tables.coded_answers import (
    are_codes_of,
    classes_of_codes,
    translated_codes,
    typed_classes_of_codes,
)
from shiftmetrics.tables.counted_answers import classes_of_answers
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence, Words
from shiftmetrics.tables.finding import free_columns
from shiftmetrics.tables.finite_scores import refuse_gaps
from shiftmetrics.tables.naming import LabelledAnswers, names_of_columns
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.prediction_tables import PredictionForm, PredictionTable
from shiftmetrics.tables.roles.answers import may_be_answer
from shiftmetrics.tables.roles.beside import column_named
from shiftmetrics.tables.roles.names import has_name_of
from shiftmetrics.tables.roles.single import SingleForm, find_single, form_of_numbers
from shiftmetrics.tables.spelling import distinct_words
from shiftmetrics.tables.tasks import refuse_pairs_of_classes
from shiftmetrics.tables.two_classes import names_of_two

AGREEING = 0.9
"""Fraction of rows in which an answer without a name of its own is the class of the largest score."""

BLOCK_ROWS = 2**16
"""Rows that are put side by side at a time."""


def class_file(
    roles: FoundRoles,
    place: int,
    served: Sequence[Words | None],
    truth: Words | None,
    known: set[str],
    *,
    codes: bool,
) -> PredictionTable:
    """Return the predictions of one file, its classes named."""
    table = roles.tables[place]
    names = roles.scores[place] if roles.scores else ()
    own = served[place]
    base = PredictionTable(
        argument=table.argument, name=table.name, form="answers", rows=roles.rows[place]
    )
    if len(names) > 1:
        if own is None:
            refuse_pairs_of_classes(names, table.label)
        scores = table.numeric(names)
        refuse_gaps(scores, names, table.label)
        labelled = _labelled(roles, truth)
        # In order of trust: a saved reading, the answers beside the scores, the names of the
        # columns.
        classes = (
            _remembered(roles, place)
            or classes_of_answers(roles, place, served, known)
            or names_of_columns(
                names, known, labelled, roles.options, table.label, _coded_classes(roles)
            )
        )
        file = replace(base, form="classes", scores=scores, classes=classes, columns=names)
        return _with_served(roles, place, file, own, codes=codes)
    if own is not None:
        return _answers_alone(roles, place, base, own, truth, known, codes=codes)
    if len(names) == 1:
        single = names[0]
    else:
        free = [
            [name for name in free_columns(roles, other) if name != roles.answers[other]]
            for other in range(len(roles.tables))
        ]
        found = find_single(roles.tables, free, roles.equal, roles.options)[place]
        if found is None:
            raise UnreadableTableError(
                f"{table.label} must have predictions: a column of answers, or scores of classes; it has "
                f"{first_few(list(table.columns), 8)}."
            )
        single = found
        _refuse_confidence(roles, place, single)
    return _single(roles, place, base, single, truth, known)


def _refuse_confidence(roles: FoundRoles, place: int, single: str) -> None:
    """Ask where a confidence stands beside a column of few values that may hold the answers."""
    options = roles.options
    if not has_name_of(single, "confidence") or options.columns is not None:
        return
    table = roles.tables[place]
    for name in free_columns(roles, place):
        column = table.columns[name]
        # A column of one value, or one that is equal in all files, tells no models apart.
        is_like = may_be_answer(column) and column.n_distinct > 1 and name not in roles.equal
        if (
            name == single
            or not is_like
            or not all(name in other.columns for other in roles.tables)
        ):
            continue
        readings = [
            PossibleReading(f"{name} holds the answers", options.typed("--prediction", name)),
            PossibleReading(f"{single} is the prediction", options.typed("--columns", (single,))),
        ]
        raise AmbiguousReadingError(
            f"{table.label} has the columns {name!r} and {single!r}: both may be predictions.",
            readings,
        )


def _coded_classes(roles: FoundRoles) -> tuple[str, ...]:
    """Return the classes in the order of their codes, where a file has such codes for the truth; none without."""
    if roles.truth is None:
        return ()
    name = roles.truth.column.name
    tables = [*roles.tables, *([] if roles.labels is None else [roles.labels])]
    return next((table.levels[name] for table in tables if name in table.levels), ())


def _remembered(roles: FoundRoles, place: int) -> tuple[str, ...]:
    """Return the classes that a saved reading names; none without one."""
    return roles.class_names[place] if roles.class_names else ()


def _labelled(roles: FoundRoles, truth: Words | None) -> LabelledAnswers | None:
    """Return the places of the largest scores in the rows with a label, for files with one column a class."""
    import pandas as pd

    if truth is None:
        return None

    def find() -> tuple[list[IntArray], Words]:
        known = ~np.asarray(pd.isna(truth))
        largest = [
            _places_of_largest(roles, place, names)[known]
            for place, names in enumerate(roles.scores)
            if len(names) > 1
        ]
        return largest, truth[known]

    is_planned = roles.truth is not None and roles.truth.plan is not None
    return LabelledAnswers(find=find, is_planned=is_planned)


def _places_of_largest(roles: FoundRoles, place: int, names: Sequence[str]) -> IntArray:
    """Return the place of the largest score of each matched row, block by block: no copy of all scores is made."""
    columns = [roles.tables[place].columns[name].numbers for name in names]
    rows = np.arange(roles.tables[place].n_rows)[roles.rows[place]]
    found = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), BLOCK_ROWS):
        part = rows[start : start + BLOCK_ROWS]
        block = np.stack([column[part] for column in columns if column is not None], axis=1)
        found[start : start + BLOCK_ROWS] = block.argmax(axis=1)
    return found


def _with_served(
    roles: FoundRoles, place: int, file: PredictionTable, own: Words | None, *, codes: bool
) -> PredictionTable:
    """Count the answers that stand beside scores, where they are answers: by name, or equal to the largest score."""
    # Where scores are asked for, it does not matter what was served.
    if own is None or roles.options.task == "scores":
        return file
    name = roles.answers[place]
    assert name is not None
    assert file.scores is not None
    if codes:
        translated = translated_codes(own, file.classes, roles.tables[place], name)
        own = translated
    largest = np.array(file.classes, dtype=object)[file.scores.argmax(axis=1)]
    differs = own != largest
    n_differs = int(differs.sum())
    is_named = has_name_of(name, "answer") or roles.options.prediction is not None
    if not is_named and n_differs > (1.0 - AGREEING) * len(own):
        column = roles.column(place, name)
        are_classes = distinct_words(own) <= set(file.classes)
        if column.n_distinct == 1 or (column.is_number and not are_classes):
            # The name of a model, and whole numbers that merely look like classes, are no answers.
            roles.answers[place] = None
            return file
        raise _served_or_not(roles, place, name, n_differs)
    _check_answers(own, name, roles.tables[place])
    if n_differs:
        roles.notes.append(
            f"in {n_differs} rows of {roles.tables[place].label} the answer {name} is not the largest "
            "score: it counts"
        )
    return replace(file, served=own)


def _served_or_not(
    roles: FoundRoles, place: int, name: str, n_differs: int
) -> AmbiguousReadingError:
    """Return the question whether a column without the name of an answer holds what was served."""
    options = roles.options
    readings = [
        PossibleReading(f"{name} was served and counts", options.typed("--prediction", name)),
        PossibleReading("the largest score is the answer", options.typed("--exclude", (name,))),
    ]
    return AmbiguousReadingError(
        f"The column {name!r} of {roles.tables[place].label} holds classes, but not that of the largest score in "
        f"{n_differs} rows.",
        readings,
    )


def _check_answers(own: Words, name: str, table: TableEvidence) -> None:
    """Refuse rows without an answer."""
    import pandas as pd

    missing = np.asarray(pd.isna(own))
    if missing.any():
        raise UnreadableTableError(
            f"{table.label} must have an answer in each row, but the column {name!r} is empty in "
            f"{int(missing.sum())}, "
            f"the first at row {int(np.argmax(missing))}."
        )


def _answers_alone(
    roles: FoundRoles,
    place: int,
    base: PredictionTable,
    own: Words,
    truth: Words | None,
    known: set[str],
    *,
    codes: bool,
) -> PredictionTable:
    """Return answers without a column for each class, with their confidence where it stands beside them."""
    table = roles.tables[place]
    name = roles.answers[place]
    assert name is not None
    options = roles.options
    if codes:
        own = translated_codes(own, classes_of_codes(roles, truth, known), table, name)
    elif are_codes_of(own, options.classes):
        assert options.classes is not None
        own = translated_codes(own, typed_classes_of_codes(roles, options.classes), table, name)
    _check_answers(own, name, table)
    confidence = None
    free = [other for other in free_columns(roles, place) if other != name]
    found = column_named([other for other in free if table.columns[other].is_number], "confidence")
    if found is None:
        fractions = [other for other in free if table.columns[other].is_fractional]
        inside = [other for other in fractions if _is_fraction_of_one(table.columns[other])]
        named = [other for other in inside if has_name_of(other, "answer")]
        found = named[0] if len(named) == 1 else None
    if found is not None and _is_fraction_of_one(table.columns[found]):
        confidence = table.columns[found].numbers
        # One entry for each file: those before this one have no confidence.
        roles.confidences[len(roles.confidences) :] = [None] * (place + 1 - len(roles.confidences))
        roles.confidences[place] = found
    return replace(base, served=own, confidence=confidence)


def _is_fraction_of_one(column: ColumnEvidence) -> bool:
    """Return True for numbers from 0 to 1 in every row."""
    numbers = column.numbers
    return (
        numbers is not None
        and bool(len(numbers))
        and bool(((numbers >= 0.0) & (numbers <= 1.0)).all())
    )


def _single(
    roles: FoundRoles,
    place: int,
    base: PredictionTable,
    name: str,
    truth: Words | None,
    known: set[str],
) -> PredictionTable:
    """Return one column of numbers as the probability, percentage or margin of the second class."""
    import pandas as pd

    table = roles.tables[place]
    column = table.columns[name]
    if column.numbers is None:
        cell = column.words[0]
        raise UnreadableTableError(
            f"The column {name!r} of {table.label} must hold numbers, got {str(cell)[:60]!r}."
        )
    numbers = column.numbers
    if not np.isfinite(numbers).all():
        row = int(np.argmax(~np.isfinite(numbers)))
        raise UnreadableTableError(
            f"{table.label} must have a finite number in each row, got {numbers[row]:g} in the column {name!r}, row "
            f"{row}. Drop these rows, or predict them again."
        )
    # The form is told by the numbers of all files together: 0 to 1 in one of them may be chance.
    others = [
        other.columns[name].numbers
        for other in roles.tables
        if name in other.columns and other.columns[name].numbers is not None
    ]
    form: SingleForm
    if roles.forms:
        form = cast(SingleForm, roles.forms[place])
    else:
        form = form_of_numbers(
            [name], [part for part in others if part is not None], truth, roles.options
        )
    roles.scores[place] = (name,)
    if form == "outputs":
        return replace(base, form="outputs", scores=numbers, columns=(name,))
    scores = numbers / 100.0 if form == "percentage" else numbers
    labelled = None
    ranked = _in_matched_rows(roles, name)
    if truth is not None:
        there = ~np.asarray(pd.isna(truth))
        labelled = truth[there]
        ranked = [part[there] for part in ranked]
    classes = _remembered(roles, place) or names_of_two(
        name, known, ranked, labelled, roles.options, table.label
    )
    single: PredictionForm = form
    return replace(
        base,
        form=single,
        scores=scores,
        classes=classes,
        columns=(name,),
        threshold=roles.options.threshold,
    )


def _in_matched_rows(roles: FoundRoles, name: str) -> list[FloatArray]:
    """Return a column of numbers in the matched rows of each file that has it."""
    found = []
    for table, rows in zip(roles.tables, roles.rows, strict=True):
        numbers = table.columns[name].numbers if name in table.columns else None
        if numbers is not None:
            found.append(numbers[rows])
    return found
