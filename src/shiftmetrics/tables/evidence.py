"""What the cells of a column say of it: how many distinct values, whole numbers or fractions, counts of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import LARGEST_EXACT, BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.tables.cell_words import have_ends, lengths_of
from shiftmetrics.tables.stored_words import are_increasing, factorized_strings

if TYPE_CHECKING:
    from shiftmetrics.tables.cells import Cells

WHITESPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
"""What ``str.strip`` leaves out."""

Words = npt.NDArray[Any]
"""Objects: strings, None where a cell is empty."""


@dataclass(eq=False)
class ColumnEvidence:
    """One column of one file.

    Attributes
    ----------
    name : str
    typed : Series
        Its cells as what they are: numbers, dates, Booleans, words.
    raw : Series
        Its cells as they are written, where the format is text; else as the format has them.
    place : int
        Its place among the columns.
    is_index : bool
        Whether the file marks it as the names of rows.
    """

    name: str
    typed: Any
    raw: Any
    place: int
    is_index: bool = False

    @cached_property
    def numbers(self) -> FloatArray | None:
        """The cells as numbers, NaN where empty; None for words and dates."""
        dtype = self.typed.dtype
        if dtype.kind in "biuf":
            return np.asarray(self.typed.to_numpy(dtype=np.float64, na_value=np.nan))
        return None

    @cached_property
    def known_numbers(self) -> FloatArray:
        """The numbers without the gaps; none for words."""
        if self.numbers is None:
            return np.empty(0)
        gaps = np.isnan(self.numbers)
        # Mostly nothing is left out, and nothing need be copied.
        if not gaps.any():
            return self.numbers
        return np.asarray(self.numbers[~gaps])

    @cached_property
    def words(self) -> Words:
        """The cells as text: written text without blanks around it, whole numbers without a decimal point."""
        if self.plain_text is not None:
            codes, distinct = self.plain_text
            words = np.asarray(distinct, dtype=object)
            # Of ids each string stands once, in its place.
            if len(words) == len(codes):
                return words
            return np.append(words, [None])[codes]
        return cell_texts(self.raw)

    @cached_property
    def plain_text(self) -> tuple[IntArray, Any] | None:
        """Codes and distinct strings of a column without blanks around them; None for all other columns."""
        import pandas as pd

        if not isinstance(self.raw.dtype, pd.StringDtype):
            return None
        codes, found = factorized_strings(self.raw)
        if (lengths_of(found) == 0).any() or have_ends(found, WHITESPACE).any():
            return None
        return codes, found

    @cached_property
    def is_missing(self) -> BoolArray:
        """Whether a cell is empty."""
        import pandas as pd

        if self.numbers is not None:
            return np.asarray(np.isnan(self.numbers))
        if self.plain_text is not None:
            return np.asarray(self.plain_text[0] < 0)
        return np.asarray(pd.isna(self.words))

    @cached_property
    def codes(self) -> tuple[IntArray, Any]:
        """The place of each cell among the distinct values, -1 where empty, and these values."""
        import pandas as pd

        # Numbers are compared as numbers: a million of them as text would be slow.
        if self.numbers is not None and self.compares_as_number:
            if are_increasing(self.numbers):
                return np.arange(len(self.numbers)), self.numbers
            codes, distinct = pd.factorize(self.numbers)
        elif self.plain_text is not None:
            return self.plain_text
        else:
            codes, distinct = pd.factorize(self.words)
        return codes, distinct

    @cached_property
    def n_distinct(self) -> int:
        """Number of distinct values, gaps left out."""
        return len(self.codes[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.typed)

    @property
    def is_distinct(self) -> bool:
        """Whether no value stands twice, and no cell is empty."""
        return self.n_distinct == self.n_rows

    @cached_property
    def has_large_integers(self) -> bool:
        """Whether neighbours among the integers are one and the same as floats, as of many ids of 19 digits."""
        if self.numbers is None or self.raw.dtype.kind not in "iu":
            return False
        return bool(np.abs(self.known_numbers).max(initial=0.0) >= LARGEST_EXACT)

    @property
    def compares_as_number(self) -> bool:
        """Whether cells are equal where their floats are."""
        # Beyond 2**53 two ids may be one float: these are compared as they are written.
        is_typed = self.numbers is not None and self.raw.dtype.kind in "biuf"
        return is_typed and not self.has_large_integers

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers."""
        return self.numbers is not None

    @cached_property
    def is_whole(self) -> bool:
        """Whether all numbers are whole."""
        known = self.known_numbers
        head = known[:1000]
        # The first rows mostly show a fraction.
        if not len(known) or (head != np.round(head)).any():
            return False
        return bool((known == np.round(known)).all())

    @property
    def is_fractional(self) -> bool:
        """Whether some number is not whole."""
        return self.is_number and bool(len(self.known_numbers)) and not self.is_whole

    @property
    def is_bool(self) -> bool:
        """Whether the cells are Booleans."""
        return bool(self.typed.dtype.kind == "b" or str(self.typed.dtype) == "boolean")

    @cached_property
    def counts_rows(self) -> bool:
        """Whether the column merely counts the rows in their order, from 0 or from 1."""
        numbers = self.numbers
        if numbers is None or not len(numbers) or numbers[0] not in (0.0, 1.0):
            return False
        return bool(np.array_equal(numbers, np.arange(len(numbers)) + numbers[0]))

    @property
    def is_unnamed(self) -> bool:
        """Whether it has no name of its own: an index as pandas or R writes it."""
        name = self.name.strip().lower()
        return self.is_index or not name or name.startswith("unnamed:")

    def word_at(self, row: int) -> str | None:
        """Return the text of one cell."""
        if self.plain_text is not None:
            codes, distinct = self.plain_text
            return None if codes[row] < 0 else str(distinct[codes[row]])
        word = self.words[row]
        return None if word is None else str(word)

    def stored(self, rows: Any) -> Any:
        """Return some of the rows, or all in their order, as pandas stores them."""
        cells = self.raw.array
        return cells[rows] if isinstance(rows, slice) else cells.take(rows)

    def taken(self, rows: Any) -> Words:
        """Return the text of some of the rows."""
        return np.asarray(self.words[rows])


