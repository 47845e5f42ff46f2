"""The command ``shiftmetrics audit REFERENCE CURRENT``: what changed in the data, and is the model worse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from shiftmetrics._core.class_names import class_key
from shiftmetrics.cli.forms import label_plan_of
from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.prediction_files import listed, read_cells, typed_source
from shiftmetrics.cli.label_tables import check_table_path, without_guards, write_table
from shiftmetrics.cli.options import OPENING
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.decisions import AuditResult, audit_samples
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.column_kinds import DateOrder
from shiftmetrics.views import Context

WORDS = {
    "reference": "REFERENCE", "current": "CURRENT", "model": "--model", "labels": "--labels",
    "columns": "--columns", "exclude": "--exclude", "plan": "--plan",
}  # fmt: skip


@measuring({audit_samples: None}, words=WORDS)
def audit(
    reference: str,
    current: str,
    *,
    call: Call,
    model: list[str] | None = None,
    prediction: str | None = None,
    labels: str | None = None,
    columns: str | None = None,
    exclude: str | None = None,
    date_order: DateOrder | None = None,
    plan: int | None = None,
    peek: bool = False,
    rows: Path | None = None,
    as_is: bool = False,
) -> Job:
    """Say what changed in this table, in which rows and since when, and whether the model is worse.

    What was comes first, then what is. Tables may hold numbers, words, dates, text and gaps; ids are found, and it
    is said which columns were left out. New modes are described by the columns that tell them from the known rows.
    Without labels the accuracy of a model is told as a range with its condition, or not at all; with labels of some
    rows, exactly.

    Example: `shiftmetrics audit reference.csv current.csv --time day --report audit.html`

    Example: `shiftmetrics audit reference.csv current.csv --model model.joblib --trust --label paid --rows new.csv`

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
        Labels of some rows of CURRENT: a file of ids and labels, such as the one that --rows wrote, filled in.
    columns : A,B,...
        The only columns to compare. The model gets all that it was fitted on.
    exclude : A,B,...
        Columns to leave out of the comparison.
    date_order : day|month|year
        What dates such as 01/02/2024 have first. Default: by evidence.
    plan : NUMBER
        Draw so many rows to label, for an exact interval of the accuracy.
    peek
        Draw an order of all rows to label, so that one may look after each label and stop at any time.
    rows : FILE.csv
        Write the rows of the new modes, and those of the plan, with a column label to fill in. Mode 0 are rows from
        a date on that are likely to be new, where no mode is clear.
    as_is
        Write and read cells as they are. Default: in that file an apostrophe stands before cells that a spreadsheet
        would run, such as =1+1, and --labels is read without it.
    """
    planned = label_plan_of(plan, peek=peek)
    if model and prediction is not None:
        raise ValueError("--prediction COLUMN must not be given beside --model: take one of them.")
    for text in model or []:
        check_model(text)
    typed = {"REFERENCE": reference, "CURRENT": current}
    if labels is not None:
        typed["--labels"] = labels
    sources = [typed_source(text, argument) for argument, text in typed.items()]
    if rows is not None:
        check_table_path(rows, "--rows")
    decimal = OPENING.get().decimal
    contents = [
        replace(read_cells(source), decimal=decimal, date_order=date_order) for source in sources
    ]
    filled_in = contents[2] if labels is not None else None
    if not as_is:
        filled_in = without_guards(filled_in)
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
            labels=filled_in,
            columns=listed(columns),
            exclude=listed(exclude),
            plan=planned,
        )
        if rows is not None:
            write_table(rows_to_label(result, contents[1]), rows, guard=not as_is)
        elif result.changes.has_rows or result.plan is not None:
            notes.append("--rows new_rows.csv writes the rows to look at and to label.")
        if call["label"] is None and labels is None:
            notes.extend(_labels_not_named(models, contents[1]))
        names = [str(source) for source in sources[:2]]
        return CommandAnswer(
            results={result.title: result},
            title=f"From {names[0]} to {names[1]}",
            context=Context(description=f"The rows of {names[1]} set against {names[0]}."),
            notes=[*notes, *(note for cells in contents for note in cells.notes)],
            written={"Rows": rows},
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


def rows_to_label(result: AuditResult, current: Cells) -> Any:
    """Return the rows of the plan, then those of the new modes, each with its own columns behind the label."""
    import numpy as np
    import pandas as pd

    chosen = result.to_frame()
    if result.plan is not None:
        planned = result.plan.rows
        column = result.settings["id_column"]
        ids = planned if column is None else current.frame[column].iloc[planned].to_numpy()
        plan = pd.DataFrame(
            {
                "mode": "plan",
                "order": np.arange(1, len(planned) + 1),
                "id": ids,
                "label": "",
                "row": planned,
                "plan": result.plan.text,
            }
        )
        chosen = pd.concat([plan, chosen.assign(plan="")], ignore_index=True)
    rest = current.frame.iloc[chosen.pop("row")].reset_index(drop=True)
    return pd.concat([chosen, rest.drop(columns=[c for c in rest if c in chosen])], axis=1)
