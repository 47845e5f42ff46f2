"""Two files of predictions as one pair: the same rows, classes in one numbering, labels and groups beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, is_table
from shiftmetrics._core.validation import check_number, describe, first_few
from shiftmetrics.decisions.columns import FileColumns, take_apart
from shiftmetrics.decisions.labels import KnownLabels, is_missing, known_labels
from shiftmetrics.decisions.matching import Ids, as_strings, match_rows
from shiftmetrics.decisions.plan import digest_of
from shiftmetrics.decisions.predictions import (
    ColumnForm,
    ServedPredictions,
    class_scores,
    column_classes,
    column_form,
    factorize,
    hard_labels,
    margins,
    one_column,
    one_probability,
    sort_key,
)

UNLABELLED = -1

ROUNDING = 1e-9
"""Change of an output, relative to the largest one, that is taken for rounding."""


@dataclass(frozen=True, kw_only=True)
class MatchedRows:
    """What two files have in common, whatever they predict.

    Attributes
    ----------
    ids : ndarray of shape (n_samples,)
        Of the rows that both have, or their positions.
    old_rows, new_rows : ndarray of shape (n_samples,)
        Their positions in both files.
    known : ndarray of shape (n_samples,)
        Whether a row has a label.
    group : ndarray of shape (n_samples,) or None
        The group of each row.
    group_name : str
    plan : str or None
        The plan that the labels belong to, as their file says.
    found : tuple of str
        What the columns were taken for.
    warnings : tuple of str
    """

    ids: Ids
    old_rows: IntArray
    new_rows: IntArray
    known: BoolArray
    group: npt.NDArray[Any] | None = None
    group_name: str = "group"
    plan: str | None = None
    found: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ClassPair:
    """The answers of two classifiers to the same rows.

    Attributes
    ----------
    rows : MatchedRows
    classes : ndarray of shape (n_classes,)
        Names of the classes of both.
    old, new : ServedPredictions
        In the order of their own files and classes.
    old_codes, new_codes : ndarray of shape (n_samples,)
        The answers, as positions in ``classes``.
    labels : ndarray of shape (n_samples,)
        The known labels as positions in ``classes``, -1 elsewhere.
    all_classes_known : bool
        Whether no label can be of another class.
    threshold : float or None
        From which the second class of two is the answer.
    """

    rows: MatchedRows
    classes: npt.NDArray[Any]
    old: ServedPredictions
    new: ServedPredictions
    old_codes: IntArray
    new_codes: IntArray
    labels: IntArray
    all_classes_known: bool
    threshold: float | None = None

    @property
    def changed(self) -> BoolArray:
        """Rows in which the answer changes."""
        return np.asarray(self.old_codes != self.new_codes)

    @property
    def digest(self) -> str:
        """SHA-256 of the ids and of both predictions."""
        return digest_of(
            as_strings(self.rows.ids), "|".join(self.classes), self.old_codes, self.new_codes
        )

    def confidence(self, side: ServedPredictions) -> FloatArray | None:
        """Return the confidence of one side in the matched rows."""
        if side.confidence is None:
            return None
        rows = self.rows.old_rows if side is self.old else self.rows.new_rows
        return side.confidence[rows]


@dataclass(frozen=True, kw_only=True)
class OutputPair:
    """The outputs of two regressions on the same rows.

    Attributes
    ----------
    rows : MatchedRows
    old_outputs, new_outputs : ndarray of shape (n_samples,)
    labels : ndarray of shape (n_samples,)
        True values; NaN where they are not known.
    tolerance : float
        Largest change that does not count.
    """

    rows: MatchedRows
    old_outputs: FloatArray
    new_outputs: FloatArray
    labels: FloatArray
    tolerance: float

    @property
    def changed(self) -> BoolArray:
        """Rows in which the output changes by more than the tolerance."""
        return np.asarray(np.abs(self.new_outputs - self.old_outputs) > self.tolerance)

    @property
    def digest(self) -> str:
        """SHA-256 of the ids and of both predictions."""
        return digest_of(as_strings(self.rows.ids), self.old_outputs, self.new_outputs)


def read_pair(
    old: Any,
    new: Any,
    *,
    labels: Any,
    ids: Any,
    inner: bool,
    threshold: float | None,
    tolerance: float | None,
    groups: Any,
) -> ClassPair | OutputPair:
    """Read, match and check both files; see `diff_models` for the arguments.

    Raises
    ------
    TypeError, ValueError
        If something is missing, contradicts, or cannot be told; the message names the column and
        the row.
    """
    if threshold is not None:
        threshold = check_number(threshold, "threshold")
    if tolerance is not None:
        tolerance = check_number(tolerance, "tolerance", low=0.0)
    if threshold is not None and tolerance is not None:
        remedy = "The first is for classes, the second for outputs of a regression."
        raise ValueError(describe("threshold and tolerance", "given one at a time", "both", remedy))
    sides = take_apart(old, new, ids=ids, labels=labels, groups=groups)
    old_rows, new_rows, row_ids = match_rows(*sides, ids, inner=inner)
    labelled = known_labels(labels, *sides, (old_rows, new_rows), row_ids)
    rows = MatchedRows(
        ids=row_ids,
        old_rows=old_rows,
        new_rows=new_rows,
        known=np.zeros(len(row_ids), dtype=bool) if labelled is None else labelled.known,
        group=_groups(groups, sides, (old_rows, new_rows)),
        group_name=groups if isinstance(groups, str) else "group",
        plan=None if labelled is None else labelled.plan,
        found=_found(sides),
        warnings=() if labelled is None else labelled.warnings,
    )
    columns = [one_column(_answers(side), side.argument) for side in sides]
    values = _numeric_labels(labelled)
    numbers = [column for column in columns if column is not None]
    form: ColumnForm = "labels"
    if numbers:
        form = column_form(numbers, values, threshold=threshold, tolerance=tolerance)
    if form == "outputs" or tolerance is not None:
        return _output_pair(rows, columns, labelled, tolerance)
    return _class_pair(rows, sides, columns, form, labelled, threshold)


def _answers(side: FileColumns) -> Any:
    """Return what the model served: the answer that stands beside scores, else the scores."""
    return side.scores if side.answers is None else side.answers


def _found(sides: tuple[FileColumns, FileColumns]) -> tuple[str, ...]:
    """Return what was taken for what, said once where both files agree."""
    both = [text for text in sides[0].found if text in sides[1].found]
    alone = []
    for side in sides:
        alone += [f"{text} of {side.argument}" for text in side.found if text not in both]
    return (*both, *alone)


def _groups(
    groups: Any, sides: tuple[FileColumns, FileColumns], rows: tuple[IntArray, IntArray]
) -> npt.NDArray[Any] | None:
    """Return the group of each matched row.

    Raises
    ------
    ValueError
        If there is none for a row.
    """
    if groups is None:
        return None
    if isinstance(groups, str):
        found = [
            side.group[part]
            for side, part in zip(sides, rows, strict=True)
            if side.group is not None
        ]
        values = found[0]
    else:
        values = np.asarray(groups.to_numpy() if hasattr(groups, "to_numpy") else groups)
        if values.shape != (sides[0].n_rows,):
            expected = f"one for each of {sides[0].n_rows} rows"
            raise ValueError(describe("groups", expected, f"shape {values.shape}"))
        values = values[rows[0]]
    missing = is_missing(values)
    if missing.any():
        got = f"{int(missing.sum())} without one, the first at row {int(np.argmax(missing))}"
        raise ValueError(describe("groups", "given in each row", got))
    return as_strings(values)


def _numeric_labels(labelled: KnownLabels | None) -> FloatArray | None:
    """Return the known labels as numbers; None where there are none, or they are words."""
    if labelled is None or not labelled.known.any():
        return None
    try:
        return labelled.values[labelled.known].astype(np.float64)
    except (TypeError, ValueError):
        return None


def _output_pair(
    rows: MatchedRows,
    columns: list[FloatArray | None],
    labelled: KnownLabels | None,
    tolerance: float | None,
) -> OutputPair:
    """Return two columns of outputs with their true values."""
    for column, argument in zip(columns, ("old", "new"), strict=True):
        if column is None:
            remedy = "Outputs of a regression are one number for each row."
            raise ValueError(
                describe(argument, "a single column of numbers", "another form", remedy)
            )
    assert columns[0] is not None
    assert columns[1] is not None
    old = columns[0][rows.old_rows]
    new = columns[1][rows.new_rows]
    if tolerance is None:
        tolerance = ROUNDING * float(np.abs(old).max())
    truth = np.full(len(old), np.nan)
    if labelled is not None:
        try:
            truth[rows.known] = labelled.values[rows.known].astype(np.float64)
        except (TypeError, ValueError) as error:
            remedy = "Outputs of a regression need true values."
            raise ValueError(
                describe("labels", "numbers", value=labelled.values[rows.known][0], remedy=remedy)
            ) from error
        infinite = rows.known & ~np.isfinite(truth)
        if infinite.any():
            row = int(np.argmax(infinite))
            raise ValueError(describe("labels", "finite", f"{truth[row]:g} for {rows.ids[row]!s}"))
    return OutputPair(
        rows=rows, old_outputs=old, new_outputs=new, labels=truth, tolerance=tolerance
    )


def _class_pair(
    rows: MatchedRows,
    sides: tuple[FileColumns, FileColumns],
    columns: list[FloatArray | None],
    form: ColumnForm,
    labelled: KnownLabels | None,
    threshold: float | None,
) -> ClassPair:
    """Return both classifiers' answers in one numbering of their classes."""
    names = _names_of_two(sides, labelled)
    old = _served(sides[0], columns[0], form, names, threshold, None)
    second = old.names[1] if len(old.names) == 2 else None
    served = [old, _served(sides[1], columns[1], form, names, threshold, second)]
    classes = _all_classes(*served)
    named_by_columns = form != "labels" or any(side.has_probabilities for side in served)
    named_by_columns |= any(
        column is None and np.ndim(side.scores) == 2
        for side, column in zip(sides, columns, strict=True)
    )
    codes, classes, warnings = _label_codes(labelled, classes, named_by_columns, rows)
    pair = ClassPair(
        rows=replace(rows, warnings=(*rows.warnings, *warnings)),
        classes=np.array(classes),
        old=served[0],
        new=served[1],
        old_codes=_joint(served[0], classes)[rows.old_rows],
        new_codes=_joint(served[1], classes)[rows.new_rows],
        labels=codes,
        all_classes_known=named_by_columns or len(classes) == 2,
        threshold=threshold,
    )
    return pair if threshold is not None else _rare_events(pair, sides, columns, form, labelled)


