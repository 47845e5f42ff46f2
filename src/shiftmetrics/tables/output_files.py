"""Read one column of numbers of each model: the outputs of a regression, or the scores of documents."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.evidence import TableEvidence
from shiftmetrics.tables.finding import free_columns
from shiftmetrics.tables.finished import finished_tables
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.prediction_tables import PredictionTable, PredictionTables, TakenRows
from shiftmetrics.tables.roles.single import find_single
from shiftmetrics.tables.unread import refuse_large_integers


def typed_answers(roles: FoundRoles) -> list[str | None]:
    """Return the columns that were typed as predictions, ``a=b`` where they have other names in the other file."""
    typed = roles.options.prediction
    if typed is None or roles.scores:
        return [None] * len(roles.tables)
    found: list[str | None] = []
    for place, table in enumerate(roles.tables):
        first, mark, second = typed.partition("=")
        name = typed
        if mark and typed not in table.columns:
            name = first if place == 0 else second
        if name not in table.columns:
            raise UnreadableTableError(
                f"{roles.options.typed('--prediction', typed)} must name a column of {table.label}, which has "
                f"{first_few(list(table.columns), 8)}."
            )
        found.append(name)
    return found


def output_tables(roles: FoundRoles) -> PredictionTables:
    """Read one column of numbers of each model."""
    n_files = len(roles.tables)
    names = [one[0] if one else None for one in roles.scores] or list(roles.answers)
    # What was typed or found as an answer may hold words: then the one column of numbers is sought.
    if any(
        name is None or not roles.column(place, name).is_number for place, name in enumerate(names)
    ):
        free = [free_columns(roles, place) for place in range(n_files)]
        names = find_single(roles.tables, free, roles.equal, roles.options)
    found = []
    for place, name in enumerate(names):
        table = roles.tables[place]
        if name is None or not table.columns[name].is_number:
            known = first_few(list(table.columns), 8)
            raise UnreadableTableError(
                f"{table.label} must have a column of numbers, the outputs of a regression; it has {known}. Name it "
                f"with {roles.options.typed('--prediction', 'COLUMN')}."
            )
        _check_finite(table, name, roles.rows[place])
        # A tolerance says that the smallest differences do not count; without one they do.
        if roles.options.tolerance is None:
            refuse_large_integers(table, [name])
        found.append(
            PredictionTable(
                argument=table.argument,
                name=table.name,
                form="outputs",
                rows=roles.rows[place],
                scores=table.columns[name].numbers,
                columns=(name,),
            )
        )
    roles.scores = [(one.columns[0],) for one in found]
    roles.answers = [None] * n_files
    truth = roles.truth_numbers()
    if roles.truth is not None and truth is None:
        cell = roles.truth.column.words[0]
        raise UnreadableTableError(
            f"The true values must be numbers for outputs of a regression, got {str(cell)[:60]!r} in the column "
            f"{roles.truth.column.name!r} of {roles.truth.source}."
        )
    return finished_tables(roles, found, (), truth, "regression")


def _check_finite(table: TableEvidence, name: str, rows: TakenRows) -> None:
    """Refuse gaps and infinite numbers: a change from or to them has no size."""
    numbers = table.columns[name].numbers
    assert numbers is not None
    bad = ~np.isfinite(numbers[rows])
    if bad.any():
        place = int(np.arange(table.n_rows)[rows][int(np.argmax(bad))])
        raise UnreadableTableError(
            f"{table.label} must have a finite number in each row, got {numbers[place]:g} in the column {name!r}, "
            f"row {place}, and {int(bad.sum()):,} such rows. Drop these rows, or predict them again."
        )
