"""Put together what was read, and say what was taken for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.prediction_tables import (
    PredictionTable,
    PredictionTables,
    TakenRows,
)
from shiftmetrics.tables.reading import FileReading, TableReading
from shiftmetrics.tables.stored_words import StoredIds


def finished_tables(
    roles: FoundRoles,
    files: list[PredictionTable],
    classes: tuple[str, ...],
    truth: Any,
    task: str,
) -> PredictionTables:
    """Return what was read, with the reading as it is said."""
    first = roles.tables[0]
    rows = roles.rows[0]
    if roles.key.names:
        parts = [_id_values(first.columns[name], rows) for name in roles.key.names[0]]
        ids = (
            parts[0]
            if len(parts) == 1
            else np.array(
                ["/".join(map(str, row)) for row in zip(*parts, strict=True)], dtype=object
            )
        )
    else:
        ids = np.arange(roles.n_rows)
    weight = None
    if roles.weight is not None:
        # A column that is named may stand in any of the files.
        place = next(k for k, table in enumerate(roles.tables) if roles.weight in table.columns)
        weight = roles.tables[place].columns[roles.weight].numbers
        weight = None if weight is None else weight[roles.rows[place]]
    group = None
    # One file may hold the groups alone: they are brought to the matched rows.
    for place, table in enumerate(roles.tables):
        if roles.group is not None and group is None and roles.group in table.columns:
            group = table.columns[roles.group].words[roles.rows[place]]
    reading = TableReading(
        files=tuple(_said(roles, files)),
        task=task,
        notes=tuple(dict.fromkeys(roles.notes)),
        warnings=tuple(roles.warnings),
    )
    said = reading.files[: len(files)]
    return PredictionTables(
        files=tuple(files),
        ids=ids,
        classes=classes,
        truth=truth,
        group=group,
        weight=weight,
        plan=None if roles.truth is None else roles.truth.plan,
        reading=reading,
        beside=tuple(map(_columns_beside, roles.tables, said)),
    )


def _columns_beside(table: TableEvidence, said: FileReading) -> dict[str, Any]:
    """Return the columns that say something else of the rows: those without a role, groups and weights."""
    names = {*said.left_out, *(name for name in (said.group, said.weight) if name is not None)}
    return {
        name: column.raw
        for name, column in table.columns.items()
        if name in names and not column.is_unnamed
    }


def _id_values(column: ColumnEvidence, rows: TakenRows) -> Any:
    """Return ids of some rows as integers, or as text."""
    if column.is_number and column.is_whole and column.raw.dtype.kind in "iu":
        return column.raw.to_numpy()[rows]
    if column.plain_text is not None and not column.raw.isna().any():
        return StoredIds(column.stored(rows))
    return column.words[rows]


def _said(roles: FoundRoles, files: Sequence[PredictionTable]) -> list[FileReading]:
    """Return what was taken for what in each file."""
    found = []
    truth = roles.truth
    for place, (table, file) in enumerate(zip(roles.tables, files, strict=True)):
        ids = roles.key.names[place] if roles.key.names else ()
        confidence = roles.confidences[place] if place < len(roles.confidences) else None
        # Labels that stand in a file of predictions are said with it; a file of labels has a sentence of its own.
        own_truth = None
        if (
            truth is not None
            and truth.column.name in table.columns
            and truth.source in (first.label for first in roles.tables)
        ):
            own_truth = truth.column.name
        classes: dict[str, str] = {}
        if len(file.columns) > 1:
            classes = dict(zip(file.columns, file.classes, strict=True))
        single = file.columns[0] if len(file.columns) == 1 else None
        answer = roles.answers[place] or single
        used = {*ids, *classes, answer, confidence, own_truth}
        used |= {name for name in (roles.weight, roles.group) if name in table.columns}
        found.append(
            FileReading(
                name=table.label,
                form=file.form,
                id=ids,
                classes=classes,
                answer=answer,
                confidence=confidence,
                truth=own_truth,
                weight=roles.weight if roles.weight in table.columns else None,
                group=roles.group if roles.group in table.columns else None,
                between=file.classes if single is not None else (),
                left_out=tuple(name for name in table.columns if name not in used),
            )
        )
    if truth is not None and roles.labels is not None and truth.source == roles.labels.label:
        used = {*truth.id_names, truth.column.name}
        found.append(
            FileReading(
                name=roles.labels.label,
                form="labels",
                id=truth.id_names,
                truth=truth.column.name,
                left_out=tuple(name for name in roles.labels.columns if name not in used),
            )
        )
    return found
