"""The names of the classes of two models and of the labels, in one spelling, by all that the files say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import (
    AmbiguousReadingError,
    Complaints,
    PossibleReading,
    UnreadableTableError,
)
from shiftmetrics.tables.classes import (
    are_places,
    best_assignment,
    class_order,
    classes_by_name,
    own_names,
    place_numbers,
    supports_places,
)
from shiftmetrics.tables.evidence import Words
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.spelling import distinct_words

NOISE = 2
"""Answers by which another order may be better where labels are the numbers of the columns themselves."""

FEW_LABELS = 10
"""Labels from which on they tell in which order columns stand."""


@dataclass(frozen=True, kw_only=True)
class LabelledAnswers:
    """What the labelled rows say of the columns.

    Attributes
    ----------
    find : callable
        Returns for each file the place of the largest score, of shape (n_known,), and the true labels as text. Names
        of columns mostly tell the classes, so that nobody asks.
    is_planned : bool
        Whether they stand in a plan of ours, which shows the answers of both models as the columns are called.
    """

    find: Callable[[], tuple[Sequence[IntArray], Words]]
    is_planned: bool = False

    @cached_property
    def _found(self) -> tuple[Sequence[IntArray], Words]:
        return self.find()

    @property
    def largest(self) -> Sequence[IntArray]:
        """For each file the place of the largest score in each row."""
        return self._found[0]

    @property
    def truth(self) -> Words:
        """The true label of each row."""
        return self._found[1]


def names_of_columns(
    columns: Sequence[str],
    known: set[str],
    labelled: LabelledAnswers | None,
    options: RoleOptions,
    where: str,
    coded: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Return the class of each column.

    Parameters
    ----------
    columns : sequence of str
    known : set of str
        The classes that labels, or else answers, name.
    labelled : LabelledAnswers or None
        The largest scores of the rows with a label.
    options : RoleOptions
    where : str
        What messages call the file.
    coded : tuple of str
        The classes in the order of their codes, where the schema has codes.

    Raises
    ------
    AmbiguousReadingError, UnreadableTableError
        If the columns cannot be told, or classes that were typed do not fit.
    """
    if options.classes is not None:
        if len(options.classes) != len(columns):
            raise UnreadableTableError(
                f"{options.typed('--classes', options.classes)} must name {len(columns)} classes, one for "
                "each of the "
                f"columns {first_few(list(columns), 6)}, got {len(options.classes)}."
            )
        return options.classes
    if not known:
        return own_names(columns)
    numbered = are_places(columns)
    counted = _counted_classes(known, len(columns)) if numbered else None
    if counted is not None:
        return tuple(counted[place] for place in place_numbers(columns))
    readings = classes_by_name(columns, known)
    if numbered and labelled is not None:
        return _of_places(columns, known, labelled, readings, options, where)
    if len(readings) == 1:
        return readings[0]
    if len(readings) > 1:
        possible = [
            PossibleReading(
                f"the columns stand for {first_few(part, 4)}", options.typed("--classes", part)
            )
            for part in readings[:4]
        ]
        raise AmbiguousReadingError(f"The classes of {where} have several readings.", possible)
    if numbered:
        # Codes of a file that has its answers beside them, and no labels.
        if len(known) == len(columns):
            ordered = sorted(known, key=class_order)
            return tuple(ordered[place] for place in place_numbers(columns))
        return own_names(columns)
    # SPSS numbers its columns from 1 in the order of the codes, whose names stand in the schema alone.
    if labelled is not None and sorted(place_numbers(columns)) == list(range(1, len(coded) + 1)):
        by_code = tuple(coded[place - 1] for place in place_numbers(columns))
        if known == set(coded) and _are_borne_out(by_code, labelled):
            return by_code
    raise _no_names(columns, known, labelled, options, where)


def _counted_classes(known: set[str], n_columns: int) -> tuple[str, ...] | None:
    """Return the classes in the order that they count themselves, ``1:cat``, ``2:dog``; None for other words.

    A class that no row has keeps its number as its name.
    """
    names: dict[int, str] = {}
    for word in known:
        number, colon, rest = word.partition(":")
        if not colon or not rest or not number.isdigit() or not 1 <= int(number) <= n_columns:
            return None
        if int(number) in names:
            return None
        names[int(number)] = word
    return tuple(names.get(place + 1, str(place + 1)) for place in range(n_columns))


