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

from shiftmetrics._core.arrays import BoolArray
from shiftmetrics._core.validation import check_number, describe, first_few
from shiftmetrics.lab.shifts.protocol import SampleShift
from shiftmetrics.lab.shifts.streams import RowStreams, child_seed

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = Hashable
"""The name of a column."""


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
                raise ValueError(describe("X", expected, first_few(frame.columns, 6)))
            return names
        if isinstance(self.columns, str) or not isinstance(self.columns, Sequence):
            raise TypeError(describe("columns", "a list of column names", value=self.columns))
        if not self.columns:
            raise ValueError(
                describe("columns", "at least one column name, or None for all", "an empty list")
            )
        for name in self.columns:
            check_present(frame, name, "columns")
        return list(self.columns)

    def _suits(self, column: pd.Series[Any]) -> bool:
        return is_numeric(column)

    def _check_column(self, column: pd.Series[Any], name: Column) -> None:
        if not is_numeric(column):
            got = f"{name!r} of dtype {column.dtype}"
            raise TypeError(describe("columns", "numeric columns", got, "Leave it out."))

    def _shift(
        self, X: Any, strength: float, streams: RowStreams, first_row: int, progress: bool
    ) -> Any:
        frame = as_frame(X)
        rows = slice(first_row, first_row + len(frame))
        shifted = frame.copy()
        for name in self._columns(frame):
            position = int(np.flatnonzero(frame.columns == name)[0])
            own = RowStreams(child_seed(streams.seed, position), streams.name)
            column = self._corrupt(frame[name], name, strength, own, rows)
            shifted.isetitem(position, column)
        return shifted.to_numpy() if isinstance(X, np.ndarray) else shifted

    @abstractmethod
    def _corrupt(
        self,
        column: pd.Series[Any],
        name: Column,
        strength: float,
        streams: RowStreams,
        rows: slice,
    ) -> Any:
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
    Whole numbers stay whole: the noise in integer columns is rounded. Missing values stay missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics.lab.shifts import ColumnNoise
    >>> table = pd.DataFrame({"age": [20, 40, 60], "name": ["a", "b", "c"]})
    >>> ColumnNoise()(table, strength=0.5, rng=0).dtypes.astype(str).tolist() == table.dtypes.astype(str).tolist()
    True
    """

    columns: Sequence[Column] | None = None
    scales: Mapping[Column, float] | None = None
    max_strength: ClassVar[float] = math.inf

    def _corrupt(
        self,
        column: pd.Series[Any],
        name: Column,
        strength: float,
        streams: RowStreams,
        rows: slice,
    ) -> Any:
        scale = (
            float(column.std(ddof=0))
            if self.scales is None or name not in self.scales
            else self.scales[name]
        )
        scale = check_number(scale, f"scales[{name!r}]", low=0.0)
        noise = strength * scale * streams.normals(rows)
        if column.dtype.kind in "iu":
            limits = np.iinfo(getattr(column.dtype, "numpy_dtype", column.dtype))
            noisy = (column + np.rint(noise)).clip(limits.min, limits.max)
            return noisy.astype(column.dtype)
        return (column + noise).astype(column.dtype)


@dataclass(frozen=True)
class MissingValues(TableShift):
    """Values that go missing, completely at random. Strength: the share of cells, in [0, 1].

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
    >>> from shiftmetrics.lab.shifts import MissingValues
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

    def _corrupt(
        self,
        column: pd.Series[Any],
        name: Column,
        strength: float,
        streams: RowStreams,
        rows: slice,
    ) -> Any:
        lost = streams.uniforms(rows) < strength
        if not lost.any():
            return column
        if self.fill is not None:
            return _put(column, lost, self.fill)
        if column.dtype.kind in "iub" and isinstance(column.dtype, np.dtype):
            column = column.astype(np.float64)
        return column.mask(lost)


