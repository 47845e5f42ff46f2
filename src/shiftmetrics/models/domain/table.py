"""Code a table as a float64 matrix, and decode such a matrix to the columns and dtypes that the model takes.

Numbers are their own codes, categories are coded as 0, 1, ..., and missing cells as NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, is_masked, is_table, to_numpy, unmasked
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics.models.domain.cells import (
    TableColumn,
    coded_cells,
    decoded_cells,
    in_own_categories,
    inferred,
    plain_dtype,
    whole_where_possible,
)
from shiftmetrics.models.domain.perturbation import positions_of


@dataclass(frozen=True, eq=False, kw_only=True)
class CodedTable(Record):
    """The rows of a table, coded.

    Attributes
    ----------
    columns : tuple of TableColumn
        Its columns.
    codes : array of shape (n_samples, n_features)
        Numbers, and the numbers of categories; NaN where a cell is missing.
    is_frame : bool
        Whether the model takes a pandas DataFrame, or else an array.
    row_labels : array of shape (n_samples,) or None
        Labels of the rows; None for an array.
    row_shape : tuple of int or None
        The shape of one row where it has several axes, as images have; its columns are then named by their place,
        such as "0,3,7".
    index : pandas.Index or None
        The labels as given; not part of the JSON.
    dtypes : tuple or None
        The dtypes of the columns as given; not part of the JSON.
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
            The rows. Columns of strings, bool or a categorical dtype are categories, all others are numbers. Cells
            may be missing (NaN, None, pandas' NA or NaT), written in one way in each column.
        categorical : sequence of str or int
            Columns of numbers that stand for categories.
        levels : dict of int to sequence, optional
            By position, the known categories of a column, such as those of an encoder. Default: those of its dtype,
            else those in the column.
        argument : str
            Name for messages.

        Raises
        ------
        ValueError
            If ``X`` has no rows, repeated column names, an infinite value, or missing cells of several kinds in one
            column, which is named.
        TypeError
            If a column is neither numbers nor categories.
        """
        X = frame_of_samples(X)
        is_frame = is_table(X)
        row_shape = None
        if is_frame:
            frame = X
            names = [str(label) for label in frame.columns]
        else:
            frame, row_shape = _frame_of_array(X, argument)
            names = [f"x{label}" for label in frame.columns]
        if row_shape is not None:
            names = [",".join(map(str, place)) for place in np.ndindex(row_shape)]
        if 0 in frame.shape:
            expected = "a table of at least one row and column"
            raise ArgumentValueError(argument, expected, f"shape {frame.shape}")
        if len(set(names)) != len(names):
            repeated = {name for name in names if names.count(name) > 1}
            expected = "a table with distinct column names"
            got = f"repeated {sorted(repeated)[:3]}"
            raise ArgumentValueError(argument, expected, got)
        # Column by column, as each has its own dtype.
        marked = set(positions_of(categorical, names, "categorical").tolist())
        columns = []
        codes = np.empty(frame.shape)
        for place, name in enumerate(names):
            known = (levels or {}).get(place)
            series = frame.iloc[:, place]
            column, codes[:, place] = coded_cells(series, name, place in marked, known, argument)
            columns.append(column)
        row_labels = None
        index = None
        if is_frame:
            row_labels = _plain_labels(frame.index)
            index = frame.index
        return cls(
            columns=tuple(columns),
            codes=codes,
            is_frame=is_frame,
            row_labels=row_labels,
            row_shape=row_shape,
            index=index,
            dtypes=tuple(frame.dtypes),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def categories(self) -> dict[int, tuple[Any, ...]]:
        """The categories of each column that has some, by its position."""
        found = {}
        for place, column in enumerate(self.columns):
            if column.categories is not None:
                found[place] = column.categories
        return found

    @property
    def narrow(self) -> dict[int, np.dtype[Any]]:
        """The dtype of each column of numbers in fewer than 64 bits with fractions, by its position."""
        given = self.dtypes or [column.dtype for column in self.columns]
        found = {}
        for place, column in enumerate(self.columns):
            if column.categories is None:
                dtype = plain_dtype(given[place])
                if dtype.kind == "f" and dtype.itemsize < 8:
                    found[place] = dtype
        return found

    def coded(self, X: Any, argument: str = "X") -> FloatArray:
        """Return the codes of other rows of the same columns.

        Raises
        ------
        ValueError
            If the columns differ, or a row holds a category that this table does not have.
        """
        # With the same categories in the same order, equal codes mean equal cells.
        known = self.categories
        other = type(self).of(X, levels=known, argument=argument)
        if other.names != self.names or other.row_shape != self.row_shape:
            expected = f"a table of the columns {self.names[:3]}..."
            raise ArgumentValueError(argument, expected, f"{other.names[:3]}...")
        for place, categories in known.items():
            unknown = other.codes[:, place] >= len(categories)
            if unknown.any():
                name = self.names[place]
                expected = f"free of categories that X does not have in column {name!r}"
                got = f"{int(unknown.sum())} such rows, the first at row {int(unknown.argmax())}"
                raise ArgumentValueError(argument, expected, got)
        return other.codes

    def decode(self, codes: FloatArray, *, index: Any = None) -> Any:
        """Return coded rows in the columns, dtypes and categories of the table.

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
        # Rows of several axes are decoded flat, and an array of numbers without a detour over a table.
        if self.row_shape is not None:
            flat = replace(self, row_shape=None).decode(codes)
            return flat.reshape(len(codes), *self.row_shape)
        if not (self.is_frame or self.categories):
            # An array for a model may come of a table of nullable columns, whose dtypes NumPy does not know.
            dtypes = {plain_dtype(column.dtype) for column in self.columns}
            common = np.dtype(np.float64)
            if len(dtypes) == 1:
                common = dtypes.pop()
            return whole_where_possible(codes, common)
        import pandas as pd

        # Dtypes as given are not part of the JSON; their names are.
        given = self.dtypes or [column.dtype for column in self.columns]
        parts = {}
        for place, column in enumerate(self.columns):
            cells = np.ascontiguousarray(codes[:, place])
            parts[place] = decoded_cells(column, cells, given[place], index)
        frame = pd.concat(parts, axis=1)
        frame.columns = pd.Index([column.label for column in self.columns])
        if self.is_frame:
            return frame
        return frame.to_numpy()

    def given_back(self, codes: FloatArray, index: Any) -> Any:
        """Return coded rows as the table was given: `decode`, with the categories that its dtypes name."""
        import pandas as pd

        rows = self.decode(codes, index=index)
        if self.is_frame and self.dtypes is not None:
            for column, dtype in zip(self.columns, self.dtypes, strict=True):
                if isinstance(dtype, pd.CategoricalDtype) and rows[column.label].dtype != dtype:
                    rows[column.label] = in_own_categories(rows[column.label], dtype)
        return rows

    @property
    def labels(self) -> Any:
        """Labels of the rows, for a table; None for an array."""
        import pandas as pd

        if self.index is not None:
            return self.index
        if self.row_labels is None:
            return None
        return pd.Index(self.row_labels)


def frame_of_samples(X: Any) -> Any:
    """Return a table of another library as a pandas DataFrame; anything else as it is."""
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    return X


def _plain_labels(index: Any) -> npt.NDArray[Any]:
    """Return the labels of rows as numbers or strings, which JSON can hold."""
    values = index.to_numpy()
    if values.dtype.kind in "biu":
        return np.asarray(values)
    return np.array([str(label) for label in index])


def _frame_of_array(X: Any, argument: str) -> tuple[Any, tuple[int, ...] | None]:
    """Return an array as a DataFrame, and the shape of one row where it has several axes."""
    import pandas as pd

    if hasattr(X, "toarray"):
        got = f"a sparse {type(X).__name__}"
        raise ArgumentTypeError(argument, "a dense array", got, "Use toarray().")
    if is_masked(X):
        X = unmasked(X)  # a masked cell is a missing one
    if hasattr(X, "shape"):
        array = to_numpy(X)
    else:
        array = np.asarray(X)
    if array.dtype.kind in "cV":
        raise ArgumentTypeError(argument, "of numbers or strings", f"dtype {array.dtype}")
    if array.ndim < 2:
        expected = "of shape (n_samples, n_features)"
        raise ArgumentValueError(argument, expected, f"shape {array.shape}")
    row_shape = None
    if array.ndim > 2:
        row_shape = tuple(array.shape[1:])
    n_columns = math.prod(array.shape[1:])
    array = array.reshape(len(array), n_columns)
    # Columns of objects and strings get the dtype of what they hold.
    if array.dtype.kind not in "OUS":
        return pd.DataFrame(array, copy=False), row_shape
    frame = pd.DataFrame(array, dtype=object)
    columns = {label: inferred(frame[label]) for label in frame.columns}
    return pd.DataFrame(columns), row_shape
