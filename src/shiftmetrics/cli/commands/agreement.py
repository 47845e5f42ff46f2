"""The command ``shiftmetrics agreement SHIFTED REFERENCE``."""

from __future__ import annotations

from pathlib import Path

from shiftmetrics._core.arrays import is_in_chunks
from shiftmetrics._core.tables import Align
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.samples import read_scores, same_labels, shared
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.views import Context, Rows


@measuring(
    {posterior_agreement: None},
    words={"scores": "SHIFTED", "reference_scores": "REFERENCE"},
    leave_out=["rtol"],
)
def agreement(
    shifted: str,
    reference: str,
    *,
    call: Call,
    model: str | None = None,
    groups: str | None = None,
    id_column: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    align: Align = "labels",
) -> Job:
    """Measure whether predictions survive this shift: posterior agreement; no labels needed.

    The shifted sample comes first, then its reference: rows of the two files are the same observations, after and
    before the shift. Each row is one observation, each column the score of one class; a file of one value a row holds
    binary margins. With --model the files hold the rows themselves, and the model is asked for its probabilities.

    Example: `shiftmetrics agreement noisy.csv clean.csv --id image --label truth --report report.html`

    Example: `shiftmetrics agreement noisy.csv clean.csv --id image --confidence-level 0.95 --json agreement.json`

    Example: `shiftmetrics agreement shifted_rows.csv rows.csv --model model.joblib --trust --label died`

    Parameters
    ----------
    shifted : SHIFTED
        Scores on the shifted sample: a file, or a folder or pattern of parquet files, which need not fit in memory.
    reference : REFERENCE
        Scores of the same rows, unshifted.
    model : MODEL
        A fitted classifier: a joblib or skops file, or module:attribute. Both files hold rows then.
    """
    asked = None
    warnings: list[str] = []
    if model is not None:
        check_model(model)
        asked, warnings = load_object(model, "--model")
    first, second = read_scores(
        [(shifted, "SHIFTED"), (reference, "REFERENCE")],
        align=align, model=asked, id_column=id_column, columns=columns, label=label, weight=weight, groups=groups,
    )  # fmt: skip
    labels = same_labels(first, second, label)
    weights = shared("--weight", weight, first, second)
    row_groups = shared("--groups", groups, first)

    def compute() -> CommandAnswer:
        # rows were brought into one order when the files were read
        scores, reference_scores = first.scores(), second.scores()
        result = call(
            posterior_agreement, scores, reference_scores, sample_weight=weights, groups=row_groups
        )
        name = str(first.source)
        # names of classes, for the report: of whichever file has them
        names = next(
            (names for names in (first.columns, second.columns) if names and len(names) > 1), None
        )
        rows = Rows(
            scores=scores,
            reference_scores=reference_scores,
            names=first.ids,
            labels=labels,
            class_names=names,
        )
        what = "Scores" if model is None else f"What {Path(model).name} says"
        context = Context(
            description=f"{what} of {name} set against those of the same rows in {second.source}.",
            # out-of-core rows are not shown one by one
            rows={} if is_in_chunks(scores) else {name: rows},
        )
        notes = [*warnings, *first.notes, *second.notes]
        return CommandAnswer(
            results={name: result}, title="Agreement under shift", context=context, notes=notes
        )

    return Job(inputs=[first.source, second.source], compute=compute)
