"""Tables as coded matrices and back: what moves is a float64 matrix, what the model sees is the user's own table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, is_table, to_numpy
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import describe
from shiftmetrics.stability.domain import positions_of

ColumnKind = Literal["number", "category"]


@dataclass(frozen=True, eq=False, kw_only=True)
class TableColumn(Record):
    """One column: how its values are coded.

    Attributes
    ----------
    name : str
        Its name; ``x0``, ``x1``, ... in arrays.
    label : str or int
        Its label in the table.
    kind : {"number", "category"}
        Categories are coded as 0, 1, ...
    dtype : str
        Its dtype in the table.
    categories : tuple or None
        The values that the codes stand for.
    """

    name: str
    label: Any
    kind: ColumnKind
    dtype: str
    categories: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Table(Record):
    """Rows that a model was given, coded.

    Attributes
    ----------
    columns : tuple of TableColumn
        Its columns.
    codes : array of shape (n_samples, n_features)
        Numbers, and the numbers of categories.
    is_frame : bool
        Whether the model sees a pandas DataFrame, or else an array.
    row_labels : array of shape (n_samples,) or None
        Labels of the rows; None for an array.
    row_shape : tuple of int or None
        The shape of one row where it has several axes, as images have; its columns are then named by their place,
        such as "0,3,7".
    index : pandas.Index or None
        The same as they came; not part of the JSON.
    dtypes : tuple or None
        The dtypes of the columns as they came; not part of the JSON.
    """

    columns: tuple[TableColumn, ...]
    codes: FloatArray
    is_frame: bool
    row_labels: npt.NDArray[Any] | None = None
    row_shape: tuple[int, ...] | None = None
    index: Any = field(default=None, repr=False)
    dtypes: Any = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        categorical: Any = (),
        levels: Mapping[int, Sequence[Any]] | None = None,
        argument: str = "X",
    ) -> Self:
        """Code a table or an array.

        Parameters
        ----------
        X : array_like of shape (n_samples, ...) or DataFrame of shape (n_samples, n_features)
            Rows. Columns of text, bool or a categorical dtype are categories, all others are numbers.
        categorical : sequence of str or int
            Columns of numbers that stand for categories.
        levels : dict of int to sequence, optional
            By position, the categories of a column where they are known, for instance those that an encoder was
            fitted to. Default: those of its dtype, else those seen.
        argument : str
            Name for messages.

        Raises
        ------
        ValueError
            If ``X`` has no rows, repeated column names, or a missing or infinite value, whose column is named.
        TypeError
            If a column is neither numbers nor categories.
        """
        import pandas as pd

        is_frame, row_shape = is_table(X), None
        if is_frame:
            frame = X if isinstance(X, pd.DataFrame) else X.to_pandas()
        else:
            if hasattr(X, "toarray"):
                raise TypeError(
                    describe(argument, "a dense array", f"a sparse {type(X).__name__}", "Use toarray().")
                )
            array = to_numpy(X) if hasattr(X, "shape") else np.asarray(X)
            if array.ndim < 2:
                raise ValueError(
                    describe(argument, "of shape (n_samples, n_features)", f"shape {array.shape}")
                )
            if array.ndim > 2:
                row_shape = tuple(array.shape[1:])
                array = array.reshape(len(array), math.prod(row_shape))
            frame = pd.DataFrame(array, copy=False)
            if array.dtype.kind in "OUS":
                frame = frame.infer_objects()
        if 0 in frame.shape:
            raise ValueError(
                describe(argument, "a table of at least one row and column", f"shape {frame.shape}")
            )
        names = [str(label) if is_frame else f"x{label}" for label in frame.columns]
        if row_shape is not None:
            names = [",".join(map(str, place)) for place in np.ndindex(row_shape)]
        if len(set(names)) != len(names):
            repeated = sorted({name for name in names if names.count(name) > 1})[:3]
            raise ValueError(describe(argument, "a table with distinct column names", f"repeated {repeated}"))
        marked = set(positions_of(categorical, names, "categorical").tolist())
        coded = [
            _code(
                frame.iloc[:, place],
                names[place],
                is_category=place in marked,
                levels=None if levels is None else levels.get(place),
                argument=argument,
            )
            for place in range(len(names))
        ]
        return cls(
            columns=tuple(column for column, _ in coded),
            codes=np.stack([codes for _, codes in coded], axis=1),
            is_frame=is_frame,
            row_labels=_plain_labels(frame.index) if is_frame else None,
            row_shape=row_shape,
            index=frame.index if is_frame else None,
            dtypes=tuple(frame.dtypes),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def n_categories(self) -> dict[int, int]:
        """By the position of each column of categories, how many there are."""
        columns = enumerate(self.columns)
        return {place: len(column.categories) for place, column in columns if column.categories is not None}

    def coded(self, X: Any, argument: str = "X") -> FloatArray:
        """Return other rows of the same columns, coded likewise.

        Raises
        ------
        ValueError
            If the columns differ, or a row holds a category that this table does not know.
        """
        known = {
            place: column.categories
            for place, column in enumerate(self.columns)
            if column.categories is not None
        }
        other = type(self).of(X, levels=known, argument=argument)
        if other.names != self.names or other.row_shape != self.row_shape:
            raise ValueError(
                describe(argument, f"a table of the columns {self.names[:3]}...", f"{other.names[:3]}...")
            )
        for place, categories in known.items():
            unknown = other.codes[:, place] >= len(categories)
            if unknown.any():
                raise ValueError(
                    describe(
                        argument,
                        f"free of categories that X does not have in column {self.names[place]!r}",
                        f"{int(unknown.sum())} such rows, the first at row {int(unknown.argmax())}",
                    )
                )
        return other.codes

    def decode(self, codes: FloatArray, *, index: Any = None) -> Any:
        """Return coded rows as the model saw its own: the same columns, dtypes and categories.

        Integers become floats where a row stands between them.

        Parameters
        ----------
        codes : array of shape (n, n_features)
            Coded rows, any number of them.
        index : pandas.Index, optional
            Labels of these rows, for a table.

        Returns
        -------
        DataFrame or ndarray of shape (n, n_features), or of (n, ...) with ``row_shape``
        """
        if self.row_shape is not None:
            flat = replace(self, row_shape=None).decode(codes)
            return flat.reshape(len(codes), *self.row_shape)
        if not self.is_frame and all(column.kind == "number" for column in self.columns):
            kinds = {column.dtype for column in self.columns}
            dtype = np.dtype(kinds.pop()) if len(kinds) == 1 else np.dtype(np.float64)
            return _numbers(codes, dtype)
        import pandas as pd

        parts = {}
        for place, column in enumerate(self.columns):
            held = np.ascontiguousarray(codes[:, place])
            own: Any = self.dtypes[place] if self.dtypes is not None else column.dtype
            if column.categories is None:
                parts[place] = pd.Series(_number_series(held, own), index=index)
                continue
            positions = held.astype(np.int64)
            if isinstance(own, pd.CategoricalDtype) or own == "category":
                known = own if isinstance(own, pd.CategoricalDtype) else None
                if known is None or list(known.categories) != list(column.categories):
                    known = pd.CategoricalDtype(list(column.categories))
                parts[place] = pd.Series(pd.Categorical.from_codes(positions, dtype=known), index=index)
            else:
                values = np.empty(len(column.categories), dtype=object)
                values[:] = column.categories
                parts[place] = pd.Series(values[positions], index=index, dtype=object).astype(own)
        frame = pd.concat(parts, axis=1) if parts else pd.DataFrame(index=index)
        frame.columns = pd.Index([column.label for column in self.columns])
        return frame if self.is_frame else frame.to_numpy()

    @property
    def labels(self) -> Any:
        """Labels of the rows, for a table; None for an array."""
        if not self.is_frame:
            return None
        import pandas as pd

        if self.index is not None:
            return self.index
        return None if self.row_labels is None else pd.Index(self.row_labels)


def _code(
    series: Any, name: str, *, is_category: bool, levels: Sequence[Any] | None, argument: str
) -> tuple[TableColumn, FloatArray]:
    """Return the column and its codes."""
    import pandas as pd

    dtype = series.dtype
    missing = series.isna().to_numpy()
    if missing.any():
        raise ValueError(
            describe(
                argument,
                "free of missing values",
                f"{int(missing.sum())} in column {name!r}, the first at row {int(missing.argmax())}",
                "Drop or impute these rows first.",
            )
        )
    numeric = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
    if numeric and not is_category and levels is None:
        numbers = series.to_numpy(dtype=np.float64)
        infinite = np.isinf(numbers)
        if infinite.any():
            raise ValueError(
                describe(
                    argument,
                    "finite everywhere",
                    f"{numbers[infinite][0]:g} in column {name!r} at row {int(infinite.argmax())}",
                    "Drop or clip these rows first.",
                )
            )
        return TableColumn(name=name, label=series.name, kind="number", dtype=str(dtype)), numbers
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise TypeError(
            describe(
                argument,
                "a table of numbers and categories",
                f"dates in column {name!r}",
                "Turn them into numbers.",
            )
        )
    if levels is not None:
        categories = list(levels)
        categories += [value for value in pd.unique(series) if value not in set(categories)]
    elif isinstance(dtype, pd.CategoricalDtype):
        categories = list(dtype.categories)
    elif pd.api.types.is_bool_dtype(dtype):
        categories = [False, True]
    else:
        try:
            categories = sorted(pd.unique(series))
        except TypeError as error:
            raise TypeError(
                describe(argument, "a table of numbers and categories", f"mixed values in column {name!r}")
            ) from error
    places = {value: place for place, value in enumerate(categories)}
    codes = np.array([places[value] for value in series.tolist()], dtype=np.float64)
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in categories)
    kept = "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)
    column = TableColumn(name=name, label=series.name, kind="category", dtype=kept, categories=plain)
    return column, codes


def _numbers(codes: FloatArray, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the codes in an integer dtype where nothing is lost, else as float64."""
    if dtype.kind in "iu" and codes.size and (codes == np.rint(codes)).all():
        limits = np.iinfo(dtype)
        if codes.min() >= limits.min and codes.max() <= limits.max:
            return codes.astype(dtype)
    return codes


def _number_series(held: FloatArray, dtype: Any) -> Any:
    """Return a column of numbers in its own dtype where nothing is lost, else as float64."""
    import pandas as pd

    kind: Any = getattr(pd.api.types.pandas_dtype(dtype), "numpy_dtype", pd.api.types.pandas_dtype(dtype))
    return _numbers(held, np.dtype(kind))


def _plain_labels(index: Any) -> npt.NDArray[Any]:
    """Return the labels of rows as numbers or texts, which JSON can hold."""
    values = index.to_numpy()
    return values if values.dtype.kind in "biu" else np.array([str(label) for label in index])
