"""Numbers of one column in all files: marks and signs are read alike, and what is no number is a code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.tables.cell_words import ColumnCells
from shiftmetrics.tables.number_words import NumberWords, number_words


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """The numbers of one column in all files.

    Attributes
    ----------
    values : list of array or Series
        The numbers of each file.
    is_integer : bool
    notes : list of str
    problem : str
        Why there is no one reading.
    """

    values: list[Any]
    is_integer: bool = False
    notes: list[str] = field(default_factory=list)
    problem: str = ""


def number_columns(
    name: str, columns: Sequence[ColumnCells], decimal: str | None, *, is_number: bool = False
) -> NumberColumns | None:
    """Return a column as numbers in all files, or None where a file has a cell that is none.

    Parameters
    ----------
    name : str
        The column.
    columns : sequence of ColumnCells
        It in each file.
    decimal : {".", ","} or None
        The decimal mark of words.
    is_number : bool
        Whether other files have decided that it is one: zeros at the beginning then say nothing.
    """
    filled = [column for column in columns if column.has_cells]
    if any(column.type in ("date", "level", "list") for column in filled):
        return None
    if not is_number and all(column.type == "string" for column in filled):
        return None  # typed strings are words, whatever they look like
    words: dict[int, NumberWords] = {}
    for place, column in enumerate(columns):
        if column.has_cells and column.is_words:
            read = number_words(column.known, decimal)
            if read is None or (read.is_code and not is_number):
                return None
            if column.type == "string" and read.is_integer and not is_number:
                return None  # integers that a schema calls strings are codes
            words[place] = read
    problem = _sign_problem(name, columns, words)
    if problem:
        return NumberColumns([], problem=problem)
    values: list[Any] = []
    for place, column in enumerate(columns):
        if not column.has_cells:
            values.append(np.full(len(column.values), np.nan))
        elif place not in words:
            values.append(_typed_numbers(column))
        elif words[place].other is None:
            values.append(_rows(column, words[place].values))
        else:
            values.append(None)
    # Words such as 1,234 have two readings: the other files tell the size.
    known = [part for part in values if part is not None]
    for place, read in words.items():
        if values[place] is not None:
            continue
        chosen = _by_size(read, columns[place], known)
        if chosen is None:
            return NumberColumns([], problem=_mark_question(name, columns[place]))
        values[place] = chosen
    notes = _to_fractions(name, columns, words, values)
    notes += _infinite_notes(name, columns, values)
    notes += _gap_notes(name, columns)
    is_integer = all(_is_integer(place, column, words) for place, column in enumerate(columns))
    if is_integer:
        values = [_integers(column, part) for column, part in zip(columns, values, strict=True)]
    return NumberColumns(values, is_integer, notes)


def _typed_numbers(column: ColumnCells) -> Any:
    """Return typed numbers as they are, where NumPy holds them."""
    import pandas as pd

    values = column.values
    if values.dtype.kind == "m":
        return values.dt.total_seconds().to_numpy() / 3600.0
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iuf":
        return values
    if values.dtype == bool:
        return values.to_numpy(dtype=np.int64)
    numbers = pd.to_numeric(values.astype(object).where(values.notna(), None), errors="coerce")
    if column.type == "integer" and not values.isna().any():
        return pd.Series(values.to_numpy(dtype=object)).astype("int64", errors="ignore")
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)


def _rows(column: ColumnCells, of_known: FloatArray) -> FloatArray:
    """Return the number of each row from those of the known words; gaps are NaN."""
    places = {word: place for place, word in enumerate(column.known)}
    index = np.array([places.get(word, -1) for word in column.distinct], dtype=np.int64)
    of_distinct = np.append(of_known, np.nan)[index]
    return np.asarray(column.spread(of_distinct, np.nan))


def _integers(column: ColumnCells, values: Any) -> Any:
    """Return integers without gaps as int64."""
    if not column.is_words or not column.has_cells:
        return values
    if np.isnan(values).any():
        return values
    # From the words, since a float would round integers beyond 2**53. They fit: words of 19 digits
    # and more are codes.
    exact = np.array([int(word) for word in column.distinct], dtype=np.int64)
    return column.spread(exact, 0)


def _is_integer(place: int, column: ColumnCells, words: dict[int, NumberWords]) -> bool:
    if not column.has_cells:
        return True
    if place in words:
        return words[place].is_integer
    if column.type in ("integer", "boolean"):
        return True
    values = np.asarray(_typed_numbers(column), dtype=np.float64)
    known = values[~np.isnan(values)]
    # Integers with gaps are floats.
    return bool(
        np.isnan(values).any() and np.isfinite(known).all() and (known == np.round(known)).all()
    )


def _sign_problem(name: str, columns: Sequence[ColumnCells], words: dict[int, NumberWords]) -> str:
    """Refuse two currencies: their numbers say nothing side by side."""
    signs = {read.sign: columns[place].where for place, read in words.items() if read.sign}
    if len(signs) < 2:
        return ""
    said = " and ".join(f"{sign} in {where}" for sign, where in signs.items())
    remedy = f"Convert one of them, or leave the column out: --exclude {name}."
    return f"column {name!r} must be of one unit, got {said}. {remedy}"


def _by_size(
    read: NumberWords, column: ColumnCells, known: Sequence[Any]
) -> npt.NDArray[Any] | None:
    """Return the reading of 1,234 whose size is nearer to that of the other files, if one is far nearer."""
    if not known or read.other is None:
        return None
    theirs = np.abs(np.concatenate([np.asarray(part, dtype=np.float64) for part in known]))
    theirs = theirs[np.isfinite(theirs) & (theirs > 0.0)]
    if not theirs.size:
        return None
    # A heuristic. The readings of 1,234 are three powers of ten apart: one is taken only if its
    # median is within a factor of 3 of the other files', and that of the other one off by more than
    # a factor of 30. It fails for values that grew or shrank a thousandfold from one file to the
    # next.
    readings = [_rows(column, read.values), _rows(column, read.other)]
    apart = []
    for values in readings:
        own = np.abs(values[np.isfinite(values) & (values != 0.0)])
        apart.append(abs(float(np.log10(np.median(own) / np.median(theirs)))))
    nearer = int(np.argmin(apart))
    if apart[nearer] < 0.5 and apart[1 - nearer] > 1.5:
        return readings[nearer]
    return None


def _mark_question(name: str, column: ColumnCells) -> str:
    example = next(word for word in column.known if "," in word)
    plain = example.replace(",", "")
    decimal = example.replace(",", ".")
    return (
        f"column {name!r} must be of numbers with one reading, got such as {example!r} in {column.where}. "
        f"--decimal .: {plain}; --decimal ,: {decimal}; or leave it out: --exclude {name}."
    )


def _to_fractions(
    name: str, columns: Sequence[ColumnCells], words: dict[int, NumberWords], values: list[Any]
) -> list[str]:
    """Read per cent as fractions where another file has fractions."""
    percent = [place for place, read in words.items() if read.sign == "%"]
    others = [
        np.asarray(part, dtype=np.float64)
        for place, part in enumerate(values)
        if place not in percent and columns[place].has_cells
    ]
    if not percent or not others:
        return []
    plain = np.concatenate(others)
    plain = plain[np.isfinite(plain)]
    signed = np.concatenate([values[place] for place in percent])
    if np.abs(plain).max() > 1.0 or np.nanmax(np.abs(signed)) <= 1.0:
        return []
    for place in percent:
        values[place] = values[place] / 100.0
    where = ", ".join(columns[place].where for place in percent)
    return [f"Read `{name}` of {where} as fractions: per cent there, fractions elsewhere."]


def _infinite_notes(name: str, columns: Sequence[ColumnCells], values: Sequence[Any]) -> list[str]:
    notes = []
    for column, part in zip(columns, values, strict=True):
        if np.asarray(part).dtype.kind != "f":
            continue
        n_infinite = int(np.isinf(np.asarray(part)).sum())
        if n_infinite:
            rows = "row" if n_infinite == 1 else "rows"
            notes.append(f"`{name}` is infinite in {n_infinite:,} {rows} of {column.where}.")
    return notes


def _gap_notes(name: str, columns: Sequence[ColumnCells]) -> list[str]:
    """Say which words were read as gaps."""
    notes = []
    for column in columns:
        if column.is_words and column.has_cells and column.gap_words:
            said = ", ".join(column.gap_words[:3])
            notes.append(f"Read {said} in `{name}` of {column.where} as missing.")
    return notes
