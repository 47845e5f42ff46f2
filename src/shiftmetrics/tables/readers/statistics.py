"""Files of SPSS (sav, zsav), Stata (dta) and SAS (xpt): value labels in place of codes."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftmetrics._core.arrays import LARGEST_EXACT
from shiftmetrics._core.interrupts import make_temporary, remove_temporary
from shiftmetrics._core.validation import needs
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import DAMAGED, Content, Reader
from shiftmetrics.tables.readers.names import checked_names
from shiftmetrics.tables.readers.workbook import dates_or_words

if TYPE_CHECKING:
    import pandas as pd

_SPSS_HEAD = 176
"""Bytes of the fixed part of a file of SPSS."""
_MOST_INFLATED = 1032
"""How many bytes one byte of a zlib stream can stand for."""
_TRANSPORT = re.compile(rb"HEADER RECORD\*{7}LIB(?:RARY|V8 ) +HEADER RECORD!{7}")


def _read_stata(content: Content) -> Cells:
    from pandas.io.stata import StataReader

    content.check_size(4 * content.size)
    with (
        content.open() as file,
        StataReader(file, convert_categoricals=False, preserve_dtypes=True) as reader,
    ):
        labels = reader.value_labels()
        opened: Any = reader
        frame = opened.read()
        # which column has which list of labels is said by its name alone
        lists = dict(zip(frame.columns, getattr(opened, "_lbllist", ()), strict=False))
    by_column = {name: labels.get(label, {}) for name, label in lists.items()}
    return _labelled(content, frame, by_column)


def _read_spss(content: Content) -> Cells:
    with needs(f"{content.argument}, a file of SPSS,", "pyreadstat", "'shiftmetrics[stats]'"):
        import pyreadstat
    content.check_size(8 * content.size)
    with _on_disk(content) as path:
        _check_cases(content, Path(path))
        frame, about = pyreadstat.read_sav(path, apply_value_formats=False)
    return _labelled(content, frame, about.variable_value_labels)


def _read_transport(content: Content) -> Cells:
    with needs(f"{content.argument}, a transport file,", "pyreadstat", "'shiftmetrics[stats]'"):
        import pyreadstat
    content.check_size(8 * content.size)
    with _on_disk(content) as path:
        frame, about = pyreadstat.read_xport(path)
    return _labelled(content, frame, about.variable_value_labels)


def _write_transport(frame: pd.DataFrame, path: Path) -> None:
    import pyreadstat

    # names of this format have no blanks
    names = {name: str(name).replace(" ", "_") for name in frame.columns}
    pyreadstat.write_xport(frame.rename(columns=names), str(path), file_format_version=8)


def _check_cases(content: Content, path: Path) -> None:
    """Refuse a file of SPSS that says to have more rows than it can hold.

    The library makes room for them before it reads: a file of 952 bytes with one damaged number took 17 GB.
    """
    with path.open("rb") as file:
        head = file.read(_SPSS_HEAD)
    size = path.stat().st_size
    if len(head) < _SPSS_HEAD:
        return
    # The layout code is 2 or 3 in the order of bytes of the file; a row takes a byte or more for each value.
    order = "<" if head[64:68] in (b"\2\0\0\0", b"\3\0\0\0") else ">"
    (n_rows,) = struct.unpack(f"{order}i", head[80:84])
    most = size * (_MOST_INFLATED if head.startswith(b"$FL3") else 1)
    if n_rows > most:
        got = f"which says to have {n_rows:,} rows in {size:,} bytes"
        raise content.refusal("a whole file", got, DAMAGED)


@contextmanager
def _on_disk(content: Content) -> Iterator[str]:
    """Let a library that takes names of files read what was unpacked."""
    if content.path is not None:
        yield str(content.path)
        return
    path = make_temporary(suffix=".sav")
    try:
        path.write_bytes(content.read())
        yield str(path)
    finally:
        remove_temporary(path)


def _labelled(
    content: Content, frame: pd.DataFrame, labels: Mapping[str, Mapping[Any, str]]
) -> Cells:
    """Return the cells with value labels in place of codes, where each code that is used has one."""
    import pandas as pd

    if not len(frame):
        raise content.refusal("a file with rows", "which has none")
    frame.columns = checked_names(list(map(str, frame.columns)), content)
    levels = {}
    written = []
    notes = []
    table: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name].reset_index(drop=True)
        known = dict(labels.get(name) or {})
        if known:
            used = set(column.dropna().unique())
            words = list(map(str, known.values()))
            if used <= set(known) and len(set(words)) == len(words):
                levels[name] = tuple(words)
                table[name] = column.map(
                    lambda code, known=known: str(known[code]), na_action="ignore"
                ).astype(object)
                continue
            notes.append(f"{name} keeps its codes: not each has a label of its own")
        if (
            column.dtype.kind == "f"
            and (column % 1 == 0).all()
            and (column.abs() < LARGEST_EXACT).all()
        ):
            # SPSS has no integers
            column = column.astype("int64")
        if column.dtype.kind not in "iufbMm":
            column = column.astype(object)
            if column.dropna().map(lambda cell: isinstance(cell, str)).all():
                # these formats have no gap in a string but nothing
                column = column.where(column != "", None)
                written.append(name)
            else:
                column = dates_or_words(column)
                if column.dtype == object:
                    written.append(name)
        table[name] = column
    return Cells(
        argument=content.argument,
        name=content.name,
        table=pd.DataFrame(table),
        written=frozenset(written),
        levels=levels,
        notes=tuple(notes),
    )


def _is_stata(content: Content) -> bool:
    head = content.head
    if head.startswith(b"<stata_dta>"):
        return True
    # before release 13: the release, the byte order, 1, and a zero
    return (
        len(head) > 10
        and head[0] in (*range(102, 106), 108, *range(110, 116))
        and head[1] in (1, 2)
        and head[2] == 1
    )


def _write_spss(frame: pd.DataFrame, path: Path) -> None:
    import pyreadstat

    pyreadstat.write_sav(frame, str(path))


READERS = (
    Reader(
        name="a file of Stata",
        suffixes=(".dta",),
        told_by="<stata_dta> at its beginning, or the release and byte order of older ones",
        tells=_is_stata,
        read=_read_stata,
        write=lambda frame, path: frame.to_stata(path, write_index=False),
    ),
    Reader(
        name="a file of SPSS",
        suffixes=(".sav", ".zsav"),
        told_by="its first four bytes, $FL2 or $FL3",
        tells=lambda content: content.head.startswith((b"$FL2", b"$FL3")),
        read=_read_spss,
        write=_write_spss,
        extra="stats",
    ),
    Reader(
        name="a transport file of SAS",
        suffixes=(".xpt",),
        told_by="HEADER RECORD and the word LIBRARY or LIBV8 in its first line",
        tells=lambda content: _TRANSPORT.match(content.head) is not None,
        read=_read_transport,
        write=_write_transport,
        extra="stats",
    ),
)
