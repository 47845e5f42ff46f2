"""Predicted classes and true labels as columns of the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray, is_table, to_float64
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.class_names import class_key, read_classes_of
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.tables import check_labels
from shiftmetrics.agreement.scores import ScorePairs

if TYPE_CHECKING:
    from concurrent.futures import Executor


def predicted_classes(pairs: ScorePairs, executor: Executor | None = None) -> IntArray:
    """Return the class of the largest score (ties: the first) of each shifted and each reference row: (2, n_samples).

    Classes are numbered among those of positive prior.
    """

    def top(rows: slice) -> IntArray:
        return np.asarray(to_float64(pairs.block(rows)[:2, ...]).argmax(axis=2))

    parts = map_blocks(top, pairs.slices(), executor=executor)
    return np.concatenate(list(parts), axis=1)


def predicted_columns(pairs: ScorePairs) -> tuple[IntArray, IntArray]:
    """Return the column of the largest score (ties: the first) of each shifted and each reference row."""
    top = predicted_classes(pairs)
    shifted, reference = top if pairs.classes is None else pairs.classes[top]
    return shifted, reference


def label_columns(
    labels: Any, argument: str, scores: Any, n_classes: int, n_samples: int
) -> IntArray:
    """Return the column of each row's true class: names of columns where ``scores`` is a table, else positions.

    Labels say what columns are called: those named p1 and p2 are of the labels 1 and 2.

    Raises
    ------
    TypeError, ValueError
        If labels are missing, of another length, or no class of the scores.
    """
    codes = check_labels(labels, argument, length=n_samples)
    names = class_names(scores, n_classes)
    # Labels and names of columns are compared by one key: 1, 1.0 and "1" are one class.
    keys = {code: class_key(code) for code in set(codes.tolist())}
    classes = read_classes_of([class_key(name) for name in names.tolist()], set(keys.values()))
    places = {name: place for place, name in enumerate(classes)}
    columns = np.array([places.get(keys[code], -1) for code in codes.tolist()], dtype=np.int64)
    wrong = columns < 0
    if wrong.any():
        row = int(np.argmax(wrong))
        known = ", ".join(str(name) for name in names[:3]) + (", ..." if len(names) > 3 else "")
        where = "column positions" if names.dtype.kind in "iu" else "column names"
        expected = f"classes of the scores ({where} {known})"
        raise ArgumentValueError(argument, expected, f"{codes[row]} at row {row}")
    return columns


def class_names(scores: Any, n_classes: int) -> npt.NDArray[Any]:
    """Return what the classes are called: the columns of a table, of parquet or of Dask, else their positions."""
    names = list(scores.columns) if is_table(scores) else getattr(scores, "names", None)
    return np.arange(n_classes) if names is None else np.asarray(names)
