"""The encoder of tables: fitted on what is compared, it turns columns of any kind into comparable numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, is_labelled, is_table
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.column_kinds import ColumnKind, DateOrder, TypedTables
from shiftmetrics.tables.encoder.categories import CategoryPart
from shiftmetrics.tables.encoder.date_ranges import order_of_samples
from shiftmetrics.tables.encoder.parts import (
    DatePart,
    NumberPart,
    Part,
    TextPart,
)
from shiftmetrics.tables.encoder.roles import Column, as_cells, common_columns, role_of
from shiftmetrics.tables.kinds import decide_kinds

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class TableEncoder(Record):
    """Turns the columns of a table into features in which every column weighs about as much as any other.

    The squared distance of two random rows is about 2 along each column, whether it is a number
    of any unit or a category of any number of levels:

    - numbers are centred at the median and divided by a robust spread; beyond three spreads they grow with the
      logarithm only, so that one wild value does not decide. Where cells are missing, an indicator stands beside
      the number, and the median fills the gap.
    - categories have a column for each level that is frequent in both samples together; rare levels have one in
      common.
    - dates give the elapsed time and, where they vary, the month, the day of the week and the hour. A date that
      only tells when a sample was taken, because the samples hardly overlap in it, is left out.
    - text gives the leading components of its TF-IDF matrix.
    - an id names the rows, and is no feature.

    Nothing of it depends on which row is of which sample: random halves of one sample stay exchangeable, so that
    tests by permuted labels hold.

    Parameters
    ----------
    columns : tuple of Column
        Every column of both samples, with its role.
    parts : tuple of Part
        The encodings, one for each column that is used.
    kinds : mapping of name to ColumnKind
        What the columns are; a later table is read by it.
    remarks : tuple of str
        What was taken for what, such as words for gaps.

    See Also
    --------
    shiftmetrics.kernel_entropic_novelty : What is new in the features of one sample against those of another.

    Examples
    --------
    >>> import pandas as pd
    >>> from shiftmetrics.tables.encoder import TableEncoder
    >>> reference = pd.DataFrame({"age": [20, 30, 40, 50], "job": ["a", "b", "a", "b"]})
    >>> current = pd.DataFrame({"age": [35, None], "job": ["c", "a"]})
    >>> encoder = TableEncoder.fit(reference, current)
    >>> encoder.transform(current).shape, encoder.names
    ((2, 5), ('age', 'age is missing', 'job = a', 'job = b', 'job = c'))
    """

    columns: tuple[Column, ...]
    parts: tuple[Part, ...]
    kinds: Mapping[Any, ColumnKind] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @classmethod
    def fit(
        cls,
        reference: Any,
        current: Any = None,
        *,
        columns: Sequence[Any] | None = None,
        exclude: Iterable[Any] = (),
        id_column: Any = None,
        date_order: DateOrder | None = None,
        typed: TypedTables | None = None,
    ) -> TableEncoder:
        """Fit on both samples together, or on the reference alone where there is no other.

        Parameters
        ----------
        reference : DataFrame, Cells or array of shape (n_reference, n_columns)
            What was known.
        current : DataFrame, Cells or array of shape (n_samples, n_columns), optional
            The sample that will be compared with it. Default: the reference itself.
        columns : sequence of names, optional
            The columns to use. Default: all that both samples have.
        exclude : iterable of names, default ()
            Columns to leave out.
        id_column : name, optional
            The column that names the rows. Default: a column of distinct values that looks like one.
        date_order : {"day", "month", "year"}, optional
            What dates such as 01/02/2024 have first. Default: by evidence.
        typed : TypedTables, optional
            Both samples, where their kinds are decided already; the tables themselves are then not looked at.

        Raises
        ------
        TypeError, ValueError
            If a sample is no table, a name is unknown, no column is left, or a column of them has no one reading.
        """
        if typed is None:
            tables = [as_cells(reference, "reference")]
            if current is not None:
                tables.append(as_cells(current, "current"))
            typed = decide_kinds(tables, date_order=date_order)
        base = typed.frames[0]
        sample = typed.frames[0 if current is None else 1]
        if id_column is not None and id_column not in base and id_column not in sample:
            remedy = f"The columns are {first_few(base.columns, 8)}."
            raise ArgumentValueError(
                "id_column", "the name of a column", value=id_column, remedy=remedy
            )
        # 1. Which columns, and what each of them is.
        names, left_out = common_columns(base, sample, columns, exclude)
        typed.check([name for name in names if name != id_column])
        found = [
            role_of(name, typed.kinds[name].kind, base[name], sample[name], id_column)
            for name in names
        ]
        # Parts of what varies; a column without one is left out, with the reason.
        parts: list[Part] = []
        for place, column in enumerate(found):
            own = base[column.name]
            other = own if current is None else sample[column.name]
            part = _fit_part(column, own, other)
            if part is not None:
                parts.append(part)
            elif column.role not in ("id", "left out"):
                reason = "all its values are the same"
                if base[column.name].nunique() > 1 and column.role != "number":
                    reason = "hardly any of its values repeats"
                found[place] = Column(column.name, "left out", reason)
        # 2. Nothing to compare: the reasons say why.
        if not parts:
            reasons = "; ".join(
                f"{column.name}: {column.reason}" for column in [*found, *left_out][:6]
            )
            raise ArgumentValueError(
                "reference", "a table with a column that can be compared", reasons
            )
        used = {part.name for part in parts}
        kinds = {name: kind for name, kind in typed.kinds.items() if name in used}
        return cls((*found, *left_out), tuple(parts), kinds, typed.notes)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each feature, such as "job = a"."""
        return tuple(name for part in self.parts for name in part.names)

    @property
    def id_column(self) -> Any:
        """The column that names the rows, or None."""
        return next((column.name for column in self.columns if column.role == "id"), None)

    def transform(self, table: Any, argument: str = "table") -> FloatArray:
        """Return the features of a table, of shape (n_samples, n_features), finite everywhere.

        Raises
        ------
        ValueError
            If a column is missing, or holds what its role cannot read.
        """
        cells = as_cells(table, argument)
        return self.encoded(self.checked(cells, decide_kinds([cells], known=self.kinds)))

    def checked(self, cells: Cells, typed: TypedTables) -> pd.DataFrame:
        """Return the frame of a later table that was read by the kinds of the reference.

        Raises
        ------
        ValueError
            If a column is missing, or holds what its role cannot read.
        """
        names = [part.name for part in self.parts]
        missing = [name for name in names if name not in cells.frame]
        if missing:
            got = f"none of the columns {first_few(missing)}"
            expected = "a table with the columns of the reference"
            raise ArgumentValueError(cells.argument, expected, got)
        typed.check(names)
        return typed.frames[0]

    def encoded(self, frame: pd.DataFrame) -> FloatArray:
        """Return the features of rows whose kinds are decided, such as those of `checked`."""
        # Blocks side by side, in the order of the parts.
        features = np.empty((len(frame), sum(part.width for part in self.parts)))
        start = 0
        for part in self.parts:
            stop = start + part.width
            features[:, start:stop] = part.transform(frame[part.name])
            start = stop
        return features

    def decoded(self, features: FloatArray) -> FloatArray:
        """Return features as a person would say them: numbers in their own units, levels as 0 and 1."""
        blocks = []
        start = 0
        for part in self.parts:
            blocks.append(part.decoded(features[:, start : start + part.width]))
            start += part.width
        return np.hstack(blocks)

    def in_words(self, feature: int, inside: float, outside: float) -> tuple[Any, str]:
        """Return the column of a feature, and the values that it has inside and outside a group of samples, in words.

        Parameters
        ----------
        feature : int
            Its number.
        inside, outside : float
            Means of the decoded feature.
        """
        for part in self.parts:
            if feature < part.width:
                return part.name, part.in_words(feature, inside, outside)
            feature -= part.width
        raise IndexError(feature)

    def without_text(self) -> TableEncoder:
        """Return the encoder of all columns but text, whose terms fill more space than all others together."""
        text = [column.name for column in self.columns if column.role == "text"]
        return self.without(text, "it is text")

    def with_gaps(self) -> TableEncoder:
        """Return the encoder that tells missing numbers and dates also where the fitted samples have none.

        A later sample may have them. Whether it tells them is then no question of the fitted samples, so that these
        and later ones of the same source differ by nothing.
        """
        return replace(self, parts=tuple(part.with_gaps() for part in self.parts))

    def without(self, names: Sequence[Any], reason: str) -> TableEncoder:
        """Return the encoder of the other columns.

        Parameters
        ----------
        names : sequence of names
            The columns to leave out.
        reason : str
            Why, to go on "Left out `name`: ".

        Raises
        ------
        ValueError
            If no column is left.
        """
        parts = tuple(part for part in self.parts if part.name not in names)
        if not parts:
            got = f"none without {first_few(names)}: {reason}"
            raise ArgumentValueError("reference", "a table with a column that can be compared", got)
        columns = [
            Column(column.name, "left out", reason) if column.name in names else column
            for column in self.columns
        ]
        return replace(self, columns=tuple(columns), parts=parts)

    def notes(self) -> list[str]:
        """Say in short sentences which columns are the id, are left out, and are read as text or dates."""
        sentences = []
        for column in self.columns:
            if column.role == "id":
                sentences.append(f"Took `{column.name}` as the id: {column.reason}.")
            elif column.role == "left out" and column.reason != "excluded":
                sentences.append(f"Left out `{column.name}`: {column.reason}.")
            elif column.role == "text":
                sentences.append(f"Read `{column.name}` as text.")
            elif column.role == "date":
                sentences.append(f"Read `{column.name}` as a date.")
        for part in self.parts:
            # Such as prices with a sign of currency: the user may know how to read them.
            if isinstance(part, CategoryPart) and not part.levels:
                levels = f"{len(part.rare):,} levels, all of them rare"
                sentences.append(
                    f"Read `{part.name}` as a category of {levels}: no mode shows in it."
                )
        return [*sentences, *self.remarks]


