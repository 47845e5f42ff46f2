"""Two arrays with a column for each class: nothing is to be found, so that no column is looked at by itself.

A general reading decides the kind and the role of each column, which takes several copies of the numbers. Of two
arrays of fractions without labels there is one reading, which is given here; all else is left to the general one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.tables.cells import Cells, generated_name
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.prediction_tables import PredictionTable, PredictionTables
from shiftmetrics.tables.reading import FileReading, TableReading

FIRST_ROWS = 256
"""In so many rows each column must show a fraction: one of whole numbers may be something else than a score."""


def array_predictions(files: Sequence[Cells], options: RoleOptions) -> PredictionTables | None:
    """Return the predictions of two arrays of scores; None where a general reading must decide.

    The answer is that of `read_predictions` for them: rows by their place, and classes 0, 1, ... in the order of the
    columns.
    """
    plain = RoleOptions(style=options.style, threshold=options.threshold, id=options.id)
    if options != plain or options.id not in (None, "none") or len(files) != 2:
        return None
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
    n_rows, n_classes = old.shape
    names = tuple(generated_name(place) for place in range(n_classes))
    classes = tuple(map(str, range(n_classes)))
    tables = []
    said = []
    for cells, values in zip(files, (old, new), strict=True):
        tables.append(
            PredictionTable(
                argument=cells.argument,
                name=cells.name,
                form="classes",
                rows=slice(None),
                scores=values,
                classes=classes,
                columns=names,
            )
        )
        said.append(
            FileReading(
                name=cells.name or cells.argument,
                form="classes",
                id=(),
                classes=dict(zip(names, classes, strict=True)),
            )
        )
    return PredictionTables(
        files=tuple(tables),
        ids=np.arange(n_rows),
        classes=classes,
        reading=TableReading(files=tuple(said), task="classes"),
    )


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
