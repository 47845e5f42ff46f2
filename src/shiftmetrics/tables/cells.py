"""What one file, or one Python object, holds before anything is guessed about its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

Header = Literal["names", "none", "either"]


def generated_name(place: int) -> str:
    """Return the name of a column that has none."""
    return f"column {place}"


def is_generated_name(name: str) -> bool:
    """Return True for the name of a column that has none."""
    beginning, _, number = name.rpartition(" ")
    return beginning == "column" and number.isdigit()


INDEX = "index"
"""What the index of pandas is called where it has no name."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells:
    r"""The cells of one table: no kind of column, no role and no missing value is decided yet.

    Attributes
    ----------
    argument : str
        What messages call it: ``OLD``, ``--labels``, ``old``.
    name : str
        The file's name, for sentences; empty for a Python object.
    table : DataFrame or None
        What `frame` returns. None where `values` holds everything, so that large arrays are never copied.
    written : frozenset of str
        Columns whose cells are strings as they are written. A gap is missing there (`isna`), and only where the
        format marks one: nothing between two separators, ``\N``, a bare NA beside quoted words, the null of JSON.
    index : tuple of str
        Columns that the file marks as names of the rows.
    levels : mapping of str to tuple of str
        Names of classes that the schema gives: the cells of such a column are these names already.
    ordered : frozenset of str
        Columns whose levels have an order, by the schema.
    quoted : frozenset of str
        Columns of a text in which every word that is no gap is quoted.
    header : {"names", "none", "either"}
        Whether the first line of a text holds names. "either" if two readings survive: `frame` then takes it for
        names, and `as_data` takes it for a row.
    headless : DataFrame or None
        The table with its first line as a row; given if `header` is "either".
    notes : tuple of str
        What is said to the user, such as "3 lines that begin with # are left out".
    decimal, date_order : str or None
        The decimal mark, and what dates have first, where the user says so.
    values : array or None
        The untouched array of a file of NumPy, or of an array in Python.
    """

    argument: str
    name: str = ""
    table: pd.DataFrame | None = None
    written: frozenset[str] = frozenset()
    index: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ordered: frozenset[str] = frozenset()
    quoted: frozenset[str] = frozenset()
    header: Header = "names"
    headless: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
    decimal: str | None = None
    date_order: Literal["day", "month", "year"] | None = None
    values: npt.NDArray[Any] | None = None

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The columns in the order of the file, under distinct strings as names, with the rows counted from 0."""
        if self.table is not None:
            return self.table
        import pandas as pd

        values = self.values
        if values is None:
            raise ValueError(f"{self.argument} must hold a table or an array, got neither.")
        if values.dtype.names:
            return pd.DataFrame({name: values[name] for name in values.dtype.names})
        columns = values.reshape(len(values), -1)
        names = [generated_name(place) for place in range(columns.shape[1])]
        return pd.DataFrame(columns, columns=names, copy=False)

    def as_data(self) -> Cells:
        """Return the cells with the first line as a row, under generated names."""
        if self.headless is None:
            return self
        return Cells(
            argument=self.argument,
            name=self.name,
            table=self.headless,
            written=frozenset(self.headless.columns),
            header="none",
            notes=self.notes,
        )

    def __str__(self) -> str:
        return self.name or self.argument
