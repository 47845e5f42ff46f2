"""Workbooks, xlsx: the first sheet with a table."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

from shiftmetrics._core.validation import first_few, needs
from shiftmetrics.tables.cells import Cells, Header, generated_name
from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.readers.dialect import counted_lines, usual_count
from shiftmetrics.tables.readers.header import judge_first_line
from shiftmetrics.tables.readers.names import checked_names, numbered_names, once
from shiftmetrics.tables.readers.packed import is_zip, zip_members

if TYPE_CHECKING:
    import pandas as pd

CELL_BYTES = 200
"""What a cell takes while a sheet is read, beside the unpacked text."""


def _tells(content: Content) -> bool:
    if not is_zip(content):
        return False
    try:
        return any(member.filename == "xl/workbook.xml" for member in zip_members(content))
    except Exception:
        return False


def _read(content: Content) -> Cells:
    with needs(f"{content.argument}, a workbook,", "openpyxl", "'shiftmetrics[excel]'"):
        import openpyxl
    content.check_size(2 * sum(member.file_size for member in zip_members(content)))
    with zipfile.ZipFile(content.open()) as archive:
        for member in archive.infolist():
            # what an archive says of its sizes need not be so
            with archive.open(member) as file:
                content.unpacked(file, content.name)
    with content.open() as file:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        formulas = openpyxl.load_workbook(content.open(), read_only=True, data_only=False)
        sheet, rows = _choose_sheet(content, book)
        _refuse_formulas(content, rows, formulas[sheet])
        notes = [f"sheet {sheet}"] if len(book.sheetnames) > 1 else []
    return _cells(content, rows, notes)


def _choose_sheet(content: Content, book: Any) -> tuple[str, list[list[Any]]]:
    """Return the sheet that was named, or the first one that holds a table."""
    asked = content.options.key
    if asked is not None and asked not in book.sheetnames:
        raise content.refusal(
            "a workbook with the sheet that is named",
            f"with {first_few(book.sheetnames, 5)} and no {asked!r}",
        )
    tables = []
    for sheet in book.worksheets:
        if asked is not None and sheet.title != asked:
            continue
        rows = _rows(sheet)
        content.check_size(CELL_BYTES * sum(map(len, rows)))
        n_used = sum(any(cell is not None for cell in row) for row in rows)
        if n_used > 1:
            tables.append((n_used, sheet.title, rows))
    if not tables:
        raise content.refusal("a workbook with a table", "whose sheets hold none")
    first = tables[0]
    longest = max(tables, key=lambda table: table[0])
    if longest[0] > first[0]:
        # what is said of a table may stand on the sheet before it, or the sheets are two tables
        raise content.refusal(
            "a workbook whose first sheet is its longest table",
            f"with {first[0]} rows on {first[1]!r} and {longest[0]} on {longest[1]!r}",
            f"Name the sheet: {content.name}:{longest[1]}.",
        )
    return first[1], first[2]


def _rows(sheet: Any) -> list[list[Any]]:
    """Return all rows of a sheet, of one length.

    The size that a sheet states is left alone: some writers state one cell, A1, above a whole table.
    """
    sheet.reset_dimensions()
    rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    width = max(map(len, rows), default=0)
    return [row + [None] * (width - len(row)) for row in rows]


def _refuse_formulas(content: Content, rows: list[list[Any]], sheet: Any) -> None:
    """Refuse formulas whose values nobody has computed: their cells would be taken for gaps."""
    for values, cells in zip(rows, _rows(sheet), strict=False):
        for value, cell in zip(values, cells, strict=False):
            if value is None and isinstance(cell, str) and cell.startswith("="):
                raise content.refusal(
                    "a workbook with values",
                    f"with formulas that were never computed, such as {cell[:30]!r}",
                    "Open it in a spreadsheet and save it.",
                )


def _cells(content: Content, rows: list[list[Any]], notes: list[str]) -> Cells:
    # Empty rows and columns around a table, or within it, are none of it.
    rows = [row for row in rows if any(cell is not None for cell in row)]
    used = [
        any(row[place] is not None for row in rows if place < len(row))
        for place in range(max(map(len, rows)))
    ]
    places = [place for place, is_used in enumerate(used) if is_used]
    rows = [[row[place] if place < len(row) else None for place in places] for row in rows]
    counts = [sum(cell is not None for cell in row) for row in rows]
    full = max(usual_count(counts), 1)
    start = _first_line(rows, counts, full)
    if start:
        notes.append(counted_lines(start, "stands above the table", "stand above the table"))
    rows = rows[start:]
    words = [["" if cell is None else str(cell) for cell in row] for row in rows]
    header: Header = content.options.first_line or judge_first_line(words[0], words[1:500])
    columns = [list(column) for column in zip(*rows, strict=True)]
    generated = list(map(generated_name, range(len(places))))
    headless = _frame(generated, columns)[0] if header == "either" else None
    names = generated
    if header != "none":
        first = [word.strip() for word in words[0]]
        names = checked_names(numbered_names(first), content)
        columns = [column[1:] for column in columns]
    if not columns[0]:
        raise content.refusal("a file with rows", "which has none below its header")
    frame, written = _frame(names, columns)
    if header == "names":
        frame = once(frame, first, notes)
    return Cells(
        argument=content.argument,
        name=content.name,
        table=frame,
        written=frozenset(written) & frozenset(frame.columns),
        index=("",) if names[0] == "" else (),
        header=header,
        headless=headless,
        notes=tuple(notes),
    )


def _first_line(rows: list[list[Any]], counts: list[int], full: int) -> int:
    """Return where the table starts: at the first row with all cells but one, for an index has no name.

    Of two columns a title has all but one too: there the cell without a name is the first.
    """
    enough = 2 if full == 2 else full - 1
    place = next(place for place, count in enumerate(counts) if count >= enough)
    if full == 2 and place and rows[place - 1][0] is None:
        return place - 1
    return place


def dates_or_words(column: pd.Series) -> pd.Series:
    """Return dates as such where pandas can hold each of them, and strings otherwise: times of a day are no dates."""
    import pandas as pd

    dates: pd.Series = pd.to_datetime(column, errors="coerce")
    if not (dates.isna() & column.notna()).any():
        return dates
    return pd.Series(
        [str(cell) if known else None for cell, known in zip(column, column.notna(), strict=True)],
        dtype=object,
    )


def _frame(names: list[str], columns: list[list[Any]]) -> tuple[pd.DataFrame, list[str]]:
    """Return numbers, dates and truth values as they are; columns of words, and of several kinds, as strings."""
    import datetime

    import pandas as pd

    table = {}
    written = []
    for name, cells in zip(names, columns, strict=True):
        kinds = {type(cell) for cell in cells if cell is not None}
        if kinds and kinds <= {int, float}:
            table[name] = pd.Series(cells, dtype=float if None in cells else None)
        elif kinds == {bool} and None not in cells:
            table[name] = pd.Series(cells)
        elif kinds and kinds <= {datetime.datetime, datetime.date}:
            table[name] = dates_or_words(pd.Series(cells, dtype=object))
            if table[name].dtype == object:
                written.append(name)
        else:
            table[name] = pd.Series(
                [None if cell is None else str(cell) for cell in cells], dtype=object
            )
            written.append(name)
    return pd.DataFrame(table), written


READER = Reader(
    name="a workbook",
    suffixes=(".xlsx",),
    told_by="a zip archive that holds xl/workbook.xml",
    tells=_tells,
    read=_read,
    write=lambda frame, path: frame.to_excel(path, index=False),
    extra="excel",
)
