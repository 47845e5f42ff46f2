"""What classes are called: by labels, by answers, and by the columns of scores."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import is_table

SCORE_WORDS = {"p", "prob", "proba", "probability", "class", "score", "logit", "pred", "y"}
"""What stands before the number of a class in names of columns."""


def class_key(value: Any) -> str:
    """Return the name of a class: equal for equal integers, floats and Booleans."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def sort_key(name: str) -> tuple[bool, float, str]:
    """Order classes: numbers by their value, before words."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name


def column_classes(scores: Any, named: Collection[str] = ()) -> tuple[str, ...]:
    """Return the classes of the columns: their names, perhaps without a common beginning, or positions.

    Parameters
    ----------
    scores : DataFrame or ndarray of shape (n_rows, n_classes)
    named : collection of str
        Classes that labels or answers name. The first reading of the columns that has them all is right; by default
        it is the one without a beginning that says what the numbers are, such as ``p_``.
    """
    if not is_table(scores):
        return tuple(str(place) for place in range(scores.shape[1]))
    return read_classes_of([class_key(name) for name in scores.columns], named)


def read_classes_of(names: list[str], named: Collection[str] = ()) -> tuple[str, ...]:
    """Return the classes that names of columns stand for; ``named`` as in `column_classes`."""
    without_mark = _without_mark(names)
    numbers = _numbers(names)
    if named:
        for reading in (names, without_mark, numbers):
            if set(named) <= set(reading):
                return tuple(reading)
    # Nothing says which one: what stands before a number may be part of the class, such as cat1.
    if without_mark == names and names[0].rstrip("0123456789").lower() in SCORE_WORDS:
        return tuple(numbers)
    return tuple(without_mark)


def _without_mark(names: list[str]) -> list[str]:
    """Return names such as p_cat and p_dog without their common beginning, or as they are."""
    for mark in "_:. ":
        beginnings = {name.rpartition(mark)[0] for name in names}
        endings = [name.rpartition(mark)[2] for name in names]
        if len(beginnings) == 1 and "" not in beginnings and all(endings):
            return endings
    return names


def _numbers(names: list[str]) -> list[str]:
    """Return the numbers of names such as p0 and p1, or class1 to class10; others as they are."""
    parts = [re.fullmatch(r"(\D+)(\d+)", name) for name in names]
    numbers = [part[2] for part in parts if part]
    if len(numbers) == len(names) and len({part[1] for part in parts if part}) == 1:
        return numbers
    return names
