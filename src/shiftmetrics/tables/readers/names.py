"""Names of the columns of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from shiftmetrics.tables.cells import generated_name
from shiftmetrics.tables.content import Content
from shiftmetrics.tables.readers.dialect import Dialect

UNNAMED_INDEX = "index"
"""The name of an index that has none."""

_PANDAS_INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")


def free_name(name: str, names: Iterable[str]) -> str:
    """Return the name, or with a number if it is taken."""
    taken = set(names)
    number = 1
    found = name
    while found in taken:
        number += 1
        found = f"{name} {number}"
    return found


def column_names(dialect: Dialect, content: Content) -> tuple[list[str], tuple[str, ...]]:
    """Return the names of the columns, and of those that the text marks as names of rows."""
    n_names = dialect.n_cells - dialect.trailing
    if dialect.header == "none":
        return [generated_name(place) for place in range(n_names)], ()
    names = list(dialect.first[:n_names])
    if dialect.row_names:
        index = free_name(UNNAMED_INDEX, names)
        return checked_names([index, *names], content), (index,)
    names = checked_names(names, content)
    if len(names) > 1 and (names[0] == "" or _PANDAS_INDEX.fullmatch(names[0])):
        return names, (names[0],)
    return names, ()


def checked_names(names: list[str], content: Content) -> list[str]:
    """Return distinct names: those that are empty get one, and a name that stands twice is refused."""
    found: list[str] = []
    for place, name in enumerate(names):
        if name == "" and place:
            name = free_name(generated_name(place), names)
        if name in found:
            raise content.refusal(
                "a table with distinct names of columns",
                f"which has {name!r} twice",
                "Rename one of them.",
            )
        found.append(name)
    return found
