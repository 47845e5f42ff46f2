"""Known labels of some rows or of all, from a table of ids that was filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.label_cells import (
    LabelArray,
    as_strings,
    is_missing,
    positions,
    same_type,
)
from shiftmetrics.tables.roles.names import has_name_of

PLAN_COLUMN = "plan"


@dataclass(frozen=True, kw_only=True)
class KnownLabels:
    """The labels of the matched rows.

    Attributes
    ----------
    values : ndarray of shape (n_samples,)
        As they were given; what they hold where they are not known means nothing.
    known : ndarray of shape (n_samples,)
        Whether a row has one.
    plan : str or None
        What a file says of the plan that it belongs to.
    warnings : tuple of str
    """

    values: npt.NDArray[Any]
    known: BoolArray
    plan: str | None = None
    warnings: tuple[str, ...] = ()


def labels_of_table(table: Any, ids: LabelArray) -> KnownLabels:
    """Return the labels of a table with ids: a file of labels, or the file of a plan that was filled in."""
    others = [name for name in table.columns if name != PLAN_COLUMN]
    known = first_few(list(table.columns), 6)
    id_name = _id_column(table, others, ids)
    if id_name is None:
        raise ArgumentValueError("labels", "a table with a column of ids, such as 'id'", known)
    others = [name for name in others if name != id_name]
    label_names = [name for name in others if has_name_of(str(name), "truth")]
    # Of two columns, the one that is no id is the label, whatever its name.
    if not label_names and len(others) == 1:
        label_names = others
    if not label_names:
        raise ArgumentValueError("labels", "a table with a column 'label'", known)
    plan = None
    if PLAN_COLUMN in table.columns and len(table):
        plan = str(table[PLAN_COLUMN].iloc[0])
    return _by_ids(table[id_name].to_numpy(), table[label_names[0]].to_numpy(), ids, plan=plan)


def _id_column(table: Any, names: list[Any], ids: LabelArray) -> Any:
    """Return the column with the name of an id that holds most of the ids of the rows; without one, any that does."""
    found = None
    most = 0
    # A name breaks ties: columns that have one come first.
    for name in sorted(names, key=lambda name: not _may_name_rows(str(name))):
        values = table[name].to_numpy()
        own, wanted = same_type(values[~is_missing(values)], ids)
        n_common = int((positions(np.unique(own), wanted) >= 0).sum()) if len(own) else 0
        if n_common > most or (found is None and _may_name_rows(str(name))):
            found = name
            most = n_common
    return found


def _may_name_rows(name: str) -> bool:
    return not name.strip() or name.lower().startswith("unnamed:") or has_name_of(name, "id")


def _by_ids(
    own: LabelArray, values: npt.NDArray[Any], ids: LabelArray, *, plan: str | None
) -> KnownLabels:
    """Bring labels with ids of their own into the order of the matched rows."""
    there = ~is_missing(values)
    own, ids = same_type(np.asarray(own)[there], ids)
    own, values = _once(own, values[there])
    found = np.empty(len(ids), dtype=object)
    if not len(own):
        return KnownLabels(values=found, known=np.zeros(len(ids), dtype=bool), plan=plan)
    # All of other rows: ids of another kind, or another file. Some of other rows: said, and left out.
    unknown = own[positions(own, ids) < 0]
    if len(unknown) == len(own):
        got = f"{first_few(own.tolist(), 2)}, where the rows have {first_few(ids.tolist(), 2)}"
        raise ArgumentValueError("labels", "of rows of the files", got, "Compare the ids.")
    warnings: tuple[str, ...] = ()
    if len(unknown):
        named = first_few(unknown.tolist())
        warnings = (f"{len(unknown)} labels belong to no row of both files: {named}.",)
    places = positions(ids, own)
    known = places >= 0
    found[known] = values[places[known]]
    return KnownLabels(values=found, known=known, plan=plan, warnings=warnings)


def _once(ids: LabelArray, values: npt.NDArray[Any]) -> tuple[LabelArray, npt.NDArray[Any]]:
    """Return each labelled id once, sorted, with its label.

    Raises
    ------
    ValueError
        If a row is labelled twice differently.
    """
    # Sorted, labels of one row stand beside each other.
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    values = values[order]
    as_text = as_strings(values)
    is_again = np.zeros(len(ids), dtype=bool)
    is_again[1:] = ids[1:] == ids[:-1]
    differs = is_again.copy()
    differs[1:] &= as_text[1:] != as_text[:-1]
    if differs.any():
        place = int(np.argmax(differs))
        got = f"{as_text[place - 1]} and {as_text[place]} for {ids[place]!s}"
        raise ArgumentValueError("labels", "one label for each row", got)
    return ids[~is_again], values[~is_again]
