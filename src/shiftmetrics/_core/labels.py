"""Check class labels, numbers or texts, and turn them into positions in one list of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray, to_numpy
from shiftmetrics._core.validation import describe


def check_labels(value: Any, argument: str, *, length: int | None = None) -> npt.NDArray[Any]:
    """Return labels as a one-dimensional NumPy array of numbers or texts, none of them missing.

    Raises
    ------
    ValueError
        If it has another shape or length, or a label is missing.
    TypeError
        If labels are neither numbers nor texts.
    """
    array = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else to_numpy(value))
    if array.ndim != 1:
        expected = "one label for each row, in one dimension"
        raise ValueError(describe(argument, expected, f"shape {array.shape}", "Give class labels."))
    if length is not None and len(array) != length:
        raise ValueError(describe(argument, f"of length {length}", f"length {len(array)}"))
    missing = [part is None or part != part or type(part).__name__ == "NAType" for part in array.tolist()]
    if any(missing):
        got = f"{sum(missing)}, the first at row {missing.index(True)}"
        raise ValueError(describe(argument, "free of missing labels", got))
    if array.dtype == object:
        texts = [isinstance(part, str) for part in array]
        if any(texts) and not all(texts):
            raise TypeError(
                describe(argument, "all numbers or all texts", "both", "Convert them to one kind.")
            )
        array = np.array(array.tolist())
    if array.dtype.kind not in "biufUS":
        raise TypeError(describe(argument, "labels that are numbers or texts", f"dtype {array.dtype}"))
    return array


def label_codes(*named: tuple[npt.NDArray[Any], str]) -> tuple[list[IntArray], npt.NDArray[Any]]:
    """Give one numbering to the classes of several arrays of labels together.

    Returns
    -------
    codes : list of ndarray
        For each array, the position of each label in ``classes``.
    classes : ndarray of shape (n_classes,)
        The classes of all arrays, sorted.

    Raises
    ------
    TypeError
        If one array holds texts and another one numbers.
    """
    kinds = {"text" if labels.dtype.kind in "US" else "number" for labels, _ in named}
    if len(kinds) > 1:
        names = " and ".join(name for _, name in named)
        raise TypeError(describe(names, "labels of one kind", "texts and numbers", "Convert one of them."))
    classes, codes = np.unique(np.concatenate([labels for labels, _ in named]), return_inverse=True)
    edges = np.cumsum([len(labels) for labels, _ in named])[:-1]
    return [part.astype(np.int64) for part in np.split(codes.ravel(), edges)], classes
