"""Columns of a fixed width whose cells may be empty, so that the lines have unequal numbers of words.

They are the stretches between positions that are blank in each line; the words of the header are as many.
"""

from __future__ import annotations

import re

from shiftmetrics.tables.readers.lines import BLANKS, TextLine, is_quoted, split_line

MOST_TITLES = 10
FEWEST_ROWS = 2

_BRACKETS = re.compile(r"(?<=\s)\(([^()]*)\)\s*$")
"""What stands in brackets at the end of each line: further cells, with commas between them."""


def fixed_width_lines(lines: list[TextLine]) -> tuple[int, list[tuple[int, int]]] | None:
    """Return the place of the header, and where each column begins and ends; None if the lines have no such form."""
    lines = [line for line in lines if line.text.strip()]
    for place in range(min(MOST_TITLES, len(lines) - FEWEST_ROWS)):
        table = [line.text.expandtabs() for line in lines[place:]]
        if _all_in_brackets(table):
            table = [_BRACKETS.sub("", line) for line in table]
        words = split_line(table[0], BLANKS)
        if len(words) < 2 or any(map(is_quoted, words)) or not all("  " in line for line in table):
            continue
        counts = {len(line.split()) for line in table}
        if len(counts) == 1:
            return None
        spans = spans_of_columns(table)
        if len(spans) == len(words):
            return place, spans
    return None


def as_tabs(text: str, spans: list[tuple[int, int]]) -> str:
    """Return the lines with a tab between the columns."""
    lines = [line.expandtabs() for line in re.split(r"\r\n|\n|\r", text) if line.strip()]
    in_brackets = _all_in_brackets(lines)
    # a line may be longer than those that the columns were found by
    edges: list[tuple[int, int | None]] = [*spans[:-1], (spans[-1][0], None)]
    rows = []
    for line in lines:
        more = []
        if in_brackets:
            more = _BRACKETS.findall(line)[0].split(",")
            line = _BRACKETS.sub("", line)
        cells = [line[begin:end].strip() for begin, end in edges]
        rows.append("\t".join([*cells, *more]))
    return "\n".join(rows) + "\n"


def _all_in_brackets(lines: list[str]) -> bool:
    """Return True if each line ends with as many cells in brackets."""
    found = [_BRACKETS.findall(line) for line in lines]
    return all(found) and len({part[0].count(",") for part in found}) == 1


def spans_of_columns(lines: list[str]) -> list[tuple[int, int]]:
    """Return the stretches between positions that are blank in each line."""
    width = max(map(len, lines))
    inked = bytearray(width)
    for line in lines:
        for place, letter in enumerate(line):
            if letter != " ":
                inked[place] = 1
    spans = []
    begin = None
    for place, ink in enumerate([*inked, 0]):
        if ink and begin is None:
            begin = place
        elif not ink and begin is not None:
            spans.append((begin, place))
            begin = None
    # what stands beside a name in a longer line belongs to that column
    edges = [begin for begin, _ in spans[1:]]
    return list(zip([0, *edges], [*edges, width], strict=True))