def encoded_tables(
    current: Any, reference: Any
) -> tuple[FloatArray, FloatArray, TableEncoder, tuple[str, ...]] | None:
    """Return the features of two tables, their encoder, and warnings if the reference is the later one.

    None where both hold nothing but numbers.

    Parameters
    ----------
    current, reference : any
        Samples: only two pandas data frames of which one has words, dates or gaps are encoded.
    """
    frames = (current, reference)
    if not all(is_table(frame) and is_labelled(frame) for frame in frames):
        return None
    if not any(is_mixed(frame) for frame in frames):
        return None
    typed = decide_kinds([as_cells(reference, "reference"), as_cells(current, "current")])
    encoder = TableEncoder.fit(reference, current, typed=typed)
    features = encoder.transform(current), encoder.transform(reference)
    return *features, encoder, order_of_samples(typed, "the sample")


def is_mixed(frame: pd.DataFrame) -> bool:
    """Return True for a table with words, dates or missing cells."""
    numbers = frame.select_dtypes(["number", "bool"])
    return numbers.shape[1] < frame.shape[1] or bool(numbers.isna().to_numpy().any())


def _fit_part(column: Column, reference: pd.Series, current: pd.Series) -> Part | None:
    """Return the encoding of a column; None where it is no feature or never varies."""
    if column.role in ("id", "left out"):
        return None
    part: Part | None = _ENCODINGS[column.role].fit(column.name, reference, current)
    return part


_ENCODINGS: dict[str, Any] = {
    "number": NumberPart,
    "category": CategoryPart,
    "date": DatePart,
    "text": TextPart,
}
