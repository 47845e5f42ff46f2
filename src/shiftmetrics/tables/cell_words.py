"""The cells of one column of one file, with its distinct words: the words are read once, however often they stand."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import LARGEST_EXACT
from shiftmetrics.tables.stored_words import StoredWords, factorized_strings

if TYPE_CHECKING:
    import pandas as pd

CellType: TypeAlias = Literal[
    "boolean", "integer", "number", "date", "written", "string", "level", "list", "empty"
]

GAP_WORDS = frozenset(
    (
        *("", "na", "n/a", "#n/a", "#na", "<na>", "n.a.", "nan", "-nan", "nat"),
        *("null", "(null)", "none", "nil", "\\n", "?", "-", "--", "."),
    )
)
"""Words, in small letters, that stand for a gap where all other cells are numbers, dates or Booleans."""

_BLANKS = " \t\r\n\v\f\u00a0\u202f"
_LONGEST_GAP = max(map(len, GAP_WORDS))
_SEEN = 1_000


def is_gap_word(word: str) -> bool:
    """Return True for a word that stands for a gap among numbers."""
    return word.strip(_BLANKS).lower() in GAP_WORDS


class ColumnCells:
    """One column of one file.

    Parameters
    ----------
    where : str
        The file, for sentences.
    values : Series
        The cells.
    is_written : bool
        Whether they are text as written, so that numbers and dates are words so far.
    has_levels : bool
        Whether the schema says that they are names of classes.
    """

    def __init__(
        self, where: str, values: pd.Series, *, is_written: bool = False, has_levels: bool = False
    ) -> None:
        self.where = where
        self.values = values
        self.type = _type_of(values, is_written, has_levels)

    @property
    def is_words(self) -> bool:
        """True where the cells are strings."""
        return self.type in ("written", "string", "level")

    @cached_property
    def _factorized(self) -> tuple[npt.NDArray[Any], Sequence[str]]:
        import pandas as pd

        values = self.values
        if not self.is_words:
            values = as_words(values)
        elif isinstance(values.dtype, pd.StringDtype):
            # Strings alone: nothing need become an object to be told from another.
            codes, strings = factorized_strings(values)
            words = StoredWords(strings)
            return codes, words if len(words) > _SEEN else list(words)
        elif values.dtype != object:
            values = values.astype(object)
        elif self.type == "written" and pd.api.types.infer_dtype(values, skipna=True) != "string":
            # Objects of several types, as spreadsheets have: True and 1 are equal, but not one word.
            values = pd.Series(
                [
                    None if gap else word_of(value)
                    for value, gap in zip(values, values.isna(), strict=True)
                ]
            )
        codes, found = pd.factorize(values)
        written = [word if isinstance(word, str) else word_of(word) for word in found]
        if len(set(written)) < len(written):  # 7 and "7" are one word
            order = {word: place for place, word in enumerate(dict.fromkeys(written))}
            places = np.array([order[word] for word in written] + [-1])
            return places[codes], list(order)
        return codes, written

    @property
    def codes(self) -> npt.NDArray[Any]:
        """The place of each cell's word among the distinct words; -1 in gaps."""
        return self._factorized[0]

    @property
    def distinct(self) -> Sequence[str]:
        """The distinct words."""
        return self._factorized[1]

    @cached_property
    def counts(self) -> npt.NDArray[Any]:
        """How often each distinct word stands."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.distinct))

    @cached_property
    def odd_places(self) -> list[int]:
        """Places of the distinct words that may be a gap or have blanks at their ends; all others are plain."""
        words = self.distinct
        if isinstance(words, StoredWords):
            lengths = lengths_of(words.strings)
            is_odd = (lengths <= _LONGEST_GAP) | have_ends(words.strings, _BLANKS)
            return np.flatnonzero(is_odd).tolist()
        words = list(words)
        lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        is_odd = lengths <= _LONGEST_GAP
        # A word without blanks comes back as itself, so that the lists are compared at once.
        stripped = [word.strip(_BLANKS) for word in words]
        if stripped != words:
            pairs = zip(stripped, words, strict=True)
            is_odd |= np.fromiter((left != right for left, right in pairs), dtype=bool)
        return np.flatnonzero(is_odd).tolist()

    @cached_property
    def _gap_places(self) -> list[int]:
        return [place for place in self.odd_places if is_gap_word(self.distinct[place])]

    @cached_property
    def known(self) -> Sequence[str]:
        """The distinct words that do not stand for a gap among numbers."""
        if not self._gap_places:
            return self.distinct
        gaps = set(self._gap_places)
        return [word for place, word in enumerate(self.distinct) if place not in gaps]

    @cached_property
    def gap_words(self) -> list[str]:
        """The distinct words that stand for a gap among numbers, without the empty one."""
        words = [self.distinct[place] for place in self._gap_places]
        return [word for word in words if word.strip(_BLANKS)]

    @property
    def has_gaps(self) -> bool:
        """True where a cell is missing as the format marks it."""
        # An empty word is an odd one.
        is_written = any(not self.distinct[place] for place in self.odd_places)
        return is_written or bool((self.codes < 0).any())

    @property
    def has_cells(self) -> bool:
        """True where a cell holds more than a word for a gap."""
        if self.is_words:
            return bool(self.known)
        return self.type != "empty"

    def spread(self, of_distinct: npt.NDArray[Any], gap: Any) -> npt.NDArray[Any]:
        """Return a value for each cell from one for each distinct word."""
        lookup = np.empty(len(of_distinct) + 1, dtype=of_distinct.dtype)
        lookup[:-1] = of_distinct
        lookup[-1] = gap
        return np.asarray(lookup[self.codes])


def lengths_of(strings: Any) -> npt.NDArray[Any]:
    """Return the number of characters of each of an array of strings without gaps."""
    import pandas as pd

    return np.asarray(pd.Series(strings).str.len(), dtype=np.int64)


def have_ends(strings: Any, characters: str) -> npt.NDArray[Any]:
    """Return which of an array of strings without gaps begin or end with one of some characters."""
    import pandas as pd

    column = pd.Series(strings)
    return np.asarray(column.str.strip(characters) != column, dtype=bool)


def _type_of(values: pd.Series, is_written: bool, has_levels: bool) -> CellType:
    """Return what the format says of the cells; a column of objects is told by the cells themselves."""
    import pandas as pd

    kind = values.dtype
    # The schema comes before the dtype: levels may be stored as anything.
    if isinstance(kind, pd.CategoricalDtype) or has_levels:
        return "level"
    if len(values) == 0 or values.isna().all():
        return "empty"
    if pd.api.types.is_bool_dtype(kind):
        return "boolean"
    if pd.api.types.is_integer_dtype(kind):
        return "integer"
    if pd.api.types.is_timedelta64_dtype(kind):
        return "number"
    if pd.api.types.is_numeric_dtype(kind):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(kind):
        return "date"
    if is_written:
        return "written"
    if isinstance(kind, pd.StringDtype):
        return "string"
    return _type_of_objects(values.dropna())


def _type_of_objects(known: pd.Series) -> CellType:
    """Return the type of Python objects: a mixture, as spreadsheets have, counts as written."""
    kinds = set(map(type, known))
    if any(issubclass(kind, list | tuple | dict | set | np.ndarray) for kind in kinds):
        return "list"
    if all(issubclass(kind, str) for kind in kinds):
        return "string"
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return "boolean"
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        return "integer"
    if all(issubclass(kind, int | float | Decimal | np.number) for kind in kinds):
        return "number"
    if all(issubclass(kind, datetime.date | np.datetime64) for kind in kinds):
        return "date"
    if all(issubclass(kind, datetime.time | datetime.timedelta) for kind in kinds):
        return "written"
    return "written"


def word_of(value: Any) -> str:
    """Return a value as a person would write it: 7 for 7.0."""
    if isinstance(value, float | np.floating):
        number = float(value)
        if number.is_integer() and abs(number) < LARGEST_EXACT:
            return str(int(number))
    return str(value)


def as_words(values: pd.Series) -> pd.Series:
    """Return typed cells as strings, None in gaps."""
    import pandas as pd

    codes, distinct = pd.factorize(values)
    lookup = np.empty(len(distinct) + 1, dtype=object)
    lookup[:-1] = [word_of(value) for value in distinct]
    lookup[-1] = None
    return pd.Series(lookup[codes], name=values.name, dtype=object)


class WordList:
    """Distinct words, one a line, so that a form is looked for in all of them at once."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.head = words[:_SEEN]

    @cached_property
    def _lines(self) -> str:
        # A line break inside a word would make two lines of it.
        lines = "\n".join(self.words)
        if lines.count("\n") >= len(self.words):
            lines = "\n".join(word.replace("\n", "\v") for word in self.words)
        return lines

    def all_have(self, form: str) -> bool:
        """Return True where every word has a form."""
        # The first words refuse most columns, before all of them are put together for one search.
        whole = re.compile(form)
        if not all(whole.fullmatch(word) for word in self.head):
            return False
        return bool(self.words) and re.search(rf"(?m)^(?!(?:{form})$)", self._lines) is None

    def any_has(self, form: str) -> bool:
        """Return True where a word has a form."""
        return bool(self.words) and re.search(rf"(?m)^(?:{form})$", self._lines) is not None
