"""One spelling for the classes of several columns: 1 and 1.0, True and t, ``2:cat`` and cat."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from shiftmetrics.tables.evidence import Words

Table: TypeAlias = dict[str, str]
Spell: TypeAlias = Callable[[Sequence[str], set[str]], Table | None]

PAIRS = (("false", "true"), ("f", "t"), ("no", "yes"), ("n", "y"), ("0", "1"), ("off", "on"))
"""How tools write Booleans, the false one first."""

_NUMBER = re.compile(r"[-+]?(0|[1-9]\d*)(\.\d*)?")
_NUMBERED = re.compile(r"\d+:(.+)")


def common_words(columns: Sequence[Words]) -> list[Words]:
    """Return the text of several columns of classes in one spelling, so that equal classes are equal text.

    Another spelling is taken only where it makes classes of different columns equal, and never two classes of one
    column: ``100`` beside ``1E2``, or ``1`` beside ``01``, are codes and stay as they are written.
    """
    words = list(columns)
    distinct = [distinct_words(part) for part in words]
    tables = _cut_names(distinct)
    if tables is not None:
        words = [respelled(part, table) for part, table in zip(words, tables, strict=True)]
        distinct = [set(table.values()) for table in tables]
    tables = _one_boolean(distinct)
    if tables is not None:
        words = [respelled(part, table) for part, table in zip(words, tables, strict=True)]
        distinct = [set(table.values()) for table in tables]
    # Each spelling goes on from those before it. It is kept only if there are fewer classes in all
    # columns together, and as many as before in each of them.
    for spell in (_numbers, _booleans, _numbered, _without_affixes, _small_letters):
        union = set().union(*distinct)
        tables = []
        for own in distinct:
            others = set().union(*(part for part in distinct if part is not own))
            table = spell(sorted(own), others)
            if spell is _without_affixes:
                # Columns that share a word are written alike: two models before the labels.
                family = set().union(own, *(part for part in distinct if part & own))
                table = spell(sorted(family), others - family)
            tables.append({word: (table or {}).get(word, word) for word in own})
        joined = {word for table in tables for word in table.values()}
        if any(len(set(table.values())) < len(table) for table in tables):
            continue
        if len(joined) < len(union):
            words = [respelled(part, table) for part, table in zip(words, tables, strict=True)]
            distinct = [set(table.values()) for table in tables]
    return words


def distinct_words(words: Words) -> set[str]:
    """Return the distinct words of a column, gaps left out."""
    # Equal words are mostly one and the same string, which a set of Python finds fastest.
    return {word for word in set(words.tolist()) if word is not None and word == word}


def respelled(words: Words, table: Table) -> Words:
    """Return words in another spelling."""
    import pandas as pd

    codes, distinct = pd.factorize(words)
    lookup = np.array([*(table[word] for word in distinct), None], dtype=object)
    return np.asarray(lookup[codes])


def _numbers(words: Sequence[str], others: set[str]) -> Table | None:
    """Write whole numbers without a decimal point; codes such as 01 and 1E2 are no numbers."""
    if not all(_NUMBER.fullmatch(word) for word in words):
        return None
    table = {}
    for word in words:
        value = float(word)
        table[word] = str(int(value)) if value.is_integer() else repr(value)
    return table


def _booleans(words: Sequence[str], others: set[str]) -> Table | None:
    """Write Booleans as the other columns do."""
    pair = _pair_of(words)
    others_pair = _pair_of(sorted(others))
    if pair is None or others_pair is None:
        return None
    # The spelling of the other columns, in their own letters.
    theirs = {word.lower(): word for word in others}
    table = {}
    for word in words:
        place = pair.index(word.lower())
        table[word] = theirs.get(others_pair[place], word)
    # Both sides would change places: the one that comes first in the table of spellings stays.
    if PAIRS.index(pair) <= PAIRS.index(others_pair):
        return None
    return table


def _one_boolean(columns: Sequence[set[str]]) -> list[Table] | None:
    """Return the spelling of the first column for all, where there are three spellings of Booleans or more."""
    pairs = [_pair_of(sorted(words)) for words in columns]
    if None in pairs or len(set(pairs)) < 3:
        return None
    first = {word.lower(): word for word in columns[0]}
    tables = []
    for words, pair in zip(columns, pairs, strict=True):
        table = {}
        for word in words:
            plain = pairs[0][pair.index(word.lower())]  # type: ignore[index, union-attr]
            table[word] = first.get(plain, plain)
        tables.append(table)
    return tables


def _pair_of(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the spelling of Booleans that all words have."""
    plain = {word.lower() for word in words}
    for pair in PAIRS:
        if plain and plain <= set(pair):
            return pair
    return None


def _numbered(words: Sequence[str], others: set[str]) -> Table | None:
    """Take the number from ``2:cat``."""
    parts = {word: _NUMBERED.fullmatch(word) for word in words}
    if not all(parts.values()):
        return None
    return {word: part[1] for word, part in parts.items() if part is not None}


def _cut_names(columns: Sequence[set[str]]) -> list[Table] | None:
    """Return one name for each number where columns of ``2:cat`` cut names short, each in its own way.

    A table of a fixed width writes ``1:'a setos`` beside ``1:a setosa``. The number says which class it is.
    """
    found: dict[str, set[str]] = {}
    for words in columns:
        parts = [_NUMBERED.fullmatch(word) for word in words]
        numbers = [word.partition(":")[0] for word in words]
        if not words or not all(parts) or len(set(numbers)) < len(numbers):
            return None
        for word, number in zip(words, numbers, strict=True):
            found.setdefault(number, set()).add(word)
    longest = {number: max(sorted(words), key=_n_letters) for number, words in found.items()}
    return [{word: longest[word.partition(":")[0]] for word in words} for words in columns]


def _n_letters(word: str) -> int:
    """Return the length of a word; a mark around it, of which one may be cut off, counts for nothing."""
    return len(word.replace("'", "").replace('"', ""))


def _without_affixes(words: Sequence[str], others: set[str]) -> Table | None:
    """Take away a beginning and an end that all words have, where what is left is among the other columns' words."""
    if len(words) < 2:
        return None
    affixes = affixes_of(words, others)
    if len(affixes) != 1:
        return None
    beginning, ending = affixes.pop()
    if not beginning and not ending:
        return None
    return {word: word[len(beginning) : len(word) - len(ending)] for word in words}


def _small_letters(words: Sequence[str], others: set[str]) -> Table | None:
    """Write all words in small letters."""
    return {word: word.lower() for word in words}


def shared_beginning(words: Sequence[str]) -> str:
    """Return the letters with which all words begin."""
    if not words:
        return ""
    first = min(words)
    last = max(words)
    # What the first and the last word in order share, all between them share as well.
    n_shared = 0
    for one, other in zip(first, last, strict=False):
        if one != other:
            break
        n_shared += 1
    return first[:n_shared]


def affixes_of(words: Sequence[str], known: set[str]) -> set[tuple[str, str]]:
    """Return the common beginnings and ends of words between which stands a known word, in at least half."""
    shared = shared_beginning(words)
    reversed_end = shared_beginning([word[::-1] for word in words])
    found = set()
    for n_start in range(len(shared) + 1):
        for n_end in range(len(reversed_end) + 1):
            middles = [word[n_start : len(word) - n_end] for word in words]
            if not all(middles) or len(set(middles)) < len(middles):
                continue
            n_known = len(set(middles) & known)
            if n_known >= max(2, len(words) / 2):
                found.add((shared[:n_start], reversed_end[:n_end][::-1]))
    return found
