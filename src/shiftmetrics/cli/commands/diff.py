"""The command ``shiftmetrics diff OLD NEW``: whether the new model is safe to ship."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from shiftmetrics._core.validation import first_few
from shiftmetrics.cli.forms import label_plan_of, parse_pairs
from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.prediction_files import (
    predicted_cells,
    read_cells,
    typed_roles,
    typed_source,
)
from shiftmetrics.cli.inputs.row_values import require_column
from shiftmetrics.cli.label_tables import check_table_path, without_guards, write_table
from shiftmetrics.cli.metric_answers import TypedMetric, check_alone, metric_answer
from shiftmetrics.cli.options import ColumnOptions
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.score_answers import TypedScores, are_scores, score_answer
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.cli.token_answers import are_tokens, token_answer
from shiftmetrics.decisions import DiffResult, diff_models
from shiftmetrics.decisions.columns_of_rows import with_columns_of_rows
from shiftmetrics.tables.cells import Cells
from shiftmetrics.views import Context

WORDS = {
    "old": "OLD", "new": "NEW", "labels": "--label", "ids": "--id", "groups": "--group", "plan": "--plan",
    "costs": "--costs", "classes": "--classes", "metric": "--metric", "positive": "--positive",
}  # fmt: skip


@measuring({diff_models: None}, words=WORDS)
def diff(
    old: str,
    new: str | None = None,
    *,
    call: Call,
    roles: ColumnOptions,
    data: str | None = None,
    group: str | None = None,
    old_column: str | None = None,
    new_column: str | None = None,
    metric: str | None = None,
    positive: str | None = None,
    scores: str | None = None,
    again: str | None = None,
    score_range: str | None = None,
    failed: Literal["wrong"] | None = None,
    lower_is_better: bool = False,
    costs: list[str] | None = None,
    plan: int | None = None,
    peek: bool = False,
    changed: Path | None = None,
    markdown: Path | None = None,
    as_is: bool = False,
) -> Job:
    """Say whether a new model is safe to ship, from the predictions of both on the same rows.

    The model in use comes first, then the new one. Only rows whose prediction changes can change the accuracy, so it
    changes by at most their fraction, for certain, without a label. Labels of a few of these rows give an exact
    interval. Files hold scores, probabilities, one column of probabilities, predicted labels, or the outputs of a
    regression; ids, labels and scores are found by what both files hold, and it is said what was found. Where two
    readings fit, it is asked. With --data, OLD and NEW are two fitted models.

    Exit codes: 0 safe, or information without --allow; 1 worse; 3 cannot tell yet; 2 an error.

    Example: `shiftmetrics diff old.csv new.csv --changed changed.csv`

    Example: `shiftmetrics diff old.csv new.csv --label label --allow 0.01 --report diff.html`

    Example: `shiftmetrics diff old.csv new.csv --label label --metric f1 --positive yes --allow 0.01`

    Example: `shiftmetrics diff old.eval new.eval --allow 0.01`

    Example: `shiftmetrics diff old.joblib new.joblib --data test.csv --label paid --trust`

    Parameters
    ----------
    old : OLD
        Predictions of the model in use, in any kind of table: csv, parquet, JSON, xlsx, ARFF, npy, ...
    new : NEW
        Predictions of the new model for the same rows. Left out where --old and --new name two columns of OLD.
    data : FILE
        Rows that OLD and NEW predict on, which are models then: joblib or skops files, or module:attribute.
    old_column : COLUMN
        Answers of the model in use, where one table holds both.
    new_column : COLUMN
        Answers of the new model in that table.
    group : COLUMN
        Column of groups: the difference in each is given too.
    metric : NAME
        Compare by a scorer of scikit-learn in place of the accuracy: f1, f1_macro, balanced_accuracy, recall,
        roc_auc, average_precision, neg_log_loss, quadratic_kappa, r2, neg_mean_pinball_loss@0.9, ...; of several
        labels a row jaccard_samples and others; of rankings ndcg@10, with --group QUERY. All labels are needed; rows
        of one --group count as a cluster.
    positive : CLASS
        Positive class of --metric. Default: that of a single column of probabilities, or the true one of 0 and 1.
    scores : COLUMN
        Column of scores of questions, such as those of a judge; of a log of an evaluation, the name of the score.
    again : FILE
        Scores of a second run of the old model: says how many answers change by chance.
    score_range : LOW,HIGH
        Lowest and highest score that an answer can get. Default: 0,1 if all lie there.
    failed : wrong
        Count failed samples as the worst score. Default: a verdict holds whatever they would have scored.
    lower_is_better
        The scores are costs.
    costs : LABEL=COST
        Cost of an error on rows of a label, such as ill=10; 1 for the others. May be repeated.
    plan : NUMBER
        Plan for so many labels. Default: a number that suits --allow.
    peek
        Plan labels so that one may look after each and stop at any time; the interval is a little wider.
    changed : FILE.csv
        Write the changed rows with their own columns, in the order in which to label them, and a column label to
        fill in.
    markdown : FILE.md
        Write the verdict as Markdown, such as for the summary of a job; a dash writes it to the standard output.
    as_is
        Write and read cells as they are. Default: in that file an apostrophe stands before cells that a spreadsheet
        would run, such as =1+1, and --labels is read without it.
    """
    planned = label_plan_of(plan, peek=peek)
    options, labels_source = typed_roles(roles, group=group, old=old_column, new=new_column)
    if new is None and old_column is None:
        raise ValueError("NEW must be given, or --old COLUMN and --new COLUMN of one table.")
    typed = {"OLD": old} if new is None else {"OLD": old, "NEW": new}
    if data is not None:
        for argument, text in typed.items():
            check_model(text, argument)
        typed = {"--data": data}
    sources = [typed_source(text, argument) for argument, text in typed.items()]
    contents: list[Any] = [read_cells(source, roles.header) for source in sources]
    asked = contents[0] if data is not None else None
    notes: list[str] = []
    second = None
    if again is not None:
        sources.append(typed_source(again, "--again"))
        second = read_cells(sources[-1], roles.header)
    typed_scores = TypedScores(
        scores=scores,
        again=second,
        score_range=score_range,
        failed=failed,
        lower_is_better=lower_is_better,
        ids=roles.id_column,
        groups=group,
        inner=roles.inner,
        old=old_column,
        new=new_column,
        changed=changed,
        as_is=as_is,
    )
    if metric is not None:
        others = {
            "--costs": costs, "--plan": plan, "--peek": peek, "--scores": scores, "--again": again,
            "--score-range": score_range, "--failed": failed, "--lower-is-better": lower_is_better,
        }  # fmt: skip
        check_alone(others)
        if are_scores(contents, scores) or are_tokens(contents):
            raise ValueError("--metric is for predictions; logs hold scores, which --scores names.")
    # Logs say themselves what they hold: log-probabilities of tokens, or scores of questions. All
    # else is read as predictions.
    if data is None and are_tokens(contents):
        names = [Path(text).name for text in (old, new or old)]
        return Job(
            inputs=sources,
            compute=lambda: token_answer(
                call, contents, names, inner=roles.inner, changed=changed, as_is=as_is
            ),
            markdown=markdown,
        )
    if data is None and are_scores(contents, scores):
        names = [Path(text).name for text in (old, new or old)]
        return Job(
            inputs=sources,
            compute=lambda: score_answer(call, contents, names, typed_scores),
            markdown=markdown,
        )
    if data is not None:
        notes.append(f"OLD is {old}, NEW is {new}.")
        named = {"--label": options.label, "--id": options.id, "--group": group}
        contents = _predicted({"OLD": old, "NEW": str(new)}, contents[0], named, notes)
    if labels_source is not None:
        sources.append(labels_source)
    truth = None if labels_source is None else read_cells(labels_source, roles.header)
    if not as_is:
        truth = without_guards(truth)
    if changed is not None:
        check_table_path(changed, "--changed")
    if metric is not None:
        typed_metric = TypedMetric(
            name=metric, positive=positive, roles=options, truth=truth, changed=changed, as_is=as_is
        )
        names = [Path(text).name for text in (old, new or old)]
        return Job(
            inputs=sources,
            compute=lambda: metric_answer(call, contents, names, typed_metric, notes),
            markdown=markdown,
        )
    # costs of errors, by the label of the row
    by_label: dict[str, float] = {}
    if costs:
        by_label = parse_pairs(",".join(costs), "--costs", "LABEL=COST", "ill=10")

    def compute() -> CommandAnswer:
        result = call(
            diff_models,
            contents[0],
            # With --old and --new one table holds the answers of both models.
            contents[1] if len(contents) > 1 else None,
            labels=truth,
            ids=options,
            costs=by_label or None,
            plan=planned,
        )
        # Whoever labels the changed rows needs what the models saw, not their answers alone.
        if changed is not None:
            write_table(with_rows_of_data(result, asked), changed, guard=not as_is)
        names = [Path(text).name for text in (old, new or old)]
        return CommandAnswer(
            results={result.title: result},
            title=f"From {names[0]} to {names[1]}",
            context=Context(description=f"Predictions in {names[1]} set against {names[0]}."),
            above=[*notes, *_read(result)],
            notes=[*_notes(result, peek=peek)],
            exit_code=result.exit_code,
            written={"Changed rows": changed},
        )

    return Job(inputs=sources, compute=compute, markdown=markdown)


def _predicted(
    models: dict[str, str], data: Cells, options: dict[str, str | None], notes: list[str]
) -> list[Any]:
    """Return what both models predict, with the columns of the data beside it that options name."""
    named = [
        require_column(data.frame.columns, name, option, "--data")
        for option, name in options.items()
        if name is not None
    ]
    from shiftmetrics.decisions.predictions.model_outputs import first_classes

    loaded = {}
    for argument, text in models.items():
        loaded[argument], warnings = load_object(text, argument)
        notes += warnings
    classes = first_classes(loaded.values())
    return [
        predicted_cells(model, data, argument, named, classes) for argument, model in loaded.items()
    ]


def with_rows_of_data(result: DiffResult, data: Cells | None) -> Any:
    """Return the changed rows, with the columns of the rows that the models were asked about, if they were.

    Rows that repeat others are left out before models are compared: places are no longer those of the data then, and
    its columns are left out.
    """
    table = result.to_frame()
    if data is None or len(data.frame) != result.n_samples:
        return table
    own = data.frame.iloc[result.changes.rows.position]
    # Ids, labels and groups stand there already, under names of ours or of their own.
    known = [table[name].astype(str).tolist() for name in ("id", "label")]
    beside = {
        name: own[name].array
        for name in own
        if name not in result.changes.rows.beside and own[name].astype(str).tolist() not in known
    }
    return with_columns_of_rows(table, beside)


def _read(result: DiffResult) -> list[str]:
    """Say what was taken for what, so that a wrong reading is seen."""
    return [text for text in result.settings["found"] if text.endswith(".")]


def _notes(result: DiffResult, *, peek: bool) -> list[str]:
    """Say what else was found, and what a plan of labels may allow."""
    notes = []
    found = [text for text in result.settings["found"] if not text.endswith(".")]
    if found:
        notes.append(f"Took {first_few(found, 8, show=str)}.")
    if result.plan is not None and not peek:
        notes.append("With --peek you may stop labelling once the answer is clear.")
    return notes
