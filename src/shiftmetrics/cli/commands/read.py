"""The command ``shiftmetrics read FILE ...``: what the columns of some files are taken for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from shiftmetrics._core.files import atomic_path
from shiftmetrics._core.staging import all_or_nothing
from shiftmetrics._core.validation import first_few
from shiftmetrics.cli.console import say
from shiftmetrics.cli.errors import reader_may_leave
from shiftmetrics.cli.inputs.prediction_files import read_cells, typed_roles, typed_source
from shiftmetrics.cli.log_sentences import say_logs
from shiftmetrics.cli.options import OPENING, ColumnOptions, Opening
from shiftmetrics.cli.signature import command
from shiftmetrics.tables.ask import AmbiguousReadingError, UnreadableTableError
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.kinds import decide_kinds
from shiftmetrics.tables.logs import LogCells
from shiftmetrics.tables.predictions import read_predictions
from shiftmetrics.tables.reading import TableReading, load_reading

MOST_COLUMNS = 8
"""So many columns of a kind are named."""


@command
def read(
    files: list[str],
    *,
    roles: ColumnOptions,
    group: str | None = None,
    sep: str | None = None,
    decimal: Literal[".", ","] = ".",
    max_gib: float = 4.0,
    trust: bool = False,
    save: Path | None = None,
) -> None:
    """Say what the columns of files are taken for, and keep it for a gate that guesses nothing.

    Files of predictions are read together, as `diff` reads them: ids, classes, answers and labels are found by what
    the columns hold. Of logs of evaluations, the scores and the questions that two of them share are said; of any
    other table, the kinds of its columns. With --save, the reading is written to a file that `shiftmetrics diff`
    takes as --reading: a file that no longer fits it is refused.

    Exit codes: 0 read, 2 an error, or two readings that give different answers.

    Example: `shiftmetrics read old.csv`

    Example: `shiftmetrics read old.csv new.csv --labels labels.csv --save reading.toml`

    Parameters
    ----------
    files : FILE...
        Files, folders of parts or patterns of files, told by their content.
    group : COLUMN
        Column of groups.
    save : FILE.toml
        Where the reading goes.
    """
    OPENING.set(Opening(trust=trust, sep=sep, decimal=decimal, max_gib=max_gib))
    options, label_source = typed_roles(roles, group=group)
    if save is not None and not _may_be_replaced(save):
        raise ValueError(
            f"--save must be a new file or a reading, got {str(save)!r}. Choose another name."
        )
    cells = [read_cells(typed_source(text, "FILE"), roles.header) for text in files]
    label_cells = None if label_source is None else read_cells(label_source, roles.header)
    for one in (*cells, *([] if label_cells is None else [label_cells])):
        _say_form(one)
    logs = [one for one in cells if isinstance(one, LogCells)]
    if logs and len(logs) == len(cells) and label_cells is None:
        say_logs(logs, files, ids=roles.id_column, group=group, inner=roles.inner, save=save)
        return
    _say_kinds(cells)
    asks_for_roles = save is not None or roles != ColumnOptions() or group is not None
    try:
        found = read_predictions(
            cells, labels=label_cells, options=options, reading=options.reading
        ).reading
    except AmbiguousReadingError:
        raise
    except UnreadableTableError as error:
        # Whoever names no roles asks what a file is: that it holds no predictions is an answer then.
        if asks_for_roles or label_cells is not None:
            raise
        say(f"Not read as predictions: {error}")
        return
    _say_reading(found)
    if save is not None:
        with all_or_nothing():
            with atomic_path(save) as temporary:
                found.save(temporary)
            with reader_may_leave():
                say(f"Reading: {save}")


def _may_be_replaced(path: Path) -> bool:
    """Return True where nothing can be lost: for no file, an empty one, a device, and an earlier reading."""
    if not path.is_file() or path.stat().st_size == 0:
        return True
    try:
        load_reading(path)
    except UnreadableTableError:
        return False
    return True


def _say_form(cells: Cells) -> None:
    """Say how many rows and columns a file has, and what was left out of it."""
    n_rows, n_columns = cells.frame.shape
    rows = "row" if n_rows == 1 else "rows"
    columns = "column" if n_columns == 1 else "columns"
    say(f"{cells}: {n_rows:,} {rows}, {n_columns:,} {columns}.")
    for note in cells.notes:
        say(f"Note: {note}.")


def _say_kinds(cells: Sequence[Cells]) -> None:
    """Say the kind of each column."""
    tables = decide_kinds(cells)
    by_kind: dict[str, list[str]] = {}
    for kind in tables.kinds.values():
        by_kind.setdefault(kind.kind, []).append(kind.name)
    parts = [
        f"{kind} {first_few(names, MOST_COLUMNS, show=str)}" for kind, names in by_kind.items()
    ]
    say(f"Columns: {'; '.join(parts)}.")
    for note in tables.notes:
        say(f"Note: {note.rstrip('.')}.")
    for problem in tables.problems:
        say(f"Note: {problem.sentence.rstrip('.')}.")


def _say_reading(found: TableReading) -> None:
    for warning in found.warnings:
        say(f"Warning: {warning.rstrip('.')}.")
    for sentence in found.sentences():
        say(sentence)
