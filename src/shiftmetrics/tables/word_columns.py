"""Words of one column in all files: gaps, blanks at their ends, lost zeros, and strays among numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics.tables.cell_words import _BLANKS, ColumnCells, is_gap_word
from shiftmetrics.tables.number_words import PLAIN, number_words
from shiftmetrics.tables.stored_words import StoredWords

if TYPE_CHECKING:
    import pandas as pd

_CODES = 50
_STRAYS = 3
"""Distinct numbers up to which, and distinct words beyond which, a column that mixes both is one of codes."""
_MOST_NUMBERS = 0.5
_TEXT_WORDS = 4.0
"""Words of an average value, from which strings that hardly repeat are text."""
_REPEATS = 0.5
"""Fraction of distinct values, above which strings hardly repeat."""
_SEEN = 2_000
_NAMED = 2
_MOST_LEVELS = 1_000
_SHORT = 40
"""Characters up to which blanks at the end are worth a note."""


@dataclass(frozen=True, eq=False)
class CommonLevels:
    """The words of one column in all files, None in gaps, and what is said of them."""

    values: list[Any]
    notes: list[str] = field(default_factory=list)


def code_reason(columns: Sequence[ColumnCells]) -> str:
    """Return why words of digits are no numbers; empty where they are plain words."""
    for column in columns:
        if not column.is_words:
            continue
        read = number_words(column.known)
        if read is not None and read.is_code:
            return "a zero at the beginning, or an exponent beside integers"
        if read is not None and column.type == "string":
            return "strings by the schema"
    return ""


def common_levels(
    name: str,
    columns: Sequence[ColumnCells],
    marks: Sequence[set[str]],
    *,
    as_stored: bool = False,
) -> CommonLevels:
    """Return words in one spelling of gaps, blanks and zeros.

    Parameters
    ----------
    name : str
        The column.
    columns : sequence of ColumnCells
        It in each file.
    marks : sequence of set of str
        For each file the words that stand for gaps in its columns of numbers, where it leaves no cell empty.
    as_stored : bool
        Whether many strings that all stay what they are may be those of pandas, and need not be made objects.
    """
    notes: list[str] = []
    gaps = _gaps(name, columns, marks, notes)
    # 1. Blanks at the ends, as columns of a fixed width have them.
    spelled: list[Sequence[str | None]] = []
    for column, own in zip(columns, gaps, strict=True):
        if not column.odd_places:
            spelled.append(column.distinct)
            continue
        words: list[str | None] = list(column.distinct)
        n_blank = 0
        for place in column.odd_places:
            word = column.distinct[place]
            stripped = word.strip(_BLANKS)
            words[place] = None if not stripped or stripped in own else stripped
            if stripped and stripped != word and len(word) <= _SHORT:
                n_blank += int(column.counts[place])
        if n_blank:
            cells = "cell" if n_blank == 1 else "cells"
            notes.append(
                f"Left out blanks at the ends of `{name}` in {n_blank:,} {cells} of {column.where}."
            )
        spelled.append(words)
    # 2. Zeros that another tool has lost, and spellings of one file only.
    notes += _pad(name, columns, spelled)
    notes += _spelling_notes(name, columns, spelled)
    values: list[Any] = []
    for column, now in zip(columns, spelled, strict=True):
        if as_stored and now is column.distinct and isinstance(now, StoredWords):
            values.append(column.values)
            continue
        lookup = np.array([*now, None], dtype=object)[:-1]
        values.append(column.spread(lookup, None))
    return CommonLevels(values, notes)


def _gaps(
    name: str, columns: Sequence[ColumnCells], marks: Sequence[set[str]], notes: list[str]
) -> list[set[str]]:
    """Return the words of each file that are gaps in a column of words.

    A word such as NA is a word, except where its file marks gaps by it in columns of numbers, and no other file has
    it as a word; or where one file has it and no gap, and another file has gaps and not the word.
    """
    found: list[set[str]] = []
    for place, column in enumerate(columns):
        own = set()
        for word in column.gap_words:
            # NA may be Namibia: in a file that does not mark gaps by it, it is a word.
            is_elsewhere = any(
                word in other.distinct and word not in marks[slot]
                for slot, other in enumerate(columns)
                if slot != place
            )
            others_gaps = any(
                other.has_gaps and word not in other.distinct
                for slot, other in enumerate(columns)
                if slot != place
            )
            is_mark = word in marks[place] and not is_elsewhere
            is_only_gap = others_gaps and not column.has_gaps and not is_elsewhere
            # Where a column holds nothing else, there are no words that it could be one of.
            is_alone = not column.known
            if is_mark or is_only_gap or is_alone:
                own.add(word)
        if own:
            said = ", ".join(sorted(own)[:_NAMED])
            notes.append(f"Read {said} in `{name}` of {column.where} as missing.")
        found.append(own)
    return found


def _pad(
    name: str, columns: Sequence[ColumnCells], spelled: list[Sequence[str | None]]
) -> list[str]:
    """Give codes back the zeros that a file of integers has lost, where the other file then has the same codes."""
    # One word that is no code is enough, and mostly the first one.
    if not any(_are_decimal(words) for words in spelled):
        return []
    levels = [_levels(words) for words in spelled]
    coded = [
        place
        for place, words in enumerate(levels)
        if words and _has_zeros(words) and len({len(word) for word in words}) == 1
    ]
    if not coded:
        return []
    codes = set().union(*(levels[place] for place in coded))
    widths = {len(word) for word in codes}
    if len(widths) > 1:
        return []
    width = widths.pop()
    notes = []
    for place, words in enumerate(levels):
        if place in coded or not words or not all(word.isdecimal() for word in words):
            continue
        # A heuristic: at least half of the padded codes have to be known in the other file, and
        # more than without zeros. Integers that are codes of their own keep their spelling.
        padded = {word.zfill(width) for word in words}
        is_lost = max(map(len, words)) <= width and min(map(len, words)) < width
        if not is_lost or _has_zeros(words) or 2 * len(padded & codes) < len(padded):
            continue
        if len(words & codes) >= len(padded & codes):
            continue
        spelled[place] = [None if now is None else now.zfill(width) for now in spelled[place]]
        code = min(padded)
        plain = code.lstrip("0") or "0"
        where = columns[place].where
        notes.append(f"Gave `{name}` of {where} its zeros back: {code} is written {plain} there.")
    return notes


def _are_decimal(words: Sequence[str | None]) -> bool:
    return all(word.isdecimal() for word in words if word is not None)


def _levels(words: Sequence[str | None]) -> set[str]:
    return {word for word in words if word is not None}


def _has_zeros(words: set[str]) -> bool:
    return all(word.isdecimal() for word in words) and any(
        len(word) > 1 and word[0] == "0" for word in words
    )


def _spelling_notes(
    name: str, columns: Sequence[ColumnCells], spelled: Sequence[Sequence[str | None]]
) -> list[str]:
    """Name levels that differ between two files in capital letters or accents' form only."""
    notes: list[str] = []
    # Words without blanks are distinct, and those of many rows need not be put together.
    least = min(
        len(words) - len(column.odd_places) for words, column in zip(spelled, columns, strict=True)
    )
    if least > _MOST_LEVELS:
        return notes
    levels = [_levels(words) for words in spelled]
    for place, words in enumerate(levels[1:], start=1):
        first = levels[0]
        if max(len(first), len(words)) > _MOST_LEVELS:
            continue
        theirs = {_folded(word): word for word in first}
        pairs = [
            (theirs[_folded(word)], word)
            for word in sorted(words - first)
            if _folded(word) in theirs and theirs[_folded(word)] not in words
        ]
        if pairs:
            said = ", ".join(f"{old!r} is {new!r}" for old, new in pairs[:_NAMED])
            notes.append(
                f"`{name}` has another spelling in {columns[place].where}: {said} there, and counts as another level."
            )
    return notes


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def are_sentences(values: Sequence[pd.Series]) -> bool:
    """Return True where the words of every file are sentences that hardly repeat."""
    known = [part.dropna() for part in values]
    return all(_hardly_repeats(part) for part in known if len(part)) and any(
        len(part) for part in known
    )


