"""Names of the columns of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from shiftmetrics.tables.cells import generated_name
from shiftmetrics.tables.content import Content
from shiftmetrics.tables.readers.dialect import Dialect

if TYPE_CHECKING:
    import pandas as pd

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
    """Return the names of the columns, and of those that the text marks as names of rows.

    A name that stands twice is numbered, as `once` expects.
    """
    n_names = dialect.n_cells - dialect.trailing
    if dialect.header == "none":
        return [generated_name(place) for place in range(n_names)], ()
    names = numbered_names(dialect.first[:n_names])
    if dialect.row_names:
        index = free_name(UNNAMED_INDEX, names)
        return checked_names([index, *names], content), (index,)
    names = checked_names(names, content)
    if len(names) > 1 and (names[0] == "" or _PANDAS_INDEX.fullmatch(names[0])):
        return names, (names[0],)
    return names, ()


def numbered_names(names: Sequence[str]) -> list[str]:
    """Return names of which those that stand twice have a number: score, score 2."""
    found: list[str] = []
    for place, name in enumerate(names):
        is_doubled = name != "" and name in names[:place]
        found.append(free_name(name, [*names, *found]) if is_doubled else name)
    return found


def once(frame: pd.DataFrame, written: Sequence[str], notes: list[str]) -> pd.DataFrame:
    """Return a table without the columns that say once more what a column of the same name says; both are named.

    Parameters
    ----------
    frame : DataFrame
        With the names of `numbered_names`.
    written : sequence of str
        The names as they are written.
    notes : list of str
        What is said of the columns is added.
    """
    doubled = []
    for place, name in enumerate(written):
        if name == "" or name not in written[:place]:
            continue
        here = frame.columns[place]
        first = frame.columns[list(written).index(name)]
        if frame[here].equals(frame[first]):
            doubled.append(here)
            notes.append(f"the column {name!r} stands there twice, with the same cells")
        else:
            notes.append(f"two columns are called {name!r}: the later one is {here!r} here")
    return frame.drop(columns=doubled)


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
