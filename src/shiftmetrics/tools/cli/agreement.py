"""The command ``shiftmetrics agreement SHIFTED REFERENCE``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from shiftmetrics.tools.cli import options

if TYPE_CHECKING:
    from shiftmetrics.tools.cli.samples import Sample

ARGUMENTS = {
    "scores": "SHIFTED",
    "reference_scores": "REFERENCE",
    "sample_weight": "--weight",
    "prior": "--prior",
    "groups": "--groups",
    "confidence_level": "--confidence",
    "n_resamples": "--resamples",
}


def agreement(
    shifted: Annotated[
        str, typer.Argument(metavar="SHIFTED", help="Scores on the shifted sample.", show_default=False)
    ],
    reference: Annotated[
        str,
        typer.Argument(metavar="REFERENCE", help="Scores of the same rows, unshifted.", show_default=False),
    ],
    kind: Annotated[
        Literal["scores", "probabilities"],
        typer.Option("--kind", help="What the columns hold: logits, or probabilities."),
    ] = "scores",
    prior: Annotated[
        str,
        typer.Option(
            "--prior",
            metavar="PRIOR",
            help="Class prior: uniform, predicted (use it to select models), numbers such as 0.2,0.8, or a file.",
        ),
    ] = "uniform",
    confidence: Annotated[
        float | None,
        typer.Option(
            "--confidence",
            metavar="LEVEL",
            help="Add a sampling interval of this level, such as 0.95; comparisons and gates need one.",
            show_default=False,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="COLUMN|FILE",
            help="Rows that belong together, such as versions of one picture: drawn together.",
        ),
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", help="Bootstrap draws of the interval.")] = 1000,
    seed: options.Seed = 0,
    id_column: options.Id = None,
    columns: options.Columns = None,
    label: options.Label = None,
    weight: options.Weight = None,
    align: options.AlignOption = "labels",
    json: options.Json = None,
    report: options.Report = None,
    quiet: options.Quiet = False,
) -> None:
    """Measure whether predictions survive this shift: posterior agreement; no labels needed.

    Each row is one observation, each column the score of one class; a file of one value a row holds binary margins.
    Rows of the two files are the same observations, before and after the shift.

    Example: `shiftmetrics agreement noisy.csv clean.csv --id image --label truth --report report.html`

    Example: `shiftmetrics agreement noisy.csv clean.csv --id image --confidence 0.95 --json agreement.json`
    """
    from shiftmetrics.agreement import posterior_agreement
    from shiftmetrics.tools.cli.errors import named_arguments
    from shiftmetrics.tools.cli.outputs import Output
    from shiftmetrics.tools.cli.pairing import align_samples, same_labels, shared_weights
    from shiftmetrics.tools.cli.samples import read_sample

    output = Output(json=json, report=report, quiet=quiet)
    output.check_folders()
    read: dict[str, Any] = {
        "role": "scores", "id_column": id_column, "columns": columns, "label": label, "weight": weight,
        "groups": groups,
    }  # fmt: skip
    first = read_sample(shifted, "SHIFTED", **read)
    second = read_sample(reference, "REFERENCE", **read)
    output.check([first.source, second.source])
    align_samples(first, second, align=align, rows=True)
    labels = same_labels(first, second, label)
    if groups is not None and confidence is None:
        raise ValueError(
            "--groups must go with --confidence: groups are for the interval. Add --confidence 0.95."
        )
    if groups is not None and first.groups is None:
        raise ValueError(f"--groups must name a column of SHIFTED, got {groups!r}.")
    chosen_prior = class_prior(prior)
    with named_arguments(ARGUMENTS):
        result = posterior_agreement(
            scores_of(first),
            scores_of(second),
            kind=kind,
            prior=chosen_prior,
            sample_weight=shared_weights(first, second, weight),
            confidence_level=confidence,
            n_resamples=resamples,
            groups=first.groups,
            rng=seed,
        )
    from shiftmetrics.views import Context, Rows

    rows = Rows(
        scores=scores_of(first), reference_scores=scores_of(second), names=first.row_names, labels=labels,
        class_names=_class_names(first) or _class_names(second),
    )  # fmt: skip
    output.write(
        str(first.source),
        result,
        title="Agreement under shift",
        context=Context(
            description=f"Scores of {first.source} set against those of the same rows in {second.source}.",
            facts={"Shifted": str(first.source), "Reference": str(second.source)},
            rows={str(first.source): rows},
        ),
        notes=[*first.notes, *second.notes],
    )


def scores_of(sample: Sample) -> Any:
    """Return the scores; a table of one column is a column of binary margins."""
    values = sample.numbers()
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _class_names(sample: Sample) -> list[str] | None:
    """Return the names of the columns; a column of margins names no class."""
    return sample.columns if sample.columns is not None and len(sample.columns) > 1 else None


def class_prior(text: str) -> Any:
    """Read ``--prior``: a word, numbers with commas between them, or a file."""
    if text == "uniform":
        return None
    if text == "predicted":
        return "predicted"
    if "," in text and not Path(text).exists():
        try:
            return [float(part) for part in text.split(",")]
        except ValueError:
            raise ValueError(f"--prior must be numbers with commas between them, got {text!r}.") from None
    from shiftmetrics.tools.cli.samples import read_vector
    from shiftmetrics.tools.cli.sources import looks_like_source

    if not looks_like_source(text):
        raise ValueError(
            f"--prior must be uniform, predicted, numbers such as 0.2,0.8 or a file, got {text!r}."
        )
    return read_vector(text, "--prior")
