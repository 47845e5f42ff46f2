"""A reading that was saved is applied: nothing is guessed, and a file that no longer fits is refused."""

from __future__ import annotations

from dataclasses import replace

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import Complaints
from shiftmetrics.tables.evidence import TableEvidence
from shiftmetrics.tables.opening import FoundRoles
from shiftmetrics.tables.reading import FileReading, TableReading


def apply_reading(roles: FoundRoles, reading: TableReading, complaints: Complaints) -> None:
    """Give the columns of all files the roles of a saved reading.

    Raises
    ------
    UnreadableTableError
        If there are other files than in the reading, a column is missing, scores are no numbers, or a file
        has columns that the reading does not know.
    """
    predictions = [file for file in reading.files if file.form != "labels"]
    labels = [file for file in reading.files if file.form == "labels"]
    if len(predictions) != len(roles.tables) or len(labels) != int(roles.labels is not None):
        complaints.add(
            f"--reading holds {len(predictions)} files of predictions and {len(labels)} of labels, got "
            f"{len(roles.tables)} and {int(roles.labels is not None)}."
        )
        complaints.raise_any()
    for file, table in zip(predictions, roles.tables, strict=True):
        _check_file(file, table, complaints)
    if roles.labels is not None:
        _check_file(labels[0], roles.labels, complaints)
    complaints.raise_any()
    truths = [file.truth for file in reading.files if file.truth is not None]
    first = predictions[0]
    roles.options = replace(
        roles.options,
        id=_typed_id(predictions),
        label=truths[0] if truths else None,
        group=first.group,
        weight=first.weight,
    )
    for file in predictions:
        # One column of numbers speaks for two classes, or is an output: it holds scores and no answers.
        is_single = bool(file.between) or file.form == "outputs"
        columns = tuple(file.classes)
        names = tuple(file.classes.values())
        if is_single and file.answer is not None:
            columns = (file.answer,)
            names = file.between
        roles.answers.append(None if is_single else file.answer)
        roles.scores.append(columns)
        roles.class_names.append(names)
        roles.forms.append(file.form)
        roles.confidences.append(file.confidence)
    roles.has_truth = bool(truths)
    roles.is_remembered = True


def _typed_id(files: list[FileReading]) -> str:
    """Return the id of all files as it is typed."""
    first = files[0].id
    if not first:
        return "none"
    last = files[-1].id
    parts = []
    for name, other in zip(first, last, strict=True):
        same = name or "index"
        parts.append(same if name == other else f"{name}={other}")
    return ",".join(parts)


def _check_file(file: FileReading, table: TableEvidence, complaints: Complaints) -> None:
    """Complain of columns that a file lacks or has beside those of the reading, and of scores in words."""
    roles = (file.answer, file.confidence, file.truth, file.weight, file.group)
    used = [*file.id, *file.classes, *(name for name in roles if name is not None)]
    lacking = [name for name in used if name not in table.columns]
    known = {*used, *file.left_out}
    # A column more may be the scores of a class more, which the reading would leave out unseen.
    more = [name for name in table.columns if name not in known]
    if lacking:
        complaints.add(
            f"{table.label} must have the columns of --reading, but lacks {first_few(lacking)}; it has "
            f"{first_few(list(table.columns), 8)}."
        )
    if more:
        complaints.add(
            f"{table.label} has columns that --reading does not know: {first_few(more)}."
        )
    if lacking or more:
        complaints.add(
            "Where the files are right, write a new reading: shiftmetrics read FILE --save reading.toml."
        )
    for name in file.classes:
        if name in table.columns and not table.columns[name].is_number:
            cell = table.columns[name].words[0]
            complaints.add(
                f"{table.label} must hold numbers in the column {name!r}, got {str(cell)[:60]!r}."
            )
