"""Read the predictions of two models as one pair, by what `shiftmetrics.tables` finds in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import to_numpy
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_number
from shiftmetrics.decisions.predictions.class_pairs import class_pair
from shiftmetrics.decisions.predictions.pairs import ClassPair, MatchedRows, OutputPair
from shiftmetrics.tables.array_scores import scores_of_arrays, under_names
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.plain_arrays import array_predictions
from shiftmetrics.tables.prediction_tables import PredictionTables
from shiftmetrics.tables.predictions import read_predictions
from shiftmetrics.tables.python import cells_of
from shiftmetrics.tables.reading import as_sentence
from shiftmetrics.tables.stored_words import StoredIds

ROUNDING = 1e-9
"""Change of an output, relative to the largest one, that is taken for rounding."""

IDS = "id"
"""What a column of ids of arrays is called."""


@dataclass(frozen=True, kw_only=True)
class PairArguments:
    """What a caller of `diff_models` gives beside both tables; see there."""

    labels: Any = None
    ids: Any = None
    classes: Any = None
    groups: Any = None
    threshold: float | None = None
    tolerance: float | None = None
    task: Literal["rankings"] | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None:
            check_number(self.threshold, "threshold")
        if self.tolerance is not None:
            check_number(self.tolerance, "tolerance", low=0.0)
        if self.threshold is not None and self.tolerance is not None:
            remedy = "The first is for classes, the second for outputs of a regression."
            raise ArgumentValueError(
                "threshold and tolerance", "given one at a time", "both", remedy
            )

    def options(self, *, is_command: bool) -> RoleOptions:
        """Return what is said of the columns; the arguments stand beside the fields of an object."""
        options = self.ids if isinstance(self.ids, RoleOptions) else RoleOptions()
        known: dict[str, Any] = {"style": "command" if is_command else "python"}
        if isinstance(self.ids, str):
            known["id"] = self.ids
        if isinstance(self.labels, str):
            known["label"] = self.labels
        if isinstance(self.groups, str):
            known["group"] = self.groups
        if self.task is not None:
            known["task"] = self.task
        for name in ("threshold", "tolerance"):
            if getattr(self, name) is not None:
                known[name] = float(getattr(self, name))
        return replace(options, **known)


def read_pair(old: Any, new: Any, arguments: PairArguments) -> ClassPair | OutputPair:
    """Read, match and check both tables; see `diff_models` for the arguments.

    Raises
    ------
    TypeError, ValueError
        If something is missing, inconsistent or ambiguous; the message names the column and
        the row, and what to type.
    """
    options = arguments.options(is_command=isinstance(old, Cells))
    values = [old] if new is None and options.old is not None else [old, new]
    names = named_classes(arguments.classes, len(values))
    if len(set(names)) == 1 and names[0] is not None:
        options = replace(options, classes=names[0])
    files = []
    for value, argument, own in zip(values, ("old", "new"), names, strict=False):
        cells = cells_of(value, argument)
        if cells.values is not None and cells.values.ndim > 2:
            expected = "predictions of shape (n_samples,) or (n_samples, n_classes)"
            raise ArgumentValueError(argument, expected, f"shape {cells.values.shape}")
        files.append(under_names(cells, own if len(set(names)) > 1 else None))
    has_own_rows = arguments.ids is None or isinstance(arguments.ids, RoleOptions)
    labels = arguments.labels
    if labels is not None and not isinstance(labels, str):
        labels = cells_of(labels, "labels")
    else:
        labels = None
    is_plain = arguments.groups is None and arguments.task is None and arguments.tolerance is None
    # Two arrays of scores need no search for roles.
    if has_own_rows and is_plain:
        quick = array_predictions(files, options, labels)
        if quick is not None:
            return class_pair(_matched(quick, None), quick, options.threshold)
    files, options = scores_of_arrays(files, options)
    # Ids beside the tables become a column, which is then taken as any other.
    if arguments.ids is not None and not isinstance(arguments.ids, str | RoleOptions):
        given = np.asarray(to_numpy(arguments.ids))
        files = [with_ids(cells, given) for cells in files]
        options = replace(options, id=IDS)
    tables = read_predictions(files, labels=labels, options=options, reading=options.reading)
    rows = _matched(tables, arguments.groups)
    if tables.is_regression:
        return _output_pair(rows, tables, arguments)
    if arguments.tolerance is not None:
        remedy = "Outputs of a regression are one number for each row."
        raise ArgumentValueError("old", "a single column of numbers", "another form", remedy)
    return class_pair(rows, tables, options.threshold)


def named_classes(classes: Any, n_files: int) -> list[tuple[str, ...] | None]:
    """Return the classes of the columns of each table: as given, of a fitted model, or of two fitted models.

    Raises
    ------
    TypeError
        If they are none of these.
    """
    if classes is None:
        return [None] * n_files
    if hasattr(classes, "classes_"):
        return [_as_names(classes.classes_)] * n_files
    if isinstance(classes, Sequence | np.ndarray) and not isinstance(classes, str):
        if len(classes) and all(hasattr(part, "classes_") for part in classes):
            if len(classes) != n_files:
                expected = f"one fitted model for each of {n_files} tables"
                raise ArgumentValueError("classes", expected, f"{len(classes)} models")
            return [_as_names(part.classes_) for part in classes]
        return [_as_names(classes)] * n_files
    if hasattr(classes, "tolist"):
        return [_as_names(classes)] * n_files
    expected = "names of classes in the order of the columns, a fitted model, or two of them"
    raise ArgumentValueError("classes", expected, value=classes)


def _as_names(classes: Any) -> tuple[str, ...]:
    """Return classes as text."""
    values = classes.tolist() if hasattr(classes, "tolist") else list(classes)
    return tuple(str(value) for value in values)


def with_ids(cells: Cells, ids: npt.NDArray[Any]) -> Cells:
    """Return a table with a column of ids in front.

    Raises
    ------
    ValueError
        If there is not one for each row, or such a column stands there already.
    """
    frame = cells.frame
    if ids.shape != (len(frame),):
        raise ArgumentValueError("ids", f"one for each of {len(frame)} rows", f"shape {ids.shape}")
    if IDS in frame.columns:
        remedy = f"Give ids={IDS!r}, or rename the column."
        raise ArgumentValueError("ids", "a column where there is one", "an array", remedy)
    frame = frame.copy(deep=False)
    frame.insert(0, IDS, ids)
    return replace(cells, table=frame, values=None, index=())


def _matched(tables: PredictionTables, groups: Any) -> MatchedRows:
    """Return what both have in common."""
    ids = tables.ids
    # Stored strings are made when somebody asks: all for a digest, few where all rows have labels.
    if not isinstance(ids, StoredIds):
        ids = np.asarray(ids)
        # A digest of objects would be one of their places in memory.
        if ids.dtype == object:
            ids = ids.astype(str)
    reading = tables.reading
    if tables.weight is not None:
        note = "weights are not used here: each row counts once"
        reading = replace(reading, notes=(*reading.notes, note))
    return MatchedRows(
        ids=ids,
        old_rows=tables.files[0].rows,
        new_rows=tables.files[1].rows,
        known=tables.known,
        group=_groups(groups, tables),
        group_name=_group_name(tables),
        plan=tables.plan,
        reading=reading,
        warnings=tuple(as_sentence(text) for text in tables.reading.warnings),
        beside=tables.beside or ({}, {}),
    )


def _group_name(tables: PredictionTables) -> str:
    """Return the column of groups, or what groups without a name are called."""
    names = [file.group for file in tables.reading.files if file.group is not None]
    return names[0] if names else "group"


def _groups(groups: Any, tables: PredictionTables) -> npt.NDArray[Any] | None:
    """Return the group of each matched row.

    Raises
    ------
    ValueError
        If there is none for a row.
    """
    import pandas as pd

    values = tables.group
    if groups is not None and not isinstance(groups, str):
        given = groups.to_numpy() if hasattr(groups, "to_numpy") else groups
        values = np.asarray(to_numpy(given))
        file = tables.files[0]
        own = file.scores if file.scores is not None else file.served
        assert own is not None
        if values.shape != (len(own),):
            expected = f"one for each of {len(own)} rows"
            raise ArgumentValueError("groups", expected, f"shape {values.shape}")
        values = values[file.rows]
    if values is None:
        return None
    # A row without a group would be in no part of the result.
    missing = np.asarray(pd.isna(values))
    if missing.any():
        got = f"{int(missing.sum())} without one, the first at row {int(np.argmax(missing))}"
        raise ArgumentValueError("groups", "given in each row", got)
    return np.asarray(values).astype(str)


def _output_pair(
    rows: MatchedRows, tables: PredictionTables, arguments: PairArguments
) -> OutputPair:
    """Return two columns of outputs with their true values."""
    if arguments.threshold is not None:
        raise ArgumentValueError("threshold", "None for outputs", value=arguments.threshold)
    old, new = (file.outputs() for file in tables.files)
    tolerance = arguments.tolerance
    # Two runs of one model differ in the last digits, those that give whole numbers do not.
    if tolerance is None:
        is_whole = bool((old == np.round(old)).all() and (new == np.round(new)).all())
        tolerance = 0.0 if is_whole else ROUNDING * float(np.abs(old).max())
    # What is not known stays NaN, which no comparison below takes for a number.
    truth = np.full(len(old), np.nan)
    if tables.truth is not None:
        truth = np.asarray(tables.truth, dtype=np.float64)
        infinite = rows.known & ~np.isfinite(truth)
        if infinite.any():
            row = int(np.argmax(infinite))
            raise ArgumentValueError("labels", "finite", f"{truth[row]:g} for {rows.ids[row]!s}")
    return OutputPair(
        rows=rows, old_outputs=old, new_outputs=new, labels=truth, tolerance=float(tolerance)
    )
