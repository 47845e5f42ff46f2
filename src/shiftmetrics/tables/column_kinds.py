"""What a column is, as one decision for all files that have it, and what stands in the way of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from shiftmetrics._core.record import Record

if TYPE_CHECKING:
    import pandas as pd

KindName: TypeAlias = Literal[
    "number", "integer", "boolean", "date", "code", "word", "text", "list", "empty"
]
DateOrder: TypeAlias = Literal["day", "month", "year"]

WORD_KINDS = ("code", "word", "text")


@dataclass(frozen=True, eq=False)
class ColumnKind(Record):
    """The kind of one column in all files.

    Attributes
    ----------
    name : str
        The column.
    kind : str
        "code" is a word of digits that is no number, such as 007; "empty" has no cell in any file.
    date_order : {"day", "month", "year"} or None
        What stands first in dates that have more than one reading.
    spelling : str or None
        How words that are Booleans are spelled, such as "Yes/No"; "1/0" of numbers that are zeros and ones.
    """

    name: str
    kind: KindName
    date_order: DateOrder | None = None
    spelling: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what a file of JSON keeps."""
        kept: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.date_order is not None:
            kept["date_order"] = self.date_order
        if self.spelling is not None:
            kept["spelling"] = self.spelling
        return kept

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> ColumnKind:
        """Return the kind that `to_dict` wrote."""
        return cls(kept["name"], kept["kind"], kept.get("date_order"), kept.get("spelling"))


@dataclass(frozen=True, eq=False)
class ColumnProblem(Record):
    """A column that has no one reading: raised by whoever uses the column, and by nobody else."""

    name: str
    sentence: str


@dataclass(frozen=True, eq=False)
class TypedTables(Record):
    """The tables with every column as what it is.

    Attributes
    ----------
    frames : tuple of DataFrame
        One for each file, with its columns and rows in their order. Numbers are float64, integers int64 (float64
        with gaps), Booleans bool (objects with gaps), dates datetime64[ns]; words are objects of str, None in gaps.
    kinds : mapping of str to ColumnKind
        The kind of each column, the same in all files.
    notes : tuple of str
        What was taken for what, where a reader might think otherwise.
    problems : tuple of ColumnProblem
        Columns with no one reading; their cells stay words.
    """

    frames: tuple[pd.DataFrame, ...]
    kinds: Mapping[str, ColumnKind]
    notes: tuple[str, ...] = ()
    problems: tuple[ColumnProblem, ...] = ()

    def check(self, names: Any) -> None:
        """Raise a ValueError that names all columns among ``names`` that have no one reading."""
        sentences = [problem.sentence for problem in self.problems if problem.name in names]
        if sentences:
            raise ValueError(" ".join(sentences))
