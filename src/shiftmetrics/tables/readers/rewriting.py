"""A text whose lines are not regular, written anew with equal numbers of cells."""

from __future__ import annotations

import re

from shiftmetrics.tables.content import Content
from shiftmetrics.tables.readers.dialect import Dialect, counted_lines
from shiftmetrics.tables.readers.lines import BLANKS, ONE_COLUMN, is_ruler, joined_lines, split_line
from shiftmetrics.tables.readers.scan import Scan

QUOTED_MARK = "\x1a"
"""Stands in a quoted NA and in a quoted nothing, so that pandas does not take them for gaps."""

MOST_TITLES = 5
"""So many lines below a table may be no rows."""

_FOOTER = re.compile(r"\(\d+ rows?\)|\d+ rows? (in set|selected|affected).*", re.IGNORECASE)


def rewritten(
    text: str, dialect: Dialect, scan: Scan, content: Content, notes: list[str]
) -> tuple[str, bool]:
    """Return the rows with equal numbers of cells, and whether `QUOTED_MARK` stands in them.

    Raises
    ------
    UnreadableError
        If a row has too many cells, or the last one is cut.
    """
    lines = [line.text for line in joined_lines(text, len(text) + 1)]
    while lines and _is_blank(lines[-1], dialect):
        lines.pop()
    if dialect.separator == ONE_COLUMN:
        lines = _one_column(lines)
    else:
        lines = _equal_rows(lines, dialect, scan, content, notes)
    rows = "\n".join(lines) + "\n"
    around = (
        re.escape(dialect.separator) if dialect.separator not in (BLANKS, ONE_COLUMN) else r"\s"
    )
    if scan.has_escapes and dialect.separator not in (BLANKS, ONE_COLUMN):
        # the parser would take the gap \N for an escaped N
        rows = re.sub(rf"(?m)(^|(?<={around}))\\N(?={around}|$)", "", rows)
    if not scan.has_marks:
        return rows, False
    marked = re.sub(rf'(?m)(^|(?<={around}))"(NA)?"(?={around}|$)', rf'"{QUOTED_MARK}\1\2"', rows)
    return marked, True


def _is_blank(line: str, dialect: Dialect) -> bool:
    """Return True if a line holds nothing; tabs between as many gaps as there are columns are a row of gaps."""
    is_row = dialect.separator == "\t" and line.count("\t") + 1 == dialect.n_cells
    return not line.strip() and not is_row


def _one_column(lines: list[str]) -> list[str]:
    """Return the lines with a gap for each blank line, unless every other line is blank."""
    if not any(line.strip() for line in lines[1::2]):
        return lines[::2]
    return [line if line.strip() else "\\N" for line in lines]


def _equal_rows(
    lines: list[str], dialect: Dialect, scan: Scan, content: Content, notes: list[str]
) -> list[str]:
    separator = dialect.separator
    joined = " " if separator == BLANKS else separator
    rows = []
    n_comments = 0
    n_short = 0
    n_below = 0
    lines = [line for line in lines if not _is_blank(line, dialect) and not is_ruler(line)]
    for place, line in enumerate(lines):
        n_cells = len(split_line(line, separator))
        if n_cells == dialect.n_cells:
            rows.append(line.strip() if separator == BLANKS else line)
            continue
        if line.lstrip().startswith("#"):
            n_comments += 1
            continue
        is_last = place == len(lines) - 1
        if n_cells > dialect.n_cells:
            raise content.refusal(
                f"a text with {dialect.n_cells} cells in each row",
                f"in which row {len(rows) + 1} has {n_cells}",
                "Say what stands between cells by sep, and give decimal ',' for decimal commas.",
            )
        if _FOOTER.fullmatch(line.strip()) and place >= len(lines) - MOST_TITLES:
            n_below += 1
            continue
        # Between blanks nothing says which cell is missing; a last row without an end may have been cut.
        if separator == BLANKS or (is_last and not scan.ends) or n_cells == 1:
            raise content.refusal(
                f"a text with {dialect.n_cells} cells in each row",
                f"in which row {len(rows) + 1} has {n_cells}",
                "It may be truncated: write it anew.",
            )
        n_short += 1
        rows.append(line + joined * (dialect.n_cells - n_cells))
    if n_comments:
        notes.append(counted_lines(n_comments, "begins with #", "begin with #"))
    if n_below:
        notes.append(counted_lines(n_below, "stands below the table", "stand below the table"))
    if n_short:
        notes.append(f"rows that end before the last column have gaps there: {n_short}")
    return rows
