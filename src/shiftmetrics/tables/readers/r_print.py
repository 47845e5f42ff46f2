"""What R prints: vectors behind [1] or below their names, tibbles with types of columns, tables that go on below.

Each is written anew as csv, which the reader of texts then reads. Where R says that it left out rows, it is refused.
"""

from __future__ import annotations

import re

from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.readers.fixed import spans_of_columns
from shiftmetrics.tables.readers.lines import BLANKS, split_line, unquote
from shiftmetrics.tables.readers.printed import as_csv, lines_of

_VECTOR = re.compile(r"\s*\[(\d+)\]\s+(\S.*)")
_LEVELS = re.compile(r"(?:\d+ )?Levels: .*")
_TIBBLE = re.compile(r"# (?:A tibble|A data frame|A grouped_df|Groups?): .*", re.IGNORECASE)
_TYPES = re.compile(r"\s*(?:<\w+>\s*)+")
_LEFT_OUT = re.compile(
    r"\s*\[ reached .*|#.*\bmore (?:rows|variables|columns)\b.*|\s*---\s*", re.IGNORECASE
)
_WORD = re.compile(r'"[^"]*"|\S+')
_ATTRIBUTE = re.compile(r"attr\(,.*\)")

WRITE_IN_R = "Write the table in R by write.csv."


def is_r_print(content: Content) -> bool:
    """Return True if a text is a print of R that is no plain table between blanks."""
    whole = content.head[: content.head.rfind(b"\n") + 1] or content.head
    lines = [line for line in lines_of(whole) if line.strip()]
    if not lines or content.options.sep not in (None, BLANKS):
        return False
    first = _VECTOR.fullmatch(lines[0])
    if first is not None:
        return first[1] == "1"
    if _TIBBLE.fullmatch(lines[0]):
        return True
    if _are_aligned(lines[:2]) and _named_elements(lines_of(content.read())) is not None:
        return True
    if not lines[0].startswith(" ") or "\t" in lines[0] or len(lines) < 3:
        return False
    if _TYPES.fullmatch(lines[1]):
        return True
    lines = [line for line in lines_of(content.read()) if line.strip()]
    if any(_ATTRIBUTE.fullmatch(line) for line in lines) or lines[-1] == lines[0]:
        return True
    return _block_length(lines) is not None or any(_LEFT_OUT.fullmatch(line) for line in lines)


def printed_rows(content: Content) -> Content:
    """Return what is printed as csv."""
    lines = [line for line in lines_of(content.read()) if line.strip()]
    if any(_LEFT_OUT.fullmatch(line) for line in lines):
        raise content.refusal("a whole table", "whose print leaves out rows or columns", WRITE_IN_R)
    named = _named_elements(lines)
    if named is not None:
        return as_csv(content, [["", "x"], *named])
    end = next((place for place, line in enumerate(lines) if _ATTRIBUTE.fullmatch(line)), None)
    lines = lines[:end]
    if _VECTOR.fullmatch(lines[0]):
        return _vector(lines, content)
    lines = [line for line in lines if not line.startswith("#")]
    if len(lines) > 1 and lines[-1] == lines[0]:
        # the names again, below a long table
        lines.pop()
    length = _block_length(lines) or len(lines)
    blocks = [lines[place : place + length] for place in range(0, len(lines), length)]
    tables = [_cells(block, content) for block in blocks]
    rows = tables[0]
    for more in tables[1:]:
        rows = [[*row, *cells[1:]] for row, cells in zip(rows, more, strict=True)]
    return as_csv(content, rows)


def _vector(lines: list[str], content: Content) -> Content:
    """Return the elements of a vector, one in each row."""
    cells: list[str] = []
    for line in lines:
        if _LEVELS.fullmatch(line):
            break
        found = _VECTOR.fullmatch(line)
        # The number in brackets is that of the first element in the line: with another one, a word
        # with blanks was taken for several.
        if found is None or int(found[1]) != len(cells) + 1:
            raise content.refusal(
                "a vector with one word for each element", f"with the line {line!r}", WRITE_IN_R
            )
        cells += [unquote(cell) for cell in split_line(found[2].strip(), BLANKS)]
    if any(cell in ("<NA>", "NA") for cell in cells):
        raise content.refusal("a vector without gaps", "which has NA", WRITE_IN_R)
    return as_csv(content, [[cell] for cell in cells])


