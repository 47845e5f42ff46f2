"""Labels: of the columns and rows of two tables, which are matched, and of classes, which become positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import array_api_compat
import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import (
    IntArray,
    as_array,
    is_labelled,
    is_masked,
    is_table,
    to_numpy,
    unmasked,
)
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, Setting, Wording
from shiftmetrics._core.validation import check_choice, first_few

Align = Literal["labels", "position"]


def align_tables(
    first: Any,
    second: Any,
    first_name: str,
    second_name: str,
    *,
    align: Align = "labels",
    rows: bool = True,
    option: str | None = "align",
) -> tuple[Any, Any]:
    """Reorder ``second`` to the labels of ``first`` when both are tables; other inputs pass unchanged.

    Parameters
    ----------
    first, second : array or DataFrame
        The sample under test and its baseline.
    first_name, second_name : str
        Names for messages.
    align : {"labels", "position"}, default "labels"
        "position" takes rows and columns as they stand.
    rows : bool, default True
        Whether the rows are pairs. Two unpaired samples match by columns alone.
    option : str or None, default "align"
        What the caller's argument is called, for messages; None where callers have none.

    Returns
    -------
    tuple
        ``first`` and the reordered ``second``.

    Raises
    ------
    ValueError
        If labels repeat, or are missing on one side; the first three differences are listed.
    """
    check_choice(align, option or "align", ("labels", "position"))
    if align == "position" or not (is_labelled(first) and is_labelled(second)):
        return first, second
    if is_table(first) and is_table(second):
        names = list(first.columns), list(second.columns)
        second = second.iloc[:, match_labels(*names, first_name, second_name, "columns", option)]
    if rows:
        order = match_labels(
            list(first.index), list(second.index), first_name, second_name, "rows", option
        )
        second = second.iloc[order]
    return first, second


def match_labels(
    first: Sequence[Any],
    second: Sequence[Any],
    first_name: str,
    second_name: str,
    what: str,
    option: str | None = "align",
) -> list[int]:
    """Return the positions in ``second`` of the labels of ``first``, which must be the same set.

    Raises
    ------
    ValueError
        If a label repeats or stands on one side only.
    """
    by_place = Wording(".")
    if option is not None:
        choice: str = Setting(option, "position")
        if option.startswith("--"):
            choice = f"{option} position"
        by_place = Wording(", or pass ", choice, " to take them as they stand.")
    for labels, name in ((first, first_name), (second, second_name)):
        if len(set(labels)) != len(labels):
            repeated = first_few([label for label, count in Counter(labels).items() if count > 1])
            raise ArgumentValueError(
                name,
                f"{what} with distinct labels",
                f"repeated {repeated}",
                Wording("Make them distinct", by_place),
                verb="have",
            )
    # Labels of each side that the other one lacks.
    places = {label: position for position, label in enumerate(second)}
    known = set(first)
    only_first = [label for label in first if label not in places]
    only_second = [label for label in second if label not in known]
    if only_first or only_second:
        parts = [
            f"only in {name}: {first_few(labels)}"
            for name, labels in ((first_name, only_first), (second_name, only_second))
            if labels
        ]
        raise ArgumentValueError(
            f"{first_name} and {second_name}",
            f"the same {what}",
            "; ".join(parts),
            Wording("Make them agree", by_place),
            verb="have",
        )
    return [places[label] for label in first]


def check_labels(value: Any, argument: str, *, length: int | None = None) -> npt.NDArray[Any]:
    """Return labels as a one-dimensional NumPy array of numbers or strings, none of them missing.

    Raises
    ------
    ValueError
        If it has another shape or length, or a label is missing.
    TypeError
        If labels are neither numbers nor strings.
    """
    array = labels_to_numpy(value, argument)
    if array.ndim != 1:
        expected = "one label for each row, in one dimension"
        raise ArgumentValueError(argument, expected, f"shape {array.shape}", "Give class labels.")
    if length is not None and len(array) != length:
        raise ArgumentValueError(argument, f"of length {length}", f"length {len(array)}")
    missing = list(map(_is_missing, array.tolist()))
    if any(missing):
        got = f"{sum(missing)}, the first at row {missing.index(True)}"
        raise ArgumentValueError(argument, "free of missing labels", got)
    if array.dtype == object:
        strings = [isinstance(part, str) for part in array]
        if any(strings) and not all(strings):
            expected = "all numbers or all strings"
            raise ArgumentTypeError(argument, expected, "both", "Convert them to one type.")
        # Strings alone, or none of them: of a list NumPy finds the type that all have in common.
        array = _plain_array(array.tolist(), argument)
    if array.dtype.kind not in "biufUS":
        raise ArgumentTypeError(
            argument, "labels that are numbers or strings", f"dtype {array.dtype}"
        )
    return array


def labels_to_numpy(value: Any, argument: str) -> npt.NDArray[Any]:
    """Return labels of any library as NumPy; masked ones are missing."""
    if array_api_compat.is_array_api_obj(value) and not isinstance(value, np.ndarray | np.generic):
        return to_numpy(as_array(value, argument))
    if is_masked(value):
        return unmasked(value)
    if hasattr(value, "toarray"):  # SciPy's sparse matrices, which are refused
        as_array(value, argument)
    if hasattr(value, "to_numpy"):
        return np.asarray(value.to_numpy())
    return _plain_array(value, argument)


def _plain_array(value: Any, argument: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(value)
    except (ValueError, TypeError, RuntimeError, NotImplementedError) as error:  # ragged, say
        got = f"a {type(value).__name__} of which no array can be made"
        raise ArgumentTypeError(argument, "one label for each row", got) from error


def _is_missing(part: Any) -> bool:
    """Return True for None, NaN, which is not equal to itself, and pandas' NA."""
    if part is None or type(part).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(part, float) and part != part


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
        If one array holds strings and another one numbers.
    """
    kinds = {"text" if labels.dtype.kind in "US" else "number" for labels, _ in named}
    if len(kinds) > 1:
        names = " and ".join(name for _, name in named)
        raise ArgumentTypeError(
            names, "labels of one type", "strings and numbers", "Convert one of them."
        )
    # One sort for all arrays; the codes are then split where they were joined.
    try:
        classes, codes = np.unique(
            np.concatenate([labels for labels, _ in named]), return_inverse=True
        )
    except TypeError as error:  # objects that have no order
        names = " and ".join(name for _, name in named)
        expected = "named by numbers or by strings"
        raise ArgumentTypeError(f"The classes of {names}", expected, f"both ({error})") from error
    edges = np.cumsum([len(labels) for labels, _ in named])[:-1]
    return [part.astype(np.int64) for part in np.split(codes.ravel(), edges)], classes
