"""Validate predicted classes and true labels: scores become classes, labels become columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray, as_array, float64_rows, is_table, to_float64
from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.chunk_readers import in_chunks
from shiftmetrics._core.placement import placed
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import describe
from shiftmetrics.agreement.kinds import ENOUGH, REGRESSION, check_scores
from shiftmetrics.agreement.scores import ScorePairs


def check_predictions(value: Any, argument: str) -> npt.NDArray[Any]:
    """Return predicted classes: labels in one dimension as they are, scores in two by their largest column.

    Ties go to the first class. The classes of a table of scores are the names of its columns, else their positions.

    Raises
    ------
    TypeError, ValueError
        If they are neither, or hold missing values.
    """
    value = in_chunks(value, argument)
    # Scores: the column of the largest, block by block.
    if is_table(value) or _dimensions(value) == 2:
        array = check_scores(value, argument)
        slices = placed(row_blocks(int(array.shape[0]), 8 * int(array.shape[1])), (array,))
        largest = map_blocks(
            lambda rows: to_float64(float64_rows(array, rows)).argmax(axis=1), slices
        )
        names = class_names(value, int(array.shape[1]))
        return np.asarray(names[np.concatenate(list(largest))])
    labels = check_labels(value, argument)
    if len(labels) == 0:
        raise ValueError(describe(argument, "an array of at least one row", "0"))
    if labels.dtype.kind == "f" and not (
        np.isfinite(labels).all() and (labels == np.round(labels)).all()
    ):
        expected = "predicted labels, or scores of shape (n_samples, n_classes)"
        got = "one-dimensional numbers that are not integers"
        remedy = f"For binary margins, pass (margins > 0). {REGRESSION}"
        raise ValueError(describe(argument, expected, got, remedy))
    _refuse_quantities(labels, argument)
    return labels


def _refuse_quantities(labels: npt.NDArray[Any], argument: str) -> None:
    """Refuse integers that hardly repeat and are spread far apart: the outputs of a regression, such as prices."""
    if labels.dtype.kind not in "iuf" or len(labels) < ENOUGH:
        return
    # Classes repeat, or are numbered one after the other; quantities do neither.
    n_distinct = len(np.unique(labels))
    spread = float(labels.max()) - float(labels.min())
    if 2 * n_distinct > len(labels) and spread > 10.0 * len(labels):
        got = f"{n_distinct} different numbers from {labels.min():g} to {labels.max():g} in {len(labels)} samples"
        raise ValueError(describe(argument, "predicted labels of classes", got, REGRESSION))


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


def _dimensions(value: Any) -> int:
    if isinstance(getattr(value, "ndim", None), int):
        return int(value.ndim)
    # Of lists, the first entry tells.
    first: Any = value[0] if isinstance(value, list | tuple) and value else 0
    nested = isinstance(first, list | tuple) or getattr(first, "ndim", 0) == 1
    return int(as_array(value, "scores").ndim) if nested else 1
