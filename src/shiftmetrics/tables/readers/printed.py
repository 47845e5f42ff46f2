"""Tables as programs print them: in boxes of line-drawing signs, or one line for each cell.

Both are written anew as csv, which the reader of texts then reads. A printed table may leave out rows, or the ends of
words; where it says so, it is refused.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Iterable

from shiftmetrics.tables.content import Content, Reader

RULED = re.compile(r"[─━═│┃║┌┐└┘├┤┬┴┼╒╕╘╛╞╡╤╧╪╔╗╚╝╠╣╦╩╬╭╮╰╯┏┓┗┛┡┩┢┪┳┻╇╈ ]+")
_EDGE = re.compile("[│┃║┆]")
_LEFT_OUT = re.compile(r"[…·]|\.\.\.")
_COUNT = re.compile(r"\d+ rows?\b.*", re.IGNORECASE)

_RECORD = re.compile(r"\+?-\[ RECORD \d+ \][-+]*|\*{3,} \d+\. row \*{3,}", re.IGNORECASE)
_BY_BAR = re.compile(r"(?:\| )?(?P<name>\S.*?) *\|(?: (?P<value>.*?))?(?: *\|)?")
_BY_COLON = re.compile(r" *(?P<name>\S.*?):(?: (?P<value>.*))?")
_BY_EQUALS = re.compile(r" *(?P<name>\S.*?) = ?(?P<value>.*)")

WRITE_CSV = "Write the table as csv instead of printing it."


def as_csv(content: Content, rows: Iterable[Iterable[str]]) -> Content:
    """Return rows of strings as the content of a csv file."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    data = file.getvalue().encode()
    options = dataclasses.replace(content.options, sep=",")
    return Content(content.argument, content.name, options, data=data)


def lines_of(data: bytes) -> list[str]:
    """Return the lines of a text, without its byte order mark; none where it is no UTF-8."""
    try:
        return re.split(r"\r\n|\n|\r", data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return []


def _first_lines(content: Content) -> list[str]:
    """Return the first lines that are not blank; the last one may have been cut, within a letter too."""
    whole = content.head[: content.head.rfind(b"\n") + 1]
    return [line for line in lines_of(whole) if line.strip()]


def is_boxed(content: Content) -> bool:
    """Return True if a line that is drawn stands above cells between lines that are drawn."""
    lines = _first_lines(content)
    drawn = [place for place, line in enumerate(lines[:3]) if _is_rule(line)]
    return bool(drawn) and len(_EDGE.findall("".join(lines[drawn[0] + 1 : drawn[0] + 2]))) > 1


def boxed_rows(content: Content) -> Content:
    """Return the table in a box as csv."""
    lines = [line for line in lines_of(content.read()) if line.strip()]
    top = next(place for place, line in enumerate(lines) if _is_rule(line))
    heads: list[list[str]] = []
    rows: list[list[str]] = []
    body = heads
    for line in lines[top + 1 :]:
        if _is_rule(line):
            body = rows
            continue
        body.append([cell.strip() for cell in _EDGE.split(line)[1:-1]])
    if not heads or not rows:
        raise content.refusal("a table with rows", "which has none in its box", WRITE_CSV)
    # Lines of types may stand below the names.
    names = heads[0]
    for cells in rows:
        is_count = len(cells) == 1 < len(names) and _COUNT.fullmatch(cells[0])
        cut = any(_LEFT_OUT.fullmatch(cell) or cell.endswith("…") for cell in cells)
        if cut or (is_count and "shown" in cells[0]):
            raise content.refusal(
                "a whole table", "whose print leaves out rows or the ends of words", WRITE_CSV
            )
        if len(cells) != len(names) and not is_count:
            raise content.refusal(
                f"a table with {len(names)} cells in each row",
                f"in which a row has {len(cells)}",
                WRITE_CSV,
            )
    return as_csv(content, [names, *(cells for cells in rows if len(cells) == len(names))])


def _is_rule(line: str) -> bool:
    return RULED.fullmatch(line) is not None and any(sign in line for sign in "─━═")


def is_in_records(content: Content) -> bool:
    """Return True if each cell has a line of its own, with the name of its column."""
    lines = _first_lines(content)
    if not lines:
        return False
    if _RECORD.fullmatch(lines[0].strip()):
        return True
    # records without a head: the same names come again in the same order, with a blank line between
    blocks = _blocks(re.split(r"\r\n|\n|\r", content.head.decode("utf-8", "ignore")))
    if len(blocks) < 2:
        return False
    names = [_names(block) for block in blocks[:2]]
    return len(names[0]) > 1 and None not in names[0] and names[0] == names[1]


def records_as_rows(content: Content) -> Content:
    """Return the records as csv: one row for each."""
    lines = lines_of(content.read())
    records: list[list[re.Match[str]]] = []
    if any(_RECORD.fullmatch(line.strip()) for line in lines[:3]):
        # Stars and colons are those of mariadb behind \G, bars those of psql -x.
        form = _BY_COLON if lines[0].startswith("*") else _BY_BAR
        found: list[re.Match[str]] = []
        for line in lines:
            if _RECORD.fullmatch(line.strip()):
                found = []
                records.append(found)
                continue
            cell = form.fullmatch(line)
            if cell is not None:
                found.append(cell)
            elif records and line.strip(" +-") and not _COUNT.match(line.strip("() ")):
                raise content.refusal(
                    "records with a line for each cell", f"with the line {line!r}", WRITE_CSV
                )
    else:
        # Equals signs are those of sqlite3 -line.
        for block in _blocks(lines):
            records.append([])
            for line in block:
                cell = _BY_EQUALS.fullmatch(line)
                # the rest of a cell with ends of lines, which would be lost
                if cell is None:
                    raise content.refusal(
                        "records with a line for each cell", f"with the line {line!r}", WRITE_CSV
                    )
                records[-1].append(cell)
    names = [cell["name"] for cell in records[0]]
    rows: list[list[str]] = []
    for record in records:
        if [cell["name"] for cell in record] != names:
            raise content.refusal(
                "records with the same names in each", f"in which row {len(rows) + 1} has others"
            )
        rows.append([(cell["value"] or "").rstrip() for cell in record])
    return as_csv(content, [names, *rows])


def _blocks(lines: list[str]) -> list[list[str]]:
    """Return the lines between blank lines."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _names(block: list[str]) -> list[str | None]:
    cells = [_BY_EQUALS.fullmatch(line) for line in block]
    return [None if cell is None else cell["name"] for cell in cells]


BOXED = Reader(
    name="a table in a printed box",
    suffixes=(".txt",),
    told_by="a line that is drawn above cells between lines that are drawn",
    tells=is_boxed,
    unpack=boxed_rows,
)

RECORDS = Reader(
    name="a text with a line for each cell",
    suffixes=(".txt",),
    told_by="the head of each record, or the same names again after a blank line",
    tells=is_in_records,
    unpack=records_as_rows,
)

READERS = (BOXED, RECORDS)
