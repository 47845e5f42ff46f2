"""The command ``shiftmetrics stability FILE``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from shiftmetrics.cli import options

ARGUMENTS = {
    "losses": "--losses", "distances": "--distances", "threshold": "--threshold", "theta1": "--theta1",
    "theta2": "--theta2", "divergence": "--divergence", "sample_weight": "--weight",
}  # fmt: skip


def stability(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Losses or distances to an error.", show_default=False)
    ],
    threshold: Annotated[float, typer.Option("--threshold", "-r", help="The risk that counts as broken.")],
    losses: Annotated[
        str | None,
        typer.Option("--losses", metavar="COLUMN", help="Column of losses; rows may gain weight, not move."),
    ] = None,
    distances: Annotated[
        str | None,
        typer.Option(
            "--distances",
            metavar="COLUMN",
            help="Column of distances to the nearest error: 0 if wrong already, inf if none.",
        ),
    ] = None,
    kind: Annotated[
        Literal["losses", "distances"] | None,
        typer.Option(
            "--kind", help="What a file of one value a row holds, in place of --losses or --distances."
        ),
    ] = None,
    theta1: Annotated[float, typer.Option("--theta1", help="Price of moving a row (inf: rows stay).")] = 0.4,
    theta2: Annotated[
        float, typer.Option("--theta2", help="Price of reweighting (inf: weights stay).")
    ] = 0.4,
    divergence: Annotated[
        Literal["kl", "chi2"], typer.Option("--divergence", help="How reweighting is measured.")
    ] = "kl",
    id_column: options.Id = None,
    label: options.Label = None,
    weight: options.Weight = None,
    json: options.Json = None,
    report: options.Report = None,
    quiet: options.Quiet = False,
) -> None:
    """Find how little it takes to break the model: the least shift that lifts its risk to a threshold.

    FILE holds one value a row: a loss (--losses), or the distance to the nearest error (--distances), unsquared. Its
    other columns describe the rows: the report says which of them gain weight in the worst case.

    Example: `shiftmetrics stability patients.csv --distances distance --threshold 0.4 --report report.html`
    """
    from shiftmetrics.cli.errors import named_arguments
    from shiftmetrics.cli.measurements import read_measurements
    from shiftmetrics.cli.outputs import Output
    from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion

    output = Output(json=json, report=report, quiet=quiet)
    output.check_folders()
    sample = read_measurements(
        file, losses=losses, distances=distances, kind=kind, id_column=id_column, label=label, weight=weight
    )
    output.check([sample.source])
    with named_arguments(ARGUMENTS):
        loss: Any = ZeroOneLoss(sample.values) if sample.kind == "distances" else FixedLoss(sample.values)
        result = stability_criterion(
            loss, threshold, theta1=theta1, theta2=theta2, divergence=divergence, sample_weight=sample.weight
        )
    from shiftmetrics.report import Context, Rows

    rows = Rows(
        loss=loss, sample_weight=sample.weight, names=sample.names, labels=sample.label, table=sample.table
    )
    output.write(
        str(sample.source),
        result,
        title="Stability of a model",
        context=Context(
            description=f"{sample.kind.capitalize()} of {len(sample.values):,} rows in {sample.source}.",
            facts={
                "File": str(sample.source),
                "Measured": sample.kind,
                "Risk that counts as broken": f"{threshold:g}",
            },
            rows={str(sample.source): rows},
        ),
    )