def _of_places(
    columns: Sequence[str],
    known: set[str],
    labelled: LabelledAnswers,
    readings: list[tuple[str, ...]],
    options: RoleOptions,
    where: str,
) -> tuple[str, ...]:
    """Return the classes of columns that are numbered 0..K-1: places in the sorted list, borne out by the labels."""
    n_classes = len(columns)
    places = place_numbers(columns)
    ordered = tuple(sorted(known, key=class_order))
    numbers = tuple(map(str, places))
    # What stands before the numbers is a part of the classes: p_c0 is c0.
    if len(readings) == 1 and not known <= set(numbers):
        return readings[0]
    # Whoever filled in a plan saw the numbers there. Its rows bear out no order: neither model is right in most.
    if labelled.is_planned and known <= set(numbers):
        return numbers
    # The labels are the numbers themselves.
    if readings and (len(known) == n_classes or _are_borne_out(numbers, labelled, slack=NOISE)):
        return numbers
    if not readings and len(known) == n_classes and not _mixes(known, numbers):
        by_place = tuple(ordered[place] for place in places)
        if _are_borne_out(by_place, labelled):
            return by_place
    raise _no_names(columns, known, labelled, options, where)


def _mixes(known: set[str], numbers: Sequence[str]) -> bool:
    """Return True if labels are 1..K where columns count from 0: some number would mean two classes."""
    shifted = {str(int(number) + 1) for number in numbers}
    return known == shifted


def _are_borne_out(names: Sequence[str], labelled: LabelledAnswers, *, slack: int = 0) -> bool:
    """Return True if no other order of the columns makes more answers right, but for some."""
    places = {name: place for place, name in enumerate(names)}
    truth = np.array([places.get(word, -1) for word in labelled.truth], dtype=np.int64)
    if len(truth) < FEW_LABELS or (truth < 0).any():
        # Few labels bear out nothing: numbers that start at 0 are what they say.
        return "0" in labelled.truth.tolist() and not (truth < 0).any()
    return supports_places(list(labelled.largest), truth, len(names), slack=slack)


def _no_names(
    columns: Sequence[str],
    known: set[str],
    labelled: LabelledAnswers | None,
    options: RoleOptions,
    where: str,
) -> UnreadableTableError:
    """Return the error for columns that name other things than the labels."""
    shown = first_few(list(columns), 6, show=str)
    ordered = tuple(sorted(known, key=class_order))
    places = place_numbers(columns) if are_places(columns) else []
    counted = tuple(str(place + 1) for place in places)
    if places and known <= set(counted):
        numbers = tuple(map(str, places))
        possible = [
            PossibleReading("classes count from 1", options.typed("--classes", counted)),
            PossibleReading(
                "the columns are the classes themselves", options.typed("--classes", numbers)
            ),
        ]
        return AmbiguousReadingError(
            f"The columns {shown} of {where} may count the classes, whose labels are "
            f"{first_few(ordered, 6, show=str)}.",
            possible,
        )
    fitting = [word for word in ordered if classes_by_name(columns, {word})]
    if len(ordered) != len(columns) and len(ordered) > len(fitting) >= 2:
        outside = [word for word in ordered if word not in fitting]
        return UnreadableTableError(
            f"Labels must be classes of {where}, whose columns are {shown}, got {first_few(outside)}. Correct these "
            "labels, or leave their cells empty."
        )
    if len(ordered) != len(columns):
        # The lists differ in length: the user alone knows the classes.
        example = tuple(f"class{place + 1}" for place in range(len(columns)))
        return UnreadableTableError(
            f"The columns {shown} of {where} do not name the labels {first_few(ordered, 6, show=str)}. Give the "
            f"{len(columns)} classes in the order of these columns, as in {options.typed('--classes', example)}."
        )
    by_place = tuple(ordered[place] for place in places) if places else ordered
    possible = [
        PossibleReading(
            "the columns stand for the sorted labels", options.typed("--classes", by_place)
        )
    ]
    best = _best_order(ordered, labelled)
    if best is not None and best != by_place:
        possible.append(
            PossibleReading(
                "the order under which most answers are right", options.typed("--classes", best)
            )
        )
    return AmbiguousReadingError(
        f"The columns {shown} of {where} do not name the labels {first_few(ordered, 6, show=str)}. Give "
        "the classes in "
        "the order of these columns.",
        possible,
    )


def _best_order(
    ordered: tuple[str, ...], labelled: LabelledAnswers | None
) -> tuple[str, ...] | None:
    """Return the order of the classes under which most answers are right."""
    if labelled is None or len(labelled.truth) < FEW_LABELS:
        return None
    places = {name: place for place, name in enumerate(ordered)}
    truth = np.array([places.get(word, -1) for word in labelled.truth], dtype=np.int64)
    if (truth < 0).any():
        return None
    own = np.concatenate(list(labelled.largest))
    best = best_assignment(own, np.tile(truth, len(labelled.largest)), len(ordered))
    return tuple(ordered[place] for place in best)


def joint_classes(
    parts: Sequence[tuple[str, ...]], truth: Words | None, complaints: Complaints
) -> tuple[str, ...]:
    """Return the classes of all files and labels: the columns of the first file, then what is named elsewhere."""
    classes = list(dict.fromkeys(name for part in parts for name in part))
    if truth is not None:
        extra = distinct_words(truth) - set(classes)
        classes += sorted(extra, key=class_order)
    return tuple(classes)