@dataclass(eq=False)
class TableEvidence:
    """One file with what its columns say.

    Attributes
    ----------
    argument, name : str
        What messages call it, and its file.
    n_rows : int
    columns : dict of str to ColumnEvidence
        In the order of the file.
    levels : dict of str to tuple of str
        Names of classes that the schema of the file gives.
    ordered : frozenset of str
        Columns whose schema says that these are ordered.
    has_names : bool
        Whether the file names its columns.
    spreads : dict
        Of sets of columns whose sums were taken, the median of the sums and the largest distance from it.
    """

    argument: str
    name: str
    n_rows: int
    columns: dict[str, ColumnEvidence]
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ordered: frozenset[str] = frozenset()
    has_names: bool = True
    spreads: dict[tuple[str, ...], tuple[float, float]] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def label(self) -> str:
        """What sentences call it: the name of the file, or else the argument."""
        return self.name or self.argument

    def numeric(self, names: Sequence[str]) -> FloatArray:
        """Return some columns of numbers as one array of shape (n_rows, n_names)."""
        block = np.empty((self.n_rows, len(names)))
        columns = [self.columns[name].numbers for name in names]
        # Some rows of all columns at a time: each row is written while it is in the cache.
        for rows in row_blocks(self.n_rows, 16 * len(names)):
            for place, column in enumerate(columns):
                block[rows, place] = np.nan if column is None else column[rows]
        return block


def evidence_of(cells: Cells, typed: Any) -> TableEvidence:
    """Return the evidence of one file: its cells as written, and as what they are."""
    columns = {}
    for place, name in enumerate(cells.frame.columns):
        raw = (
            cells.frame[name] if name in cells.written or name not in cells.levels else typed[name]
        )
        columns[str(name)] = ColumnEvidence(
            name=str(name),
            typed=typed[name],
            raw=raw,
            place=place,
            is_index=name in cells.index,
        )
    return TableEvidence(
        argument=cells.argument,
        name=cells.name,
        n_rows=len(cells.frame),
        columns=columns,
        levels=dict(cells.levels),
        ordered=cells.ordered,
        has_names=cells.header != "none",
    )


def cell_texts(column: Any) -> Words:
    """Return cells as text: no blanks around it, whole numbers without a decimal point, None where empty."""
    import pandas as pd

    missing = np.asarray(pd.isna(column))
    values = column.to_numpy()
    dtype = column.dtype
    if dtype.kind == "b":
        text = np.where(values.astype(bool), "True", "False").astype(object)
    elif dtype.kind in "iu":
        text = values.astype(str).astype(object)
    elif dtype.kind == "f":
        text = _numbers_as_words(np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan)))
    else:
        text = _objects_as_words(column)
    text[missing] = None
    return np.asarray(text)


def _numbers_as_words(numbers: FloatArray) -> Words:
    """Write floats, whole ones as integers; each distinct one is written once."""
    import pandas as pd

    codes, distinct = pd.factorize(numbers)
    written = [_number_as_word(value) for value in distinct.tolist()]
    lookup = np.array([*written, None], dtype=object)
    return np.asarray(lookup[codes])


def _number_as_word(value: float) -> str:
    """Write one float, a whole one as an integer."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _objects_as_words(column: Any) -> Words:
    """Write objects: each distinct one is written once."""
    import pandas as pd

    codes, distinct = pd.factorize(column)
    written: list[str | None]
    if isinstance(column.dtype, pd.StringDtype):
        words = np.asarray(distinct, dtype=object).tolist()
        written = [word.strip() or None for word in words]
    else:
        written = [_object_as_word(value) for value in distinct]
    lookup = np.array([*written, None], dtype=object)
    return np.asarray(lookup[codes])


def _object_as_word(value: Any) -> str | None:
    """Write one object as text; an empty string is no value."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        return _number_as_word(float(value))
    return str(value).strip() or None
