"""Open files of predictions: first lines, kinds of cells, doubles, and which rows belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import Complaints, UnreadableTableError
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence, Words, evidence_of
from shiftmetrics.tables.headers import choose_headers
from shiftmetrics.tables.long_scores import with_one_row_a_sample
from shiftmetrics.tables.matching import MANY_IDS, matched_rows, without_doubles
from shiftmetrics.tables.one_hot import without_one_hot
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.prediction_tables import TakenRows
from shiftmetrics.tables.roles.ids import RowKey
from shiftmetrics.tables.roles.names import has_name_of
from shiftmetrics.tables.roles.truth import Truth

if TYPE_CHECKING:
    from shiftmetrics.tables.cells import Cells


@dataclass
class FoundRoles:
    """What has been found so far; one entry for each file of predictions where it is a list."""

    tables: list[TableEvidence]
    labels: TableEvidence | None
    options: RoleOptions
    key: RowKey = field(default_factory=lambda: RowKey(by="place"))
    rows: list[TakenRows] = field(default_factory=list)
    equal: set[str] = field(default_factory=set)
    truth: Truth | None = None
    answers: list[str | None] = field(default_factory=list)
    scores: list[tuple[str, ...]] = field(default_factory=list)
    confidences: list[str | None] = field(default_factory=list)
    weight: str | None = None
    group: str | None = None
    class_names: list[tuple[str, ...]] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    has_truth: bool = True
    is_remembered: bool = False
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def column(self, place: int, name: str) -> ColumnEvidence:
        """Return a column of one file."""
        return self.tables[place].columns[name]

    @property
    def n_rows(self) -> int:
        """Number of matched rows."""
        rows = self.rows[0]
        return self.tables[0].n_rows if isinstance(rows, slice) else len(rows)

    def truth_words(self) -> Words | None:
        """Return the true labels of the matched rows as text, None where unknown."""
        if self.truth is None:
            return None
        found = np.full(self.n_rows, None, dtype=object)
        there = self.truth.places >= 0
        found[there] = self.truth.column.words[self.truth.places[there]]
        return found

    def truth_numbers(self) -> FloatArray | None:
        """Return the true values of the matched rows as numbers; None for words."""
        if self.truth is None or self.truth.column.numbers is None:
            return None
        found = np.full(self.n_rows, np.nan)
        there = self.truth.places >= 0
        found[there] = self.truth.column.numbers[self.truth.places[there]]
        return found


def opened_files(files: Sequence[Cells], labels: Cells | None, options: RoleOptions) -> FoundRoles:
    """Decide the first lines and the kinds of cells, and leave out exact doubles."""
    from shiftmetrics.tables.kinds import decide_kinds

    everything = choose_headers(
        [*files, *([] if labels is None else [labels])], options, len(files)
    )
    everything[: len(files)] = map(with_one_row_a_sample, everything[: len(files)])
    decided = decide_kinds(everything[: len(files)], as_stored=True)
    frames = list(decided.frames)
    if labels is not None:
        # A column of labels may have the name of a column of scores, such as none.
        frames += decide_kinds(everything[len(files) :], as_stored=True).frames
    tables = [evidence_of(cells, frame) for cells, frame in zip(everything, frames, strict=True)]
    own = tables[: len(files)]
    true_labels = None
    if labels is not None:
        true_labels = tables[len(files)]
        if options.task != "sets":
            true_labels = without_one_hot(true_labels)
    roles = FoundRoles(
        tables=own,
        labels=true_labels,
        options=options,
    )
    for cells in everything:
        roles.notes += [f"{cells.name or cells.argument}: {note}" for note in cells.notes]
    roles.notes += decided.notes
    roles.problems += [problem.sentence for problem in decided.problems]
    if options.old is not None or options.new is not None:
        _split_models(roles)
    _leave_out_doubles(roles)
    return roles


def _split_models(roles: FoundRoles) -> None:
    """Make two files of one table that holds the answers of two models."""
    options = roles.options
    table = roles.tables[0]
    old = options.old or ""
    new = options.new or ""
    for option, name in (("--old", old), ("--new", new)):
        if name not in table.columns:
            raise UnreadableTableError(
                f"{options.typed(option, name)} must name a column of {table.label}, which has "
                f"{first_few(list(table.columns), 8)}."
            )
    tables = []
    # Either file keeps all columns but the answers of the other model.
    for other in (new, old):
        columns = {name: column for name, column in table.columns.items() if name != other}
        tables.append(replace(table, columns=columns))
    roles.tables = tables
    chosen = f"{old}={new}"
    if table.columns[old].is_fractional or table.columns[new].is_fractional:
        # One column of numbers of each model.
        roles.scores = [(old,), (new,)]
    roles.options = replace(options, prediction=chosen)


def _leave_out_doubles(roles: FoundRoles) -> None:
    """Count rows once that stand twice with one id and the same cells, and say so.

    Where rows of one id differ in some file, others that are alike are no doubles, and all are kept.
    """
    smaller = []
    notes = []
    for table in roles.tables:
        names = _repeated_ids(table, roles.options)
        if not names:
            smaller.append(table)
            continue
        once, n_doubles = without_doubles(table, names)
        if not any(once.columns[name].is_distinct for name in names):
            return
        smaller.append(once)
        notes.append(
            f"{table.label}: {n_doubles} rows stand twice, in all cells alike, and count once"
        )
    roles.tables = smaller
    roles.notes += notes


def _repeated_ids(table: TableEvidence, options: RoleOptions) -> list[str]:
    """Return the columns of ids in which some rows repeat others."""
    return [
        name
        for name, column in table.columns.items()
        if (name in options.id_parts or has_name_of(name, "id"))
        and not column.is_unnamed
        and not column.is_fractional
        and MANY_IDS * column.n_rows <= column.n_distinct < column.n_rows
    ]


def check_named_columns(roles: FoundRoles, complaints: Complaints) -> None:
    """Complain of columns that were typed and stand in no file."""
    options = roles.options
    typed: list[tuple[str, str]] = [("--exclude", name) for name in options.exclude]
    if options.group is not None:
        typed.append(("--group", options.group))
    if options.weight is not None:
        typed.append(("--weight", options.weight))
    known = list(dict.fromkeys(name for table in roles.tables for name in table.columns))
    for option, name in typed:
        if name not in known:
            complaints.add(
                f"{options.typed(option, name)} must name a column of the files, which have {first_few(known, 8)}."
            )


def bring_together(roles: FoundRoles) -> None:
    """Bring the rows of all files together; all rows in their order are a slice."""
    key = roles.key
    if key.by == "place" or len(roles.tables) == 1:
        roles.rows = [slice(None)] * len(roles.tables)
        return
    if all(np.array_equal(key.codes[0], codes) for codes in key.codes[1:]):
        roles.rows = [slice(None)] * len(roles.tables)
        return
    roles.rows = list(matched_rows(key.codes))
    n_left_out = max(table.n_rows for table in roles.tables) - len(matched_rows(key.codes)[0])
    if n_left_out:
        roles.notes.append(f"up to {n_left_out} rows that are not in all files are left out")
