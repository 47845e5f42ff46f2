"""How a text is written: the separator, the lines that are no cells, the header.

The separator is the one that gives equal numbers of cells over the first lines. What stands above the first of these
lines is a title; a line with one cell less, just above, is the header of a table whose first column names its rows.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from shiftmetrics.tables.cells import Header
from shiftmetrics.tables.content import Content
from shiftmetrics.tables.readers.header import PAIR, are_pairs, is_number, judge_first_line
from shiftmetrics.tables.readers.lines import (
    BLANKS,
    ONE_COLUMN,
    TextLine,
    is_quoted,
    is_ruler,
    split_line,
    unquote,
)

SEPARATORS = ("\t", ";", "|", ",", BLANKS)
"""In the order in which they are preferred."""

EQUAL = 0.95
"""So many of the lines of a table have equal numbers of cells: a few may be cut short or continue a cell."""

WITH_NAMES = 0.5
"""So many of them, where the first line has as many cells."""

COLUMN_TYPES = frozenset(["c", "continuous", "d", "discrete", "s", "string", "t", "time", "basket"])
COLUMN_ROLES = frozenset(["", "c", "class", "m", "meta", "w", "weight", "i", "ignore"])
"""What stands in the second and the third line of a file of Orange."""

MOST_HEADERS = 2
"""So many lines below the names may hold kinds or units of the columns."""

_SEP_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a text is written.

    Attributes
    ----------
    separator : str
        One character, `BLANKS` or `ONE_COLUMN`.
    n_cells : int
        The number of cells of a row.
    first : tuple of str
        The cells of the line that may hold the names, unquoted; empty without one.
    header : {"names", "none", "either"}
    names_at, rows_at : int
        Where the line of names, and the first row, begin.
    row_names : bool
        Whether the header is one cell short, so that the first column names the rows.
    quote : str
        The mark around words: ' of Weka, where no " is used.
    trailing : bool
        Whether a separator ends each row.
    sample : list of list of str
        The raw cells of the first rows.
    notes : tuple of str
        What is said of the lines above.
    """

    separator: str
    n_cells: int
    first: tuple[str, ...]
    header: Header
    names_at: int
    rows_at: int
    row_names: bool
    trailing: bool
    sample: list[list[str]]
    quote: str = '"'
    notes: tuple[str, ...] = ()


def find_dialect(lines: list[TextLine], content: Content) -> Dialect:
    """Return how a text is written, by its first lines."""
    options = content.options
    lines = [line for line in lines if line.text.strip() and not is_ruler(line.text)]
    given = _SEP_LINE.fullmatch(lines[0].text.strip()) if lines else None
    if given:
        lines = lines[1:]
    # From here on only the lines that hold cells: comments first, then the separator, then the
    # first line with the usual number of cells. What stands above that line is the header, a title,
    # or both.
    n_comments = _n_comments(lines)
    comments = lines[:n_comments]
    table = lines[n_comments:]
    if not table:
        raise content.refusal("a file with rows", "which holds none")
    separator = options.sep or (
        given[1] if given else best_separator([line.text for line in table])
    )
    rows = [split_line(line.text, separator) for line in table]
    n_cells = usual_count(list(map(len, rows)))
    place = next(i for i, row in enumerate(rows) if len(row) == n_cells)
    equal = [row for row in rows[place:] if len(row) == n_cells]
    notes = []
    if comments:
        notes.append(counted_lines(len(comments), "begins with #", "begin with #"))
    trailing = n_cells > 1 and len(equal) > 1 and all(not row[-1].strip() for row in equal[1:])
    row_names = False
    header: Header = "names"
    names_at = place - 1
    above = rows[place - 1] if place else []
    commented = _commented_names(comments, separator, n_cells)
    if n_cells > 1 and len(above) == n_cells - 1 and not all(map(is_number, map(unquote, above))):
        row_names = not trailing
    elif separator not in (ONE_COLUMN, BLANKS) and _is_wide_header(above, n_cells):
        above = above[:n_cells]
    elif commented and judge_first_line(commented, _unquoted(equal)) == "names":
        above = commented
        notes = notes[1:]
        names_at = place
    else:
        above = equal.pop(0)
        names_at = place
        header = options.first_line or _judged(above[: n_cells - trailing], equal)
        trailing = trailing and not above[-1].strip()
        place += header != "none"
    n_more = 0
    joined: list[str] = []
    if header == "names" and separator != ONE_COLUMN:
        joined = _joined_levels(above, equal)
        n_more = _n_levels_below(equal) if joined else _n_more_headers(_unquoted(equal))
        above = joined or above
        equal = equal[n_more:]
        place += n_more
    if n_more and not joined:
        notes.append(counted_lines(n_more, "follows the names", "follow the names"))
    n_titles = min(names_at, place)
    if header == "none":
        _refuse_rows_above(rows[:n_titles], n_cells, content)
    if n_titles:
        notes.append(counted_lines(n_titles, "stands above the table", "stand above the table"))
    end = table[-1].start + len(table[-1].text)
    quote = _quote([above, *equal])
    return Dialect(
        separator=separator,
        n_cells=n_cells,
        quote=quote,
        first=tuple(unquote(name, quote) for name in above) if header != "none" else (),
        header=header,
        names_at=table[names_at].start,
        rows_at=table[place].start if place < len(table) else end,
        row_names=row_names,
        trailing=trailing,
        sample=equal if header != "none" else [above, *equal],
        notes=tuple(notes),
    )


