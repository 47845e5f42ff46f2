"""Find the truth, the answers and what stands beside them, in files whose rows are brought together."""

from __future__ import annotations

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import AmbiguousReadingError, Complaints, PossibleReading
from shiftmetrics.tables.evidence import ColumnEvidence, Words
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.roles.answers import find_answers, fits_labels, may_be_answer
from shiftmetrics.tables.roles.beside import column_named
from shiftmetrics.tables.roles.names import has_name_of
from shiftmetrics.tables.roles.own_truth import truth_in_files
from shiftmetrics.tables.roles.sums import constant_sums
from shiftmetrics.tables.roles.truth import truth_of_labels
from shiftmetrics.tables.sanity import doubts_of_labels
from shiftmetrics.tables.spelling import distinct_words

MANY_CLASSES = 50
"""Distinct whole numbers from which on a column may be a regression."""


def taken_columns(roles: FoundRoles, place: int) -> set[str]:
    """Return the columns of one file that have a role, or that are left out as typed."""
    names = set(roles.options.exclude)
    if roles.key.names:
        names |= set(roles.key.names[place])
    names |= {name for name in (roles.weight, roles.group) if name is not None}
    if roles.truth is not None:
        names |= {
            name
            for name, column in roles.tables[place].columns.items()
            if column is roles.truth.column
            or (name == roles.truth.column.name and name in roles.equal)
        }
    names |= {
        name
        for name, column in roles.tables[place].columns.items()
        if column.is_unnamed and column.is_distinct
    }
    return names


def free_columns(roles: FoundRoles, place: int) -> list[str]:
    """Return the columns of one file without a role that differ between the files; all of them if none does."""
    taken = taken_columns(roles, place)
    left = [name for name in roles.tables[place].columns if name not in taken]
    differing = [name for name in left if name not in roles.equal]
    return differing or left


def find_weight_and_group(roles: FoundRoles) -> None:
    """Find weights and groups: as typed, or by their name among columns that belong to the rows."""
    options = roles.options
    own = [name for name in roles.tables[0].columns if name in roles.equal]
    roles.weight = options.weight
    if roles.weight is None and not roles.is_remembered:
        name = column_named(own, "weight")
        if name is not None and roles.column(0, name).is_number:
            roles.weight = name
    roles.group = options.group


def find_truth(roles: FoundRoles, complaints: Complaints) -> None:
    """Find the truth, in the files or in that of the labels."""
    options = roles.options
    if not roles.has_truth:
        return
    taken = taken_columns(roles, 0)
    in_labels = roles.labels is not None and (
        options.label is None or options.label in roles.labels.columns
    )
    if not in_labels:
        roles.truth = truth_in_files(
            roles.tables, roles.rows, roles.equal, taken, options, complaints
        )
        return
    assert roles.labels is not None
    # What the models may answer, and the names of their columns, tell the labels among several columns.
    answers: set[str] = set()
    for place, table in enumerate(roles.tables):
        for name in free_columns(roles, place):
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


def refuse_two_models(roles: FoundRoles) -> None:
    """Ask where both files are one and the same table that holds the answers of several models."""
    if len(roles.tables) != 2 or roles.options.prediction or roles.options.columns:
        return
    names = list(roles.tables[0].columns)
    if names != list(roles.tables[1].columns) or not set(names) <= roles.equal:
        return
    taken = taken_columns(roles, 0)
    left = [name for name in names if name not in taken]
    named = [name for name in left if has_name_of(name, "answer")]
    # The same answers twice; columns of the kind of the answers may be those of another model.
    words = [
        name
        for name in left
        if not roles.column(0, name).is_fractional
        and name not in named
        and not has_name_of(name, "truth")
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
        f"{label} and {roles.tables[1].label} hold the same table, with the columns {first_few(words, 4)}.",
        readings,
    )


def find_answer_columns(roles: FoundRoles, complaints: Complaints) -> None:
    """Find the columns of answers: those that differ, or one that says so although it is equal in all files."""
    if roles.scores:
        # Two columns of numbers were named as the predictions of two models.
        roles.answers = [None] * len(roles.tables)
        return
    free = [free_columns(roles, place) for place in range(len(roles.tables))]
    # Scores that are whole by chance, such as votes, are no answers.
    numeric = [name for name in free[0] if all(name in part for part in free)]
    numeric = [
        name for name in numeric if all(table.columns[name].is_number for table in roles.tables)
    ]
    parts = {name for part in constant_sums(roles.tables, numeric) for name in part}
    parts = {name for name in parts if not has_name_of(name, "answer")}
    free = [
        [name for name in names if name not in parts and not _is_beside_scores(roles, name, parts)]
        for names in free
    ]
    truth = roles.truth_words()
    roles.answers = find_answers(roles.tables, free, truth, roles.options, complaints)
    if all(name is None for name in roles.answers):
        taken = taken_columns(roles, 0)
        named = [
            name
            for name in roles.equal
            if name not in taken and _says_answer(roles.column(0, name), truth)
        ]
        if len(named) == 1:
            roles.answers = [named[0]] * len(roles.tables)


def _is_beside_scores(roles: FoundRoles, name: str, parts: set[str]) -> bool:
    """Return True for whole numbers beside scores that do not name their classes, such as the largest vote."""
    if not parts or has_name_of(name, "answer") or roles.options.prediction is not None:
        return False
    columns = [table.columns[name] for table in roles.tables if name in table.columns]
    if any(not column.is_number or column.is_bool for column in columns):
        return False
    words = set().union(*(distinct_words(column.words) for column in columns if column.is_whole))
    return not all(any(word in part for part in parts) for word in words)


def _says_answer(column: ColumnEvidence, truth: Words | None) -> bool:
    """Return True if a column that is equal in all files holds answers: by its name, or as words of the labels."""
    if column.is_fractional:
        return False
    if has_name_of(column.name, "answer"):
        return True
    if (
        truth is None
        or has_name_of(column.name, "truth")
        or (column.is_number and not column.is_bool)
    ):
        return False
    return may_be_answer(column) and fits_labels(column, truth)


def is_regression_task(roles: FoundRoles) -> bool:
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
