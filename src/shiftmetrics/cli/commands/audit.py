"""The command ``shiftmetrics audit REFERENCE CURRENT``: what changed in the data, and is the model worse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shiftmetrics._core.class_names import class_key
from shiftmetrics.cli.forms import label_plan_of
from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.prediction_files import listed, read_cells, typed_source
from shiftmetrics.cli.label_tables import check_table_path, without_guards, write_table
from shiftmetrics.cli.options import OPENING, LabelOptions, default_plan
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.decisions import AuditResult, audit_samples
from shiftmetrics.decisions.columns_of_rows import with_columns_of_rows
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.column_kinds import DateOrder
from shiftmetrics.views import Context

WORDS = {
    "reference": "REFERENCE", "current": "CURRENT", "model": "--model", "labels": "--labels",
    "columns": "--columns", "exclude": "--exclude", "plan": "--plan",
}  # fmt: skip


@measuring({audit_samples: None}, words=WORDS, default_paths={"to_label": default_plan})
def audit(
    reference: str,
    current: str,
    *,
    call: Call,
    labelling: LabelOptions,
    model: list[str] | None = None,
    prediction: str | None = None,
    labels: list[str] | None = None,
    columns: str | None = None,
    exclude: str | None = None,
    date_order: DateOrder | None = None,
) -> Job:
    """Say what changed in this table, in which rows and since when, and whether the model is worse.

    What was comes first, then what is. Tables may hold numbers, words, dates, text and gaps; ids are found, and it
    is said which columns were left out. New modes are described by the columns that tell them from the known rows.
    Without labels the accuracy of a model is told as a range with its condition, or not at all; with labels of some
    rows, exactly.

    Example: `shiftmetrics audit reference.csv current.csv --time day --report audit.html`

    Example: `shiftmetrics audit old.csv new.csv --model model.skops --label paid --plan 50 --to-label plan.csv`

    Parameters
    ----------
    reference : REFERENCE
        What was known: a table of any kind that is read, better not what the model was trained on.
    current : CURRENT
        What came since.
    model : MODEL
        A fitted classifier: a joblib or skops file, or module:attribute. Repeat it to give other models, which
        help to estimate the accuracy of the first without labels.
    prediction : COLUMN
        Column of predictions in both files, in place of a model.
    labels : FILE
        Labels of some rows of CURRENT: a file of ids and labels, such as those that --to-label and --rows wrote,
        filled in. May be repeated.
    columns : A,B,...
        The only columns to compare. The model gets all that it was fitted on.
    exclude : A,B,...
        Columns to leave out of the comparison.
    date_order : day|month|year
        What dates such as 01/02/2024 have first. Default: by evidence.
    """
    planned = label_plan_of(labelling.plan, peek=labelling.peek)
    places = {"--rows": labelling.rows, "--to-label": labelling.to_label}
    if labelling.to_label is not None and planned is None:
        raise ValueError(
            "--to-label must stand beside --plan NUMBER or --peek, which draw the rows to label."
        )
    if labelling.to_label is None:
        places["--to-label"] = default_plan(vars(labelling))
    if model and prediction is not None:
        raise ValueError("--prediction COLUMN must not be given beside --model: take one of them.")
    for text in model or []:
        check_model(text)
    typed = [("REFERENCE", reference), ("CURRENT", current)]
    typed += [("--labels", text) for text in labels or []]
    sources = [typed_source(text, argument) for argument, text in typed]
    # What cannot be written is refused before anything is read.
    for option, place in places.items():
        if place is not None:
            check_table_path(place, option)
    decimal = OPENING.get().decimal
    contents = [
        replace(read_cells(source), decimal=decimal, date_order=date_order) for source in sources
    ]
    filled_in = contents[2:]
    if not labelling.as_is:
        filled_in = list(map(without_guards, filled_in))
    notes: list[str] = []
    models: list[Any] = []
    for text in model or []:
        found, warnings = load_object(text, "--model")
        models.append(found)
        notes += warnings
    if prediction is not None:
        models.append(prediction)

    def compute() -> CommandAnswer:
        result = call(
            audit_samples,
            *contents[:2],
            model=models or None,
            labels=filled_in or None,
            columns=listed(columns),
            exclude=listed(exclude),
            plan=planned,
        )
        tables = {"--rows": rows_of_modes, "--to-label": rows_of_plan}
        for option, place in places.items():
            if place is not None:
                table = tables[option](result, contents[1])
                write_table(table, place, guard=not labelling.as_is)
        # A plan whose rows are written nowhere cannot be followed.
        if places["--to-label"] is None and planned is not None:
            notes.append("--to-label plan.csv writes the rows of the plan.")
        # True labels that lie unused in the table are most likely an oversight.
        if call["label"] is None and not labels:
            notes.extend(_labels_not_named(models, contents[1]))
        names = [str(source) for source in sources[:2]]
        return CommandAnswer(
            results={result.title: result},
            title=f"From {names[0]} to {names[1]}",
            context=Context(description=f"The rows of {names[1]} set against {names[0]}."),
            notes=[*notes, *(note for cells in contents for note in cells.notes)],
            written={"Rows": places["--rows"], "Rows to label": places["--to-label"]},
        )

    return Job(inputs=sources, compute=compute)


def _labels_not_named(models: list[Any], current: Cells) -> list[str]:
    """Name the columns that no model was fitted on and that hold its classes: most likely the labels."""
    notes = []
    for model in models:
        features = getattr(model, "feature_names_in_", None)
        classes = set(map(class_key, getattr(model, "classes_", ())))
        if features is None or not classes:
            continue
        for name in current.frame.columns.difference(features, sort=False):
            # a column of gaps holds no classes
            held = set(map(class_key, current.frame[name].dropna().unique()))
            if held and held <= classes:
                notes.append(
                    f"If {name} holds true labels, --label {name} says how often the model is right."
                )
    return list(dict.fromkeys(notes))


def rows_of_modes(result: AuditResult, current: Cells) -> Any:
    """Return the rows of the new modes, each with its own columns behind the label."""
    return _with_own_columns(result, result.to_frame(), current)


def rows_of_plan(result: AuditResult, current: Cells) -> Any:
    """Return the rows of the plan in their order, each with its own columns behind the label."""
    import numpy as np
    import pandas as pd

    assert result.plan is not None
    planned = result.plan.rows
    column = result.settings["id_column"]
    ids = planned
    if column is not None:
        ids = current.frame[column].iloc[planned].to_numpy()
    found = pd.DataFrame(
        {
            "order": np.arange(1, len(planned) + 1),
            "id": ids,
            "label": "",
            "row": planned,
            "plan": result.plan.text,
        }
    )
    return _with_own_columns(result, found, current)


def _with_own_columns(result: AuditResult, found: Any, current: Cells) -> Any:
    """Return rows with their own columns in place of their places; the ids stand there already."""
    own = current.frame.iloc[found.pop("row")]
    id_column = result.settings["id_column"]
    return with_columns_of_rows(found, {name: own[name].array for name in own if name != id_column})