@dataclass(frozen=True)
class CategorySwap(TableShift):
    """Categories entered wrongly. Strength: the share of cells, in [0, 1], that get another category.

    The wrong category is drawn among the column's other ones as often as they occur in it (in a batch of a larger
    table: in that batch).

    Parameters
    ----------
    columns : list, optional
        Which columns. Default: those of texts, categories and bool. Name columns of coded numbers yourself.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics.lab.shifts import CategorySwap
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
            raise ValueError(describe("columns", expected, f"{name!r}, which has one or none"))

    def _corrupt(
        self,
        column: pd.Series[Any],
        name: Column,
        strength: float,
        streams: RowStreams,
        rows: slice,
    ) -> Any:
        import pandas as pd

        counts = column.value_counts(sort=False)
        counts = counts[counts > 0]
        shares = counts.to_numpy(dtype=np.float64) / float(counts.sum())
        draws = streams.uniforms(rows, (2,))
        swapped = (draws[:, 0] < strength) & column.notna().to_numpy()
        places = counts.index.get_indexer(pd.Index(column[swapped]))
        # Drawing among the others: a point on the line of all shares with the row's own share cut out.
        ends = np.cumsum(shares)
        own_start, own_share = ends[places] - shares[places], shares[places]
        points = draws[swapped, 1] * (1.0 - own_share)
        points = np.where(points >= own_start, points + own_share, points)
        drawn = np.minimum(np.searchsorted(ends, points, side="right"), len(ends) - 1)
        # Rounding at the seam could hand a row its own category back: take its neighbour.
        drawn = np.where(drawn == places, (places + 1) % len(ends), drawn)
        return _put(column, swapped, counts.index.to_numpy()[drawn])


@dataclass(frozen=True)
class UnitError(TableShift):
    """Values entered in another unit. Strength: the share of cells, in [0, 1], multiplied by ``factor``.

    Parameters
    ----------
    columns : list, optional
        Which columns. Default: all numeric ones.
    factor : float, default 10
        For example 12 (years entered as months), 2.2046 (kilograms as pounds), 1000, or 0.1 for a slipped point.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics.lab.shifts import UnitError
    >>> UnitError(factor=12)(pd.DataFrame({"age": [2, 5]}), strength=1.0)["age"].tolist()
    [24, 60]
    """

    columns: Sequence[Column] | None = None
    factor: float = 10.0

    def _corrupt(
        self,
        column: pd.Series[Any],
        name: Column,
        strength: float,
        streams: RowStreams,
        rows: slice,
    ) -> Any:
        factor = check_number(self.factor, "factor")
        wrong = streams.uniforms(rows) < strength
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
            raise TypeError(
                describe("X", "a DataFrame or a 2-D array of numbers", f"{X.ndim}-D of {X.dtype}")
            )
        frame = pd.DataFrame(X)
    elif isinstance(X, pd.DataFrame):
        frame = X
    else:
        raise TypeError(describe("X", "a pandas DataFrame or a 2-D NumPy array", type(X).__name__))
    if not len(frame):
        raise ValueError(describe("X", "a table of at least one row", "0 rows"))
    if not frame.columns.is_unique:
        repeated = frame.columns[frame.columns.duplicated()]
        raise ValueError(
            describe("X", "a table of distinct column names", f"repeated {first_few(repeated, 6)}")
        )
    return frame


def is_numeric(column: pd.Series[Any]) -> bool:
    """Tell whether a column holds numbers; bool and categories do not count."""
    return getattr(column.dtype, "kind", "O") in "iuf"


def _put(column: pd.Series[Any], where: BoolArray, values: Any) -> Any:
    """Return the column with ``values`` at these rows, in its own dtype where that holds them."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        known = set(column.cat.categories)
        new = [
            value for value in np.atleast_1d(np.asarray(values, dtype=object)) if value not in known
        ]
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
        raise ValueError(describe(argument, f"among {first_few(frame.columns, 6)}", value=name))
