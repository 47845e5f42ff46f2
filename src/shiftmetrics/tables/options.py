"""What a caller says of the columns: the options of the commands and the arguments of the functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shiftmetrics.tables.ask import Style, typed_option
from shiftmetrics.tables.reading import TableReading


@dataclass(frozen=True, kw_only=True)
class RoleOptions:
    """What was typed about columns; what is None is found by evidence.

    Attributes
    ----------
    id : str or None
        The column that names the rows; several as ``a,b``; ``a=b`` where it has another name in the other files;
        ``none`` for rows by their place.
    label : str or None
        The column of true labels.
    prediction : str or None
        The column of answers.
    columns, exclude : tuple of str or None
        The columns of the scores, or columns that are none.
    classes : tuple of str or None
        The classes of the columns of scores, in their order.
    group, weight : str or None
    old, new : str or None
        The answers of two models in one table.
    inner : bool
        Whether rows that are not in all files are left out.
    threshold, tolerance : float or None
        The first says that there are two classes, the second that the numbers are outputs of a regression.
    reading : TableReading or None
        A reading that was saved, such as `load_reading` gives: nothing is guessed then.
    header : str or None
        "names" or "none": whether first lines are names, where that cannot be told.
    task : {"scores", "sets", "rankings"} or None
        "scores" where only scores of classes are asked for, so that one column of both signs is a margin; "sets"
        where rows have several labels, so that no columns of 0 and 1 are one label; "rankings" where scores order the
        documents of a query.
    without_truth : bool
        Whether true labels are not looked for.
    style : {"command", "python"}
        How messages write an option.
    """

    id: str | None = None
    label: str | None = None
    prediction: str | None = None
    columns: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    classes: tuple[str, ...] | None = None
    group: str | None = None
    weight: str | None = None
    old: str | None = None
    new: str | None = None
    inner: bool = False
    threshold: float | None = None
    tolerance: float | None = None
    header: str | None = None
    reading: TableReading | None = None
    task: Literal["scores", "sets", "rankings"] | None = None
    without_truth: bool = False
    style: Style = "command"

    def typed(self, option: str, value: object) -> str:
        """Return an option as it is typed."""
        return typed_option(option, value, self.style)

    @property
    def id_parts(self) -> tuple[str, ...]:
        """The names of the columns that together name the rows, as typed."""
        return tuple(part.strip() for part in (self.id or "").split(",") if part.strip())
