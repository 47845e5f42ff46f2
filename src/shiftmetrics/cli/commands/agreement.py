"""The command ``shiftmetrics agreement SHIFTED REFERENCE``."""

from __future__ import annotations

from pathlib import Path

from shiftmetrics._core.arrays import is_in_chunks
from shiftmetrics._core.tables import Align
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.score_files import read_score_files
from shiftmetrics.cli.options import ColumnOptions
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
    roles: ColumnOptions,
    model: str | None = None,
    groups: str | None = None,
    weight: str | None = None,
    align: Align = "labels",
) -> Job:
    """Measure whether predictions survive this shift: posterior agreement; no labels needed.

    The shifted sample comes first, then its reference: rows of the two files are the same observations, after and
    before the shift. Each row is one observation, each column the score of one class; a file of one value a row holds
    binary margins. Ids, labels and scores are found by what both files hold, and it is said what was found. With
    --model the files hold the rows themselves, and the model is asked for its probabilities.

    Example: `shiftmetrics agreement noisy.csv clean.csv --id image --label truth --report report.html`

    Example: `shiftmetrics agreement noisy.csv clean.csv --id image --confidence-level 0.95 --json agreement.json`

    Example: `shiftmetrics agreement shifted_rows.csv rows.csv --model model.skops --label died`

    Parameters
    ----------
    shifted : SHIFTED
        Scores on the shifted sample: a file, or a folder or pattern of parquet files, which need not fit in memory.
    reference : REFERENCE
        Scores of the same rows, unshifted.
    model : MODEL
        A fitted classifier: a file of skops or joblib, or module:attribute. Both files hold rows then.
    """
    asked = None
    warnings: list[str] = []
    if model is not None:
        check_model(model)
        asked, warnings = load_object(model, "--model")
    files = read_score_files(
        [(shifted, "SHIFTED"), (reference, "REFERENCE")],
        roles, align=align, weight=weight, groups=groups, models=[] if model is None else [asked] * 2,
        must_know=False,
    )  # fmt: skip
    first, second = files.sources[:2]

    def compute() -> CommandAnswer:
        # rows were brought into one order when the files were read
        scores, reference_scores = files.scores
        result = call(
            posterior_agreement,
            scores,
            reference_scores,
            sample_weight=files.weights,
            groups=files.groups,
        )
        name = str(first)
        rows = Rows(
            scores=scores,
            reference_scores=reference_scores,
            names=files.ids,
            labels=files.labels,
            class_names=files.classes,
        )
        what = "Scores" if model is None else f"What {Path(model).name} says"
        context = Context(
            description=f"{what} of {name} set against those of the same rows in {second}.",
            # out-of-core rows are not shown one by one
            rows={} if is_in_chunks(scores) else {name: rows},
        )
        return CommandAnswer(
            results={name: result},
            title="Agreement under shift",
            context=context,
            above=files.said,
            notes=[*warnings, *files.notes],
        )

    return Job(inputs=files.sources, compute=compute)