def _hardly_repeats(known: pd.Series) -> bool:
    head = known.iloc[:_SEEN].astype(str)
    if head.nunique() <= _REPEATS * len(head):
        return False
    return bool(head.str.count(r"\S+").mean() >= _TEXT_WORDS)


def words_problem(name: str, columns: Sequence[ColumnCells]) -> str:
    """Return why a column of words has no one reading: a few words among numbers, or numbers in one file only."""
    filled = [column for column in columns if column.has_cells]
    for column in filled:
        problem = _strays(name, column)
        if problem:
            return problem
    numbers = [column for column in filled if not column.is_words or _all_numbers(column)]
    words = [column for column in filled if column.is_words and not _all_numbers(column)]
    if not numbers or not words or all(column.type == "level" for column in words):
        return ""
    levels = set().union(*(column.distinct for column in words))
    for column in numbers:
        # Numbers beside words are levels like these (grades 1, 2, K) where at least half of them
        # stand among the words of the other files.
        is_typed = column.type in ("date", "boolean")
        is_level = 2 * len(levels & set(column.known)) >= len(column.known)
        if not is_typed and (is_level or _are_codes(words, column)):
            continue
        others = [word for word in words[0].known if not re.fullmatch(PLAIN, word)]
        example = others[0] if others else words[0].known[0]
        first = f"{example[:60]!r} in {words[0].where}"
        second = f"{column.known[0][:60]!r} in {column.where}"
        remedy = f"Give all files one type, or leave the column out: --exclude {name}."
        got = f"{first} and {second}"
        return f"column {name!r} must be of one type in all files, got {got}. {remedy}"
    return ""


