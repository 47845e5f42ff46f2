"""Two classifiers as one pair: their answers and the labels in one numbering of the classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, is_table
from shiftmetrics._core.class_names import column_classes, sort_key
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions.predictions.columns import FileColumns
from shiftmetrics.decisions.predictions.labels import KnownLabels
from shiftmetrics.decisions.predictions.pairs import ClassPair, MatchedRows
from shiftmetrics.decisions.predictions.predictions import (
    ColumnForm,
    ServedPredictions,
    class_scores,
    factorize,
    hard_labels,
    second_class,
)

UNLABELLED = -1
"""Code of a label that is not known."""


@dataclass(frozen=True, kw_only=True)
class ClassFile:
    """One file of a classifier, as far as its form is known.

    Attributes
    ----------
    columns : FileColumns
        Its columns.
    numbers : ndarray or None
        Its single column of numbers, where it has one.
    form : str
        What that column is.
    """

    columns: FileColumns
    numbers: FloatArray | None
    form: ColumnForm


def read_classes(
    rows: MatchedRows,
    files: tuple[ClassFile, ClassFile],
    labelled: KnownLabels | None,
    threshold: float | None,
) -> ClassPair:
    """Return the answers of both classifiers, and the labels, as positions among the classes of both.

    Where two classes have probabilities and neither model ever answers one of them, nothing can
    change at .5: such rare events are cut at the rate of the labels.

    Raises
    ------
    ValueError
        If classes do not match, a label is none of them, or a threshold is needed.
    """
    pair = _pair_at(rows, files, labelled, threshold)
    # From here on for rare events alone.
    if threshold is not None or not _never_answers(pair):
        return pair
    rare = str(pair.classes[1 - pair.old_codes[0]])
    if not rows.known.all():
        got = f"None, where neither model gives {rare!r} a probability above .5"
        remedy = "Pass the probability from which the second class is the answer, or labels for all rows."
        raise ArgumentValueError("threshold", "given", got, remedy)
    rate = float((pair.labels == 1).mean())
    pair = _pair_at(rows, files, labelled, rate)
    warning = (
        f"Neither model gives {rare} a probability above .5: answers are cut at the rate of the labels, {rate:.3g}. "
        "Pass threshold= to choose."
    )
    return replace(pair, rows=replace(pair.rows, warnings=(*pair.rows.warnings, warning)))


def _pair_at(
    rows: MatchedRows,
    files: tuple[ClassFile, ClassFile],
    labelled: KnownLabels | None,
    threshold: float | None,
) -> ClassPair:
    """Return the pair at one threshold."""
    named = _named_classes(files, labelled)
    names = _names_of_two(files, named)
    old = _served(files[0], names, threshold, named)
    # The second class is that of the old file, whatever the order of columns in the new one.
    new = _served(files[1], old.names if len(old.names) == 2 else names, threshold, named)
    old, new = _same_names(old, new)
    # One numbering for both; ties were decided in the order of each file's own columns.
    classes = _all_classes(old, new)
    old_codes = _joint(old, classes)[rows.old_rows]
    new_codes = _joint(new, classes)[rows.new_rows]
    codes, classes, warnings = _label_codes(rows, labelled, classes, old, new)
    return ClassPair(
        rows=replace(rows, warnings=(*rows.warnings, *warnings)),
        classes=np.array(classes),
        old=old,
        new=new,
        old_codes=old_codes,
        new_codes=new_codes,
        labels=codes,
        threshold=threshold,
    )


def _never_answers(pair: ClassPair) -> bool:
    """Return True if probabilities of two classes differ, and yet both models always give one and the same answer."""
    if len(pair.classes) != 2 or not (pair.old.has_probabilities and pair.new.has_probabilities):
        return False
    answer = pair.old_codes[0]
    if (pair.old_codes != answer).any() or (pair.new_codes != answer).any():
        return False
    # Two equal files change at no threshold.
    rows = np.arange(len(pair.old_codes))
    old = pair.probabilities(pair.old, rows)
    new = pair.probabilities(pair.new, rows)
    return not np.array_equal(old, new)


def _named_classes(
    files: tuple[ClassFile, ClassFile], labelled: KnownLabels | None
) -> tuple[str, ...]:
    """Return the classes that labels, or else the answers of one file, name."""
    if labelled is not None and labelled.known.any():
        return tuple(factorize(labelled.values[labelled.known], "labels")[1])
    with_answers = [file for file in files if _holds_answers(file)]
    # Answers of both need no columns named.
    if len(with_answers) == 1:
        file = with_answers[0]
        return hard_labels(_answers(file), file.columns.argument).names
    return ()


def _names_of_two(files: tuple[ClassFile, ClassFile], named: tuple[str, ...]) -> tuple[str, ...]:
    """Return the classes of a column of probabilities: those of the other file, or of the labels, or 0 and 1."""
    for file in files:
        scores = file.columns.scores
        if is_table(scores) and len(scores.columns) == 2:
            return column_classes(scores, named)
    if len(named) == 2:
        return named
    return "0", "1"


def _served(
    file: ClassFile, names: tuple[str, ...], threshold: float | None, named: tuple[str, ...]
) -> ServedPredictions:
    """Read one file in its form; ``names`` are the two classes of a single column."""
    argument = file.columns.argument
    scores = file.columns.scores
    if _has_column_for_each(file):
        return class_scores(scores, argument, threshold, names[-1], named)
    if file.numbers is not None and not _holds_answers(file):
        return second_class(file.numbers, argument, names, threshold, form=file.form)
    # What is left are answers.
    if threshold is not None:
        remedy = "Labels have no scores that it could cut."
        raise ArgumentValueError("threshold", "None for labels", threshold, remedy)
    served = hard_labels(_answers(file), argument)
    return replace(served, confidence=file.columns.confidence)


def _has_column_for_each(file: ClassFile) -> bool:
    """Return True if a file has a column for each class."""
    scores = file.columns.scores
    return file.numbers is None and np.ndim(scores) == 2 and scores.shape[1] > 1


def _holds_answers(file: ClassFile) -> bool:
    """Return True if a file holds neither scores nor probabilities."""
    single = file.numbers is not None and file.form in ("probability", "margin")
    return not single and not _has_column_for_each(file)


def _answers(file: ClassFile) -> Any:
    """Return the answers of a file as one array."""
    scores = file.columns.scores
    return np.ravel(scores.to_numpy() if is_table(scores) else scores)


def _same_names(
    old: ServedPredictions, new: ServedPredictions
) -> tuple[ServedPredictions, ServedPredictions]:
    """Let the columns of an array without names have those of the other file."""
    if old.has_names == new.has_names or len(old.names) != len(new.names):
        return old, new
    if old.has_names:
        return old, replace(new, names=old.names)
    return replace(old, names=new.names), new


def _all_classes(old: ServedPredictions, new: ServedPredictions) -> list[str]:
    """Return the classes of both, in the order of the old one's columns.

    Raises
    ------
    ValueError
        If one file lacks a class that the other has a column for, or they have no class in common.
    """
    # Answers alone: a class may be rare enough that one model never gives it.
    if not old.has_columns and not new.has_columns:
        if not set(old.names) & set(new.names):
            got = f"{first_few(old.names, 2)} in old and {first_few(new.names, 2)} in new"
            raise ArgumentValueError("old and new", "answers with classes in common", got)
        return sorted({*old.names, *new.names}, key=sort_key)
    # A column for each class: both must have the same.
    for one, other in ((old, new), (new, old)):
        alone = [name for name in one.names if name not in other.names]
        if alone and other.has_columns:
            got = f"{first_few(alone)} only in {one.argument}"
            remedy = "Name the columns of both after their classes."
            raise ArgumentValueError("old and new", "of the same classes", got, remedy)
    return list(old.names if old.has_columns else new.names)


def _joint(served: ServedPredictions, classes: list[str]) -> IntArray:
    """Return the answers as positions among the classes of both."""
    places = np.array([classes.index(name) for name in served.names], dtype=np.int64)
    # Mostly the numbering is that of both already, and nothing is copied.
    if (places == np.arange(len(places))).all():
        return served.codes
    return places[served.codes]


def _label_codes(
    rows: MatchedRows,
    labelled: KnownLabels | None,
    classes: list[str],
    old: ServedPredictions,
    new: ServedPredictions,
) -> tuple[IntArray, list[str], tuple[str, ...]]:
    """Return the labels as positions among the classes, to which those of labels may be added.

    Raises
    ------
    ValueError
        If a label is no class of the scores, or none is a class of the answers.
    """
    codes = np.full(len(rows.ids), UNLABELLED, dtype=np.int64)
    if labelled is None or not labelled.known.any():
        return codes, classes, ()
    own, names = factorize(labelled.values[labelled.known], "labels")
    outside = [name for name in names if name not in classes]
    warnings: tuple[str, ...] = ()
    if outside:
        # With columns all classes are known; without, a label may be of a class that no model answers.
        if old.has_columns or new.has_columns or len(outside) == len(names):
            place = int(np.flatnonzero(own == names.index(outside[0]))[0])
            row = rows.ids[np.flatnonzero(labelled.known)[place]]
            expected = f"one of the classes {first_few(classes, 6)}"
            got = f"{outside[0]!r} for {row!s} ({len(outside)} such label(s))"
            raise ArgumentValueError("labels", expected, got)
        warning = (
            f"Neither model ever answers {first_few(outside)}, which labels hold: such rows count as wrong. "
            "Check the spelling."
        )
        warnings = (warning,)
        classes = [*classes, *outside]
    places = np.array([classes.index(name) for name in names], dtype=np.int64)
    codes[labelled.known] = places[own]
    return codes, classes, warnings