def _refuse_rows_above(rows: list[list[str]], n_cells: int, content: Content) -> None:
    """Refuse to leave out lines above a table without names that begin as rows do, with other numbers of cells."""
    for cells in rows:
        if len(cells) > 1 and is_number(unquote(cells[0])):
            raise content.refusal(
                f"a text with {n_cells} cells in each row",
                f"in which the line {' '.join(cells)!r} has {len(cells)}",
                "Write it with a comma, or a tab, between the cells.",
            )


def _quote(rows: list[list[str]]) -> str:
    """Return the mark that stands around words."""
    cells = [cell.strip() for row in rows for cell in row]
    if any('"' in cell for cell in cells):
        return '"'
    marked = [cell for cell in cells if cell.startswith("'")]
    return "'" if marked and all(len(cell) > 1 and cell.endswith("'") for cell in marked) else '"'


def _judged(first: list[str], rows: list[list[str]]) -> Header:
    if _joined_levels(first, rows):
        below = _unquoted(rows[_n_levels_below(rows) :])
        if below and all(map(is_number, (cell for row in below for cell in row[1:]))):
            return "names"
    rows = _unquoted(rows)
    if len(first) > 1 and (_has_types(rows) or _n_more_headers(rows)):
        return "names"
    return judge_first_line(list(map(unquote, first)), rows)


def _n_more_headers(rows: list[list[str]]) -> int:
    """Return the number of lines below the names that are no rows: types, or kinds or units of columns of numbers."""
    if _has_types(rows):
        return 2
    # Units or kinds are words over columns of numbers: only such columns can show them.
    body = rows[MOST_HEADERS:]
    if len(body) < MOST_HEADERS:
        return 0
    numeric = [
        place for place, cells in enumerate(zip(*body, strict=True)) if all(map(is_number, cells))
    ]
    for n_more in range(MOST_HEADERS, 0, -1):
        extra = [[row[place] for place in numeric] for row in rows[:n_more]]
        if all(any(cells) and not any(map(is_number, cells)) for cells in extra) and all(extra[0]):
            return n_more
    return 0


def _has_types(rows: list[list[str]]) -> bool:
    """Return True if a line of types and one of roles stand below the names, as Orange writes them.

    A column of classes may have all of them in place of its type; no type comes back in its own column.
    """
    if len(rows) <= MOST_HEADERS:
        return False
    types, roles, *body = rows
    if not all(role in COLUMN_ROLES for role in roles) or not any(roles):
        return False
    columns = list(zip(*body, strict=True))
    known = [kind in COLUMN_TYPES for kind in types]
    listed = [
        set(kind.split()) >= set(column) - {""} for kind, column in zip(types, columns, strict=True)
    ]
    if not any(known) or not all(map(max, known, listed)):
        return False
    return not _come_back(types, body)


def _joined_levels(above: list[str], rows: list[list[str]]) -> list[str]:
    """Return the names of columns with two levels, such as proba.cat; none where the first line names each column.

    A first level stands above several columns; the line below it tells these apart. A third line may name the index.
    """
    if not rows or len(rows[0]) != len(above):
        return []
    first = list(map(unquote, above))
    second = list(map(unquote, rows[0]))
    repeated = [name for name in first if name]
    if len(set(repeated)) == len(repeated) or not all(second[1:]):
        return []
    # Numbers below names that stand twice are cells, unless an index leaves its place in both lines empty.
    if (first[0] or second[0]) and all(map(is_number, second)):
        return []
    # Words that come back below are cells of a table in which two columns have one name.
    if _come_back(second, _unquoted(rows[1:])):
        return []
    names = [".".join(part for part in pair if part) for pair in zip(first, second, strict=True)]
    if len(set(names)) < len(names):
        return []
    third = list(map(unquote, rows[1])) if _n_levels_below(rows) > 1 else [""] * len(names)
    return [index or name for index, name in zip(third, names, strict=True)]


