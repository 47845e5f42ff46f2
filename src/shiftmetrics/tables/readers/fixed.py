"""Columns of a fixed width whose cells may be empty, so that the lines have unequal numbers of words.

They are the stretches between positions that are blank in each line; the words of the header are as many.
"""

from __future__ import annotations

from shiftmetrics.tables.readers.lines import BLANKS, TextLine, is_quoted, split_line

MOST_TITLES = 10
FEWEST_ROWS = 2


def fixed_width_lines(lines: list[TextLine]) -> tuple[int, list[tuple[int, int]]] | None:
    """Return the place of the header, and where each column begins and ends; None if the lines have no such form."""
    lines = [line for line in lines if line.text.strip()]
    for place in range(min(MOST_TITLES, len(lines) - FEWEST_ROWS)):
        table = [line.text.expandtabs() for line in lines[place:]]
        words = split_line(table[0], BLANKS)
        if len(words) < 2 or any(map(is_quoted, words)) or not all("  " in line for line in table):
            continue
        counts = {len(line.split()) for line in table}
        if len(counts) == 1:
            return None
        spans = _spans(table)
        if len(spans) == len(words):
            return place, spans
    return None


def as_tabs(text: str, spans: list[tuple[int, int]]) -> str:
    """Return the lines with a tab between the columns."""
    rows = []
    for line in text.splitlines():
        if line.strip():
            line = line.expandtabs()
            rows.append("\t".join(line[begin:end].strip() for begin, end in spans))
    return "\n".join(rows) + "\n"


def _spans(lines: list[str]) -> list[tuple[int, int]]:
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
