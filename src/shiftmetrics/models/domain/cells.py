"""The cells of one column of a table as codes, and back: numbers, categories and missing cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.record import Record

_MOST_NUMBERS = 20  # with fractions, that may be categories
Missing = Literal["nan", "none", "NA", "NaT"]


@dataclass(frozen=True, eq=False, kw_only=True)
class TableColumn(Record):
    """How the values of one column are coded.

    Attributes
    ----------
    name : str
        Its name; ``x0``, ``x1``, ... in arrays.
    label : str or int
        Its label in the table.
    dtype : str
        Its dtype in the table.
    categories : tuple or None
        The values that the codes stand for; None for numbers.
    missing : {"nan", "none", "NA", "NaT"} or None
        How the table writes missing cells, where the column has some.
    """

    name: str
    label: Any
    dtype: str
    categories: tuple[Any, ...] | None = None
    missing: Missing | None = None

    @property
    def kind(self) -> Literal["number", "category"]:
        """What the codes are."""
        if self.categories is None:
            return "number"
        return "category"


# From the cells of a column to codes.


def coded_cells(
    series: Any, name: str, is_category: bool, levels: Sequence[Any] | None, argument: str
) -> tuple[TableColumn, FloatArray]:
    """Return a column of a table and its codes; ``is_category`` where its numbers stand for categories."""
    import pandas as pd

    is_category = is_category or levels is not None
    if series.dtype == object and not is_category:
        series = inferred(series)
    if getattr(series.dtype, "kind", "O") == "c":
        expected = f"of numbers or strings in column {name!r}"
        raise ArgumentTypeError(argument, expected, f"dtype {series.dtype}")
    missing = series.isna().to_numpy(dtype=bool)
    column = TableColumn(
        name=name,
        label=series.name,
        dtype=str(series.dtype),
        missing=_missing_mark(series[missing], name, argument),
    )
    types = pd.api.types
    is_number = types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype)
    if is_number and not is_category:
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        infinite = np.isinf(numbers)
        if infinite.any():
            row = int(infinite.argmax())
            got = f"{numbers[row]:g} in column {name!r} at row {row}"
            remedy = "Drop or clip these rows first."
            raise ArgumentValueError(argument, "finite everywhere", got, remedy)
        return column, numbers
    expected = "a table of numbers and categories"
    if types.is_datetime64_any_dtype(series.dtype) or types.is_timedelta64_dtype(series.dtype):
        got = f"dates in column {name!r}"
        remedy = (
            f"Turn them into numbers; or fix one of them, with {argument}.drop(columns={[name]}) as the table and "
            f"lambda rows: model.predict(rows.assign(**{{{name!r}: {argument}[{name!r}].iloc[0]}})"
            f"[list({argument})]) as the model."
        )
        raise ArgumentTypeError(argument, expected, got, remedy)
    held = series[~missing]
    categories = _categories(held, levels, name, argument)
    if levels is None and len(categories) > _MOST_NUMBERS and _are_fractions(categories):
        got = f"{len(categories)} different numbers as the categories of column {name!r}"
        remedy = "Convert it to float, or put the numbers into ranges."
        raise ArgumentTypeError(argument, expected, got, remedy)
    places = {value: place for place, value in enumerate(categories)}
    codes = np.full(len(series), np.nan)
    codes[~missing] = [places[value] for value in held.tolist()]
    # Plain values of Python, which JSON can hold.
    plain = []
    for value in categories:
        if isinstance(value, np.generic):
            value = value.item()
        plain.append(value)
    return replace(column, categories=tuple(plain)), codes


def inferred(series: Any) -> Any:
    """Return a column of objects in the dtype of its values; where cells are missing, only numbers get one."""
    present = series.notna()
    held = series[present]
    has_decimals = any(isinstance(value, Decimal) for value in held)
    if present.all() and not has_decimals:
        return series.infer_objects()
    numbers = []
    for value in held:
        is_number = isinstance(value, Real | Decimal)
        numbers.append(is_number and not isinstance(value, bool | np.bool_))
    if numbers and all(numbers):
        return series.where(present, np.nan).astype(np.float64)
    return series


def _are_fractions(categories: Sequence[Any]) -> bool:
    """Return True if all categories are numbers, or strings of numbers, and some are not integers."""
    try:
        numbers = np.asarray(categories, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool((numbers != np.rint(numbers)).any())


def _categories(held: Any, levels: Sequence[Any] | None, name: str, argument: str) -> list[Any]:
    """Return the known categories of a column and others in it; else those of its dtype, else those in it."""
    import pandas as pd

    if levels is not None:
        known = list(levels)
        others = [value for value in pd.unique(held) if value not in set(known)]
        return known + others
    if isinstance(held.dtype, pd.CategoricalDtype):
        return list(held.dtype.categories)
    if pd.api.types.is_bool_dtype(held.dtype):
        return [False, True]
    try:
        return sorted(pd.unique(held))
    except TypeError as error:
        expected = "a table of numbers and categories"
        got = f"mixed values in column {name!r}"
        raise ArgumentTypeError(argument, expected, got) from error


def _missing_mark(cells: Any, name: str, argument: str) -> Missing | None:
    """Return how missing cells are written; None where there are none."""
    import pandas as pd

    # By identity: NA, NaT and NaN are equal to nothing.
    marks: dict[int, Missing] = {id(None): "none", id(pd.NA): "NA", id(pd.NaT): "NaT"}
    found: dict[Missing, None] = {}
    for cell in cells.tolist():
        mark = marks.get(id(cell), "nan")
        found[mark] = None
    if len(found) > 1:
        expected = "a table that writes missing cells in one way in each column"
        got = f"{' and '.join(found)} in column {name!r}"
        remedy = f"Use X[{name!r}] = X[{name!r}].where(X[{name!r}].notna(), None)."
        raise ArgumentValueError(argument, expected, got, remedy)
    return next(iter(found), None)


# From codes to the cells of a column.


def decoded_cells(column: TableColumn, codes: FloatArray, dtype: Any, index: Any) -> Any:
    """Return codes in the dtype and categories of a column, with missing cells as the table writes them."""
    import pandas as pd

    dtype = pd.api.types.pandas_dtype(dtype)
    if column.categories is None:
        return pd.Series(_numbers(column, codes, dtype), index=index)
    missing = np.isnan(codes)
    positions = np.where(missing, -1, codes).astype(np.int64)
    if isinstance(dtype, pd.CategoricalDtype):
        categories = list(column.categories)
        # A dtype that is known by its name alone, as from JSON, has no categories.
        if dtype.categories is None or list(dtype.categories) != categories:
            dtype = pd.CategoricalDtype(categories)
        categorical = pd.Categorical.from_codes(positions, dtype=dtype)
        return pd.Series(categorical, index=index)
    # Position -1 is that of missing cells.
    marks = {"none": None, "NA": pd.NA, "NaT": pd.NaT}
    values = np.empty(len(column.categories) + 1, dtype=object)
    values[:-1] = column.categories
    values[-1] = marks.get(column.missing or "nan", math.nan)
    if missing.any() and isinstance(dtype, np.dtype):  # some have no missing values themselves
        substitutes = {"b": object, "i": np.float64, "u": np.float64}
        dtype = np.dtype(substitutes.get(dtype.kind, dtype))
    cells = values[positions]
    return pd.Series(cells, index=index, dtype=object).astype(dtype)


def in_own_categories(cells: Any, dtype: Any) -> Any:
    """Return cells of categories with those of a dtype, in its order; others that are held follow.

    Models may be asked with the categories that they know; a table is given back as it came.
    """
    own = dtype.categories
    others = [value for value in cells.dropna().unique() if value not in own]
    return cells.cat.set_categories([*own, *others], ordered=dtype.ordered)


def _numbers(column: TableColumn, codes: FloatArray, dtype: Any) -> Any:
    """Return numbers in the dtype of the column where nothing is lost, else as float64."""
    import pandas as pd

    if plain_dtype(dtype).kind == "O":
        # Numbers of the kind that was found among the objects.
        return whole_where_possible(codes, plain_dtype(column.dtype)).astype(object)
    missing = np.isnan(codes)
    plain = plain_dtype(dtype)
    if isinstance(dtype, pd.SparseDtype):
        numbers = whole_where_possible(codes, plain)
        return pd.arrays.SparseArray(numbers, fill_value=dtype.fill_value)
    nullable = isinstance(dtype, pd.api.extensions.ExtensionDtype)
    if not nullable:
        return whole_where_possible(codes, plain)
    present = whole_where_possible(codes[~missing], plain)
    if (
        present.dtype.kind == "f" and plain.kind != "f"
    ):  # integers that were changed to a number in between
        return pd.array(codes, dtype="Float64")
    values = np.empty(len(codes), dtype=object)
    values[missing] = pd.NA
    values[~missing] = present
    return pd.Series(values, dtype=dtype).array


def plain_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of NumPy in which a dtype of numbers holds them."""
    if isinstance(dtype, str):
        import pandas as pd

        dtype = pd.api.types.pandas_dtype(dtype)
    for inner in ("numpy_dtype", "subtype"):  # of nullable and of sparse columns
        dtype = getattr(dtype, inner, dtype)
    plain: np.dtype[Any] = np.dtype(dtype)
    return plain


def whole_where_possible(codes: FloatArray, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the codes in the dtype of the column; as float64 where it is of integers and a code is none of them."""
    if dtype.kind == "f":
        return codes.astype(dtype, copy=False)
    if dtype.kind in "iu" and codes.size and (codes == np.rint(codes)).all():
        limits = np.iinfo(dtype)
        if codes.min() >= limits.min and codes.max() <= limits.max:
            return codes.astype(dtype)
    return codes
