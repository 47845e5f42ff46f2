"""Code a table as a float64 matrix, and decode such a matrix to the columns and dtypes that the model takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, is_table, to_numpy
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import describe
from shiftmetrics.models.coding import (
    TableColumn,
    code_column,
    decode_column,
    inferred,
    whole_where_possible,
)
from shiftmetrics.models.domain import positions_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Table(Record):
    """Rows that a model was given, coded.

    Attributes
    ----------
    columns : tuple of TableColumn
        Its columns.
    codes : array of shape (n_samples, n_features)
        Numbers, and the numbers of categories; NaN where a cell is missing.
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
            Rows. Columns of text, bool or a categorical dtype are categories, all others are numbers. Cells may be
            missing (NaN, None, pandas' NA or NaT), written in one way in each column.
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
            If ``X`` has no rows, repeated column names, an infinite value, or missing cells of several kinds in one
            column, which is named.
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
            mixed = array.dtype.kind in "OUS"
            frame = pd.DataFrame(array, copy=False, dtype=object if mixed else None)
            if mixed:
                frame = pd.DataFrame({label: inferred(frame[label]) for label in frame.columns})
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
            code_column(
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
        if self.row_shape is not None:
            flat = replace(self, row_shape=None).decode(codes)
            return flat.reshape(len(codes), *self.row_shape)
        if not self.is_frame and all(column.kind == "number" for column in self.columns):
            kinds = {column.dtype for column in self.columns}
            dtype = np.dtype(kinds.pop()) if len(kinds) == 1 else np.dtype(np.float64)
            return whole_where_possible(codes, dtype)
        import pandas as pd

        parts = {
            place: decode_column(
                column,
                np.ascontiguousarray(codes[:, place]),
                column.dtype if self.dtypes is None else self.dtypes[place],
                index,
            )
            for place, column in enumerate(self.columns)
        }
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


def _plain_labels(index: Any) -> npt.NDArray[Any]:
    """Return the labels of rows as numbers or texts, which JSON can hold."""
    values = index.to_numpy()
    return values if values.dtype.kind in "biu" else np.array([str(label) for label in index])
