"""Corruptions of tables: noise in columns, missing values, swapped categories, unit errors.

Tables are pandas DataFrames and come back as DataFrames with the same index, columns and order; a two-dimensional
NumPy array is taken as a table with columns 0, 1, 2, ... and comes back as an array.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import check_number, first_few
from shiftmetrics_lab.shifts.protocol import SampleShift
from shiftmetrics_lab.shifts.streams import RowStreams, child_seed

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = Hashable
"""The name of a column."""


@dataclass(frozen=True)
class CellDraws:
    """Random numbers for the cells of one column: those of some rows of its own streams."""

    streams: RowStreams
    rows: slice

    def uniforms(self, shape: tuple[int, ...] = ()) -> FloatArray:
        """Return numbers in [0, 1), of this shape for each row."""
        return self.streams.uniforms(self.rows, shape)

    def normals(self) -> FloatArray:
        """Return a standard normal number for each row."""
        return self.streams.normals(self.rows)


class TableShift(SampleShift):
    """Base of the table corruptions: opens the table, picks the columns and corrupts one after the other."""

    columns: Sequence[Column] | None
    max_strength: ClassVar[float] = 1.0

    def _check(self, X: Any) -> None:
        frame = as_frame(X)
        for name in self._columns(frame):
            self._check_column(frame[name], name)

    def _columns(self, frame: pd.DataFrame) -> list[Column]:
        """Return the columns to corrupt: those asked for, or all that this shift can work on."""
        if self.columns is None:
            names: list[Column] = [name for name in frame.columns if self._suits(frame[name])]
            if not names:
                expected = f"a table with a column for {type(self).__name__}"
                raise ArgumentValueError("X", expected, first_few(frame.columns, 6))
            return names
        if isinstance(self.columns, str) or not isinstance(self.columns, Sequence):
            raise ArgumentTypeError("columns", "a list of column names", value=self.columns)
        if not self.columns:
            expected = "at least one column name, or None for all"
            raise ArgumentValueError("columns", expected, "an empty list")
        for name in self.columns:
            check_present(frame, name, "columns")
        return list(self.columns)

    def _suits(self, column: pd.Series[Any]) -> bool:
        return is_numeric(column)

    def _check_column(self, column: pd.Series[Any], name: Column) -> None:
        if not is_numeric(column):
            got = f"{name!r} of dtype {column.dtype}"
            raise ArgumentTypeError("columns", "numeric columns", got, "Leave it out.")

    def _shift(
        self, X: Any, strength: float, streams: RowStreams, first_row: int, progress: bool
    ) -> Any:
        frame = as_frame(X)
        rows = slice(first_row, first_row + len(frame))
        shifted = frame.copy()
        for name in self._columns(frame):
            position = int(np.flatnonzero(frame.columns == name)[0])
            own = RowStreams(child_seed(streams.seed, position), streams.name)
            draws = CellDraws(own, rows)
            shifted.isetitem(position, self._corrupt(frame[name], strength, draws))
        return shifted.to_numpy() if isinstance(X, np.ndarray) else shifted

    @abstractmethod
    def _corrupt(self, column: pd.Series[Any], strength: float, draws: CellDraws) -> Any:
        """Return the corrupted column."""


@dataclass(frozen=True)
class ColumnNoise(TableShift):
    """Gaussian noise in numeric columns. Strength: its standard deviation in units of each column's own.

    Parameters
    ----------
    columns : list, optional
        Which columns. Default: all numeric ones (bool is not numeric).
    scales : mapping, optional
        Standard deviation of a column by name, where the sample's own is not wanted (a batch of a larger table,
        or the scale of the training data).

    Notes
    -----
    Integers stay integers: the noise in integer columns is rounded. Missing values stay missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics_lab.shifts import ColumnNoise
    >>> table = pd.DataFrame({"age": [20, 40, 60], "name": ["a", "b", "c"]})
    >>> ColumnNoise()(table, strength=0.5, rng=0).dtypes.astype(str).tolist() == table.dtypes.astype(str).tolist()
    True
    """

    columns: Sequence[Column] | None = None
    scales: Mapping[Column, float] | None = None
    max_strength: ClassVar[float] = math.inf

    def _corrupt(self, column: pd.Series[Any], strength: float, draws: CellDraws) -> Any:
        name = column.name
        scale = float(column.std(ddof=0))
        if self.scales is not None and name in self.scales:
            scale = check_number(self.scales[name], f"scales[{name!r}]", low=0.0)
        noise = strength * scale * draws.normals()
        if column.dtype.kind in "iu":
            limits = np.iinfo(getattr(column.dtype, "numpy_dtype", column.dtype))
            noisy = (column + np.rint(noise)).clip(limits.min, limits.max)
            return noisy.astype(column.dtype)
        return (column + noise).astype(column.dtype)


@dataclass(frozen=True)
class MissingValues(TableShift):
    """Values that go missing, completely at random. Strength: the fraction of cells, in [0, 1].

    Parameters
    ----------
    columns : list, optional
        Which columns. Default: all.
    fill : optional
        What stands in place of a missing value: NaN by default, or a code such as -1 or "?".

    Notes
    -----
    Integer and bool columns hold no NaN and become floating where one falls; pandas' nullable types stay.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics_lab.shifts import MissingValues
    >>> table = pd.DataFrame({"age": [20.0, 40.0], "sex": ["f", "m"]})
    >>> int(MissingValues()(table, strength=1.0).isna().sum().sum())
    4
    """

    columns: Sequence[Column] | None = None
    fill: Any = None

    def _suits(self, column: pd.Series[Any]) -> bool:
        return True

    def _check_column(self, column: pd.Series[Any], name: Column) -> None:
        """Every column can miss values."""

    def _corrupt(self, column: pd.Series[Any], strength: float, draws: CellDraws) -> Any:
        is_missing = draws.uniforms() < strength
        if not is_missing.any():
            return column
        if self.fill is not None:
            return _put(column, is_missing, self.fill)
        if column.dtype.kind in "iub" and isinstance(column.dtype, np.dtype):
            column = column.astype(np.float64)
        return column.mask(is_missing)


@dataclass(frozen=True)
class CategorySwap(TableShift):
    """Categories entered wrongly. Strength: the fraction of cells, in [0, 1], that get another category.

    The wrong category is drawn among the column's other ones as often as they occur in it (in a batch of a larger
    table: in that batch).

    Parameters
    ----------
    columns : list, optional
        Which columns. Default: those of strings, categories and bool. Name columns of coded numbers yourself.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics_lab.shifts import CategorySwap
    >>> table = pd.DataFrame({"sex": ["f", "m", "m"]})
    >>> CategorySwap()(table, strength=1.0, rng=0)["sex"].tolist()
    ['m', 'f', 'f']
    """

    columns: Sequence[Column] | None = None

    def _suits(self, column: pd.Series[Any]) -> bool:
        return not is_numeric(column) and column.nunique() > 1

    def _check_column(self, column: pd.Series[Any], name: Column) -> None:
        if column.nunique() < 2:
            expected = "columns of at least two categories"
            raise ArgumentValueError("columns", expected, f"{name!r}, which has one or none")

    def _corrupt(self, column: pd.Series[Any], strength: float, draws: CellDraws) -> Any:
        import pandas as pd

        counts = column.value_counts(sort=False)
        counts = counts[counts > 0]
        fractions = counts.to_numpy(dtype=np.float64) / float(counts.sum())
        numbers = draws.uniforms((2,))
        swapped = (numbers[:, 0] < strength) & column.notna().to_numpy()
        places = counts.index.get_indexer(pd.Index(column[swapped]))
        # Drawing among the others: a point on the line of all fractions with the row's own one cut out.
        ends = np.cumsum(fractions)
        own = fractions[places]
        points = numbers[swapped, 1] * (1.0 - own)
        points = np.where(points >= ends[places] - own, points + own, points)
        drawn = np.minimum(np.searchsorted(ends, points, side="right"), len(ends) - 1)
        # Rounding at the seam could hand a row its own category back: take its neighbour.
        drawn = np.where(drawn == places, (places + 1) % len(ends), drawn)
        return _put(column, swapped, counts.index.to_numpy()[drawn])


@dataclass(frozen=True)
class UnitError(TableShift):
    """Values entered in another unit. Strength: the fraction of cells, in [0, 1], multiplied by ``factor``.

    Parameters
    ----------
    columns : list, optional
        Which columns. Default: all numeric ones.
    factor : float, default 10
        For example 12 (years entered as months), 2.2046 (kilograms as pounds), 1000, or 0.1 for a slipped point.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics_lab.shifts import UnitError
    >>> UnitError(factor=12)(pd.DataFrame({"age": [2, 5]}), strength=1.0)["age"].tolist()
    [24, 60]
    """

    columns: Sequence[Column] | None = None
    factor: float = 10.0

    def _corrupt(self, column: pd.Series[Any], strength: float, draws: CellDraws) -> Any:
        factor = check_number(self.factor, "factor")
        wrong = draws.uniforms() < strength
        multiplied = column.to_numpy(dtype=np.float64, na_value=np.nan)[wrong] * factor
        return _put(column, wrong, multiplied)


def as_frame(X: Any) -> pd.DataFrame:
    """Return ``X`` as a DataFrame with distinct column names and at least one row.

    Raises
    ------
    TypeError, ValueError
        If ``X`` is no table, has no rows, or repeats a column name.
    """
    import pandas as pd

    if isinstance(X, np.ndarray):
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            got = f"{X.ndim}-D of {X.dtype}"
            raise ArgumentTypeError("X", "a DataFrame or a 2-D array of numbers", got)
        frame = pd.DataFrame(X)
    elif isinstance(X, pd.DataFrame):
        frame = X
    else:
        raise ArgumentTypeError("X", "a pandas DataFrame or a 2-D NumPy array", type(X).__name__)
    if not len(frame):
        raise ArgumentValueError("X", "a table of at least one row", "0 rows")
    if not frame.columns.is_unique:
        repeated = frame.columns[frame.columns.duplicated()]
        got = f"repeated {first_few(repeated, 6)}"
        raise ArgumentValueError("X", "a table of distinct column names", got)
    return frame


def is_numeric(column: pd.Series[Any]) -> bool:
    """Return True if a column holds numbers; bool and categories do not count."""
    return getattr(column.dtype, "kind", "O") in "iuf"


def _put(column: pd.Series[Any], where: BoolArray, values: Any) -> Any:
    """Return the column with ``values`` at these rows, in its own dtype where that holds them."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        known = set(column.cat.categories)
        given = np.atleast_1d(np.asarray(values, dtype=object))
        new = [value for value in given if value not in known]
        if new:
            column = column.cat.add_categories(list(dict.fromkeys(new)))
        replaced = column.copy()
        replaced.iloc[np.flatnonzero(where)] = values
        return replaced
    replaced = column.astype(object)
    replaced.iloc[np.flatnonzero(where)] = values
    try:
        same = replaced.astype(column.dtype)
    except (TypeError, ValueError, OverflowError):
        return replaced.infer_objects()
    kept = (same.astype(object) == replaced) | replaced.isna()
    return same if bool(kept.all()) else replaced.infer_objects()


def check_present(frame: pd.DataFrame, name: Column, argument: str) -> None:
    """Raise a ValueError unless ``name`` is a column of the table."""
    if name not in frame.columns:
        raise ArgumentValueError(argument, f"among {first_few(frame.columns, 6)}", value=name)
