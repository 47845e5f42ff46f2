"""Lines of a text to raw cells: quotes kept, so that it can be seen which words are quoted."""

from __future__ import annotations

import re
from typing import NamedTuple

BLANKS = " "
"""The separator of columns that runs of blanks stand between."""

ONE_COLUMN = ""
"""The separator of a text with one column."""

_BLANK_CELL = re.compile(r'"(?:[^"]|""|\\")*"(?=\s|$)|\S+')
_OPENING = re.compile(r'(?:^|[\t;|, ])"')
MOST_JOINED = 200
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r|(?<=[^\r\n])\Z)")
_RULER = re.compile(r"[\s|+:=*-]*[-=]{2}[\s|+:=*-]*")


def split_line(line: str, separator: str) -> list[str]:
    """Return the raw cells of one line."""
    if separator == ONE_COLUMN:
        return [line]
    if separator == BLANKS:
        return line.split() if '"' not in line else _BLANK_CELL.findall(line)
    parts = line.split(separator)
    if '"' not in line:
        return parts
    cells = []
    pending = ""
    for part in parts:
        if pending:
            pending += separator + part
            if not _is_open(pending):
                cells.append(pending)
                pending = ""
        elif _OPENING.search(part) and _is_open(part):
            # also where another mark than this one separates, so that none inside quotes counts
            pending = part
        else:
            cells.append(part)
    if pending:
        cells.append(pending)
    return cells


def unquote(cell: str, quote: str = '"') -> str:
    """Return a cell without the quotes and blanks around it."""
    cell = cell.strip()
    if len(cell) > 1 and cell[0] == cell[-1] == quote:
        cell = cell[1:-1].replace(quote + quote, quote).replace("\\" + quote, quote)
    return cell.strip()


def is_quoted(cell: str) -> bool:
    """Return True if quotes stand around a cell."""
    cell = cell.strip()
    return len(cell) > 1 and cell[0] == cell[-1] == '"'


def is_ruler(line: str) -> bool:
    """Return True for a line of dashes under or between lines of a printed table."""
    return _RULER.fullmatch(line) is not None and not re.search(r"\w", line)


class TextLine(NamedTuple):
    """One line of a text, and where it begins."""

    start: int
    text: str


def joined_lines(text: str, most: int) -> list[TextLine]:
    """Return the first lines of a text, one for each row: a quoted cell may hold ends of lines."""
    lines: list[TextLine] = []
    pending: list[TextLine] = []
    n_quotes = 0
    for match in _LINE.finditer(text):
        line = TextLine(match.start(), match[1])
        if not pending and not _OPENING.search(line.text):
            # marks within words, such as those for inches, open nothing
            lines.append(line)
            if len(lines) >= most:
                return lines
            continue
        pending.append(line)
        n_quotes += line.text.count('"') - line.text.count('\\"')
        if n_quotes % 2 and len(pending) < MOST_JOINED:
            continue
        if n_quotes % 2:
            # a quote that never ends is none
            lines += pending
        else:
            lines.append(TextLine(pending[0].start, "\n".join(part.text for part in pending)))
        pending = []
        n_quotes = 0
        if len(lines) >= most:
            return lines
    return lines + pending


def _is_open(cell: str) -> bool:
    r"""Return True if a quoted cell does not end here; \" and "" stand for a quote inside."""
    return (cell.count('"') - cell.count('\\"')) % 2 == 1