def _named_elements(lines: list[str]) -> list[list[str]] | None:
    """Return the elements of a vector that is printed below their names, line by line; None for anything else.

    Names and elements end at the same places, and are not of one kind, as the rows of a table would be; its levels
    stand below a factor.
    """
    lines = [line for line in lines if line.strip()]
    end = next((place for place, line in enumerate(lines) if _ATTRIBUTE.fullmatch(line)), None)
    lines = lines[:end]
    is_factor = bool(lines) and _LEVELS.fullmatch(lines[-1]) is not None
    lines = lines[:-1] if is_factor else lines
    if not lines or len(lines) % 2:
        return None
    found: list[list[str]] = []
    kinds: list[set[str]] = [set(), set()]
    for place in range(0, len(lines), 2):
        pair = lines[place : place + 2]
        if not _are_aligned(pair):
            return None
        names, cells = (split_line(line.strip(), BLANKS) for line in pair)
        if len(names) != len(cells):
            return None
        kinds[0] |= {_kind_of(name) for name in names}
        kinds[1] |= {_kind_of(cell) for cell in cells}
        found += [[unquote(name), unquote(cell)] for name, cell in zip(names, cells, strict=True)]
    # Two lines alone may be a table of one row, unless the levels of a factor stand below them.
    is_told = is_factor or (len(lines) > 2 and not kinds[0] & kinds[1])
    if not is_told or len({name for name, _ in found}) < len(found):
        return None
    return [[name, "" if cell in ("<NA>", "NA") else cell] for name, cell in found]


def _are_aligned(pair: list[str]) -> bool:
    """Return True if the words of two lines end at the same places."""
    ends = [[found.end() for found in _WORD.finditer(line)] for line in pair]
    return len(ends) == 2 and ends[0] == ends[1]


def _kind_of(cell: str) -> str:
    if cell.startswith('"'):
        return "string"
    if re.fullmatch(r"\d+", cell):
        return "integer"
    return "number" if re.fullmatch(r"[-+]?[\d.]+(?:e[-+]?\d+)?", cell) else "word"


def _block_length(lines: list[str]) -> int | None:
    """Return after how many lines other columns of the same rows follow; None where none do."""
    # A table that is too wide goes on below, with the same names of rows; its lines of names begin with a blank.
    names = [line.split()[0] for line in lines]
    for length in range(3, len(lines) // 2 + 1):
        if len(lines) % length or not lines[length].startswith(" "):
            continue
        starts = range(0, len(lines), length)
        bodies = [names[start + 1 : start + length] for start in starts]
        if all(body == bodies[0] for body in bodies) and len(set(bodies[0])) == length - 1:
            return length
    return None


def _cells(lines: list[str], content: Content) -> list[list[str]]:
    """Return the cells of one block, with the names of the rows in a first column without a name."""
    names = [unquote(name) for name in split_line(lines[0], BLANKS)]
    body = lines[2:] if _TYPES.fullmatch(lines[1]) else lines[1:]
    rows = [[unquote(cell) for cell in split_line(line, BLANKS)] for line in body]
    if {len(row) for row in rows} != {len(names) + 1}:
        # words with blanks stand in a column of a fixed width
        spans = spans_of_columns([lines[0], *body])
        if len(spans) != len(names) + 1:
            raise content.refusal(
                f"a table with {len(names) + 1} cells in each row",
                "in which some rows have other numbers of cells",
                WRITE_IN_R,
            )
        rows = [[line[begin:end].strip() for begin, end in spans] for line in body]
    rows = [["" if cell == "<NA>" else cell for cell in row] for row in rows]
    return [["", *names], *rows]


READER = Reader(
    name="a print of R",
    suffixes=(".txt",),
    told_by="[1] before a vector, names above its elements, the types of a tibble's columns, or columns that go on "
    "below the rows",
    tells=is_r_print,
    unpack=printed_rows,
)
