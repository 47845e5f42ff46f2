"""What R writes by dput and dump: vectors with or without names, factors, matrices and data frames as R code.

The code is parsed, never run: constants, `c`, `list`, `structure` and ranges such as `1:60`. Anything else is no R
code here. What it holds is written anew as csv, which the reader of texts then reads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.readers.printed import as_csv, lines_of

_HEAD = re.compile(rb'\s*(?:["`]?[\w.]+["`]?\s*(?:<-|=)\s*)?(?:structure|c|list)\(')
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|`(?P<quoted>[^`]*)`|(?P<range>-?\d+L?:-?\d+L?)"""
    r"""|(?P<number>[-+]?(?:0x[\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)L?)"""
    r"""|(?P<name>[A-Za-z.][\w.]*)|(?P<mark><-|[(),=]))"""
)
_GAPS = ("NA", "NA_integer_", "NA_real_", "NA_character_", "NaN")
_CALLS = ("c", "list", "structure", "data.frame", "factor")
DEEPEST = 20


class _NotReadError(ValueError):
    """The text is no R code of this kind."""


@dataclass
class _Value:
    """A vector or a list, the names of its elements, and its attributes."""

    items: list[Any]
    names: list[str] | None = None
    about: dict[str, Any] = field(default_factory=dict)


def is_r_source(content: Content) -> bool:
    """Return True if the whole text is one object that dput or dump wrote."""
    if not _HEAD.match(content.head):
        return False
    try:
        return bool(_rows(_parsed(content)))
    except _NotReadError:
        return False


def written_object(content: Content) -> Content:
    """Return the object as csv."""
    return as_csv(content, _rows(_parsed(content)))


def _parsed(content: Content) -> _Value:
    text = "\n".join(lines_of(content.read()))
    tokens = []
    place = 0
    end = len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None:
            raise _NotReadError
        tokens.append((str(found.lastgroup), found[found.lastgroup or 0]))
        place = found.end()
    if len(tokens) > 2 and tokens[1] in (("mark", "<-"), ("mark", "=")):
        tokens = tokens[2:]
    value, rest = _value(tokens, 0, 0)
    if rest != len(tokens) or not isinstance(value, _Value):
        raise _NotReadError
    return value


def _value(tokens: Sequence[tuple[str, str]], place: int, depth: int) -> tuple[Any, int]:
    """Return the value that begins at a token, and where the next one begins."""
    if place >= len(tokens) or depth > DEEPEST:
        raise _NotReadError
    # A descent over the tokens. Only constants and the calls of `_CALLS` are known; nothing is run.
    kind, word = tokens[place]
    if kind == "text":
        return str(ast.literal_eval(word)), place + 1
    if kind == "number":
        return word.removesuffix("L"), place + 1
    if kind == "range":
        first, last = (int(part) for part in word.replace("L", "").split(":"))
        # A few letters may stand for more numbers than there is memory for.
        if abs(last - first) > 10_000_000:
            raise _NotReadError
        step = 1 if last >= first else -1
        return _Value([str(number) for number in range(first, last + step, step)]), place + 1
    if kind == "name" and word in _GAPS:
        return None, place + 1
    if kind == "name" and word in ("TRUE", "FALSE"):
        return word, place + 1
    if kind == "name" and word == "NULL":
        return _Value([]), place + 1
    if kind == "name" and word in _CALLS and tokens[place + 1 : place + 2] == [("mark", "(")]:
        return _call(word, tokens, place + 2, depth + 1)
    raise _NotReadError


