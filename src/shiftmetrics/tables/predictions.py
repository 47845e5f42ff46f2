"""Read files of predictions: roles by the evidence of all files together, rows matched, classes named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import (
    AmbiguousReadingError,
    Complaints,
    UnreadableTableError,
)
from shiftmetrics.tables.class_files import class_file
from shiftmetrics.tables.coded_answers import answer_words
from shiftmetrics.tables.counted_answers import ask_for_counted
from shiftmetrics.tables.evidence import Words
from shiftmetrics.tables.finding import (
    find_answer_columns,
    find_truth,
    find_weight_and_group,
    free_columns,
    is_regression_task,
    refuse_two_models,
    taken_columns,
)
from shiftmetrics.tables.finished import finished_tables
from shiftmetrics.tables.hidden_answers import refuse_hidden_answers
from shiftmetrics.tables.logs import refuse_logs
from shiftmetrics.tables.naming import joint_classes
from shiftmetrics.tables.opening import (
    FoundRoles,
    bring_together,
    check_named_columns,
    opened_files,
)
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.output_files import output_tables, typed_answers
from shiftmetrics.tables.pairwise import refuse_pairwise_scores
from shiftmetrics.tables.prediction_tables import PredictionTable, PredictionTables
from shiftmetrics.tables.reading import TableReading
from shiftmetrics.tables.remembered import apply_reading
from shiftmetrics.tables.roles.beside import equal_columns
from shiftmetrics.tables.roles.ids import find_row_key
from shiftmetrics.tables.roles.queries import of_rankings
from shiftmetrics.tables.roles.scores import find_scores
from shiftmetrics.tables.sanity import doubts_of_classes, doubts_of_ranks, doubts_of_spelling
from shiftmetrics.tables.spelling import common_words, distinct_words
from shiftmetrics.tables.summaries import (
    refuse_doubtful_scores,
    refuse_single_rows,
    refuse_summary_rows,
)
from shiftmetrics.tables.tasks import refuse_other_tasks, several_labels
from shiftmetrics.tables.unread import refuse_large_integers, unread_scores

if TYPE_CHECKING:
    from shiftmetrics.tables.cells import Cells


def read_predictions(
    files: Sequence[Cells],
    *,
    labels: Cells | None = None,
    options: RoleOptions | None = None,
    reading: TableReading | None = None,
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
    reading : TableReading, optional
        A reading that was saved: nothing is guessed then, and files that do not fit it are refused.

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
    refuse_logs(files, labels, options)
    roles = opened_files(files, labels, options)
    try:
        return _read(roles, reading)
    except AmbiguousReadingError:
        raise
    except UnreadableTableError as error:
        # Columns of no one kind may be why.
        if not roles.problems:
            raise
        sentences = " ".join(f"{text[:1].upper()}{text[1:]}" for text in roles.problems[:3])
        raise UnreadableTableError(f"{error} {sentences}") from error


def _read(roles: FoundRoles, reading: TableReading | None) -> PredictionTables:
    """Find all roles in files that are opened."""
    complaints = Complaints()
    # The order is that of dependence: rows are matched first; what is equal in matched rows belongs
    # to the rows and may be weights, groups and the truth; what differs belongs to the models.
    # Complaints are collected over these steps, so that all that is wrong is said at once.
    if roles.options.task == "rankings":
        roles.options = of_rankings(roles.tables, roles.labels, roles.options)
    roles.has_truth = not roles.options.without_truth
    if reading is not None:
        apply_reading(roles, reading, complaints)
    check_named_columns(roles, complaints)
    roles.key = find_row_key(roles.tables, roles.options, complaints)
    roles.notes += roles.key.notes
    refuse_summary_rows(roles.tables, roles.key, complaints)
    bring_together(roles)
    refuse_single_rows(roles)
    roles.equal = equal_columns(roles.tables, roles.rows) if len(roles.tables) > 1 else set()
    find_weight_and_group(roles)
    is_ranking = roles.options.task == "rankings"
    if roles.labels is not None and roles.options.label is None and not is_ranking:
        _refuse_several_labels(roles)
    find_truth(roles, complaints)
    complaints.raise_any()
    if is_ranking:
        roles.answers = typed_answers(roles)
        return output_tables(roles)
    if reading is None:
        _find_answers_and_task(roles, complaints)
    complaints.raise_any()
    if "outputs" in roles.forms or (not roles.forms and is_regression_task(roles)):
        return output_tables(roles)
    return _classes(roles, complaints)


def _find_answers_and_task(roles: FoundRoles, complaints: Complaints) -> None:
    """Find the columns of answers, and refuse tasks that are neither classes nor a regression."""
    is_of_scores = roles.options.task == "scores"
    if not is_of_scores:
        refuse_two_models(roles)
    # A column of 0 and 1 for each label would be asked for as one of several answers.
    if roles.truth is None:
        _refuse_several_labels(roles)
    unknown = [None] * len(roles.tables)
    refused = refuse_other_tasks(roles.tables, roles.labels, roles.key, unknown, roles.options)
    if refused is not None:
        raise UnreadableTableError(refused)
    if is_of_scores:
        _find_answers_beside_scores(roles)
    else:
        find_answer_columns(roles, complaints)
    refused = refuse_other_tasks(
        roles.tables, roles.labels, roles.key, roles.answers, roles.options
    )
    if refused is not None:
        raise UnreadableTableError(refused)


def _refuse_several_labels(roles: FoundRoles) -> None:
    """Refuse a column of 0 and 1 for each label, unless one is named."""
    if roles.options.columns is not None or roles.options.prediction is not None:
        return
    several = several_labels(roles.tables, roles.labels, roles.equal)
    if several is not None:
        raise UnreadableTableError(several)


def _find_answers_beside_scores(roles: FoundRoles) -> None:
    """Find the columns of answers so that they are no scores; which of several it is does not matter then."""
    try:
        find_answer_columns(roles, Complaints())
    except UnreadableTableError:
        roles.answers = []
    if len(roles.answers) != len(roles.tables):
        roles.answers = [None] * len(roles.tables)


def _classes(roles: FoundRoles, complaints: Complaints) -> PredictionTables:
    """Read answers and scores of classes, and name the classes."""
    n_files = len(roles.tables)
    truth = roles.truth_words()
    words = answer_words(roles)
    spelled = common_words(
        [*(part for part in words if part is not None), *([] if truth is None else [truth])]
    )
    fit = iter(spelled)
    served = [None if part is None else next(fit) for part in words]
    truth = None if truth is None else next(fit)
    known = set() if truth is None else distinct_words(truth)
    answered = set().union(*(distinct_words(part) for part in served if part is not None))
    # Integers beside labels that are words count the classes: they are no classes of their own.
    codes = _are_codes(answered, known)
    if not known or not codes:
        known = known | answered
    free = [
        [name for name in free_columns(roles, place) if name != roles.answers[place]]
        for place in range(n_files)
    ]
    if not roles.is_remembered:
        refuse_pairwise_scores(roles, free, truth)
    if not roles.scores and not roles.is_remembered:
        with_equal = [
            [
                *free[place],
                *(
                    name
                    for name in roles.tables[place].columns
                    if name in roles.equal
                    and name not in free[place]
                    and name not in taken_columns(roles, place)
                    and name != roles.answers[place]
                ),
            ]
            for place in range(n_files)
        ]
        roles.scores = find_scores(
            roles.tables,
            with_equal,
            roles.equal,
            known,
            roles.options,
            complaints,
            [name is not None for name in roles.answers],
        )
        complaints.raise_any()
        if roles.options.columns is None and roles.options.classes is None:
            # Of equal scores the first one of the own file is the answer.
            roles.scores = [
                tuple(name for name in table.columns if name in chosen)
                for table, chosen in zip(roles.tables, roles.scores, strict=True)
            ]
        refuse_hidden_answers(roles, truth)
    files = [
        class_file(roles, place, served, truth, known, codes=codes) for place in range(n_files)
    ]
    _refuse_unread_scores(roles, files, complaints)
    refuse_doubtful_scores(roles, files, known)
    for table, file in zip(roles.tables, files, strict=True):
        refuse_large_integers(table, file.columns)
    return named_tables(roles, files, truth)


def _refuse_unread_scores(
    roles: FoundRoles, files: Sequence[PredictionTable], complaints: Complaints
) -> None:
    """Refuse files whose scores may lack a class, since some cell of its column is no number."""
    if roles.is_remembered or roles.options.columns is not None:
        return
    if all(file.served is not None for file in files):
        return
    used = [
        {*file.columns, *(name for name in (answer,) if name is not None)}
        for file, answer in zip(files, roles.answers, strict=True)
    ]
    for sentence in unread_scores(roles, used):
        complaints.add(sentence)
    complaints.raise_any()


def _are_codes(answered: set[str], known: set[str]) -> bool:
    """Return True if answers are whole numbers where the labels are words: places of classes."""
    if not answered or not known or answered & known:
        return False
    return all(word.isdigit() for word in answered) and not any(word.isdigit() for word in known)


def named_tables(
    roles: FoundRoles, files: list[PredictionTable], truth: Words | None
) -> PredictionTables:
    """Check the classes of all files against each other and against the labels."""
    outputs = [file.form == "outputs" for file in files]
    if all(outputs):
        _refuse_words_beside_outputs(roles, files)
        return finished_tables(roles, files, (), roles.truth_numbers(), "regression")
    if any(outputs):
        listed = " and ".join(f"{file.name or file.argument} {file.form}" for file in files)
        raise UnreadableTableError(f"All files must hold predictions of one kind, got {listed}.")
    # The columns of all files, the answers and the labels have to agree. Columns name all classes;
    # answers and labels name those that occur.
    columns = [file.classes for file in files if file.classes]
    answered = [
        tuple(sorted(distinct_words(file.served))) for file in files if file.served is not None
    ]
    sets = {frozenset(part) for part in columns}
    if len(sets) > 1:
        ask_for_counted(roles, files)
        first, second = list(sets)[:2]
        raise UnreadableTableError(
            f"All files must have the same classes, but only one has "
            f"{first_few(sorted(first ^ second), 4)}. Name the "
            "columns of all files after their classes."
        )
    if columns and answered:
        outside = set().union(*map(set, answered)) - set(columns[0])
        if outside:
            raise UnreadableTableError(
                f"Answers must be classes of the columns {first_few(columns[0], 6)}, got "
                f"{first_few(sorted(outside))}. "
                f"Give the classes in the order of the columns with {roles.options.typed('--classes', 'A,B')}."
            )
    labels = set() if truth is None else distinct_words(truth)
    if truth is not None and columns:
        outside = labels - set(columns[0])
        if outside:
            raise UnreadableTableError(
                f"Labels must be among the classes {first_few(columns[0], 6)}, got {first_few(sorted(outside))}."
            )
    if truth is not None and answered and not columns:
        every = set().union(*map(set, answered))
        if not every & labels:
            raise UnreadableTableError(
                f"Answers and labels must have classes in common, got {first_few(sorted(every), 3)} and "
                f"{first_few(sorted(labels), 3)}."
            )
    complaints = Complaints()
    classes = joint_classes([*columns[:1], *answered], truth, complaints)
    names = [file.name or file.argument for file in files]
    roles.warnings += doubts_of_classes(names, [file.coded_answers() for file in files], truth)
    roles.warnings += doubts_of_ranks(files)
    if answered:
        # The largest of scores is one of the same classes in all files.
        texts, is_doubt = doubts_of_spelling([file.answers() for file in files], truth)
        roles.warnings += texts if is_doubt else []
        roles.notes += [] if is_doubt else texts
    return finished_tables(roles, files, classes, truth, "classes")


def _refuse_words_beside_outputs(roles: FoundRoles, files: Sequence[PredictionTable]) -> None:
    """Refuse labels that are words where the predictions are numbers, which may be codes of the classes."""
    words = roles.truth_words()
    if roles.truth is None or words is None or roles.truth_numbers() is not None:
        return
    name = files[0].columns[0]
    codes = files[0].scores
    are_codes = codes is not None and bool((codes == codes.round()).all())
    remedy = (
        "Write the names of the classes in place of their codes."
        if are_codes
        else (
            f"Name the column of the predictions with {roles.options.typed('--prediction', 'COLUMN')}."
        )
    )
    raise UnreadableTableError(
        f"Predictions must be classes where the labels are words, got numbers in the column {name!r} of "
        f"{files[0].name or files[0].argument} and {first_few(sorted(distinct_words(words)), 3)} in "
        f"{roles.truth.source}. {remedy}"
    )