def _names_of_two(
    sides: tuple[FileColumns, FileColumns], labelled: KnownLabels | None
) -> tuple[str, str]:
    """Return the classes of a column of probabilities: those of the other file, or of the labels, or 0 and 1."""
    for side in sides:
        if is_table(side.scores) and len(side.scores.columns) == 2:
            first, second = column_classes(side.scores)
            return first, second
    if labelled is not None and labelled.known.any():
        names = factorize(labelled.values[labelled.known], "labels")[1]
        if len(names) == 2:
            return names[0], names[1]
    return "0", "1"


def _served(
    side: FileColumns,
    column: FloatArray | None,
    form: ColumnForm,
    names: tuple[str, str],
    threshold: float | None,
    second: str | None,
) -> ServedPredictions:
    """Read one side in its form; ``second`` is the second class of the other one."""
    if column is not None and form == "probability":
        return one_probability(column, side.argument, names, threshold)
    if column is not None and form == "margin":
        return margins(column, side.argument, names, threshold)
    answers = _answers(side)
    if np.ndim(answers) == 2 and column is None:
        return class_scores(answers, side.argument, threshold, second)
    if threshold is not None:
        remedy = "Labels have no scores that it could cut."
        raise ValueError(describe("threshold", "None for labels", threshold, remedy))
    values = answers.to_numpy() if is_table(answers) else answers
    served = hard_labels(np.ravel(values), side.argument)
    if side.answers is None:
        return served
    if is_table(side.scores) or np.ndim(side.scores) == 2:
        beside = class_scores(side.scores, side.argument)
        if set(served.names) <= set(beside.names):
            places = np.array([beside.names.index(name) for name in served.names])
            codes = places[served.codes]
            if beside.has_probabilities:
                chosen = np.empty(len(codes))
                for start in range(0, len(codes), 65536):
                    part = slice(start, start + 65536)
                    block = beside.probabilities(part)
                    chosen[part] = block[np.arange(len(block)), codes[part]]
                return replace(beside, codes=codes, confidence=chosen, n_tied=0)
            return replace(beside, codes=codes, confidence=None, n_tied=0)
        alone = first_few(sorted(set(served.names) - set(beside.names)))
        raise ValueError(describe(side.argument, "answers that are classes of its scores", alone))
    if side.confidence is not None:
        return replace(served, confidence=side.confidence.astype(np.float64))
    return served


