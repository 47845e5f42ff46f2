"""ARFF, as Weka and R write it: nominal values are levels, and rows may be sparse.

`scipy.io.arff` reads neither strings nor sparse rows, so the lines below ``@data`` are read as those of a csv file.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftmetrics._core.arrays import LARGEST_EXACT
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.readers.json import JSON_COPIES
from shiftmetrics.tables.readers.names import checked_names
from shiftmetrics.tables.readers.text import as_utf8, decoded

if TYPE_CHECKING:
    import pandas as pd

NUMERIC = ("numeric", "real", "integer")

_LINE_END = re.compile(r"\r\n|\n|\r")
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_CELL = re.compile(rf"(?:\A|,)\s*({_QUOTED}|[^,]*?)\s*(?=,|\Z)")
_PAIR = rf"""\s*(?:\d+)\s+(?:{_QUOTED}|[^,'"\s][^,]*?)\s*"""
_SPARSE_CELL = re.compile(rf"""\s*(\d+)\s+({_QUOTED}|[^,'"\s][^,]*?)\s*(?:,|\Z)""")
_SPARSE_ROW = re.compile(rf"\{{((?:{_PAIR}(?:,{_PAIR})*)?)\s*,?\s*\}}(?:\s*,\s*\{{[\d.eE+-]+\}})?")
_DATA = re.compile(r"@data\s*(?:%.*)?", re.IGNORECASE)
_RELATION = re.compile(rb"(\s*(%[^\n]*)?\n)*\s*@relation\b", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.+?)\s*""", re.IGNORECASE
)


def _tells(content: Content) -> bool:
    return _RELATION.match(content.head.removeprefix(b"\xef\xbb\xbf")) is not None


def _read(content: Content) -> Cells:
    import pandas as pd

    content.check_size(JSON_COPIES * content.size)
    content, start = as_utf8(content)
    lines = _LINE_END.split(decoded(content, content.read()[start:]))
    names, kinds, first = _attributes(lines, content)
    rows = _rows(lines[first:], names, kinds, content)
    table: dict[str, Any] = {}
    written = []
    levels = {}
    for place, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        cells = [None if row[place] == "?" else row[place] for row in rows]
        if isinstance(kind, tuple):
            levels[name] = kind
            strange = {cell for cell in cells if cell is not None} - set(kind)
            # The header lists every level: another word means that cells and names came apart.
            if strange:
                raise content.refusal(
                    "an ARFF file whose cells are among the values of their attribute",
                    f"with {min(strange)!r} in {name}",
                )
            table[name] = pd.Series(cells, dtype=object)
        elif kind in NUMERIC:
            try:
                table[name] = pd.Series(
                    [None if cell is None else float(cell) for cell in cells], dtype=float
                )
            except ValueError as error:
                raise content.refusal(
                    "an ARFF file with numbers where its header says so", f"with words in {name}"
                ) from error
            column = table[name]
            # Codes of classes are `numeric` too, and have to be read as 3, not as 3.0.
            if len(column) and (column % 1 == 0).all() and column.abs().max() < LARGEST_EXACT:
                table[name] = column.astype("int64")
        else:
            table[name] = pd.Series(cells, dtype=object)
            written.append(name)
    return Cells(
        argument=content.argument,
        name=content.name,
        table=pd.DataFrame(table),
        written=frozenset(written),
        levels=levels,
    )


def _attributes(lines: list[str], content: Content) -> tuple[list[str], list[Any], int]:
    """Return the names, the kinds (levels of nominal ones), and the first line of the data."""
    names: list[str] = []
    kinds: list[Any] = []
    for place, line in enumerate(lines):
        line = line.strip()
        if _DATA.fullmatch(line):
            if not names:
                raise content.refusal("an ARFF file with attributes", "which has none")
            return checked_names(names, content), kinds, place + 1
        match = _ATTRIBUTE.fullmatch(line)
        if match:
            names.append(_plain(match[1]))
            kind = match[2].strip()
            if kind.startswith("{"):
                kinds.append(tuple(_split(kind.strip("{} \t"))))
            else:
                kinds.append(kind.split()[0].lower())
        # Passed over, it would be one cell too many in each row, far from its cause.
        elif line.lower().startswith("@attribute"):
            raise content.refusal("an ARFF file", f"with an attribute that is none: {line[:40]!r}")
    raise content.refusal(
        "an ARFF file with a line @data", "which has none", "It may be truncated: write it anew."
    )


def _rows(
    lines: list[str], names: list[str], kinds: list[Any], content: Content
) -> list[list[str]]:
    rows: list[list[str]] = []
    for line in lines:
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        # a weight in braces may stand behind the cells
        weighted = re.fullmatch(r"(.+),\s*\{[\d.eE+-]+\}", line)
        cells = (
            _sparse(line, kinds, content)
            if line.startswith("{")
            else _split(weighted[1] if weighted else line)
        )
        if len(cells) != len(names):
            raise content.refusal(
                f"an ARFF file with {len(names)} cells in each row",
                f"in which row {len(rows) + 1} has {len(cells)}",
                "It may be truncated: write it anew.",
            )
        rows.append(cells)
    if not rows:
        raise content.refusal("a file with rows", "which has none below @data")
    return rows


def _sparse(line: str, kinds: list[Any], content: Content) -> list[str]:
    """Return the cells of a sparse row: 0, or the first level, where nothing is said."""
    cells = [kind[0] if isinstance(kind, tuple) and kind else "0" for kind in kinds]
    found = _SPARSE_ROW.fullmatch(line)
    pairs = _SPARSE_CELL.findall(found[1]) if found else []
    if not found or any(int(place) >= len(cells) for place, _ in pairs):
        raise content.refusal(
            "an ARFF file whose sparse rows hold numbers of attributes with their values",
            f"with {line[:40]!r} and {len(cells)} attributes",
        )
    for place, value in pairs:
        cells[int(place)] = _plain(value)
    return cells


def _split(line: str) -> list[str]:
    if '"' in line and "'" in line:
        # Weka takes both: one of them within words between the other, such as "it's"
        return [_plain(cell) for cell in _CELL.findall(line)]
    quote = '"' if '"' in line else "'"
    reader = csv.reader(
        io.StringIO(line),
        quotechar=quote,
        escapechar="\\",
        doublequote=False,
        skipinitialspace=True,
    )
    return [cell.strip() for cell in next(reader, [])]


def _plain(word: str) -> str:
    if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
        word = word[1:-1]
    return re.sub(r"\\(.)", r"\1", word)


def _write(frame: pd.DataFrame, path: Path) -> None:
    lines = ["@relation example"]
    for name in frame.columns:
        kind = "numeric" if frame[name].dtype.kind in "iuf" else "string"
        lines.append(f"@attribute '{name}' {kind}")
    lines.append("@data")
    rows = [
        [f"'{cell}'" if isinstance(cell, str) else str(cell) for cell in row]
        for row in frame.to_numpy()
    ]
    lines += [",".join(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


READER = Reader(
    name="an ARFF file",
    suffixes=(".arff",),
    told_by="a first line with @relation",
    tells=_tells,
    read=_read,
    write=_write,
)
