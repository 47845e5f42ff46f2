r"""Texts whose cells are escaped in other ways than csv: \t and \N of databases, words between ', times with blanks.

Each is written anew as a regular text, which the reader of texts then reads. Where the marks could be part of the
words, the text stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.readers.printed import as_csv, lines_of

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "", "Z": ""}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_CELL = re.compile(r"((?:[^\\\t\n]|\\.)*)(\t|\n|\Z)", re.DOTALL)
_NO_ESCAPE = re.compile(r"\\[^\\tnrbfv0ZN\t\n]")
_GAPS = frozenset({"\\N", "NULL"})

_QUOTED_NAMES = re.compile(r"'(?:[^']|'')*'(?:,'(?:[^']|'')*')+")
_QUOTED_CELL = re.compile(r"(?:'((?:[^']|'')*)'|([^,'\n]*))(,|\n|\Z)")

_BLANK_NAMES = re.compile(r'"[^"]*"(?: "[^"]*")+')
_BARE_TIME = re.compile(r"(?<!\S)(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?!\S)")
_QUOTED_WORD = re.compile(r'("(?:[^"\\]|""|\\.)*")')

_OTHER_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1d\x7f]")

_ODD_QUOTES = re.compile(r'(?<!")"(?:"")*(?!")')


def _head(content: Content) -> list[str]:
    whole = content.head[: content.head.rfind(b"\n") + 1]
    return lines_of(whole)


def has_escapes(content: Content) -> bool:
    r"""Return True if the cells between tabs are escaped by \, as those of a dump of a database.

    A \t may also be part of a path: every \ must begin an escape, and the gaps must be those of a database.
    """
    if content.options.sep not in (None, "\t"):
        return False
    if b"\\" not in content.head or b"\t" not in content.head:
        return False
    text = "\n".join(_head(content))
    if '\t"' in text or text.startswith('"') or _NO_ESCAPE.search(text):
        return False
    cells = {cell for line in text.split("\n") for cell in line.split("\t")}
    if not cells & _GAPS or not _ESCAPE.search(text.replace("\\N", "")):
        return False
    # what lies behind the first lines is looked at only where these have escapes
    return not _NO_ESCAPE.search("\n".join(lines_of(content.read())))


def without_escapes(content: Content) -> Content:
    """Return the rows as csv, with the signs that the escapes stand for."""
    text = content.read().decode("utf-8-sig").replace("\r\n", "\n")
    rows = []
    cells: list[str] = []
    for found in _ESCAPED_CELL.finditer(text):
        cell, end = found.groups()
        cells.append(cell if cell == "\\N" else _unescaped(cell))
        if end == "\t":
            continue
        if cells != [""]:
            rows.append(cells)
        cells = []
    return as_csv(content, rows)


def _unescaped(cell: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), cell)


def has_single_quotes(content: Content) -> bool:
    """Return True if the names are words between ' with commas between them."""
    lines = _head(content)
    return bool(lines) and _QUOTED_NAMES.fullmatch(lines[0]) is not None


def with_double_quotes(content: Content) -> Content:
    r"""Return the rows with " in place of '; a bare NULL is a gap."""
    text = content.read().decode("utf-8-sig").replace("\r\n", "\n")
    lines = []
    cells: list[str] = []
    place = 0
    while place < len(text):
        found = _QUOTED_CELL.match(text, place)
        if found is None:
            raise content.refusal("a text with words between '", "in which a ' has no end")
        word, bare, end = found.groups()
        # Only a bare NULL is a gap: between quotes it is a word like any other.
        if word is None:
            cells.append("\\N" if bare == "NULL" else bare)
        else:
            cells.append('"' + word.replace("''", "'").replace('"', '""') + '"')
        place = found.end()
        if end != ",":
            lines.append(",".join(cells))
            cells = []
        if end == "":
            break
    if cells:  # a text that ends with a comma has an empty cell behind it
        lines.append(",".join([*cells, ""]))
    data = ("\n".join(lines) + "\n").encode()
    return Content(content.argument, content.name, content.options, data=data)


def has_bare_times(content: Content) -> bool:
    """Return True if blanks stand between quoted names, and within the times below them."""
    lines = _head(content)
    if len(lines) < 2 or not _BLANK_NAMES.fullmatch(lines[0]):
        return False
    return any(_BARE_TIME.search(_QUOTED_WORD.sub('""', line)) for line in lines[1:])


def with_quoted_times(content: Content) -> Content:
    """Return the rows with quotes around times."""
    parts = _QUOTED_WORD.split(content.read().decode("utf-8-sig"))
    # what stands at odd places is quoted already
    parts[::2] = [_BARE_TIME.sub(r'"\1"', part) for part in parts[::2]]
    return Content(content.argument, content.name, content.options, data="".join(parts).encode())


def has_doubled_quotes(content: Content) -> bool:
    """Return True if quotes are doubled within the cells between tabs, though none stand around them."""
    if b'""' not in content.head or b"\t" not in content.head:
        return False
    text = "\n".join(_head(content))
    if re.search(r'(?m)(?:^|\t)"|"(?:\t|$)', text.replace('""', "")) or _ODD_QUOTES.search(text):
        return False
    return '\t""\t' not in text and not _ODD_QUOTES.search("\n".join(lines_of(content.read())))


def with_plain_quotes(content: Content) -> Content:
    """Return the rows as csv, with one quote for two."""
    lines = lines_of(content.read())
    return as_csv(content, [line.replace('""', '"').split("\t") for line in lines if line])


def has_ascii_separators(content: Content) -> bool:
    """Return True if the signs that ASCII has for it stand between cells and rows."""
    head = content.head
    return head.count(b"\x1e") > 1 and head.count(b"\x1f") > 1 and not _OTHER_CONTROLS.search(head)


def with_commas(content: Content) -> Content:
    """Return the rows between the signs of ASCII as csv."""
    text = content.read().decode("utf-8-sig")
    return as_csv(content, [row.split("\x1f") for row in text.split("\x1e") if row.strip(" \r\n")])


def _reader(
    name: str,
    told_by: str,
    tells: Callable[[Content], bool],
    unpack: Callable[[Content], Content],
) -> Reader:
    return Reader(name=name, suffixes=(".txt",), told_by=told_by, tells=tells, unpack=unpack)


ESCAPED = _reader(
    "a dump of a database",
    r"every \ begins an escape, and gaps are \N or NULL",
    has_escapes,
    without_escapes,
)
SINGLE_QUOTED = _reader(
    "a text with words between '", "names between '", has_single_quotes, with_double_quotes
)
BARE_TIMES = _reader(
    "a text with blanks between cells",
    "quoted names with blanks between them, above times with a blank within",
    has_bare_times,
    with_quoted_times,
)
ASCII = _reader(
    "a text with the separators of ASCII",
    "the signs 0x1E and 0x1F",
    has_ascii_separators,
    with_commas,
)

DOUBLED = _reader(
    "a text with tabs between cells",
    'each " within a cell is doubled, with none around the cell',
    has_doubled_quotes,
    with_plain_quotes,
)

READERS = (DOUBLED, ESCAPED, SINGLE_QUOTED, BARE_TIMES, ASCII)
