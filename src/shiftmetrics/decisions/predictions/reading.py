"""Read two files of predictions as one pair: match the rows, tell the forms, add labels and groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_number
from shiftmetrics.decisions.predictions.class_pairs import ClassFile, read_classes
from shiftmetrics.decisions.predictions.columns import FileColumns, take_apart
from shiftmetrics.decisions.predictions.labels import KnownLabels, is_missing, known_labels
from shiftmetrics.decisions.predictions.matching import RowSelection, as_strings, match_rows
from shiftmetrics.decisions.predictions.pairs import ClassPair, MatchedRows, OutputPair
from shiftmetrics.decisions.predictions.predictions import ColumnForm, column_form, one_column

ROUNDING = 1e-9
"""Change of an output, relative to the largest one, that is taken for rounding."""


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
        If something is missing, inconsistent or ambiguous; the message names the column and
        the row.
    """
    if threshold is not None:
        threshold = check_number(threshold, "threshold")
    if tolerance is not None:
        tolerance = check_number(tolerance, "tolerance", low=0.0)
    if threshold is not None and tolerance is not None:
        remedy = "The first is for classes, the second for outputs of a regression."
        raise ArgumentValueError("threshold and tolerance", "given one at a time", "both", remedy)
    # What the columns are, which rows belong together, what is known of them.
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
    # A single column of numbers may be several things; both files are read together.
    columns = [one_column(side.scores, side.argument) for side in sides]
    numbers = [column for column in columns if column is not None]
    form: ColumnForm = "labels"
    if numbers:
        known = None if labelled is None else labelled.values[labelled.known]
        form = column_form(numbers, known, threshold=threshold, tolerance=tolerance)
    if form == "outputs" or tolerance is not None:
        return _output_pair(rows, columns, labelled, tolerance)
    # Both are classifiers: answers and labels get one numbering of the classes.
    old_file = ClassFile(columns=sides[0], numbers=columns[0], form=form)
    new_file = ClassFile(columns=sides[1], numbers=columns[1], form=form)
    return read_classes(rows, (old_file, new_file), labelled, threshold)


def _found(sides: tuple[FileColumns, FileColumns]) -> tuple[str, ...]:
    """Return what was taken for what, said once where both files agree."""
    both = [text for text in sides[0].found if text in sides[1].found]
    alone = []
    for side in sides:
        alone += [f"{text} of {side.argument}" for text in side.found if text not in both]
    return (*both, *alone)


def _groups(
    groups: Any, sides: tuple[FileColumns, FileColumns], rows: tuple[RowSelection, RowSelection]
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
            raise ArgumentValueError("groups", expected, f"shape {values.shape}")
        values = values[rows[0]]
    # A row without a group would be in no part of the result.
    missing = is_missing(values)
    if missing.any():
        got = f"{int(missing.sum())} without one, the first at row {int(np.argmax(missing))}"
        raise ArgumentValueError("groups", "given in each row", got)
    return as_strings(values)


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
            raise ArgumentValueError(argument, "a single column of numbers", "another form", remedy)
    assert columns[0] is not None
    assert columns[1] is not None
    old = columns[0][rows.old_rows]
    new = columns[1][rows.new_rows]
    # Two runs of one model differ in the last digits.
    if tolerance is None:
        tolerance = ROUNDING * float(np.abs(old).max())
    # What is not known stays NaN, which no comparison below takes for a number.
    truth = np.full(len(old), np.nan)
    if labelled is not None:
        try:
            truth[rows.known] = labelled.values[rows.known].astype(np.float64)
        except (TypeError, ValueError) as error:
            remedy = "Outputs of a regression need true values."
            raise ArgumentValueError(
                "labels", "numbers", value=labelled.values[rows.known][0], remedy=remedy
            ) from error
        infinite = rows.known & ~np.isfinite(truth)
        if infinite.any():
            row = int(np.argmax(infinite))
            raise ArgumentValueError("labels", "finite", f"{truth[row]:g} for {rows.ids[row]!s}")
    return OutputPair(
        rows=rows, old_outputs=old, new_outputs=new, labels=truth, tolerance=tolerance
    )
