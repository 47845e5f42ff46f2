"""The command ``shiftmetrics diff OLD NEW``: whether the new model is safe to ship."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shiftmetrics._core.files import atomic_path
from shiftmetrics._core.validation import first_few
from shiftmetrics.cli.forms import label_plan_of, parse_pairs
from shiftmetrics.cli.inputs.decision_tables import check_new_table, read_table
from shiftmetrics.cli.inputs.objects import check_model, load_object, predicted_rows
from shiftmetrics.cli.inputs.row_values import require_column
from shiftmetrics.cli.inputs.sources import parse_source
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.decisions import DiffResult, diff_models
from shiftmetrics.encoding.roles import as_frame
from shiftmetrics.views import Context

WORDS = {
    "old": "OLD", "new": "NEW", "labels": "--label", "ids": "--id", "groups": "--group", "plan": "--plan",
    "costs": "--costs",
}  # fmt: skip


@measuring({diff_models: None}, words=WORDS)
def diff(
    old: str,
    new: str,
    *,
    call: Call,
    data: str | None = None,
    label: str | None = None,
    labels: str | None = None,
    id_column: str | None = None,
    group: str | None = None,
    costs: list[str] | None = None,
    plan: int | None = None,
    peek: bool = False,
    changed: Path | None = None,
) -> Job:
    """Say whether a new model is safe to ship, from the predictions of both on the same rows.

    Only rows whose prediction changes can change the accuracy, so it changes by at most their fraction, for certain,
    without a label. Labels of a few of these rows give an exact interval. Files hold scores, probabilities, one
    column of probabilities, predicted labels, or the outputs of a regression; ids, labels and scores are found by
    name and by what they hold, and it is said what was found. With --data, OLD and NEW are two fitted models.

    Exit codes: 0 safe, or information without --allow; 1 worse; 3 cannot tell yet; 2 an error.

    Example: `shiftmetrics diff old.csv new.csv --changed changed.csv`

    Example: `shiftmetrics diff old.csv new.csv --label label --allow 0.01 --report diff.html`

    Example: `shiftmetrics diff old.joblib new.joblib --data test.csv --label paid --trust`

    Parameters
    ----------
    old : OLD
        Predictions of the model in use: csv, parquet, npy, npz or JSON lines.
    new : NEW
        Predictions of the new model for the same rows.
    data : FILE
        Rows that OLD and NEW predict on, which are models then: joblib or skops files, or module:attribute.
    label : COLUMN
        Column of true labels, in either file; empty where a row has none.
    labels : FILE
        True labels of some rows: a file of ids and labels, such as the file that --changed wrote, filled in.
    id_column : COLUMN
        Column that names the rows, in both files. Default: found by its name.
    group : COLUMN
        Column of groups: the difference in each is given too.
    costs : LABEL=COST
        Cost of an error on rows of a label, such as ill=10; 1 for the others. May be repeated.
    plan : NUMBER
        Plan for so many labels. Default: a number that suits --allow.
    peek
        Plan labels so that one may look after each and stop at any time; the interval is a little wider.
    changed : FILE.csv
        Write the changed rows, in the order in which to label them, with a column label to fill in.
    """
    if label is not None and labels is not None:
        raise ValueError("--labels FILE must not be given beside --label COLUMN: take one of them.")
    planned = label_plan_of(plan, peek=peek)
    typed = {"OLD": old, "NEW": new}
    if data is not None:
        for argument, text in typed.items():
            check_model(text, argument)
        typed = {"--data": data}
    if labels is not None:
        typed["--labels"] = labels
    # files are read as they are: `diff_models` finds ids, labels and scores
    sources = [parse_source(text, argument) for argument, text in typed.items()]
    contents = [read_table(source) for source in sources]
    notes: list[str] = []
    if data is not None:
        options = {"--label": label, "--id": id_column, "--group": group}
        contents[:1] = _predicted({"OLD": old, "NEW": new}, contents[0], options, notes)
    if changed is not None:
        check_new_table(changed, "--changed")
    # costs of errors, by the label of the row
    by_label: dict[str, float] = {}
    for text in costs or []:
        by_label |= parse_pairs(text, "--costs", "LABEL=COST", "ill=10")

    def compute() -> CommandAnswer:
        result = call(
            diff_models,
            *contents[:2],
            labels=label if labels is None else contents[2],
            ids=id_column,
            groups=group,
            costs=by_label or None,
            plan=planned,
        )
        if changed is not None:
            # whole or not at all: people fill this file in
            with atomic_path(changed) as temporary:
                result.to_frame().to_csv(temporary, index=False)
        names = [Path(text).name for text in (old, new)]
        return CommandAnswer(
            results={result.title: result},
            title=f"From {names[0]} to {names[1]}",
            context=Context(description=f"Predictions in {names[1]} set against {names[0]}."),
            notes=[*notes, *_notes(result, changed, peek=peek)],
            exit_code=result.exit_code,
            written={"Changed rows": changed},
        )

    return Job(inputs=sources, compute=compute)


def _predicted(
    models: dict[str, str], data: Any, options: dict[str, str | None], notes: list[str]
) -> list[Any]:
    """Return what both models predict, with the columns of the data beside it that options name."""
    frame = as_frame(data, "--data")
    named = [
        require_column(frame.columns, name, option, "--data")
        for option, name in options.items()
        if name is not None
    ]
    tables = []
    for argument, text in models.items():
        model, warnings = load_object(text, argument)
        notes += warnings
        tables.append(predicted_rows(model, frame, argument, named))
    return tables


def _notes(result: DiffResult, changed: Path | None, *, peek: bool) -> list[str]:
    """Say what was taken for what, and where the rows to label are."""
    notes = []
    # what was found is said, so that a wrong guess is seen
    found = result.settings["found"]
    if found:
        notes.append(f"Took {first_few(found, 8, show=str)}.")
    if result.plan is not None and changed is None:
        notes.append("--changed changed.csv writes the changed rows, in the order to label them.")
    if result.plan is not None and not peek:
        notes.append("With --peek you may stop labelling once the answer is clear.")
    return notes