def _call(
    call: str, tokens: Sequence[tuple[str, str]], place: int, depth: int
) -> tuple[_Value, int]:
    """Return what a call of c, list or structure gives."""
    names: list[str] = []
    values: list[Any] = []
    while place < len(tokens) and tokens[place] != ("mark", ")"):
        name = ""
        if tokens[place + 1 : place + 2] == [("mark", "=")]:
            kind, name = tokens[place]
            name = str(ast.literal_eval(name)) if kind == "text" else name
            place += 2
        value, place = _value(tokens, place, depth)
        names.append(name)
        values.append(value)
        if tokens[place : place + 1] == [("mark", ",")]:
            place += 1
    if place >= len(tokens):
        raise _NotReadError
    if call == "structure":
        first = values[0] if values and isinstance(values[0], _Value) else _Value(values[:1])
        first.about.update(zip(names[1:], values[1:], strict=True))
        return first, place + 1
    if call in ("data.frame", "factor"):
        raise _NotReadError
    # As in R, c makes one vector of its parts, whose names are those of its elements no longer.
    if call == "c":
        flat: list[Any] = []
        for value in values:
            flat += value.items if isinstance(value, _Value) else [value]
        names = names if len(flat) == len(names) else []
        values = flat
    return _Value(values, names if any(names) else None), place + 1


def _words(value: Any) -> list[Any]:
    """Return the elements of a vector, those of a factor by their names."""
    if not isinstance(value, _Value):
        return [value]
    if any(isinstance(item, _Value) for item in value.items):
        raise _NotReadError
    levels = value.about.get("levels", value.about.get(".Label"))
    if levels is None:
        return value.items
    known = _words(levels)
    places = [None if item is None else int(item) for item in value.items]
    if any(place is not None and not 0 < place <= len(known) for place in places):
        raise _NotReadError
    return [None if place is None else known[place - 1] for place in places]


def _rows(value: _Value) -> list[list[str]]:
    """Return the rows of an object with a line of names."""
    about = value.about
    # A matrix; a data frame, which is a list of vectors; or one vector.
    if "dim" in about:
        table, names, index = _matrix(value)
    elif any(isinstance(item, _Value) for item in value.items):
        names = value.names or _words(about.get("names", _Value([])))
        table = [_words(item) for item in value.items]
        index = _words(about.get("row.names", _Value([])))
        # c(NA, -60L) counts the rows
        index = [] if any(name is None for name in index) else index
    else:
        names = ["x"]
        table = [_words(value)]
        index = value.names or _words(about.get("names", _Value([])))
    lengths = {len(column) for column in table}
    if len(lengths) != 1 or not lengths or len(names) != len(table):
        raise _NotReadError
    n_rows = lengths.pop()
    if not n_rows or (index and len(index) != n_rows):
        raise _NotReadError
    counts = [str(place + 1) for place in range(n_rows)]
    is_named = bool(index) and [str(name) for name in index] != counts
    rows = [[""] * is_named + [str(name) for name in names]]
    for place, cells in enumerate(zip(*table, strict=True)):
        row = ["" if cell is None else str(cell) for cell in cells]
        rows.append([str(index[place]), *row] if is_named else row)
    return rows


def _matrix(value: _Value) -> tuple[list[list[Any]], list[str], list[Any]]:
    """Return the columns of a matrix, of which R writes one after another, with their names and those of the rows."""
    dim = [int(size) for size in _words(value.about["dim"])]
    while len(dim) > 2 and dim[-1] == 1:
        dim.pop()
    if len(dim) != 2 or dim[0] * dim[1] != len(value.items):
        raise _NotReadError
    cells = _words(value)
    table = [cells[place : place + dim[0]] for place in range(0, len(cells), dim[0] or 1)]
    names: list[str] = [f"V{place + 1}" for place in range(dim[1])]
    index: list[Any] = []
    both = value.about.get("dimnames")
    if isinstance(both, _Value) and len(both.items) >= 2:
        index = _words(both.items[0])
        names = _words(both.items[1]) or names
    return table, names, index


READER = Reader(
    name="an object in R code",
    suffixes=(".R",),
    told_by="structure(, c( or list( at its beginning, as dput and dump write it, and code of constants alone",
    tells=is_r_source,
    unpack=written_object,
)
