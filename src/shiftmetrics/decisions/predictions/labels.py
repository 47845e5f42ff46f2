"""Known labels: of some rows or of all, from a column, an array, or a table of ids that was filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, is_labelled, is_table, to_numpy
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions.predictions.columns import FileColumns, looks_like_id, looks_like_label
from shiftmetrics.decisions.predictions.matching import (
    Ids,
    RowSelection,
    as_strings,
    positions,
    same_type,
)

PLAN_COLUMN = "plan"


@dataclass(frozen=True, kw_only=True)
class KnownLabels:
    """The labels of the matched rows.

    Attributes
    ----------
    values : ndarray of shape (n_samples,)
        As they were given; what they hold where they are not known means nothing.
    known : ndarray of shape (n_samples,)
        Whether a row has one.
    plan : str or None
        What a file says of the plan that it belongs to.
    warnings : tuple of str
    """

    values: npt.NDArray[Any]
    known: BoolArray
    plan: str | None = None
    warnings: tuple[str, ...] = ()


def known_labels(
    labels: Any,
    old: FileColumns,
    new: FileColumns,
    rows: tuple[RowSelection, RowSelection],
    ids: Ids,
) -> KnownLabels | None:
    """Return the labels of the matched rows, or None where no file and no argument has any.

    Parameters
    ----------
    labels : str, array, Series, DataFrame or None
        The name of a column (taken already), one label for each row of the old file, or a table of
        ids and labels.
    old, new : FileColumns
        Both files, perhaps with labels of their own.
    rows : tuple of ndarray
        The rows of both files that belong together.
    ids : ndarray of shape (n_samples,)
        Their ids.

    Raises
    ------
    ValueError
        If a row is labelled twice differently, or labels belong to no row.
    """
    # A column of the files was taken out of them already.
    if labels is None or isinstance(labels, str):
        return _of_files(old, new, rows, ids)
    if is_table(labels):
        return labels_of_table(labels, ids)
    # The index of a series names rows, unless it only counts them.
    if is_labelled(labels) and type(labels.index).__name__ != "RangeIndex" and old.ids is not None:
        return _by_ids(np.asarray(labels.index), labels.to_numpy(), ids, plan=None)
    values = np.asarray(labels.to_numpy() if hasattr(labels, "to_numpy") else to_numpy(labels))
    if values.shape != (old.n_rows,):
        expected = f"one label for each of {old.n_rows} rows, or a table of ids and labels"
        raise ArgumentValueError("labels", expected, f"shape {values.shape}")
    # Labels without ids belong to the rows of the old file, whose order the matched rows keep.
    values = values[rows[0]]
    return KnownLabels(values=values, known=~is_missing(values))


def is_missing(values: npt.NDArray[Any]) -> BoolArray:
    """Return True where a label is missing: None, NaN, or an empty string."""
    import pandas as pd

    missing = np.asarray(pd.isna(values))
    if values.dtype.kind in "OUS":
        missing |= np.array([isinstance(value, str) and not value.strip() for value in values])
    return missing


def _of_files(
    old: FileColumns,
    new: FileColumns,
    rows: tuple[RowSelection, RowSelection],
    ids: Ids,
) -> KnownLabels | None:
    """Return the labels that stand in the files; where both have them, they must agree."""
    columns = [
        side.labels[part]
        for side, part in zip((old, new), rows, strict=True)
        if side.labels is not None
    ]
    if not columns:
        return None
    values = columns[0]
    known = ~is_missing(values)
    # The second file fills the gaps of the first.
    if len(columns) == 2:
        others = columns[1]
        both = known & ~is_missing(others)
        differ = both.copy()
        own, theirs = same_type(values[both], others[both])
        differ[both] = own != theirs
        if differ.any():
            row = int(np.argmax(differ))
            got = f"{values[row]!s} and {others[row]!s} for {ids[row]!s} ({int(differ.sum())} rows)"
            remedy = "A column of predictions is called 'prediction'."
            raise ArgumentValueError("labels", "the same in both files", got, remedy)
        values = np.where(known, values, others)
        known = ~is_missing(values)
    return KnownLabels(values=values, known=known)


def labels_of_table(table: Any, ids: Ids) -> KnownLabels:
    """Return the labels of a table with ids: a file of labels, or the file of a plan that was filled in."""
    id_names = [name for name in table.columns if looks_like_id(name)]
    label_names = [name for name in table.columns if looks_like_label(name)]
    # Of two columns, the one that is no id is the label, whatever its name.
    if not label_names and len(table.columns) == 2 and len(id_names) == 1:
        label_names = [name for name in table.columns if name not in id_names]
    known = first_few(list(table.columns), 6)
    if len(id_names) < 1:
        raise ArgumentValueError("labels", "a table with a column of ids, such as 'id'", known)
    if len(label_names) < 1:
        raise ArgumentValueError("labels", "a table with a column 'label'", known)
    plan = None
    if PLAN_COLUMN in table.columns and len(table):
        plan = str(table[PLAN_COLUMN].iloc[0])
    return _by_ids(table[id_names[0]].to_numpy(), table[label_names[0]].to_numpy(), ids, plan=plan)


def _by_ids(own: Ids, values: npt.NDArray[Any], ids: Ids, *, plan: str | None) -> KnownLabels:
    """Bring labels with ids of their own into the order of the matched rows."""
    there = ~is_missing(values)
    own, ids = same_type(np.asarray(own)[there], ids)
    own, values = _once(own, values[there])
    found = np.empty(len(ids), dtype=object)
    if not len(own):
        return KnownLabels(values=found, known=np.zeros(len(ids), dtype=bool), plan=plan)
    # All of other rows: ids of another kind, or another file. Some of other rows: said, and left out.
    unknown = own[positions(own, ids) < 0]
    if len(unknown) == len(own):
        got = f"{first_few(own.tolist(), 2)}, where the rows have {first_few(ids.tolist(), 2)}"
        raise ArgumentValueError("labels", "of rows of the files", got, "Compare the ids.")
    warnings: tuple[str, ...] = ()
    if len(unknown):
        named = first_few(unknown.tolist())
        warnings = (f"{len(unknown)} labels belong to no row of both files: {named}.",)
    places = positions(ids, own)
    known = places >= 0
    found[known] = values[places[known]]
    return KnownLabels(values=found, known=known, plan=plan, warnings=warnings)


def _once(ids: Ids, values: npt.NDArray[Any]) -> tuple[Ids, npt.NDArray[Any]]:
    """Return each labelled id once, sorted, with its label.

    Raises
    ------
    ValueError
        If a row is labelled twice differently.
    """
    # Sorted, labels of one row stand beside each other.
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    values = values[order]
    as_text = as_strings(values)
    is_again = np.zeros(len(ids), dtype=bool)
    is_again[1:] = ids[1:] == ids[:-1]
    differs = is_again.copy()
    differs[1:] &= as_text[1:] != as_text[:-1]
    if differs.any():
        place = int(np.argmax(differs))
        got = f"{as_text[place - 1]} and {as_text[place]} for {ids[place]!s}"
        raise ArgumentValueError("labels", "one label for each row", got)
    return ids[~is_again], values[~is_again]
