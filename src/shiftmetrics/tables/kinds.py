"""What the cells of each column are, decided at once for all files that have the column.

A column is what all its files can be: dates, Booleans or numbers where each file's cells can be read so, else words.
Words that stand for a gap count as one only beside numbers, dates and Booleans; in a column of words they are words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics.tables.boolean_words import (
    SPOKEN,
    as_booleans,
    boolean_spelling,
    in_letters,
)
from shiftmetrics.tables.cell_words import ColumnCells
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.column_kinds import (
    WORD_KINDS,
    ColumnKind,
    ColumnProblem,
    DateOrder,
    KindName,
    TypedTables,
)
from shiftmetrics.tables.date_columns import date_columns
from shiftmetrics.tables.number_columns import number_columns
from shiftmetrics.tables.word_columns import (
    are_sentences,
    code_reason,
    common_levels,
    words_problem,
)

if TYPE_CHECKING:
    import pandas as pd


_FEW = 1_000


@dataclass(eq=False)
class _KindDecision:
    """One column while it is decided: a series for each file, None where the file lacks it."""

    kind: KindName
    values: list[pd.Series] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problem: str = ""
    order: DateOrder | None = None
    spelling: str | None = None


def decide_kinds(
    tables: Sequence[Cells],
    *,
    decimal: str | None = None,
    date_order: DateOrder | None = None,
    known: Mapping[str, ColumnKind] | None = None,
    as_stored: bool = False,
) -> TypedTables:
    """Return the tables with typed columns, each column of one kind in all of them.

    Parameters
    ----------
    tables : sequence of Cells
        All files of a question, labels included.
    decimal : {".", ","}, optional
        The decimal mark of numbers that are words. Default: told by the words.
    date_order : {"day", "month", "year"}, optional
        What dates of three numbers have first, where their cells do not tell.
    known : mapping of str to ColumnKind, optional
        Kinds that other files have decided, as a passport keeps them; such columns are read by them.
    as_stored : bool, default False
        Whether strings that stay what they are may stay as pandas stores them, such as a million ids.

    Returns
    -------
    typed : TypedTables
        Frames, kinds, and what is said. Nothing is raised for a column that nobody may use.
    """
    known = known or {}
    # what the user says of one file holds for all
    for cells in tables:
        decimal = decimal or cells.decimal
        date_order = date_order or cells.date_order
    columns: dict[str, dict[int, ColumnCells]] = {}
    for place, cells in enumerate(tables):
        for name in cells.frame.columns:
            of_name = columns.setdefault(name, {})
            of_name[place] = ColumnCells(
                str(cells),
                cells.frame[name],
                is_written=name in cells.written,
                has_levels=name in cells.levels,
            )
    # Two rounds, since a file shows in its numbers, dates and Booleans how it marks gaps, and the
    # words of the same file are then read by these marks.
    # 1. All columns but those of words; the marks of gaps that they show hold for the words of their file.
    decided: dict[str, _KindDecision] = {}
    words: list[str] = []
    marks: dict[int, set[str]] = {place: set() for place in range(len(tables))}
    for name, of_name in columns.items():
        decision = _decide(name, list(of_name.values()), decimal, date_order, known.get(name))
        decided[name] = decision
        if decision.kind in WORD_KINDS:
            words.append(name)
            continue
        for place, column in of_name.items():
            if column.is_words:
                marks[place].update(column.gap_words)
    for place, found in marks.items():
        if any(place in of_name and _has_plain_gap(of_name[place]) for of_name in columns.values()):
            found.clear()
    # 2. Words: their gaps, blanks and zeros.
    for name in words:
        _finish_words(name, columns[name], marks, decided[name], as_stored)
    return _assembled(tables, columns, decided)


def _decide(
    name: str,
    columns: Sequence[ColumnCells],
    decimal: str | None,
    date_order: DateOrder | None,
    known: ColumnKind | None,
) -> _KindDecision:
    """Try the kinds in turn: lists, dates, Booleans, numbers, words."""
    filled = [column for column in columns if column.has_cells]
    if known is not None and known.kind not in ("list", "empty"):
        return _as_known(name, columns, decimal, known)
    if any(column.type == "list" for column in filled):
        return _KindDecision("list", [column.values for column in columns])
    if not filled:
        empty = [_series(np.full(len(column.values), None, dtype=object)) for column in columns]
        return _KindDecision("empty", empty)
    if any(column.type == "level" for column in filled):
        return _KindDecision("word")
    # The order matters: Unix times are dates before they are numbers, and 0 and 1 are Booleans
    # where another file writes True and False.
    found = _dates(name, columns, date_order)
    if found is None:
        found = _booleans(columns)
    if found is None:
        found = _numbers(name, columns, decimal)
    if found is not None:
        return found
    reason = code_reason(filled)
    return _KindDecision("code" if reason else "word", spelling=_spoken(filled))


def _spoken(columns: Sequence[ColumnCells]) -> str | None:
    """Return the spelling of answers such as yes and no, which all files share."""
    spellings = {boolean_spelling(column.known) for column in columns if column.is_words}
    spelling = spellings.pop() if len(spellings) == 1 else None
    if spelling is None:
        return None
    words = [word for column in columns if column.is_words for word in column.known]
    return in_letters(spelling, words)


def _as_known(
    name: str, columns: Sequence[ColumnCells], decimal: str | None, known: ColumnKind
) -> _KindDecision:
    """Read a column as the kind that other files decided, with a problem where its cells do not fit."""
    found = None
    if known.kind == "date":
        found = _dates(name, columns, known.date_order, is_date=True)
    elif known.kind == "boolean":
        found = _booleans(columns, is_boolean=True)
    elif known.kind in ("number", "integer"):
        found = _numbers(name, columns, decimal, is_number=True)
        if found is None and known.spelling == "1/0":
            # zeros and ones of the reference, which other tools write as words
            found = _booleans(columns, is_boolean=True)
            found = None if found is None else _as_bits(found, known)
    else:
        return _KindDecision(known.kind, spelling=known.spelling)
    if found is not None:
        return found
    filled = [column for column in columns if column.has_cells]
    if not filled:
        return _KindDecision(
            "empty", [_series(np.full(len(c.values), None, dtype=object)) for c in columns]
        )
    example = next((str(column.distinct[0])[:60] for column in filled), "")
    what = {"date": "dates", "boolean": "Booleans"}.get(known.kind, "numbers")
    sentence = f"column {name!r} must be of {what}, as in the reference, got {example!r} in {filled[0].where}."
    return _KindDecision("word", problem=sentence)


def _as_bits(decision: _KindDecision, known: ColumnKind) -> _KindDecision:
    """Return Booleans as zeros and ones."""
    numbers: list[pd.Series] = []
    for values in decision.values:
        is_integer = known.kind == "integer" and not values.isna().any()
        numbers.append(values.astype("int64" if is_integer else float))
    return _KindDecision(known.kind, numbers, spelling=known.spelling)


def _dates(
    name: str,
    columns: Sequence[ColumnCells],
    order: DateOrder | None,
    is_date: bool = False,
) -> _KindDecision | None:
    found = date_columns(name, columns, order, is_date=is_date)
    if found is None:
        return None
    if found.problem:
        return _KindDecision("word", problem=found.problem)
    values = []
    for column, clock in zip(columns, found.clocks, strict=True):
        if clock is None:
            clock = np.full(len(column.values), np.datetime64("NaT", "ns"))
        values.append(_series(clock))
    return _KindDecision("date", values, found.notes, order=found.order)


def _booleans(columns: Sequence[ColumnCells], is_boolean: bool = False) -> _KindDecision | None:
    """Return Booleans where each file's cells are some, and one file's are no plain 0 and 1."""
    spellings = []
    for column in columns:
        if not column.has_cells:
            continue
        if column.type == "boolean":
            spellings.append("bool")
            continue
        spelling = None
        if column.type in ("integer", "number"):
            if _are_bits(column.values):
                spelling = "1/0"
        elif column.is_words:
            spelling = boolean_spelling(column.known)
        if spelling is None:
            return None
        spellings.append(spelling)
    if not is_boolean and set(spellings) == {"1/0"}:
        return None
    # Yes and No in one spelling in all files stay words: models know the levels by these names.
    if not is_boolean and len(set(spellings)) == 1 and spellings[0] in SPOKEN:
        return None
    return _KindDecision("boolean", [_boolean_series(column) for column in columns])


def _are_bits(values: pd.Series) -> bool:
    """Return True for zeros and ones; a few cells show of most columns that they hold other numbers."""
    for part in (values.iloc[:_FEW], values):
        known = part.dropna().to_numpy()
        if not ((known == 0) | (known == 1)).all():
            return False
    return True


def _boolean_series(column: ColumnCells) -> pd.Series:
    if not column.has_cells:
        return _series(np.full(len(column.values), None, dtype=object))
    if column.type == "boolean" and column.values.dtype == bool:
        return column.values
    spelling = boolean_spelling(column.known) or "true/false"
    meaning = dict(zip(column.known, as_booleans(column.known, spelling), strict=True))
    lookup = np.array([meaning.get(word) for word in column.distinct], dtype=object)
    cells = column.spread(lookup, None)
    series = _series(cells)
    return series if series.isna().any() else series.astype(bool)


def _numbers(
    name: str, columns: Sequence[ColumnCells], decimal: str | None, is_number: bool = False
) -> _KindDecision | None:
    found = number_columns(name, columns, decimal, is_number=is_number)
    if found is None:
        return None
    if found.problem:
        return _KindDecision("word", problem=found.problem)
    kind: KindName = "integer" if found.is_integer else "number"
    values = [_series(part) for part in found.values]
    spelling = "1/0" if all(_are_bits(part) for part in values) else None
    return _KindDecision(kind, values, found.notes, spelling=spelling)


def _has_plain_gap(column: ColumnCells) -> bool:
    """Return True where a written column leaves cells empty: then that is how the file marks gaps."""
    return column.type == "written" and column.has_gaps


def _finish_words(
    name: str,
    of_name: Mapping[int, ColumnCells],
    marks: Mapping[int, set[str]],
    decision: _KindDecision,
    as_stored: bool,
) -> None:
    """Return the words of one column in all files, with their gaps."""
    columns = list(of_name.values())
    if decision.spelling is not None:
        columns = [_respelled(column, decision.spelling) for column in columns]
    own_marks = [marks[place] for place in of_name]
    found = common_levels(name, columns, own_marks, as_stored=as_stored)
    decision.values = [_series(part) for part in found.values]
    decision.notes += found.notes
    if not decision.problem:
        decision.problem = words_problem(name, columns)
    if decision.kind == "word" and are_sentences(decision.values):
        decision.kind = "text"


def _respelled(column: ColumnCells, spelling: str) -> ColumnCells:
    """Return Booleans in the words that other files have for them."""
    if not column.has_cells:
        return column
    own = "bool" if column.type == "boolean" else boolean_spelling(column.known)
    true_word, false_word = spelling.split("/")
    if own in (None, spelling) or set(column.known) <= {true_word, false_word}:
        return column
    meaning = _boolean_series(column).map({True: true_word, False: false_word})
    return ColumnCells(column.where, meaning.astype(object).where(meaning.notna(), None))


def _assembled(
    tables: Sequence[Cells],
    columns: Mapping[str, Mapping[int, ColumnCells]],
    decided: Mapping[str, _KindDecision],
) -> TypedTables:
    """Put the columns of each file side by side, in its order."""
    import pandas as pd

    frames = []
    for place, cells in enumerate(tables):
        parts: dict[str, Any] = {}
        for name in cells.frame.columns:
            slot = list(columns[name]).index(place)
            parts[name] = decided[name].values[slot]
        frames.append(pd.DataFrame(parts, index=cells.frame.index, columns=list(parts), copy=False))
    kinds = {
        name: ColumnKind(name, part.kind, part.order, part.spelling)
        for name, part in decided.items()
    }
    notes = [note for part in decided.values() for note in part.notes]
    problems = [ColumnProblem(name, part.problem) for name, part in decided.items() if part.problem]
    return TypedTables(tuple(frames), kinds, tuple(dict.fromkeys(notes)), tuple(problems))


def _series(values: Any) -> pd.Series:
    import pandas as pd

    if isinstance(values, pd.Series):
        return values
    kind = object if values.dtype == object else None
    return pd.Series(values, dtype=kind, copy=False)
