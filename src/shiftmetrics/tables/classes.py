"""Which class each column of scores stands for: by the labels and answers that the files hold.

Words are looked for in the names of the columns: as they are, without a common beginning and end, and as R and other
tools write names. Numbers 0..K-1 in place of names are places in the sorted list of the classes, which is right for
most tools and wrong for some: it is taken only where labels of all classes are known and bear it out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics.tables.spelling import shared_beginning

MOST_STRIPPED = 40
"""Letters of a common beginning or end that are tried."""


@dataclass(frozen=True)
class ClassNames:
    """The classes of columns of scores.

    Attributes
    ----------
    names : tuple of str
        One for each column, in its order.
    are_places : bool
        Whether the columns have no names of their own, but count the classes.
    """

    names: tuple[str, ...]
    are_places: bool = False


def class_order(name: str) -> tuple[bool, float, str]:
    """Order classes: numbers by their value, before words."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name


def classes_by_name(columns: Sequence[str], known: set[str]) -> list[tuple[str, ...]]:
    """Return all readings of names of columns in which each known class has its column; the first way that has one.

    Parameters
    ----------
    columns : sequence of str
    known : set of str
        Classes that labels or answers name.
    """
    columns = [column.strip() for column in columns]
    if known <= set(columns):
        return [tuple(columns)]
    numbers = [_as_number(column) for column in columns]
    if known <= set(numbers):
        return [tuple(numbers)]
    # From the strictest spelling to the loosest: the first one under which each known class has its
    # column ends the search.
    for write in (str, r_name, _spaced, _plain, _numbered_name):
        written = {word: write(word) for word in known}
        # Two classes that are written alike cannot be told.
        if len(set(written.values())) < len(written):
            continue
        back = {text: word for word, text in written.items()}
        own = [write(column) for column in columns] if write in (_spaced, _plain) else columns
        readings = _with_affixes(own, back)
        if readings:
            return readings
    return []


def _with_affixes(columns: Sequence[str], back: dict[str, str]) -> list[tuple[str, ...]]:
    """Return the readings of columns without a common beginning and end in which each known class stands once."""
    shared = shared_beginning(columns)
    reversed_end = shared_beginning([column[::-1] for column in columns])
    found: list[tuple[str, ...]] = []
    for n_start in range(min(len(shared), MOST_STRIPPED) + 1):
        for n_end in range(min(len(reversed_end), MOST_STRIPPED) + 1):
            middles = [column[n_start : len(column) - n_end] for column in columns]
            if not all(middles) or len(set(middles)) < len(middles):
                continue
            if set(back) <= set(middles):
                reading = tuple(back.get(middle, middle) for middle in middles)
                if reading not in found:
                    found.append(reading)
    return found


def r_name(word: str) -> str:
    """Return a word as R's make.names writes it: ``X`` before a number, a point for each other mark."""
    # The X comes first: <=50K becomes X..50K.
    starts_well = re.match(r"[^\W\d_]|\.(?!\d)", word)
    text = word if starts_well else "X" + word
    return re.sub(r"[^\w.]", ".", text)


def _spaced(word: str) -> str:
    """Return a word with one underscore for each run of other marks."""
    return re.sub(r"[\W_]+", "_", word).strip("_")


def _plain(word: str) -> str:
    """Return a word in small letters with one underscore for each run of other marks."""
    return _spaced(word).lower()


def _numbered_name(word: str) -> str:
    """Return what stands after the number of ``2:cat``."""
    part = re.fullmatch(r"\d+:(.+)", word)
    return part[1] if part else word


def _as_number(name: str) -> str:
    """Return 1 for 1.0."""
    return name.removesuffix(".0")


def are_places(columns: Sequence[str]) -> bool:
    """Return True if names of columns only count them, from 0 on: 0, 1, 2 or class_2, class_0, class_1."""
    return sorted(place_numbers(columns)) == list(range(len(columns)))


def place_numbers(columns: Sequence[str]) -> list[int]:
    """Return the numbers at the end of names with one beginning; none where there is another name."""
    parts = [re.fullmatch(r"(.*?)(\d+)(\D{0,1})", column.strip()) for column in columns]
    beginnings = {(part[1], part[3]) for part in parts if part}
    if not all(parts) or len(beginnings) != 1:
        return []
    return [int(part[2]) for part in parts if part]


def own_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns without a beginning that ends in a mark: cat for p_cat; nothing else is known."""
    for beginning in _beginnings(columns):
        rest = [column.removeprefix(beginning) for column in columns]
        if all(rest) and len(set(rest)) == len(rest):
            return tuple(rest)
    numbers = place_numbers(columns)
    if numbers:
        return tuple(map(str, numbers))
    return tuple(columns)


def _beginnings(columns: Sequence[str]) -> list[str]:
    """Return the common beginnings of names up to a mark, the longest first."""
    shared = shared_beginning(columns)
    ends = [place + 1 for place, letter in enumerate(shared) if letter in "_:. ("]
    return [shared[:end] for end in reversed(ends)]


def best_assignment(answers: IntArray, truth: IntArray, n_classes: int) -> IntArray:
    """Return which class each column fits best: the assignment under which most answers are right.

    Parameters
    ----------
    answers : ndarray of shape (n,)
        Places of columns.
    truth : ndarray of shape (n,)
        Places of classes.
    n_classes : int
    """
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((n_classes, n_classes))
    np.add.at(table, (answers, truth), 1.0)
    _, columns = linear_sum_assignment(-table)
    return np.asarray(columns)


def supports_places(
    answers: Sequence[IntArray], truth: IntArray, n_classes: int, *, slack: int = 0
) -> bool:
    """Return True if labels bear out that columns stand in the order of the sorted classes, for every model.

    No other order may make more answers right, but for ``slack`` of them, and all of them together must be right more
    often than by chance.
    """
    places = np.arange(n_classes)
    for own in answers:
        right = (own == truth).mean()
        # By an assignment, not class by class: two columns cannot stand for one class.
        best = best_assignment(own, truth, n_classes)
        best_right = (best[own] == truth).mean()
        # The place of a class that no label has is not known from labels.
        seen = np.isin(places, truth)
        is_best = not seen.all() or np.array_equal(best, places) or slack > 0
        if (best_right - right) * len(truth) > slack + 0.5 or not is_best:
            return False
        # A fifth above chance. A model that is hardly better than chance says nothing of the order.
        if right <= 1.2 / n_classes:
            return False
    return True
