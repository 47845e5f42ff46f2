"""The truth: a column that is equal in both files and has the name of one, or the column of a file of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import AmbiguousReadingError, Complaints, PossibleReading
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence
from shiftmetrics.tables.matching import ENOUGH, joint_codes, places_in, rows_of_table
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.candidates import may_be_id
from shiftmetrics.tables.roles.ids import RowKey
from shiftmetrics.tables.roles.names import has_name_of, plain_name

PLAN = "plan"

PLAN_ID = "id"
"""The column of a plan that names its rows, or holds their places."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """The true labels.

    Attributes
    ----------
    column : ColumnEvidence
        Where they stand.
    places : ndarray of shape (n_matched,)
        The row of that column for each matched row, -1 where there is none.
    source : str
        The file.
    id_names : tuple of str
        The columns of a file of labels that name its rows.
    plan : str or None
        The plan of labels that the file belongs to.
    notes : tuple of str
    """

    column: ColumnEvidence
    places: IntArray
    source: str
    id_names: tuple[str, ...] = ()
    plan: str | None = None
    notes: tuple[str, ...] = ()


def truth_of_labels(
    labels: TableEvidence,
    tables: Sequence[TableEvidence],
    key: RowKey,
    rows: Sequence[Any],
    answers: set[str],
    options: RoleOptions,
    complaints: Complaints,
) -> Truth | None:
    """Return the truth of a file of labels, its rows brought to those of the files of predictions.

    Parameters
    ----------
    labels : TableEvidence
    tables, key, rows
        The files of predictions and how their rows are paired.
    answers : set of str
        Words that are answers of the models, which tell the labels among several columns.
    """
    own_names = key.names[0] if key.names else ()
    id_names = _id_of_labels(labels, tables, key, options)
    if not id_names and options.id is None:
        # Labels may know the rows by another column than the one that pairs the files.
        pair = _other_id(labels, tables[0])
        if pair is not None:
            own_names = (pair[0],)
            id_names = (pair[1],)
    name = _value_column(labels, id_names, answers, options, complaints)
    if name is None:
        return None
    plan = _plan_of(labels)
    if not id_names and plan is not None and PLAN_ID in labels.columns:
        places = _planned_places(labels, tables[0].n_rows, rows[0], name)
        if places is not None:
            return Truth(
                column=labels.columns[name],
                places=places,
                source=labels.label,
                id_names=(PLAN_ID,),
                plan=plan,
            )
    if not id_names:
        places = _by_place(labels, tables, key, rows, options, complaints)
        if places is None:
            return None
        return Truth(
            column=labels.columns[name],
            places=places,
            source=labels.label,
            plan=plan,
        )
    return _by_id(labels, tables, own_names, rows, id_names, name, plan, complaints)


def _planned_places(labels: TableEvidence, n_rows: int, rows: Any, name: str) -> IntArray | None:
    """Return the labels of a plan for rows without ids, whose places it holds; None where these are no places."""
    numbers = labels.columns[PLAN_ID].numbers
    if numbers is None or not labels.columns[PLAN_ID].is_distinct:
        return None
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < n_rows):
        return None
    found = np.full(n_rows, -1, dtype=np.int64)
    there = np.array([word is not None for word in labels.columns[name].words], dtype=bool)
    found[numbers[there].astype(np.int64)] = np.flatnonzero(there)
    return np.asarray(found[rows])


def _plan_of(labels: TableEvidence) -> str | None:
    """Return what a file says of the plan that it belongs to."""
    if PLAN not in labels.columns or not labels.n_rows:
        return None
    return str(labels.columns[PLAN].words[0])


def _value_column(
    labels: TableEvidence,
    id_names: tuple[str, ...],
    answers: set[str],
    options: RoleOptions,
    complaints: Complaints,
) -> str | None:
    """Return the column of labels: typed, by its name, the only one, or the one that holds answers of the models."""
    if options.label is not None and options.label in labels.columns:
        return options.label
    # An index that was saved with the labels has no name, and each value once.
    left = [
        name
        for name, column in labels.columns.items()
        if name not in id_names and name != PLAN and not (column.is_unnamed and column.is_distinct)
    ]
    if options.label is not None:
        complaints.add(
            f"{options.typed('--label', options.label)} must name a column of {labels.label}, which has "
            f"{first_few(list(labels.columns), 8)}."
        )
        return None
    named = [name for name in left if has_name_of(name, "truth")]
    # Beside a `target` or a `class`, a column that is called `label` is the one.
    exact = [name for name in named if plain_name(name) == "label"]
    if len(left) == 1 or len(named) == 1 or len(exact) == 1:
        chosen = left if len(left) == 1 else (named if len(named) == 1 else exact)
        return chosen[0]
    fitting = [name for name in left if _holds(labels.columns[name], answers)]
    if len(fitting) == 1:
        return fitting[0]
    if not left:
        complaints.add(
            f"{labels.label} must have a column of labels, got {first_few(list(labels.columns), 8)} only."
        )
        return None
    # A wrong column may give a plausible accuracy, so that nothing is guessed.
    readings = [
        PossibleReading(f"{name} holds the true labels", options.typed("--label", name))
        for name in (fitting or named or left)[:4]
    ]
    raise AmbiguousReadingError(
        f"{labels.label} has several columns that may hold the labels.", readings
    )


def _holds(column: ColumnEvidence, answers: set[str]) -> bool:
    """Return True if most cells of a column are among the answers."""
    if column.n_distinct > 2 * max(len(answers), 1):
        return False
    known = [word for word in column.words if word is not None]
    return bool(known) and sum(word in answers for word in known) >= ENOUGH * len(known)


def _id_of_labels(
    labels: TableEvidence, tables: Sequence[TableEvidence], key: RowKey, options: RoleOptions
) -> tuple[str, ...]:
    """Return the columns of a file of labels that hold the ids of the files; none where labels go by their place."""
    first = tables[0]
    if key.by == "place" or len(labels.columns) == 1:
        return ()
    own_names = key.names[0]
    own = [first.columns[name] for name in own_names]
    for part in key.names:
        if all(name in labels.columns for name in part) and not own[0].is_unnamed:
            return part
    if len(own_names) > 1:
        return ()
    # By values: the column of which most are ids of the files, if more than half of them are.
    best: tuple[float, str] | None = None
    for name, column in labels.columns.items():
        if column.is_fractional or column.is_bool:
            continue
        if labels.n_rows >= 4 and not may_be_id(column):
            continue
        codes = joint_codes([own, [column]])
        n_common = len(np.intersect1d(codes[0], codes[1][codes[1] >= 0]))
        fraction = n_common / max(column.n_distinct, 1)
        is_place = column.is_unnamed and labels.n_rows == first.n_rows
        # A count of the rows on one side alone is a place.
        if is_place and (column.counts_rows != own[0].counts_rows) and fraction < 1.0:
            continue
        if is_place and column.counts_rows and not own[0].counts_rows:
            continue
        if is_place and own[0].counts_rows and own[0].is_unnamed and not column.counts_rows:
            raise _place_or_id(labels, first, own_names[0], name, options)
        if fraction > ENOUGH and (best is None or fraction > best[0]):
            best = (fraction, name)
    return () if best is None else (best[1],)


def _other_id(labels: TableEvidence, first: TableEvidence) -> tuple[str, str] | None:
    """Return a column of the first file and one of the labels that hold the same distinct values in another order."""
    for own in first.columns.values():
        if not may_be_id(own) or not own.is_distinct or own.counts_rows:
            continue
        for column in labels.columns.values():
            if not may_be_id(column) or not column.is_distinct or column.counts_rows:
                continue
            codes = joint_codes([[own], [column]])
            n_common = len(np.intersect1d(codes[0], codes[1]))
            if n_common > ENOUGH * labels.n_rows and n_common > 1:
                return own.name, column.name
    return None


def _place_or_id(
    labels: TableEvidence, first: TableEvidence, own: str, name: str, options: RoleOptions
) -> AmbiguousReadingError:
    """Return the question whether an index that counts the files names the rows of the labels."""
    other = f"{own}={name}" if own != name else (own or "index")
    readings = [
        PossibleReading("labels go by their place", options.typed("--id", "none")),
        PossibleReading(
            f"the index of {labels.label} names the rows", options.typed("--id", other)
        ),
    ]
    question = (
        f"The index of {first.label} counts its rows, and that of {labels.label} holds the same numbers in another "
        "order."
    )
    return AmbiguousReadingError(question, readings)


def _by_place(
    labels: TableEvidence,
    tables: Sequence[TableEvidence],
    key: RowKey,
    rows: Sequence[Any],
    options: RoleOptions,
    complaints: Complaints,
) -> IntArray | None:
    """Return labels by their place, where there is one for each row and all files have one order."""
    first = tables[0]
    named = [
        name
        for name, column in labels.columns.items()
        if has_name_of(name, "id") and not column.is_unnamed and not column.counts_rows
    ]
    if labels.n_rows != first.n_rows:
        complaints.add(
            f"{labels.label} must have a label for each of the {first.n_rows} rows of {first.label}, or a "
            "column with "
            f"its ids, got {labels.n_rows} rows and the columns {first_few(list(labels.columns), 6)}."
        )
        return None
    # Rows that were matched by ids may stand elsewhere in each file.
    in_one_order = key.by == "place" or all(
        np.array_equal(key.codes[0], codes) for codes in key.codes[1:]
    )
    if not in_one_order:
        complaints.add(
            f"{labels.label} must have a column with the ids of {first.label} ({first_few(list(key.names[0]))}): the "
            "files have their rows in different orders."
        )
        return None
    for name in named:
        if name in first.columns and options.id is None:
            codes = joint_codes([[first.columns[name]], [labels.columns[name]]])
            if np.array_equal(codes[0], codes[1]):
                continue
        if options.id == "none":
            continue
        # Foreign ids may be those of other rows: only the user can say that places count.
        reading = PossibleReading("labels go by their place", options.typed("--id", "none"))
        raise AmbiguousReadingError(
            f"{labels.label} has ids in the column {name!r} which are not those of {first.label}.",
            [reading],
        )
    return np.asarray(np.arange(first.n_rows)[rows[0]])


def _by_id(
    labels: TableEvidence,
    tables: Sequence[TableEvidence],
    own_names: tuple[str, ...],
    rows: Sequence[Any],
    id_names: tuple[str, ...],
    name: str,
    plan: str | None,
    complaints: Complaints,
) -> Truth | None:
    """Return labels by their ids: each row once, and what belongs to no row is said."""
    import pandas as pd

    first = tables[0]
    column = labels.columns[name]
    there = ~np.asarray(pd.isna(column.words))
    if not there.all():
        labels = rows_of_table(labels, there)
        column = labels.columns[name]
    codes, own = joint_codes(
        [
            [first.columns[part] for part in own_names],
            [labels.columns[part] for part in id_names],
        ]
    )
    frame = pd.DataFrame({"id": own, "label": column.words})
    once = frame.drop_duplicates()
    if once["id"].duplicated().any():
        place = int(once.index[once["id"].duplicated()][0])
        value = labels.columns[id_names[0]].words[place]
        both = first_few(frame["label"][frame["id"] == own[place]].unique().tolist(), 2)
        complaints.add(f"{labels.label} must give one label for each row, got {both} for {value}.")
        return None
    # The first of exact doubles counts.
    kept = np.full(len(own), False)
    kept[once.index.to_numpy()] = True
    single = np.where(kept, own, -1)
    places = places_in(codes[rows[0]], single)
    n_found = int((places >= 0).sum())
    n_labels = int(kept.sum())
    n_unknown = n_labels - int(np.isin(own[kept], codes).sum())
    notes = []
    if not n_labels:
        complaints.add(
            f"{labels.label} must hold labels, but no cell of its column {column.name!r} is filled in. "
            "Write the true class beside each id there, and give the file again."
        )
        return None
    if n_found == 0:
        complaints.add(
            f"{labels.label} must label rows of the files, but its column {id_names[0]!r} holds "
            f"{first_few(labels.columns[id_names[0]].words[:2].tolist(), 2)} where {first.label} has "
            f"{first_few(first.columns[own_names[0]].words[:2].tolist(), 2)}. Compare the ids, or name another "
            "column with --id."
        )
        return None
    if n_unknown:
        notes.append(f"{n_unknown} labels belong to no row of the files")
    return Truth(
        column=column,
        places=places,
        source=labels.label,
        id_names=id_names,
        plan=plan,
        notes=tuple(notes),
    )