def _all_classes(old: ServedPredictions, new: ServedPredictions) -> list[str]:
    """Return the classes of both, in the order of the old one's columns.

    Raises
    ------
    ValueError
        If one file lacks a class that the other has a column for, or they have no class in common.
    """
    if old.form == new.form == "labels":
        if not set(old.names) & set(new.names):
            got = f"{first_few(old.names, 2)} in old and {first_few(new.names, 2)} in new"
            raise ValueError(describe("old and new", "answers with classes in common", got))
        return sorted({*old.names, *new.names}, key=sort_key)
    for one, other in ((old, new), (new, old)):
        alone = [name for name in one.names if name not in other.names]
        if alone and other.form != "labels":
            got = f"{first_few(alone)} only in {one.argument}"
            remedy = "Name the columns of both after their classes."
            raise ValueError(describe("old and new", "of the same classes", got, remedy))
    return list(old.names if old.form != "labels" else new.names)


def _joint(served: ServedPredictions, classes: list[str]) -> IntArray:
    """Return the answers as positions among the classes of both."""
    places = np.array([classes.index(name) for name in served.names], dtype=np.int64)
    return places[served.codes]


def _label_codes(
    labelled: KnownLabels | None, classes: list[str], named_by_columns: bool, rows: MatchedRows
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
        place = int(np.flatnonzero(own == names.index(outside[0]))[0])
        row = rows.ids[np.flatnonzero(labelled.known)[place]]
        if named_by_columns or len(outside) == len(names):
            expected = f"one of the classes {first_few(classes, 6)}"
            got = f"{outside[0]!r} for {row!s} ({len(outside)} such label(s))"
            raise ValueError(describe("labels", expected, got))
        warnings = (
            f"Neither model ever answers {first_few(outside)}, which labels hold: such rows count as wrong. "
            "Check the spelling.",
        )
        classes = [*classes, *outside]
    places = np.array([classes.index(name) for name in names], dtype=np.int64)
    codes[labelled.known] = places[own]
    return codes, classes, warnings


def _rare_events(
    pair: ClassPair,
    sides: tuple[FileColumns, FileColumns],
    columns: list[FloatArray | None],
    form: ColumnForm,
    labelled: KnownLabels | None,
) -> ClassPair:
    """Cut probabilities of a rare class at the rate of the labels where neither model ever answers it.

    Raises
    ------
    ValueError
        If there are no labels to take the rate from.
    """
    if len(pair.classes) != 2 or not (pair.old.has_probabilities and pair.new.has_probabilities):
        return pair
    answered = np.unique(np.concatenate([pair.old_codes, pair.new_codes]))
    if len(answered) != 1:
        return pair
    column = str(pair.classes[1])
    old = pair.old.probabilities(pair.rows.old_rows)[:, pair.old.names.index(column)]
    new = pair.new.probabilities(pair.rows.new_rows)[:, pair.new.names.index(column)]
    if np.array_equal(old, new):
        return pair
    if not pair.rows.known.all():
        rare = pair.classes[1 - answered[0]]
        got = f"None, where neither model gives {rare!r} a probability above .5"
        remedy = "Pass the probability from which the second class is the answer, or labels for all rows."
        raise ValueError(describe("threshold", "given", got, remedy))
    rate = float((pair.labels == 1).mean())
    cut = _class_pair(pair.rows, sides, columns, form, labelled, rate)
    rare = pair.classes[1 - answered[0]]
    warning = (
        f"Neither model gives {rare} a probability above .5: answers are cut at the rate of the labels, {rate:.3g}. "
        "Pass threshold= to choose."
    )
    return replace(cut, rows=replace(cut.rows, warnings=(*cut.rows.warnings, warning)))
