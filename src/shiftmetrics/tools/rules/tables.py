"""The rows of a result's tables that a rule asks for: models, pairs of models, features, subgroups, modes, points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Result
from shiftmetrics.tools.rules.fields import names_of, plain
from shiftmetrics.tools.rules.rule import nearest_names, row_in_words


@dataclass(frozen=True)
class Row:
    """One row: a record or the cells of a DataFrame, with the words for what chose it and the path that is left."""

    content: Any
    words: str
    path: str


def rows_of(result: Result, row: Mapping[str, Any], path: str) -> list[Row]:
    """Return the rows that hold what ``row`` says, from the first table that has any and the field.

    Raises
    ------
    ValueError
        If no table has these columns, or no row these values.
    """
    first, _, rest = path.partition(".")
    named: Any = getattr(result, first, None) if first in names_of(result) else None
    if rest and _is_table(named):
        tables, path = iter([list(named)]), rest
    else:
        tables = _tables(result)
    wanted = {*row, path.partition(".")[0]}
    known: dict[str, None] = {}
    values: dict[str, dict[str, None]] = {}
    for table in tables:
        columns = names_of(table[0])
        known.update(dict.fromkeys(columns))
        if not wanted <= set(columns):
            continue
        found = [
            Row(turned, _words(turned, row), path)
            for part in table
            if (turned := _turned(part, row)) is not None
        ]
        if found:
            return found
        for name in row:
            values.setdefault(name, {}).update({str(plain(_cell(part, name))): None for part in table})
    for name in (*row, path.partition(".")[0]):
        if name not in known:
            raise ValueError(
                f"No table of this result has the column {name!r}. {nearest_names(name, known, most=30)}"
            )
    if not values:
        raise ValueError(f"No table of this result has the columns {', '.join(sorted(wanted))} together.")
    name = next((name for name in row if str(row[name]) not in values[name]), next(iter(row)))
    raise ValueError(
        f"No row has {row_in_words(row)}. In the column {name!r}: {nearest_names(str(row[name]), values[name])}"
    )


def matches(text: str, pattern: str) -> bool:
    """Tell whether a text is the pattern, or of its form; capital letters matter."""
    return text == pattern or fnmatchcase(text, pattern)


def _tables(result: Result) -> Iterator[list[Any]]:
    """Yield the tables of a result: its records first, which know their intervals, then its DataFrames."""
    kind: Any = getattr(result, "kind", None)
    for name in names_of(result):
        part: Any = vars(result).get(name)
        if _is_table(part):
            yield list(part)
    makers = [
        "to_frame",
        *sorted(name for name in dir(type(result)) if name.endswith("_frame") and name != "to_frame"),
    ]
    for name in makers:
        if not name.startswith("_"):
            frame = getattr(result, name)()
            named = [level for level in frame.index.names if level is not None and level not in frame.columns]
            rows = (frame.reset_index(named) if named else frame).to_dict("records")
            if rows:
                # Points that a search found are bounds, even where the kind stands beside the table.
                yield [{"kind": kind, **row} for row in rows] if isinstance(kind, str) else rows


def _is_table(part: Any) -> bool:
    return isinstance(part, tuple) and bool(part) and all(isinstance(row, Record) for row in part)


def _turned(part: Any, row: Mapping[str, Any]) -> Any:
    """Return a row that holds what is asked for, a pair the other way round where that is asked for; else None."""
    if _holds(part, row):
        return part
    turn = getattr(part, "reversed", None)
    if turn is not None:
        other = turn()
        if _holds(other, row):
            return other
    return None


def _holds(part: Any, row: Mapping[str, Any]) -> bool:
    return all(_same(plain(_cell(part, name)), wanted) for name, wanted in row.items())


def _same(cell: Any, wanted: Any) -> bool:
    if isinstance(wanted, str):
        return isinstance(cell, str) and matches(cell, wanted)
    if isinstance(wanted, bool) or isinstance(cell, bool):
        return cell is wanted
    # Thresholds of a curve are sums of steps: 0.30000000000000004 is what 0.3 asks for.
    return isinstance(cell, int | float) and math.isclose(cell, wanted, rel_tol=1e-9)


def _cell(part: Any, name: str) -> Any:
    return part.get(name) if isinstance(part, Mapping) else getattr(part, name)


def _words(part: Any, row: Mapping[str, Any]) -> str:
    return row_in_words({name: plain(_cell(part, name)) for name in row})
