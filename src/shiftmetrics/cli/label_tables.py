"""Csv files that people open in a spreadsheet, fill in and give back: no cell is a formula, no label is lost."""

from __future__ import annotations

import csv
import re
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from shiftmetrics._core.files import atomic_path
from shiftmetrics._core.staging import current_staging
from shiftmetrics.cli.inputs.decision_tables import check_new_table
from shiftmetrics.tables.cells import Cells

# A spreadsheet runs cells that begin so (OWASP, "CSV Injection"). The apostrophe before them makes them text; cells
# that have apostrophes before such a sign already get one more, so that each comes back as it was.
_RUNS = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def guarded(cell: Any) -> Any:
    """Return a cell that no spreadsheet runs; numbers stay as they are."""
    if isinstance(cell, str) and _RUNS.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def unguarded(cell: Any) -> Any:
    """Return a cell as it was before `guarded`."""
    if isinstance(cell, str) and _GUARDED.match(cell):
        return cell[1:]
    return cell


def without_guards(table: Any) -> Any:
    """Return a table that was filled in, with its cells as they were; what is no table stays as it is."""
    if isinstance(table, Cells):
        return replace(
            table,
            table=without_guards(table.frame),
            written=frozenset(map(unguarded, table.written)),
            quoted=frozenset(map(unguarded, table.quoted)),
            index=tuple(map(unguarded, table.index)),
        )
    if not hasattr(table, "columns"):
        return table
    changed = {
        name: table[name].map(unguarded)
        for name in table.columns
        if table[name].dtype.kind not in "biufcmM" and table[name].map(_is_guarded).any()
    }
    table = table.assign(**{name: part for name, part in changed.items() if isinstance(name, str)})
    return table.rename(columns=unguarded)


def _is_guarded(cell: Any) -> bool:
    return isinstance(cell, str) and _GUARDED.match(cell) is not None


def write_table(table: Any, path: Path, *, guard: bool) -> None:
    """Write a csv file to be filled in, whole or not at all.

    Parameters
    ----------
    table : DataFrame
        Its rows.
    path : path
        The file.
    guard : bool
        Whether cells that a spreadsheet would run get an apostrophe before them.
    """
    texts = [name for name in table.columns if table[name].dtype.kind not in "biufcmM"]
    # pandas leaves out the quotes that a carriage return needs.
    returns = any("\r" in str(cell) for name in texts for cell in table[name])
    quoting = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    if guard:
        table = table.assign(**{name: table[name].map(guarded) for name in texts})
        table = table.rename(columns=guarded)
    staging = current_staging()
    # It gets its name after all others, which may be replaced; this one may not, since it may hold labels. So the
    # same command can be given again, also where the process was killed.
    with (
        staging.as_last() if staging is not None else nullcontext(),
        atomic_path(path) as temporary,
    ):
        table.to_csv(temporary, index=False, quoting=quoting)


RUNS_AGAIN: ContextVar[bool] = ContextVar("RUNS_AGAIN", default=False)
"""Whether a table of an earlier run that nobody has filled in may be replaced."""


def is_unfilled(path: Path) -> bool:
    """Return True for a table of ours, made to be filled in, of which no label is."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            # columns that our tables have and few others
            ours = {"order", "id", "label"} <= set(rows.fieldnames or ())
            return ours and all(not (row["label"] or "").strip() for row in rows)
    except (OSError, ValueError, csv.Error):
        return False


def check_table_path(path: Path, option: str) -> None:
    """Raise a ValueError unless a table can be written here; one that is there may hold labels."""
    if RUNS_AGAIN.get() and path.suffix == ".csv" and path.is_file() and is_unfilled(path):
        return
    check_new_table(path, option)
