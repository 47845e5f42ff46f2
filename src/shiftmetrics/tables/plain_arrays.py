"""Two arrays with a column for each class: nothing is to be found, so that no column is looked at by itself.

A general reading decides the kind and the role of each column, which takes several copies of the numbers. Of two
arrays of fractions, alone or beside one column of labels, there is one reading, which is given here; all else is left
to the general one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.tables.ask import Complaints
from shiftmetrics.tables.cells import Cells, generated_name
from shiftmetrics.tables.evidence import TableEvidence, evidence_of
from shiftmetrics.tables.finding import find_truth, is_regression_task
from shiftmetrics.tables.kinds import decide_kinds
from shiftmetrics.tables.naming import LabelledAnswers, names_of_columns
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.prediction_tables import (
    PredictionTable,
    PredictionTables,
    TakenRows,
    largest_places,
)
from shiftmetrics.tables.predictions import named_tables
from shiftmetrics.tables.reading import FileReading, TableReading
from shiftmetrics.tables.roles.ranked import never_increase
from shiftmetrics.tables.spelling import common_words, distinct_words

FIRST_ROWS = 256
"""In so many rows each column must show a fraction: one of whole numbers may be something else than a score."""


def array_predictions(
    files: Sequence[Cells], options: RoleOptions, labels: Cells | None = None
) -> PredictionTables | None:
    """Return the predictions of two arrays of scores; None where a general reading must decide.

    The answer is that of `read_predictions` for them: rows by their place, and classes 0, 1, ... in the order of the
    columns, or those that a single column of labels bears out.
    """
    plain = RoleOptions(style=options.style, threshold=options.threshold, id=options.id)
    if options != plain or options.id not in (None, "none") or len(files) != 2:
        return None
    # A short cut for two arrays of scores. Whatever the general reading might ask about, such as
    # ids among the columns, gaps, or lists of the best scores, is left to it.
    arrays = [cells.values for cells in files]
    if any(cells.notes or cells.levels or cells.index for cells in files):
        return None
    if not all(_are_fractions(values) for values in arrays):
        return None
    old, new = arrays
    assert old is not None
    assert new is not None
    if old.shape != new.shape or not (_are_finite(old) and _are_finite(new)):
        return None
    # lists of the best answers' scores are no classes, which the general reading says
    if never_increase(old) and never_increase(new):
        return None
    names = tuple(generated_name(place) for place in range(old.shape[1]))
    tables = [
        PredictionTable(
            argument=cells.argument,
            name=cells.name,
            form="classes",
            rows=slice(None),
            scores=values,
            classes=tuple(map(str, range(len(names)))),
            columns=names,
        )
        for cells, values in zip(files, (old, new), strict=True)
    ]
    if labels is None:
        return _without_labels(tables)
    options = replace(options, id="none", columns=names)
    return _with_labels(tables, labels, options)


def _without_labels(tables: list[PredictionTable]) -> PredictionTables:
    """Return arrays whose classes count the columns."""
    said = [
        FileReading(
            name=table.name or table.argument,
            form="classes",
            id=(),
            classes=dict(zip(table.columns, table.classes, strict=True)),
        )
        for table in tables
    ]
    assert tables[0].scores is not None
    return PredictionTables(
        files=tuple(tables),
        ids=np.arange(len(tables[0].scores)),
        classes=tables[0].classes,
        reading=TableReading(files=tuple(said), task="classes"),
    )


def _with_labels(
    tables: list[PredictionTable], labels: Cells, options: RoleOptions
) -> PredictionTables | None:
    """Return arrays beside a single column of labels, which name the classes; None for any other labels."""
    if labels.header == "either" or len(labels.frame.columns) != 1:
        return None
    scores = [table.scores for table in tables]
    assert scores[0] is not None
    assert scores[1] is not None
    n_rows = len(scores[0])
    if len(labels.frame) != n_rows:
        return None
    # What columns say by themselves is known, so that they need not be made.
    own = [
        TableEvidence(argument=table.argument, name=table.name, n_rows=n_rows, columns={})
        for table in tables
    ]
    decided = decide_kinds([labels])
    roles = FoundRoles(tables=own, labels=evidence_of(labels, decided.frames[0]), options=options)
    roles.notes += [f"{labels.name or labels.argument}: {note}" for note in labels.notes]
    whole: list[TakenRows] = [slice(None), slice(None)]
    roles.rows = whole
    roles.answers = [None, None]
    complaints = Complaints()
    find_truth(roles, complaints)
    complaints.raise_any()
    if roles.truth is None or is_regression_task(roles):
        return None
    words = roles.truth_words()
    assert words is not None
    (truth,) = common_words([words])
    there = ~np.array([word is None for word in truth], dtype=bool)
    values = [part for part in scores if part is not None]
    labelled = LabelledAnswers(
        find=lambda: ([largest_places(part)[there] for part in values], truth[there])
    )
    known = distinct_words(truth)
    files = [
        replace(
            table,
            classes=names_of_columns(table.columns, known, labelled, options, part.label),
        )
        for table, part in zip(tables, own, strict=True)
    ]
    return named_tables(roles, files, truth)


def _are_fractions(values: npt.NDArray[Any] | None) -> bool:
    """Return True for an array of several columns, each of which shows a fraction early."""
    if values is None or values.ndim != 2 or values.shape[1] < 2 or values.dtype.kind != "f":
        return False
    if type(values) not in (np.ndarray, np.memmap) or values.dtype.itemsize < 4:
        return False
    first = values[:FIRST_ROWS]
    with np.errstate(invalid="ignore"):
        return bool((first != np.round(first)).any(axis=0).all())


def _are_finite(values: npt.NDArray[Any]) -> bool:
    """Return True if no number is missing or infinite."""
    blocks = row_blocks(len(values), values.itemsize * values.shape[1])
    return all(bool(np.isfinite(values[rows]).all()) for rows in blocks)
