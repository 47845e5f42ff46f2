"""JSON in its shapes, and JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftmetrics._core.arrays import LARGEST_EXACT
from shiftmetrics.tables.cells import Cells, generated_name
from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.readers.names import UNNAMED_INDEX, checked_names, free_name
from shiftmetrics.tables.readers.orientation import are_rows
from shiftmetrics.tables.readers.responses import columns_of_response
from shiftmetrics.tables.readers.text import as_utf8, decoded

if TYPE_CHECKING:
    import pandas as pd

JSON_COPIES = 10
"""What reading JSON takes at its peak, in copies of the text: 146 bytes for a key with its value of 14."""

_COUNT = re.compile(r"-?\d+")


def _text(content: Content) -> str:
    content.check_size(JSON_COPIES * content.size)
    content, start = as_utf8(content)
    return decoded(content, content.read()[start:])


def _begins(content: Content) -> bool:
    head = content.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head[2:].replace(b"\x00", b"").lstrip()
    return head.startswith((b"{", b"["))


def _is_lines(content: Content) -> bool:
    """Return True if the first line is a whole object or list, and is not the only one."""
    if not _begins(content):
        return False
    text = content.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    line, end, rest = text.partition(b"\n")
    if len(text) == content.size and not rest.strip():
        # an object alone in its file is read as JSON: a line of cells, if it holds no lists
        return False
    if not end:
        return False
    try:
        return isinstance(json.loads(line), (dict, list))
    except (ValueError, RecursionError):
        return False


def _is_json(content: Content) -> bool:
    """Return True if the content begins as JSON: a text that begins with a bracket may be one of lists."""
    if not _begins(content):
        return False
    head = content.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return re.match(rb'[\[{]\s*(["\[{\]}\d.tfnN-]|$)', head.replace(b"\x00", b"")) is not None


def _parsed(content: Content, text: str, line: int = 0) -> Any:
    try:
        # files that were put one behind another have a mark of the encoding in between
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        where = (
            f"whose line {line} cannot be read as one" if line else "which cannot be read as one"
        )
        raise content.refusal(
            "a file of JSON lines" if line else "a JSON file",
            where,
            "Write it anew: it may be truncated or damaged.",
        ) from error


def read_json_lines(content: Content) -> Cells:
    """Return the cells of JSON lines."""
    records = []
    for place, line in enumerate(_text(content).split("\n")):
        if line.strip():
            records.append(_parsed(content, line, place + 1))
    return _from_list(content, records)


def _read_json(content: Content) -> Cells:
    found = _parsed(content, _text(content))
    notes: tuple[str, ...] = ()
    # A table may lie in an envelope, and that in another one: up to three are opened.
    for _ in range(3):
        if not isinstance(found, dict):
            break
        response = columns_of_response(found)
        if response is not None:
            return _cells(content, response)
        shaped = _from_shape(content, found)
        if shaped is not None:
            return shaped
        # a table may stand under a name, beside what is said of it
        tables = [key for key, value in found.items() if _is_table(value)]
        tables = _longest(found, tables)
        if len(tables) != 1 or (len(found) == 1 and _is_plain_list(found[tables[0]])):
            return _from_columns(content, found)
        joined = _with_lists(found, tables[0])
        if joined is not None:
            return _from_columns(content, joined)
        beside = [str(key) for key in found if key != tables[0]]
        if beside:
            notes = (f"left out beside {tables[0]}: {', '.join(beside[:5])}",)
        found = found[tables[0]]
    if isinstance(found, list):
        return _from_list(content, found, notes)
    if isinstance(found, dict):
        return _from_columns(content, found)
    raise content.refusal("a table", "a single value in JSON")


def _longest(found: dict[str, Any], tables: list[str]) -> list[str]:
    """Return the one list of objects that is far longer than all others: rows, beside their summary."""
    values = list(found.values())
    is_report = any(not isinstance(value, (dict, list)) for value in values)
    if len(tables) < 2 or not is_report:
        return tables
    sizes = {key: len(found[key]) for key in tables if isinstance(found[key], list)}
    longest = max(sizes, key=lambda key: sizes[key], default=None)
    others = [size for key, size in sizes.items() if key != longest]
    if longest is None or sizes[longest] < 2 * max(others, default=0):
        return tables
    return [longest] if all(isinstance(row, dict) for row in found[longest]) else tables


def _is_table(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) > 0 and isinstance(value[0], (dict, list))
    return isinstance(value, dict) and {"columns", "data"} <= set(value)


def _with_lists(found: dict[str, Any], table: str) -> dict[str, Any] | None:
    """Return rows of numbers with the lists of as many values that stand beside them, such as labels."""
    rows = found[table]
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return None
    lists = {
        key: value
        for key, value in found.items()
        if isinstance(value, list) and value and len(value) == len(rows)
    }
    return lists if len(lists) > 1 and all(map(_is_plain_list, _others(lists, table))) else None


def _others(lists: dict[str, Any], table: str) -> list[Any]:
    return [value for key, value in lists.items() if key != table]


def _is_plain_list(value: Any) -> bool:
    return isinstance(value, list) and not isinstance(value[0], (dict, list))


def _from_shape(content: Content, found: dict[str, Any]) -> Cells | None:
    """Return the cells of the shapes that pandas calls split and table."""
    if set(found) == {"name", "index", "data"} and isinstance(found["data"], list):
        # a Series: one column, under its name
        name = generated_name(0) if found["name"] is None else str(found["name"])
        rows = [[value] for value in found["data"]]
        return _from_shape(content, {"columns": [name], "index": found["index"], "data": rows})
    if isinstance(found.get("schema"), dict) and isinstance(found.get("data"), list):
        keys = found["schema"].get("primaryKey", [])
        keys = tuple(keys) if isinstance(keys, list) else (keys,)
        cells = _from_list(content, found["data"])
        return _with_index(cells, tuple(key for key in keys if key in cells.frame.columns))
    if isinstance(found.get("columns"), list) and isinstance(found.get("data"), list):
        names = [
            ".".join(map(str, name)) if isinstance(name, list) else str(name)
            for name in found["columns"]
        ]
        names = checked_names(names, content)
        if any(not isinstance(row, list) or len(row) != len(names) for row in found["data"]):
            raise content.refusal(
                f"a JSON file with {len(names)} cells in each row", "in which a row has others"
            )
        columns = {name: [row[place] for row in found["data"]] for place, name in enumerate(names)}
        index = found.get("index")
        if isinstance(index, list) and index != list(range(len(index))):
            if len(index) != len(found["data"]):
                raise content.refusal(
                    "a JSON file with as many rows as names of rows", "another number"
                )
            name = free_name(UNNAMED_INDEX, names)
            return _with_index(_cells(content, {name: index, **columns}), (name,))
        return _cells(content, columns)
    return None


def _from_columns(content: Content, found: Mapping[str, Any]) -> Cells:
    """Return the cells of an object: columns of lists or objects, rows by name, one row, or one value a name."""
    values = list(found.values())
    if not values:
        raise content.refusal("a file with rows", "which holds none")
    if all(isinstance(value, list) for value in values):
        lengths = {len(value) for value in values}
        if len(lengths) != 1:
            raise content.refusal(
                "a JSON file with columns of equal length", "columns of unequal length"
            )
        return _cells(content, dict(found))
    if all(isinstance(value, dict) for value in values):
        return _from_objects(content, found)
    if any(isinstance(value, (dict, list)) for value in values):
        return _cells(content, {str(key): [value] for key, value in found.items()})
    name = free_name(UNNAMED_INDEX, ["value"])
    cells = _cells(content, {name: list(found), "value": values})
    return _with_index(cells, (name,))


def _from_objects(content: Content, found: Mapping[str, Mapping[str, Any]]) -> Cells:
    """Return the cells of objects in an object: the outer names are those of columns, or of rows."""
    outer = list(map(str, found))
    inner = list(dict.fromkeys(str(key) for value in found.values() for key in value))
    if not inner:
        raise content.refusal("a file with rows", "which holds none")
    outer_counts = all(map(_COUNT.fullmatch, outer))
    inner_counts = all(map(_COUNT.fullmatch, inner))
    # Names that count (0, 1, 2) are those of rows; where both levels count, or neither does, the
    # cells tell.
    by_row = outer_counts if outer_counts != inner_counts else are_rows(list(found.values()), inner)
    if by_row is None:
        raise content.refusal(
            "a list of one object a row",
            "an object of objects, whose rows cannot be told from its columns",
            'Write it by frame.to_json(path, orient="records").',
        )
    rows = outer if by_row else inner
    columns = inner if by_row else outer
    table: dict[str, list[Any]] = {}
    for name in columns:
        if by_row:
            table[name] = [value.get(name) for value in found.values()]
        else:
            table[name] = [found[name].get(row) for row in rows]
    if rows == list(map(str, range(len(rows)))):
        return _cells(content, table)
    index = free_name(UNNAMED_INDEX, columns)
    return _with_index(_cells(content, {index: rows, **table}), (index,))


def _from_list(content: Content, rows: list[Any], notes: tuple[str, ...] = ()) -> Cells:
    if not rows:
        raise content.refusal("a file with rows", "which holds none")
    if all(isinstance(row, dict) for row in rows):
        names = list(dict.fromkeys(key for row in rows for key in row))
        # A key of one row is a cell of all rows: objects of unlike keys outgrow their file.
        content.check_size(8.0 * len(names) * len(rows))
        return _cells(content, {name: [row.get(name) for row in rows] for name in names}, notes)
    if all(isinstance(row, list) for row in rows) and not _are_pairs(rows):
        lengths = {len(row) for row in rows}
        if len(lengths) != 1:
            raise content.refusal(
                "a JSON file with equal numbers of cells in its rows", "unequal numbers"
            )
        first = rows[0]
        # Strings above strings may be a row as well, so that a header needs other cells below it.
        is_header = len(rows) > 1 and all(isinstance(name, str) for name in first)
        is_header = is_header and any(not isinstance(cell, str) for row in rows[1:] for cell in row)
        names = (
            checked_names(list(first), content)
            if is_header
            else list(map(generated_name, range(len(first))))
        )
        body = rows[1:] if is_header else rows
        columns = {name: [row[place] for row in body] for place, name in enumerate(names)}
        return _cells(content, columns, notes, header="names" if is_header else "none")
    shapes = {type(row) if isinstance(row, (dict, list)) else None for row in rows}
    if len(shapes) > 1:
        raise content.refusal("a JSON file with one object a row", "rows of several kinds")
    name = "" if _are_pairs(rows) else generated_name(0)
    return _cells(content, {name: rows}, notes, header="none")


def _are_pairs(rows: list[Any]) -> bool:
    """Return True if each row is a list of objects with a label and a score."""
    return all(
        isinstance(row, list) and row and all(isinstance(item, dict) for item in row)
        for row in rows
    )


def _cells(
    content: Content,
    columns: dict[str, list[Any]],
    notes: tuple[str, ...] = (),
    header: Any = "names",
) -> Cells:
    import pandas as pd

    from shiftmetrics.tables.nested import expanded

    written = []
    table = {}
    for name, values in columns.items():
        # By the exact type, since True is an instance of int.
        kinds = {type(value) for value in values if value is not None}
        if kinds & {dict, list}:
            table[name] = pd.Series(values, dtype=object)
        elif kinds and kinds <= {int, float}:
            table[name] = _numbers(values)
        elif kinds == {bool} and None not in values:
            table[name] = pd.Series(values)
        else:
            written.append(name)
            words = [
                value if value is None or isinstance(value, str) else json.dumps(value)
                for value in values
            ]
            table[name] = pd.Series(words, dtype=object)
    frame, texts, more = expanded(pd.DataFrame(table), written)
    frame.columns = [name.removeprefix(".") for name in frame.columns]
    return Cells(
        argument=content.argument,
        name=content.name,
        table=frame,
        written=frozenset(name.removeprefix(".") for name in texts),
        header=header,
        notes=(*notes, *more),
    )


def _numbers(values: list[Any]) -> pd.Series:
    """Return numbers; integers that a float cannot hold stay integers."""
    import pandas as pd

    if None in values:
        whole = all(value is None or isinstance(value, int) for value in values)
        if whole and any(value is not None and abs(value) >= LARGEST_EXACT for value in values):
            return pd.Series(values, dtype="Int64" if _fits(values) else object)
        return pd.Series(values, dtype=float)
    return pd.Series(values)


def _fits(values: list[Any]) -> bool:
    return all(value is None or abs(value) < 2**63 for value in values)


def _with_index(cells: Cells, index: tuple[str, ...]) -> Cells:
    import dataclasses

    frame = cells.frame
    for name in index:
        # as pandas writes an index that merely counts
        if list(frame[name]) == list(range(len(frame))):
            frame = frame.drop(columns=name)
    return dataclasses.replace(
        cells, table=frame, index=tuple(name for name in index if name in frame.columns)
    )


def _write_json(frame: pd.DataFrame, path: Path) -> None:
    frame.to_json(path, orient="records")


def _write_lines(frame: pd.DataFrame, path: Path) -> None:
    frame.to_json(path, orient="records", lines=True)


READERS = (
    Reader(
        name="a file of JSON lines",
        suffixes=(".jsonl", ".ndjson"),
        told_by="a first line that is an object or a list of JSON",
        tells=_is_lines,
        read=read_json_lines,
        write=_write_lines,
    ),
    Reader(
        name="a JSON file",
        suffixes=(".json",),
        told_by="a bracket at its beginning, and what may follow it in JSON",
        tells=_is_json,
        read=_read_json,
        write=_write_json,
    ),
)
