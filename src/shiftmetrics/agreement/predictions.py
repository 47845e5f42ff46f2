"""Predicted classes and true labels as columns of the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray, is_table, to_float64
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import describe
from shiftmetrics.agreement.scores import ScorePairs


def predicted_columns(pairs: ScorePairs) -> tuple[IntArray, IntArray]:
    """Return the column of the largest score (ties: the first) of each shifted and each reference row."""
    slices = pairs.slices()
    parts = list(
        map_blocks(lambda rows: to_float64(pairs.block(rows)[:2, ...]).argmax(axis=2), slices)
    )
    top = np.concatenate(parts, axis=1)
    shifted, reference = top if pairs.classes is None else pairs.classes[top]
    return shifted, reference


def label_columns(
    labels: Any, argument: str, scores: Any, n_classes: int, n_samples: int
) -> IntArray:
    """Return the column of each row's true class: names of columns where ``scores`` is a table, else positions.

    Raises
    ------
    TypeError, ValueError
        If labels are missing, of another length, or no class of the scores.
    """
    # Labels and names of classes in one numbering.
    codes = check_labels(labels, argument, length=n_samples)
    names = class_names(scores, n_classes)
    places = {name: place for place, name in enumerate(names.tolist())}
    columns = np.array([places.get(code, -1) for code in codes.tolist()], dtype=np.int64)
    wrong = columns < 0
    if wrong.any():
        row = int(np.argmax(wrong))
        known = ", ".join(str(name) for name in names[:3]) + (", ..." if len(names) > 3 else "")
        where = "column positions" if names.dtype.kind in "iu" else "column names"
        expected = f"classes of the scores ({where} {known})"
        raise ValueError(describe(argument, expected, f"{codes[row]} at row {row}"))
    return columns


def class_names(scores: Any, n_classes: int) -> npt.NDArray[Any]:
    """Return what the classes are called: the columns of a table, of parquet or of Dask, else their positions."""
    names = list(scores.columns) if is_table(scores) else getattr(scores, "names", None)
    return np.arange(n_classes) if names is None else np.asarray(names)
