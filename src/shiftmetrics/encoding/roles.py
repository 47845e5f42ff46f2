"""What each column of two tables is: a number, a category, a date, text, an id; or left out, with the reason."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shiftmetrics._core.arrays import is_table
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import first_few

if TYPE_CHECKING:
    import pandas as pd

Role = Literal["number", "category", "date", "text", "id", "left out"]

_ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|key|index|rownames?|row)$|^unnamed: ?\d+$", re.I)
_TEXT_WORDS = 4.0
"""Words of an average value, from which strings that hardly repeat are text."""
_REPEATS = 0.5
"""Fraction of distinct values, above which strings hardly repeat."""
_CODES = 50
_STRAYS = 3
"""Distinct numbers up to which, and distinct words beyond which, a column that mixes both is one of codes."""
_ZONE = r"(:\d\d(?:\.\d+)?)\s?(?:[+-]\d\d:?\d\d|Z)$"
"""The end of a time of the day, and the zone behind it."""
_SEEN = 2_000
"""Values that are read to tell dates and text."""


@dataclass(frozen=True, eq=False)
class Column(Record):
    """A column and its role; ``reason`` says why it is an id or left out."""

    name: Any
    role: Role
    reason: str = ""


def as_frame(value: Any, argument: str) -> pd.DataFrame:
    """Return a table as a pandas data frame; the columns of an array are called "column 0", "column 1", ...

    Raises
    ------
    TypeError, ValueError
        If ``value`` is no table, or has no rows, no columns, or two columns of one name.
    """
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        frame = value
    elif is_table(value) and hasattr(value, "to_pandas"):
        frame = value.to_pandas()
    else:
        array = np.asarray(value)
        if array.ndim != 2:
            got = f"{type(value).__name__} of shape {array.shape}"
            raise ArgumentTypeError(argument, "a table or an array of two axes", got)
        frame = pd.DataFrame(array, columns=[f"column {place}" for place in range(array.shape[1])])
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        got = f"{frame.shape[0]} rows and {frame.shape[1]} columns"
        raise ArgumentValueError(argument, "a table with rows and columns", got)
    if not frame.columns.is_unique:
        repeated = first_few(frame.columns[frame.columns.duplicated()].unique())
        raise ArgumentValueError(argument, "a table with distinct column names", repeated)
    return frame


def common_columns(
    reference: pd.DataFrame,
    current: pd.DataFrame,
    columns: Sequence[Any] | None,
    exclude: Iterable[Any],
) -> tuple[list[Any], list[Column]]:
    """Return the columns that both samples have and that are asked for, and those that are left out.

    Raises
    ------
    ValueError
        If a name is unknown, or no column is common.
    """
    exclude = list(exclude)
    for argument, names in (("columns", columns or ()), ("exclude", exclude)):
        unknown = [name for name in names if name not in reference and name not in current]
        if unknown:
            remedy = f"The columns are {first_few(reference.columns, 8)}."
            got = first_few(unknown)
            raise ArgumentValueError(argument, "names of columns", got, remedy)
    # In the order of the reference; each column is either chosen or left out for a reason.
    chosen = []
    left_out = []
    for name in reference.columns:
        if name in exclude or (columns is not None and name not in columns):
            left_out.append(Column(name, "left out", "excluded"))
        elif name not in current:
            left_out.append(Column(name, "left out", "only in the reference"))
        else:
            chosen.append(name)
    left_out += [
        Column(name, "left out", "only in the current sample")
        for name in current.columns
        if name not in reference and name not in exclude
    ]
    if not chosen:
        got = (
            f"columns {first_few(reference.columns)} in the reference "
            f"and {first_few(current.columns)} in the current sample"
        )
        raise ArgumentValueError("current", "a table with a column of the reference", got)
    return chosen, left_out


def role_of(name: Any, reference: pd.Series, current: pd.Series, id_column: Any = None) -> Column:
    """Return the role of one column from its values in both samples.

    Raises
    ------
    ValueError
        If one sample holds numbers and the other one words.
    """
    if name == id_column:
        return Column(name, "id", "given as the id")
    sides = [reference.dropna(), current.dropna()]
    filled = [side for side in sides if len(side)]
    if not filled:
        return Column(name, "left out", "all its cells are missing")
    # 1. What the values are, alike in both samples.
    kinds = [_kind(side) for side in filled]
    if len(set(kinds)) > 1:
        kinds = _reconciled(name, filled, kinds)
    kind = kinds[0]
    if kind == "string":
        _refuse_strays(name, filled)
    # 2. What they mean: distinct values may be an id, and strings of many words a text.
    if kind in ("integer", "string") and _is_id(name, sides, kind):
        return Column(name, "id", "its values are distinct")
    if kind == "date":
        return _date_role(name, sides)
    if kind in ("integer", "number"):
        return Column(name, "number")
    if kind == "string" and all(_is_text(side) for side in filled):
        return Column(name, "text")
    return Column(name, "category")


def _kind(values: pd.Series) -> str:
    """Return "boolean", "integer", "number", "date" or "string" for values without gaps."""
    import pandas as pd

    if isinstance(values.dtype, pd.CategoricalDtype):
        return "string"
    if pd.api.types.is_bool_dtype(values.dtype):
        return "boolean"
    if pd.api.types.is_integer_dtype(values.dtype):
        return "integer"
    if pd.api.types.is_numeric_dtype(values.dtype):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return "date"
    # A column of objects: its first values tell.
    head = values.iloc[:_SEEN]
    if all(isinstance(value, bool | np.bool_) for value in head):
        return "boolean"
    if all(isinstance(value, int | float | Decimal | np.number) for value in head):
        return "number"
    if read_dates(head.astype(str)) is not None:
        return "date"
    return "string"


def read_dates(values: pd.Series) -> pd.Series | None:
    """Return strings as dates, or None where one of them is no date.

    The clock counts as it was read: a day begins at midnight where it was written, in whatever zone of time.
    Bare numbers such as "2019" or "10" are no dates: pandas would read them as years or nanoseconds.
    """
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        plain: pd.Series = values.dt.tz_localize(None)
        return plain
    text = values.astype(str).str.replace(_ZONE, r"\1", regex=True)
    if not text.str.contains(r"\d[-/.: ]\d", regex=True).all():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a format that pandas has to guess
            return pd.to_datetime(text, utc=True).dt.tz_localize(None)
    except (ValueError, TypeError, OverflowError):
        return None


def _reconciled(name: Any, sides: list[pd.Series], kinds: list[str]) -> list[str]:
    """Return one kind for a column that the samples hold in different types, such as 1 and 1.0."""
    if set(kinds) <= {"boolean", "integer", "number"}:
        return ["number"]
    if set(kinds) <= {"date", "string"} or set(kinds) == {"boolean", "string"}:
        return ["string"]
    words = kinds.index("string") if "string" in kinds else 0
    which = ("the reference", "the current sample")[words]
    first, second = (str(sides[side].iloc[0])[:60] for side in (words, 1 - words))
    got = f"{first!r} in {which} and {second!r} in the other"
    remedy = "Give both samples one type, or exclude the column."
    raise ArgumentValueError(f"column {name!r}", "of one type in both samples", got, remedy)


def _refuse_strays(name: Any, sides: list[pd.Series]) -> None:
    """Raise a ValueError for a column of numbers with a few words among them: as levels they would mean nothing."""
    import pandas as pd

    for side in sides:
        # More than half numbers, but not all: a typing error, not a level. Each value is read once.
        counts = side.astype(str).value_counts()
        values = pd.to_numeric(pd.Series(counts.index, dtype=object), errors="coerce").to_numpy()
        is_stray = np.isnan(values)
        numbers = values[~is_stray]
        fraction = counts.to_numpy()[~is_stray].sum() / len(side)
        # Few integers, or many words, are codes: 24 grades of school, or diagnoses such as 250, V27, E909.
        are_grades = (numbers % 1 == 0).all() and len(np.unique(numbers)) <= _CODES
        is_code = are_grades or is_stray.sum() > _STRAYS
        if 0.5 < fraction < 1.0 and not is_code:
            strays = side[side.astype(str).isin(counts.index[is_stray])]
            remedy = "Leave such cells empty, or the column out."
            got = f"{str(strays.iloc[0])[:60]!r} in row {strays.index[0]}"
            raise ArgumentValueError(f"column {name!r}", "of numbers or of words", got, remedy)


def _is_id(name: Any, sides: list[pd.Series], kind: str) -> bool:
    """Return True for values that are all distinct and look like an id, by the name or by themselves."""
    import pandas as pd

    if not all(side.is_unique for side in sides) or sum(map(len, sides)) < 3:
        return False
    if _ID_NAME.search(str(name)):
        return True
    if kind == "integer":
        return all(len(side) > 20 and side.max() - side.min() == len(side) - 1 for side in sides)
    joined = pd.concat([side.astype(str).iloc[:_SEEN] for side in sides])
    if joined.str.contains(r"\s", regex=True).any():
        return False
    # Tokens of one length that hold digits, such as hashes and order numbers.
    return bool(
        len(joined) > 20 and joined.str.len().nunique() <= 2 and joined.str.contains(r"\d").all()
    )


def _is_text(values: pd.Series) -> bool:
    head = values.iloc[:_SEEN].astype(str)
    if head.nunique() <= _REPEATS * len(head):
        return False
    return bool(head.str.count(r"\w+").mean() >= _TEXT_WORDS)


def _date_role(name: Any, sides: list[pd.Series]) -> Column:
    """Leave out dates that only say when a sample was taken: the samples do not overlap in them."""
    dates = [read_dates(side) for side in sides]
    if all(side is not None and len(side) for side in dates):
        first, second = dates
        later, earlier = (first, second) if first.min() > second.min() else (second, first)  # type: ignore[union-attr]
        if later.quantile(0.25) > earlier.quantile(0.99):  # type: ignore[union-attr]
            return Column(name, "left out", "the samples cover different dates")
    return Column(name, "date")
