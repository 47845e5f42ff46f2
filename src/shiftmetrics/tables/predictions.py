"""Read files of predictions: roles by the evidence of all files together, rows matched, classes named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import (
    AmbiguousReadingError,
    Complaints,
    PossibleReading,
    UnreadableTableError,
)
from shiftmetrics.tables.evidence import ColumnEvidence, TableEvidence, Words, evidence_of
from shiftmetrics.tables.headers import choose_headers
from shiftmetrics.tables.matching import MANY_IDS, matched_rows, without_doubles
from shiftmetrics.tables.naming import LabelledAnswers, joint_classes, names_of_columns, names_of_two
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.prediction_tables import (
    PredictionForm,
    PredictionTable,
    PredictionTables,
    TakenRows,
)
from shiftmetrics.tables.reading import FileReading, Reading
from shiftmetrics.tables.roles.answers import find_answers, fits_labels, may_be_answer
from shiftmetrics.tables.roles.beside import column_named, equal_columns
from shiftmetrics.tables.roles.ids import RowKey, find_row_key
from shiftmetrics.tables.roles.names import has_name_of
from shiftmetrics.tables.roles.scores import find_scores
from shiftmetrics.tables.roles.single import find_single, form_of_numbers
from shiftmetrics.tables.roles.sums import constant_sums
from shiftmetrics.tables.roles.truth import Truth, truth_in_files, truth_of_labels
from shiftmetrics.tables.sanity import doubts_of_classes, doubts_of_labels
from shiftmetrics.tables.spelling import common_words, distinct_words
from shiftmetrics.tables.tasks import refuse_other_tasks

if TYPE_CHECKING:
    from shiftmetrics.tables.cells import Cells

MANY_CLASSES = 50
"""Distinct whole numbers from which on a column may be a regression."""

AGREEING = 0.9
"""Fraction of rows in which an answer without a name of its own is the class of the largest score."""


@dataclass
class _Roles:
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


def read_predictions(
    files: Sequence[Cells],
    *,
    labels: Cells | None = None,
    options: RoleOptions | None = None,
) -> PredictionTables:
    """Read predictions of one or several models for the same rows.

    Parameters
    ----------
    files : sequence of Cells
        The predictions; a single table may hold two models, named by ``old`` and ``new`` of the options.
    labels : Cells, optional
        A file of true labels.
    options : RoleOptions, optional
        What is known of the columns.

    Returns
    -------
    PredictionTables

    Raises
    ------
    AmbiguousReadingError
        If two readings give different answers; the message has an option for each.
    UnreadableTableError
        If no reading fits; the message says all that is wrong with all files.
    """
    options = options or RoleOptions()
    roles = _opened(files, labels, options)
    complaints = Complaints()
    _check_options(roles, complaints)
    roles.key = find_row_key(roles.tables, roles.options, complaints)
    roles.notes += roles.key.notes
    _match(roles)
    roles.equal = equal_columns(roles.tables, roles.rows) if len(roles.tables) > 1 else set()
    _find_beside(roles)
    _find_truth(roles, complaints)
    complaints.raise_any()
    _refuse_two_models(roles)
    _find_answers(roles, complaints)
    refused = refuse_other_tasks(
        roles.tables, roles.labels, roles.key, roles.answers, roles.options
    )
    if refused is not None:
        raise UnreadableTableError(refused)
    complaints.raise_any()
    if _is_regression(roles):
        return _regression(roles)
    return _classes(roles, complaints)


def _opened(
    files: Sequence[Cells], labels: Cells | None, options: RoleOptions
) -> _Roles:
    """Decide the first lines and the kinds of cells, and leave out exact doubles."""
    from shiftmetrics.tables.kinds import decide_kinds

    everything = choose_headers([*files, *([] if labels is None else [labels])], options, len(files))
    decided = decide_kinds(everything)
    frames = getattr(decided, "frames", decided)
    tables = [evidence_of(cells, frame) for cells, frame in zip(everything, frames, strict=True)]
    own = tables[: len(files)]
    roles = _Roles(
        tables=own, labels=tables[len(files)] if labels is not None else None, options=options
    )
    for cells in everything:
        roles.notes += [f"{cells.name or cells.argument}: {note}" for note in cells.notes]
    roles.notes += list(getattr(decided, "notes", ()))
    if options.old is not None or options.new is not None:
        _split_models(roles)
    _leave_out_doubles(roles)
    return roles


def _split_models(roles: _Roles) -> None:
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
    for other in (new, old):
        columns = {name: column for name, column in table.columns.items() if name != other}
        tables.append(replace(table, columns=columns))
    roles.tables = tables
    chosen = f"{old}={new}"
    if table.columns[old].is_fractional or table.columns[new].is_fractional:
        # One column of numbers of each model.
        roles.scores = [(old,), (new,)]
    roles.options = replace(options, prediction=chosen)


def _leave_out_doubles(roles: _Roles) -> None:
    """Count rows once that stand twice with one id and the same cells, and say so."""
    options = roles.options
    for place, table in enumerate(roles.tables):
        names = [
            name
            for name, column in table.columns.items()
            if (name in options.id_parts or has_name_of(name, "id"))
            and not column.is_unnamed
            and not column.is_fractional
            and MANY_IDS * column.n_rows <= column.n_distinct < column.n_rows
        ]
        if not names:
            continue
        smaller, n_doubles = without_doubles(table, names)
        if n_doubles:
            roles.tables[place] = smaller
            roles.notes.append(
                f"{table.label}: {n_doubles} rows stand twice, in all cells alike, and count once"
            )


def _check_options(roles: _Roles, complaints: Complaints) -> None:
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


def _match(roles: _Roles) -> None:
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


def _taken(roles: _Roles, place: int) -> set[str]:
    """Return the columns of one file that have a role, or that are left out as typed."""
    names = set(roles.options.exclude)
    if roles.key.names:
        names |= set(roles.key.names[place])
    names |= {name for name in (roles.weight, roles.group) if name is not None}
    if roles.truth is not None:
        names |= {
            name
            for name, column in roles.tables[place].columns.items()
            if column is roles.truth.column or (name == roles.truth.column.name and name in roles.equal)
        }
    names |= {
        name
        for name, column in roles.tables[place].columns.items()
        if column.is_unnamed and column.is_distinct
    }
    return names


def _free(roles: _Roles, place: int) -> list[str]:
    """Return the columns of one file that have no role and differ between the files; all that are left if none does."""
    taken = _taken(roles, place)
    left = [name for name in roles.tables[place].columns if name not in taken]
    differing = [name for name in left if name not in roles.equal]
    return differing or left


def _find_beside(roles: _Roles) -> None:
    """Find weights and groups: as typed, or by their name among columns that belong to the rows."""
    options = roles.options
    own = [name for name in roles.tables[0].columns if name in roles.equal]
    roles.weight = options.weight
    if roles.weight is None:
        name = column_named(own, "weight")
        if name is not None and roles.column(0, name).is_number:
            roles.weight = name
    roles.group = options.group


def _find_truth(roles: _Roles, complaints: Complaints) -> None:
    """Find the truth, in the files or in that of the labels."""
    options = roles.options
    taken = _taken(roles, 0)
    in_labels = roles.labels is not None and (
        options.label is None or options.label in roles.labels.columns
    )
    if not in_labels:
        roles.truth = truth_in_files(
            roles.tables, roles.rows, roles.equal, taken, options, complaints
        )
        return
    assert roles.labels is not None
    answers: set[str] = set()
    for place, table in enumerate(roles.tables):
        for name in _free(roles, place):
            column = table.columns[name]
            if not column.is_fractional and column.n_distinct <= MANY_CLASSES:
                answers |= distinct_words(column.words)
            answers.add(name)
    roles.truth = truth_of_labels(
        roles.labels, roles.tables, roles.key, roles.rows, answers, options, complaints
    )
    if roles.truth is None:
        return
    roles.notes += roles.truth.notes
    if roles.truth.id_names:
        n_found = int((roles.truth.places >= 0).sum())
        n_labels = int((~roles.truth.column.is_missing).sum())
        roles.warnings += doubts_of_labels(n_found, n_labels, roles.labels.label)


def _refuse_two_models(roles: _Roles) -> None:
    """Ask where both files are one and the same table that holds the answers of several models."""
    if len(roles.tables) != 2 or roles.options.prediction or roles.options.columns:
        return
    names = list(roles.tables[0].columns)
    if names != list(roles.tables[1].columns) or not set(names) <= roles.equal:
        return
    taken = _taken(roles, 0)
    left = [name for name in names if name not in taken]
    named = [name for name in left if has_name_of(name, "answer")]
    # The same answers twice; columns of the kind of the answers may be those of another model.
    words = [
        name
        for name in left
        if not roles.column(0, name).is_fractional and name not in named and not has_name_of(name, "truth")
    ]
    words = [name for name in words if not has_name_of(name, "beside")]
    if len(named) == 1 or len(words) < 2:
        return
    options = roles.options
    label = roles.tables[0].label
    readings = [
        PossibleReading(
            f"the columns of two models in {label} are set against each other",
            f"{options.typed('--old', words[0])} {options.typed('--new', words[1])}",
        ),
        PossibleReading(
            "nothing changes, both files hold the same answers",
            options.typed("--prediction", words[0]),
        ),
    ]
    raise AmbiguousReadingError(
        f"{label} and {roles.tables[1].label} hold the same table, with the columns {first_few(words, 4)}.", readings
    )


def _find_answers(roles: _Roles, complaints: Complaints) -> None:
    """Find the columns of answers: those that differ, or one that says so although it is equal in all files."""
    if roles.scores:
        # Two columns of numbers were named as the predictions of two models.
        roles.answers = [None] * len(roles.tables)
        return
    free = [_free(roles, place) for place in range(len(roles.tables))]
    # Scores that are whole by chance, such as votes, are no answers.
    numeric = [name for name in free[0] if all(name in part for part in free)]
    numeric = [name for name in numeric if all(table.columns[name].is_number for table in roles.tables)]
    parts = {name for part in constant_sums(roles.tables, numeric) for name in part}
    parts = {name for name in parts if not has_name_of(name, "answer")}
    free = [[name for name in names if name not in parts] for names in free]
    truth = roles.truth_words()
    roles.answers = find_answers(roles.tables, free, truth, roles.options, complaints)
    if all(name is None for name in roles.answers):
        taken = _taken(roles, 0)
        named = [
            name
            for name in roles.equal
            if name not in taken and _says_answer(roles.column(0, name), truth)
        ]
        if len(named) == 1:
            roles.answers = [named[0]] * len(roles.tables)


def _says_answer(column: ColumnEvidence, truth: Words | None) -> bool:
    """Return True if a column that is equal in all files holds answers: by its name, or as words of the labels."""
    if column.is_fractional:
        return False
    if has_name_of(column.name, "answer"):
        return True
    if truth is None or has_name_of(column.name, "truth") or (column.is_number and not column.is_bool):
        return False
    return may_be_answer(column) and fits_labels(column, truth)


def _is_regression(roles: _Roles) -> bool:
    """Return True if the true values, or the answers where there are none, are measured or counted numbers."""
    if roles.options.tolerance is not None:
        return True
    if roles.options.threshold is not None or roles.options.classes is not None:
        return False
    if roles.truth is not None:
        return _is_measured(roles.truth.column)
    columns = [
        roles.column(place, name) for place, name in enumerate(roles.answers) if name is not None
    ]
    return bool(columns) and all(_is_measured(column) for column in columns)


def _is_measured(column: ColumnEvidence) -> bool:
    """Return True for fractions, and for many whole numbers with gaps between them."""
    if not column.is_number or column.is_bool:
        return False
    if column.is_fractional:
        return column.n_distinct > 2
    known = column.known_numbers
    if not len(known) or column.n_distinct <= MANY_CLASSES:
        return False
    return bool(known.max() - known.min() + 1.0 > 2.0 * column.n_distinct)


def _regression(roles: _Roles) -> PredictionTables:
    """Read one column of numbers of each model."""
    n_files = len(roles.tables)
    names = [one[0] if one else None for one in roles.scores] or list(roles.answers)
    if any(name is None or not roles.column(place, name).is_number for place, name in enumerate(names)):
        free = [_free(roles, place) for place in range(n_files)]
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
    return _finished(roles, found, (), truth, "regression")


def _classes(roles: _Roles, complaints: Complaints) -> PredictionTables:
    """Read answers and scores of classes, and name the classes."""
    n_files = len(roles.tables)
    truth = roles.truth_words()
    words = _answer_words(roles)
    spelled = common_words([*(part for part in words if part is not None), *([] if truth is None else [truth])])
    fit = iter(spelled)
    served = [None if part is None else next(fit) for part in words]
    truth = None if truth is None else next(fit)
    known = set() if truth is None else distinct_words(truth)
    answered = set().union(*(distinct_words(part) for part in served if part is not None))
    codes = _are_codes(answered, known)
    if not known or not codes:
        known = known | answered
    if not roles.scores:
        free = [
            [name for name in _free(roles, place) if name != roles.answers[place]]
            for place in range(n_files)
        ]
        with_equal = [
            [
                *free[place],
                *(
                    name
                    for name in roles.tables[place].columns
                    if name in roles.equal and name not in free[place] and name not in _taken(roles, place)
                    and name != roles.answers[place]
                ),
            ]
            for place in range(n_files)
        ]
        roles.scores = find_scores(
            roles.tables, with_equal, roles.equal, known, roles.options, complaints
        )
        complaints.raise_any()
    files = []
    for place in range(n_files):
        files.append(_file(roles, place, served, truth, known, codes=codes))
    return _named(roles, files, truth)


def _answer_words(roles: _Roles) -> list[Words | None]:
    """Return the answers of each file as text."""
    return [
        None if name is None else roles.column(place, name).words
        for place, name in enumerate(roles.answers)
    ]


def _are_codes(answered: set[str], known: set[str]) -> bool:
    """Return True if answers are whole numbers where the labels are words: places of classes."""
    if not answered or not known or answered & known:
        return False
    return all(word.isdigit() for word in answered) and not any(word.isdigit() for word in known)


def _file(
    roles: _Roles,
    place: int,
    served: Sequence[Words | None],
    truth: Words | None,
    known: set[str],
    *,
    codes: bool,
) -> PredictionTable:
    """Return the predictions of one file, its classes named."""
    table = roles.tables[place]
    names = roles.scores[place] if roles.scores else ()
    own = served[place]
    base = PredictionTable(
        argument=table.argument, name=table.name, form="answers", rows=roles.rows[place]
    )
    if len(names) > 1:
        scores = table.numeric(names)
        _check_scores(scores, names, table)
        labelled = _labelled(roles, truth)
        classes = names_of_columns(names, known, labelled, roles.options, table.label)
        file = replace(base, form="classes", scores=scores, classes=classes, columns=names)
        return _with_served(roles, place, file, own, codes=codes)
    if own is not None:
        return _answers_alone(roles, place, base, own, truth, known, codes=codes)
    if len(names) == 1:
        single = names[0]
    else:
        free = [
            [name for name in _free(roles, other) if name != roles.answers[other]]
            for other in range(len(roles.tables))
        ]
        found = find_single(roles.tables, free, roles.equal, roles.options)[place]
        if found is None:
            raise UnreadableTableError(
                f"{table.label} must have predictions: a column of answers, or scores of classes; it has "
                f"{first_few(list(table.columns), 8)}."
            )
        single = found
    return _single(roles, place, base, single, truth, known)


def _check_scores(scores: FloatArray, names: Sequence[str], table: TableEvidence) -> None:
    """Refuse gaps and plus infinity; minus infinity is a probability of 0."""
    bad = np.isnan(scores) | (scores == np.inf)
    bad |= (scores == -np.inf).all(axis=1, keepdims=True)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise UnreadableTableError(
            f"{table.label} must have a finite number in each row of its scores, got {scores[row, column]:g} in the "
            f"column {names[column]!r}, row {row}. Drop these rows, or predict them again."
        )


def _labelled(roles: _Roles, truth: Words | None) -> LabelledAnswers | None:
    """Return the places of the largest scores in the rows with a label, for files with one column a class."""
    import pandas as pd

    if truth is None:
        return None
    known = ~np.asarray(pd.isna(truth))
    largest = []
    for place, names in enumerate(roles.scores):
        if len(names) > 1:
            block = roles.tables[place].numeric(names)[roles.rows[place]][known]
            largest.append(block.argmax(axis=1))
    return LabelledAnswers(largest=largest, truth=truth[known])


def _with_served(
    roles: _Roles, place: int, file: PredictionTable, own: Words | None, *, codes: bool
) -> PredictionTable:
    """Count the answers that stand beside scores, where they are answers: by name, or equal to the largest score."""
    if own is None:
        return file
    name = roles.answers[place]
    assert name is not None and file.scores is not None
    if codes:
        translated = _translated(own, file.classes, roles.tables[place], name)
        own = translated
    largest = np.array(file.classes, dtype=object)[file.scores.argmax(axis=1)]
    differs = own != largest
    n_differs = int(differs.sum())
    if not has_name_of(name, "answer") and roles.options.prediction is None:
        if n_differs > (1.0 - AGREEING) * len(own):
            column = roles.column(place, name)
            if column.is_number or column.n_distinct == 1:
                # Whole numbers that merely look like classes are no answer, nor is the name of a model.
                roles.answers[place] = None
                return file
            raise _served_or_not(roles, place, name, n_differs)
    _check_answers(own, name, roles.tables[place])
    if n_differs:
        roles.notes.append(
            f"in {n_differs} rows of {roles.tables[place].label} the answer {name} is not the largest score: it counts"
        )
    return replace(file, served=own)


def _served_or_not(
    roles: _Roles, place: int, name: str, n_differs: int
) -> AmbiguousReadingError:
    """Return the question whether a column without the name of an answer holds what was served."""
    options = roles.options
    readings = [
        PossibleReading(f"{name} was served and counts", options.typed("--prediction", name)),
        PossibleReading("the largest score is the answer", options.typed("--exclude", (name,))),
    ]
    return AmbiguousReadingError(
        f"The column {name!r} of {roles.tables[place].label} holds classes, but not that of the largest score in "
        f"{n_differs} rows.",
        readings,
    )


def _translated(
    own: Words, classes: Sequence[str], table: TableEvidence, name: str
) -> Words:
    """Return codes of answers as classes."""
    places = np.array([-1 if word is None else int(word) for word in own])
    if len(places) and places.max() >= len(classes):
        raise UnreadableTableError(
            f"The column {name!r} of {table.label} must hold places of {len(classes)} classes, got {places.max()}."
        )
    lookup = np.array([*classes, None], dtype=object)
    return np.asarray(lookup[places])


def _check_answers(own: Words, name: str, table: TableEvidence) -> None:
    """Refuse rows without an answer."""
    import pandas as pd

    missing = np.asarray(pd.isna(own))
    if missing.any():
        raise UnreadableTableError(
            f"{table.label} must have an answer in each row, but the column {name!r} is empty in {int(missing.sum())}, "
            f"the first at row {int(np.argmax(missing))}."
        )


def _answers_alone(
    roles: _Roles,
    place: int,
    base: PredictionTable,
    own: Words,
    truth: Words | None,
    known: set[str],
    *,
    codes: bool,
) -> PredictionTable:
    """Return answers without a column for each class, with their confidence where it stands beside them."""
    table = roles.tables[place]
    name = roles.answers[place]
    assert name is not None
    options = roles.options
    if codes:
        own = _translated(own, _classes_of_codes(roles, truth, known), table, name)
    elif options.classes is not None and not distinct_words(own) <= set(options.classes):
        if all(word.isdigit() for word in distinct_words(own)):
            own = _translated(own, options.classes, table, name)
    _check_answers(own, name, table)
    confidence = None
    free = [other for other in _free(roles, place) if other != name]
    found = column_named([other for other in free if table.columns[other].is_number], "confidence")
    if found is None:
        fractions = [other for other in free if table.columns[other].is_fractional]
        inside = [other for other in fractions if _is_fraction_of_one(table.columns[other])]
        named = [other for other in inside if has_name_of(other, "answer")]
        found = named[0] if len(named) == 1 else None
    if found is not None and _is_fraction_of_one(table.columns[found]):
        confidence = table.columns[found].numbers
        roles.confidences[len(roles.confidences) :] = [None] * (place + 1 - len(roles.confidences))
        roles.confidences[place] = found
    return replace(base, served=own, confidence=confidence)


def _classes_of_codes(roles: _Roles, truth: Words | None, known: set[str]) -> tuple[str, ...]:
    """Return the classes that answers 0..K-1 stand for, as for columns that are numbered."""
    import pandas as pd

    assert truth is not None
    there = ~np.asarray(pd.isna(truth))
    places = []
    for place, words in enumerate(_answer_words(roles)):
        if words is not None:
            own = words[roles.rows[place]]
            places.append(np.array([-1 if word is None else int(word) for word in own]))
    n_codes = max(int(part.max(initial=0)) for part in places) + 1
    n_classes = max(n_codes, len(known))
    labelled = LabelledAnswers(largest=[part[there] for part in places], truth=truth[there])
    columns = tuple(map(str, range(n_classes)))
    return names_of_columns(columns, known, labelled, roles.options, roles.tables[0].label)


def _is_fraction_of_one(column: ColumnEvidence) -> bool:
    """Return True for numbers from 0 to 1 in every row."""
    numbers = column.numbers
    return numbers is not None and bool(len(numbers)) and bool(((numbers >= 0.0) & (numbers <= 1.0)).all())


def _single(
    roles: _Roles,
    place: int,
    base: PredictionTable,
    name: str,
    truth: Words | None,
    known: set[str],
) -> PredictionTable:
    """Return one column of numbers as the probability, percentage or margin of the second class."""
    import pandas as pd

    table = roles.tables[place]
    column = table.columns[name]
    if column.numbers is None:
        cell = column.words[0]
        raise UnreadableTableError(
            f"The column {name!r} of {table.label} must hold numbers, got {str(cell)[:60]!r}."
        )
    numbers = column.numbers
    if not np.isfinite(numbers).all():
        row = int(np.argmax(~np.isfinite(numbers)))
        raise UnreadableTableError(
            f"{table.label} must have a finite number in each row, got {numbers[row]:g} in the column {name!r}, row "
            f"{row}. Drop these rows, or predict them again."
        )
    others = [
        other.columns[name].numbers
        for other in roles.tables
        if name in other.columns and other.columns[name].numbers is not None
    ]
    form = form_of_numbers([name], [part for part in others if part is not None], truth, roles.options)
    roles.scores[place] = (name,)
    if form == "outputs":
        return replace(base, form="outputs", scores=numbers, columns=(name,))
    scores = numbers / 100.0 if form == "percentage" else numbers
    labelled = None
    seconds = [scores[roles.rows[place]]]
    if truth is not None:
        there = ~np.asarray(pd.isna(truth))
        labelled = truth[there]
        seconds = [part[there] for part in seconds]
    middle = 0.0 if form == "margin" else 0.5
    classes = names_of_two(name, known, seconds, labelled, roles.options, table.label, middle)
    single: PredictionForm = form
    return replace(
        base,
        form=single,
        scores=scores,
        classes=classes,
        columns=(name,),
        threshold=roles.options.threshold,
    )


def _named(
    roles: _Roles, files: list[PredictionTable], truth: Words | None
) -> PredictionTables:
    """Check the classes of all files against each other and against the labels."""
    outputs = [file.form == "outputs" for file in files]
    if all(outputs):
        return _finished(roles, files, (), roles.truth_numbers(), "regression")
    if any(outputs):
        listed = " and ".join(f"{file.name or file.argument} {file.form}" for file in files)
        raise UnreadableTableError(f"All files must hold predictions of one kind, got {listed}.")
    columns = [file.classes for file in files if file.classes]
    answered = [
        tuple(sorted(distinct_words(file.served))) for file in files if file.served is not None
    ]
    sets = {frozenset(part) for part in columns}
    if len(sets) > 1:
        first, second = list(sets)[:2]
        raise UnreadableTableError(
            f"All files must have the same classes, but only one has {first_few(sorted(first ^ second), 4)}. Name the "
            "columns of all files after their classes."
        )
    if columns and answered:
        outside = set().union(*map(set, answered)) - set(columns[0])
        if outside:
            raise UnreadableTableError(
                f"Answers must be classes of the columns {first_few(columns[0], 6)}, got {first_few(sorted(outside))}. "
                f"Give the classes in the order of the columns with {roles.options.typed('--classes', 'A,B')}."
            )
    if truth is not None and columns:
        outside = distinct_words(truth) - set(columns[0])
        if outside:
            raise UnreadableTableError(
                f"Labels must be among the classes {first_few(columns[0], 6)}, got {first_few(sorted(outside))}."
            )
    if truth is not None and answered and not columns:
        every = set().union(*map(set, answered))
        if not every & distinct_words(truth):
            raise UnreadableTableError(
                f"Answers and labels must have classes in common, got {first_few(sorted(every), 3)} and "
                f"{first_few(sorted(distinct_words(truth)), 3)}."
            )
    complaints = Complaints()
    classes = joint_classes([*columns[:1], *answered], truth, complaints)
    names = [file.name or file.argument for file in files]
    roles.warnings += doubts_of_classes(names, [file.answers() for file in files], truth)
    return _finished(roles, files, classes, truth, "classes")


def _finished(
    roles: _Roles,
    files: list[PredictionTable],
    classes: tuple[str, ...],
    truth: Any,
    task: str,
) -> PredictionTables:
    """Return what was read, with the reading as it is said."""
    first = roles.tables[0]
    rows = roles.rows[0]
    if roles.key.names:
        parts = [_id_values(first.columns[name])[rows] for name in roles.key.names[0]]
        ids = parts[0] if len(parts) == 1 else np.array(["/".join(map(str, row)) for row in zip(*parts, strict=True)], dtype=object)
    else:
        ids = np.arange(roles.n_rows)
    weight = None
    if roles.weight is not None:
        weight = first.columns[roles.weight].numbers
        weight = None if weight is None else weight[rows]
    group = None
    for place, table in enumerate(roles.tables):
        if roles.group is not None and group is None and roles.group in table.columns:
            group = table.columns[roles.group].words[roles.rows[place]]
    reading = Reading(
        files=tuple(_said(roles, files)),
        task=task,
        notes=tuple(dict.fromkeys(roles.notes)),
        warnings=tuple(roles.warnings),
    )
    return PredictionTables(
        files=tuple(files),
        ids=ids,
        classes=classes,
        truth=truth,
        group=group,
        weight=weight,
        plan=None if roles.truth is None else roles.truth.plan,
        reading=reading,
    )


def _id_values(column: ColumnEvidence) -> Any:
    """Return ids as integers, or as text."""
    if column.is_number and column.is_whole and column.raw.dtype.kind in "iu":
        return column.raw.to_numpy()
    return column.words


def _said(roles: _Roles, files: Sequence[PredictionTable]) -> list[FileReading]:
    """Return what was taken for what in each file."""
    found = []
    truth = roles.truth
    for place, (table, file) in enumerate(zip(roles.tables, files, strict=True)):
        ids = roles.key.names[place] if roles.key.names else ()
        confidence = roles.confidences[place] if place < len(roles.confidences) else None
        own_truth = None
        if truth is not None and truth.column.name in table.columns and truth.source in (first.label for first in roles.tables):
            own_truth = truth.column.name
        classes = dict(zip(file.columns, file.classes, strict=False)) if len(file.columns) > 1 else {}
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