def _are_codes(words: Sequence[ColumnCells], column: ColumnCells) -> bool:
    """Return True where all files have words of digits: then those without zeros are codes as well."""
    return all(word.isdecimal() for other in [*words, column] for word in other.known)


def _all_numbers(column: ColumnCells) -> bool:
    read = number_words(column.known)
    return read is not None and not read.is_code and not read.sign


def _strays(name: str, column: ColumnCells) -> str:
    """Word the complaint about a column of numbers with a few words among them: as levels they mean nothing."""
    if not column.is_words or column.type == "level":
        return ""
    plain = re.compile(PLAIN)
    n_others = 0
    for word in column.known:
        n_others += plain.fullmatch(word) is None
        # Many words are codes, as below, and a column of them need not be looked through.
        if n_others > _STRAYS:
            return ""
    is_number = np.array([bool(plain.fullmatch(word)) for word in column.distinct], dtype=bool)
    is_gap = np.array([is_gap_word(word) for word in column.distinct], dtype=bool)
    counts = column.counts
    n_numbers = counts[is_number].sum()
    strays = ~is_number & ~is_gap
    if not n_numbers or not strays.any():
        return ""
    fraction = n_numbers / (n_numbers + counts[strays].sum())
    numbers = [float(word) for word, plain in zip(column.distinct, is_number, strict=True) if plain]
    has_zeros = any(re.fullmatch(r"0\d+", word) for word in column.distinct)
    # Few integers, or many words, are codes: 24 grades of school, or diagnoses such as 250, V27, E909.
    are_grades = all(number % 1 == 0 for number in numbers) and len(numbers) <= _CODES
    is_code = are_grades or has_zeros or strays.sum() > _STRAYS
    if fraction <= _MOST_NUMBERS or is_code:
        return ""
    stray = int(np.flatnonzero(strays)[0])
    row = int(np.flatnonzero(column.codes == stray)[0])
    got = f"{column.distinct[stray][:60]!r} in row {row} of {column.where}"
    remedy = f"Leave such cells empty, or the column out: --exclude {name}."
    return f"column {name!r} must be of numbers or of words, got {got}. {remedy}"
