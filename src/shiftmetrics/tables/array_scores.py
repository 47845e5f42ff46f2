"""Arrays beside tables: their columns are the scores of the classes, and have no names of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics.tables.ask import AmbiguousReadingError, PossibleReading
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.names import has_name_of

MOST_CLASSES = 50
"""Distinct values of one column that are read as classes where nothing else speaks."""

HEAD = 1_000
"""Rows that are looked at first."""


def scores_of_arrays(files: list[Cells], options: RoleOptions) -> tuple[list[Cells], RoleOptions]:
    """Let arrays with a column for each class be scores; beside a table, under the names of its columns."""
    if len(files) < 2 or options.columns is not None or options.reading is not None:
        return files, options
    are_arrays = [holds_scores(cells) for cells in files]
    widths = [len(cells.frame.columns) for cells in files]
    if widths == [1, 1] and options.prediction is None:
        first, second = (cells.frame.iloc[:, 0] for cells in files)
        # One column is the prediction, where both models are equal too.
        if first.nunique() <= MOST_CLASSES and np.array_equal(first, second):
            names = [str(cells.frame.columns[0]) for cells in files]
            typed = names[0] if names[0] == names[1] else "=".join(names)
            return files, replace(options, prediction=typed)
    if all(are_arrays) and len(set(widths)) == 1:
        known = options.id or "none"
        return files, replace(options, columns=tuple(files[0].frame.columns), id=known)
    if any(are_arrays) and not all(are_arrays):
        _refuse_ids_of_one_side(files, are_arrays, options)
        table = files[are_arrays.index(False)].frame
        scores = tuple(str(name) for name in table.columns if table[name].dtype.kind == "f")
        files = [
            under_names(cells, scores) if is_array else cells
            for cells, is_array in zip(files, are_arrays, strict=True)
        ]
    return files, options


def _refuse_ids_of_one_side(
    files: Sequence[Cells], are_arrays: Sequence[bool], options: RoleOptions
) -> None:
    """Ask where a table beside an array has ids: its rows may stand in another order than those of the array."""
    if options.id is not None:
        return
    for cells, is_array in zip(files, are_arrays, strict=True):
        if is_array:
            continue
        for name in cells.frame.columns:
            column = cells.frame[name]
            counts = column.dtype.kind in "iu" and (np.diff(column.to_numpy()) == 1).all()
            if has_name_of(str(name), "id") and column.is_unique and not counts:
                places = PossibleReading("rows go by their place", options.typed("--id", "none"))
                raise AmbiguousReadingError(
                    f"{cells} has ids in the column {str(name)!r}, and the array beside it has none: its rows may "
                    "stand in another order.",
                    [places],
                )


def holds_scores(cells: Cells) -> bool:
    """Return True for an array of numbers with several columns, none of which may be a number of the row."""
    values = cells.values
    if values is None or values.ndim != 2 or values.shape[1] < 2 or values.dtype.kind not in "biuf":
        return False
    if values.dtype.kind != "f":
        return True
    head = values[:HEAD]
    # The first rows mostly show fractions, and a large array is not read further then.
    if (head != np.round(head)).any(axis=0).all():
        return True
    whole = (values == np.round(values)).all(axis=0)
    return bool(whole.all() or not whole.any() or not _counts(values[:, whole]))


def _counts(columns: npt.NDArray[Any]) -> bool:
    """Return True if some column holds another number in each row."""
    return any(len(np.unique(column)) == len(column) > 1 for column in columns.T)


def under_names(cells: Cells, names: tuple[str, ...] | None) -> Cells:
    """Return an array with a column for each class of its own model under their names."""
    if names is None or len(cells.frame.columns) != len(names):
        return cells
    frame = cells.frame.copy(deep=False)
    frame.columns = list(names)
    return replace(cells, table=frame, values=None, header="names")
