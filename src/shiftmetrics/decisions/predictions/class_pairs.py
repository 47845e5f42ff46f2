"""Two classifiers as one pair: their answers and the labels in one numbering of the classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.class_names import sort_key
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions.predictions.pairs import ClassPair, MatchedRows
from shiftmetrics.decisions.predictions.predictions import (
    ServedPredictions,
    answers_alone,
    class_scores,
    second_class,
)
from shiftmetrics.tables.prediction_tables import PredictionTable, PredictionTables

OTHER_ANSWERS = "answers that are not always the largest score"
"""How answers that stand beside scores are read where they count in place of the largest one."""

UNLABELLED = -1
"""Code of a label that is not known."""


def class_pair(rows: MatchedRows, tables: PredictionTables, threshold: float | None) -> ClassPair:
    """Return the answers of both classifiers, and the labels, as positions among the classes of both.

    Where two classes have probabilities and neither model ever answers one of them, nothing can
    change at .5: such rare events are cut at the rate of the labels.

    Raises
    ------
    ValueError
        If a label is none of the classes, or a threshold is needed.
    """
    pair = _pair_at(rows, tables, threshold)
    # From here on for rare events alone.
    if threshold is not None or not _never_answers(pair):
        return pair
    rare = str(pair.classes[1 - pair.old_codes[0]])
    if not rows.known.all():
        got = f"None, where neither model gives {rare!r} a probability above .5"
        remedy = "Pass the probability from which the second class is the answer, or labels for all rows."
        raise ArgumentValueError("threshold", "given", got, remedy)
    rate = float((pair.labels == 1).mean())
    pair = _pair_at(rows, tables, rate)
    warning = (
        f"Neither model gives {rare} a probability above .5: answers are cut at the rate of the labels, {rate:.3g}. "
        "Pass threshold= to choose."
    )
    return replace(pair, rows=replace(pair.rows, warnings=(*pair.rows.warnings, warning)))


def _pair_at(rows: MatchedRows, tables: PredictionTables, threshold: float | None) -> ClassPair:
    """Return the pair at one threshold."""
    old_file, new_file = tables.files
    old = _served(old_file, threshold, None)
    # The second class is that of the old file, whatever the order of columns in the new one.
    new = _served(new_file, threshold, old.names[-1] if len(old.names) == 2 else None)
    # One numbering for both; ties were decided in the order of each file's own columns.
    classes = _all_classes(old, new)
    labels, classes, warnings = _label_codes(rows, tables, classes, old, new)
    return ClassPair(
        rows=replace(rows, warnings=(*rows.warnings, *warnings)),
        classes=np.array(classes),
        old=old,
        new=new,
        old_codes=joint_codes_of(old, classes)[rows.old_rows],
        new_codes=joint_codes_of(new, classes)[rows.new_rows],
        labels=labels,
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


def _served(
    file: PredictionTable, threshold: float | None, second: str | None
) -> ServedPredictions:
    """Return what one model answers, in its own numbering of the classes.

    An answer that stands beside scores is what was served. Where it is the class of the largest score in each row,
    the scores say all of it; else the scores are left out.
    """
    if file.form == "answers":
        return _answers(file, threshold)
    assert file.scores is not None
    if file.form != "classes":
        return second_class(file.scores, file.argument, file.classes, threshold, form=file.form)
    scores = class_scores(
        file.scores,
        file.argument,
        file.classes,
        threshold,
        second or file.classes[-1],
        largest=file.places_of_largest,
    )
    # Whoever names a threshold asks for the answers that it gives.
    if file.served is None or threshold is not None:
        return scores
    codes = _codes_of(file.served, file.classes)
    if np.array_equal(codes, scores.codes):
        return scores
    return ServedPredictions(
        argument=file.argument,
        names=file.classes,
        codes=codes,
        form=OTHER_ANSWERS,
        has_columns=True,
    )


def _answers(file: PredictionTable, threshold: float | None) -> ServedPredictions:
    """Return answers without scores."""
    assert file.served is not None
    if threshold is not None:
        remedy = "Labels have no scores that it could cut."
        raise ArgumentValueError("threshold", "None for labels", threshold, remedy)
    served = answers_alone(file.served, file.argument)
    return replace(served, confidence=file.confidence)


def _codes_of(words: npt.NDArray[Any], classes: tuple[str, ...]) -> IntArray:
    """Return words as positions among classes that hold them all."""
    import pandas as pd

    codes, distinct = pd.factorize(words)
    places = np.array([classes.index(name) for name in distinct], dtype=np.int64)
    return places[codes]


def _all_classes(old: ServedPredictions, new: ServedPredictions) -> list[str]:
    """Return the classes of both: in the order of the old one's columns, or sorted where there are answers alone."""
    if not old.has_columns and not new.has_columns:
        if not set(old.names) & set(new.names):
            got = f"{first_few(old.names, 2)} in old and {first_few(new.names, 2)} in new"
            raise ArgumentValueError("old and new", "answers with classes in common", got)
        return sorted({*old.names, *new.names}, key=sort_key)
    return list(old.names if old.has_columns else new.names)


def joint_codes_of(served: ServedPredictions, classes: list[str]) -> IntArray:
    """Return the answers as positions among the classes of both."""
    places = np.array([classes.index(name) for name in served.names], dtype=np.int64)
    # Mostly the numbering is that of both already, and nothing is copied.
    if (places == np.arange(len(places))).all():
        return served.codes
    return places[served.codes]


def _label_codes(
    rows: MatchedRows,
    tables: PredictionTables,
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
    found = np.full(len(rows.known), UNLABELLED, dtype=np.int64)
    if tables.truth is None or not rows.known.any():
        return found, classes, ()
    everything, distinct = tables.coded_truth
    codes = everything[rows.known]
    names = [str(name) for name in distinct]
    outside = sorted((name for name in names if name not in classes), key=sort_key)
    warnings: tuple[str, ...] = ()
    if outside:
        # With columns all classes are known; without, a label may be of a class that no model answers.
        if old.has_columns or new.has_columns or len(outside) == len(names):
            place = int(np.flatnonzero(codes == names.index(outside[0]))[0])
            row = rows.ids[np.flatnonzero(rows.known)[place]]
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
    found[rows.known] = places[codes]
    return found, classes, warnings