def _come_back(cells: list[str], below: list[list[str]]) -> bool:
    """Return True if a cell of a line stands in its column again, in a line below."""
    return any(
        cell != "" and any(place < len(row) and row[place] == cell for row in below)
        for place, cell in enumerate(cells)
    )


def _n_levels_below(rows: list[list[str]]) -> int:
    """Return 2 if the index has a name in a line of its own below the two levels, else 1."""
    if len(rows) < 2:
        return 1
    third = list(map(unquote, rows[1]))
    return 2 if third[0] and not is_number(third[0]) and not any(third[1:]) else 1


def counted_lines(n_lines: int, one: str, many: str) -> str:
    """Say how many lines are left out, and why."""
    if n_lines == 1:
        return f"1 line that {one} is left out"
    return f"{n_lines} lines that {many} are left out"


def best_separator(lines: list[str]) -> str:
    """Return the separator that gives equal numbers of cells over the lines."""
    best = ONE_COLUMN
    if all(map(are_pairs, lines[1:] or lines)):
        return best
    # A heuristic on the first lines: of the separators that cut nearly all lines into as many
    # cells, the one whose lines make up most of the text.
    best_share = 0.0
    for separator in SEPARATORS:
        rows = [split_line(line, separator) for line in lines]
        counts = list(map(len, rows))
        n_cells = usual_count(counts)
        if n_cells < 2:
            continue
        place = counts.index(n_cells)
        equal = [row for row in rows[place:] if len(row) == n_cells]
        # names above the table count for more: a row with other cells is then one that is refused, or left out
        needed = EQUAL if place or separator == BLANKS else WITH_NAMES
        if len(equal) < needed * (len(rows) - place) or not _is_table(
            rows, place, equal, separator
        ):
            continue
        is_short = place > 0 and counts[place - 1] == n_cells - 1
        share = (len(equal) + is_short) / len(rows)
        # an earlier one is kept where a later one is no better
        if share > best_share:
            best = separator
            best_share = share
    return best


def usual_count(counts: list[int]) -> int:
    """Return the most common number of cells; of those as common, the one that comes last."""
    times = Counter(counts)
    most = max(times.values())
    return next(count for count in reversed(counts) if times[count] == most)


def _is_table(rows: list[list[str]], place: int, equal: list[list[str]], separator: str) -> bool:
    """Return False where a mark stands in the cells rather than between them."""
    short = place > 0 and len(rows[place - 1]) == len(equal[0]) - 1
    if short and any(row[-1].strip() for row in equal):
        # a header one cell short: the first column names rows, and does so once
        names = [row[0] for row in equal]
        if len(set(names)) < len(names):
            return False
    if separator != BLANKS:
        return True
    # blanks stand between words, too: of a table one column at least holds numbers or quoted words
    body = equal[1:] or equal
    for cells in zip(*body, strict=True):
        if all(is_number(cell) or PAIR.fullmatch(cell) or is_quoted(cell) for cell in cells):
            return True
    return False


def _n_comments(lines: list[TextLine]) -> int:
    """Return the number of lines at the beginning that are comments; hashtags over all lines are none."""
    for n_comments, line in enumerate(lines):
        if not line.text.lstrip().startswith("#"):
            return n_comments
    return 0


def _commented_names(comments: list[TextLine], separator: str, n_cells: int) -> list[str]:
    """Return the names that numpy.savetxt and others write behind a #."""
    if not comments:
        return []
    cells = split_line(comments[-1].text.lstrip("# "), separator)
    return list(map(unquote, cells)) if len(cells) == n_cells and n_cells > 1 else []


def _is_wide_header(cells: list[str], n_cells: int) -> bool:
    """Return True for a header with separators at its end that the rows have not."""
    return len(cells) > n_cells > 1 and not any(cell.strip() for cell in cells[n_cells:])


def _unquoted(rows: list[list[str]]) -> list[list[str]]:
    return [list(map(unquote, row)) for row in rows]
