"""What each column of two tables is: a number, a category, a date, text, an id; or left out, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shiftmetrics._core.arrays import check_in_memory, is_table
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.column_kinds import KindName
from shiftmetrics.tables.python import cells_of

if TYPE_CHECKING:
    import pandas as pd

Role = Literal["number", "category", "date", "text", "id", "left out"]

_ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid|key|index|rownames?|row)$|^unnamed: ?\d+$", re.I)
_UNNAMED = re.compile(r"(unnamed: ?\d+)?", re.I)
"""How pandas and R call the column of an index that has no name."""
_SEEN = 2_000
"""Values that are read to tell tokens."""


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

    check_in_memory(value, argument)
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


def as_cells(value: Any, argument: str) -> Cells:
    """Return a table, or the cells of a file, as cells; an index without a name is no column."""
    if isinstance(value, Cells) or (is_table(value) and not hasattr(value, "iloc")):
        return cells_of(value, argument)
    frame = as_frame(value, argument)
    if all(name is None for name in frame.index.names):
        frame = frame.reset_index(drop=True)
    # A frame says by itself which of its cells are words.
    return replace(cells_of(frame, argument), written=frozenset())


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


def role_of(
    name: Any, kind: KindName, reference: pd.Series, current: pd.Series, id_column: Any = None
) -> Column:
    """Return the role of one column from its kind and its values in both samples."""
    if name == id_column:
        return Column(name, "id", "given as the id")
    if kind == "empty":
        return Column(name, "left out", "all its cells are missing")
    if kind == "list":
        return Column(name, "left out", "its cells hold lists or objects")
    sides = [reference.dropna(), current.dropna()]
    # Distinct values may be an id, and dates may only tell when a sample was taken.
    if kind in ("integer", "code", "word", "text") and _is_id(name, sides, kind):
        return Column(name, "id", "its values are distinct")
    if _UNNAMED.fullmatch(str(name)):
        return Column(name, "left out", "it numbers the rows")
    if kind == "date":
        return _date_role(name, sides)
    if kind in ("integer", "number"):
        return Column(name, "number")
    if kind == "text":
        return Column(name, "text")
    return Column(name, "category")


def _is_id(name: Any, sides: list[pd.Series], kind: KindName) -> bool:
    """Return True for values that are all distinct and look like an id, by the name or by themselves."""
    import pandas as pd

    if not all(side.is_unique for side in sides) or sum(map(len, sides)) < 3:
        return False
    if _ID_NAME.search(str(name)) or not str(name):
        return True
    # Integers are an id without a telling name only where they count the rows: none is left out.
    if kind == "integer":
        return all(len(side) > 20 and side.max() - side.min() == len(side) - 1 for side in sides)
    joined = pd.concat([side.astype(str).iloc[:_SEEN] for side in sides])
    if joined.str.contains(r"\s", regex=True).any():
        return False
    # Tokens of one length that hold digits, such as hashes and order numbers.
    return bool(
        len(joined) > 20 and joined.str.len().nunique() <= 2 and joined.str.contains(r"\d").all()
    )


def _date_role(name: Any, sides: list[pd.Series]) -> Column:
    """Leave out dates that only say when a sample was taken: the samples do not overlap in them."""
    if all(len(side) for side in sides):
        first, second = sides
        later, earlier = (first, second) if first.min() > second.min() else (second, first)
        if later.quantile(0.25) > earlier.quantile(0.99):
            return Column(name, "left out", "the samples cover different dates")
    return Column(name, "date")
