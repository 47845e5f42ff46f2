"""Whether the first line of a table holds names.

It does if its cells are not of the kind of their columns, or are not among their values. Where neither can be said,
two readings survive, and what the other files hold decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shiftmetrics.tables.cells import Header

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*%?")
_INTEGER = re.compile(r"[+-]?\d+")
GAPS = frozenset({"", "na", "n/a", "nan", "null", "none", "\\n", "?", ".", "-", "inf", "-inf"})
"""Words that may stand in a column of numbers."""

FEWER_DIGITS = 3
"""A number with so many digits less than each cell of its column may be a name."""

FEWEST_ROWS = 10
"""Rows among which a number that comes back at all is expected to come back."""

FEW = 0.5
"""A column with at most so many distinct values a row repeats them."""


PAIR = re.compile(r"[^\s:,;|]+:[+-]?[\d.]+([eE][+-]?\d+)?")
"""A class and its score, as Vowpal Wabbit and others write them."""


def are_pairs(line: str) -> bool:
    """Return True if a line holds pairs of a class and its score, and nothing else."""
    words = line.split()
    return len(words) > 1 and all(map(PAIR.fullmatch, words))


def is_number(cell: str) -> bool:
    """Return True if a cell is written as a number."""
    return _NUMBER.fullmatch(cell) is not None


def judge_first_line(first: Sequence[str], rows: Sequence[Sequence[str]]) -> Header:
    """Return "names", "none" or "either" for the cells of a first line and of the rows below it, all unquoted."""
    if not rows:
        return "names" if not any(map(is_number, first)) else "either"
    columns = [
        [row[place] if place < len(row) else "" for row in rows] for place in range(len(first))
    ]
    if len(set(first)) < len(first) and any(map(is_number, first)):
        # a word over numbers is a name, whatever stands twice beside it
        is_named = any(
            _judge_cell(name, column) == "kind" for name, column in zip(first, columns, strict=True)
        )
        return "names" if is_named else "none"
    if first and all(map(is_number, first)):
        return _judge_numbers(first, columns)
    if len(first) == 1 and all(map(are_pairs, columns[0])):
        return "none" if are_pairs(first[0]) else "names"
    # One word over a column of numbers is enough for names. Otherwise the columns have to agree:
    # where some speak for names and others for a row, or none says anything, both readings stay.
    for_names = 0
    for_data = 0
    unsure = 0
    for name, column in zip(first, columns, strict=True):
        verdict = _judge_cell(name, column)
        if verdict == "kind":
            return "names"
        for_names += verdict == "names"
        for_data += verdict == "data"
        unsure += verdict == "unsure"
    if for_data and not for_names:
        return "none"
    if for_names and not for_data:
        return "names"
    return "either"


def _judge_cell(name: str, column: list[str]) -> str:
    """Return what one cell says: "kind" (a word over numbers), "names", "data", "unsure" or nothing."""
    cells = [cell for cell in column if cell.lower() not in GAPS]
    if not cells:
        return ""
    n_numbers = sum(map(is_number, cells))
    if name.lower() in GAPS - {""}:
        return ""
    if name == "":
        # pandas and R leave the name of an index empty, and gaps elsewhere say that it may be one
        return "" if "" in column else "names"
    if is_number(name):
        if n_numbers < len(cells):
            return ""
        return "data" if name in cells or _is_one_of(name, cells) else ""
    if n_numbers > 0.9 * len(cells):
        return "kind"
    if name in cells:
        return "data"
    distinct = set(cells)
    if all(re.search(r"\d", cell) for cell in distinct) and not re.search(r"\d", name):
        return "names"
    if _common_beginning(distinct) and not name.startswith(_common_beginning(distinct)):
        return "names"
    if len(distinct) <= FEW * len(cells):
        # a class that stands in one row alone may be one that no other row has (Good and Turing)
        once = sum(cells.count(word) == 1 for word in distinct) if len(distinct) <= 50 else 1
        return "names" if not once else "unsure"
    return "unsure"


def _is_one_of(name: str, cells: list[str]) -> bool:
    """Return True if a number may be one more of a column: a fraction or an integer as they are, in their range."""
    values = _values(cells)
    if not values:
        return False
    number = _values([name])[0]
    if _INTEGER.fullmatch(name) and any(value % 1 for value in values):
        return False
    return min(values) <= number <= max(values)


def _common_beginning(words: set[str]) -> str:
    first = min(words)
    last = max(words)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length] if length > 1 and len(words) > 1 else ""


def _judge_numbers(first: Sequence[str], columns: list[list[str]]) -> Header:
    """Judge a first line of numbers: a row, or names such as 0, 1, 2 of classes."""
    if len(set(first)) < len(first):
        return "none"
    values = [_values(column) for column in columns]
    if not all(_INTEGER.fullmatch(name) for name in first):
        # names such as 0.1, 1.1, 2.1, which R gives to columns of classes
        strange = [
            not _is_one_of(name, column)
            and len(name) + FEWER_DIGITS <= min(map(len, filter(None, column)))
            for name, column in zip(first, columns, strict=True)
            if any(column)
        ]
        alike = [len(name) for name in first]
        return "either" if any(strange) and max(alike) - min(alike) < FEWER_DIGITS else "none"
    if any(not column for column in values):
        return "names"
    among = [name in column for name, column in zip(first, columns, strict=True)]
    numbers = [float(name) for name in first]
    within = [
        min(column) <= number <= max(column) for number, column in zip(numbers, values, strict=True)
    ]
    counts = numbers in (
        [float(i) for i in range(len(first))],
        [i + 1.0 for i in range(len(first))],
    )
    fractions = all(any(value % 1 for value in column) for column in values)
    if len(first) == 1:
        if fractions and not among[0] and numbers[0] in (0.0, 1.0):
            # pandas names a column without a name 0; a probability of 0 would come back, or be written 0.0
            is_clear = len(columns[0]) >= FEWEST_ROWS and not any(
                map(_INTEGER.fullmatch, columns[0])
            )
            return "names" if is_clear else "either"
        if fractions or among[0]:
            # pandas names a column of answers 0; 1 is the column of the second class, which holds probabilities
            may_be_name = numbers[0] == 0.0 or (fractions and numbers[0] == 1.0)
            return "either" if may_be_name else "none"
        return "either" if counts else "none"
    if fractions or counts:
        return "either" if all(within) and any(among) else "names"
    return "none"


def _values(column: list[str]) -> list[float]:
    cells = [cell.rstrip("%").replace(",", ".") for cell in column if is_number(cell)]
    return [float(cell) for cell in cells if cell]
