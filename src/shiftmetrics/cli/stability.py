"""The command ``shiftmetrics stability FILE``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from shiftmetrics.cli import options

if TYPE_CHECKING:
    from shiftmetrics.cli.outputs import Output

ARGUMENTS = {
    "losses": "--losses", "distances": "--distances", "threshold": "--threshold", "theta1": "--theta1",
    "theta2": "--theta2", "divergence": "--divergence", "sample_weight": "--weight",
}  # fmt: skip
NUMBERS = "Losses or distances"
MODEL = "A model"
MOVES = "Where rows may move"


def stability(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Losses or distances to an error; with --model, the rows.",
            show_default=False,
        ),
    ],
    threshold: Annotated[float, typer.Option("--threshold", "-r", help="The risk that counts as broken.")],
    losses: Annotated[
        str | None,
        typer.Option(
            "--losses",
            metavar="COLUMN",
            help="Column of losses; rows may gain weight, not move.",
            rich_help_panel=NUMBERS,
        ),
    ] = None,
    distances: Annotated[
        str | None,
        typer.Option(
            "--distances",
            metavar="COLUMN",
            help="Column of distances to the nearest error: 0 if wrong already, inf if none.",
            rich_help_panel=NUMBERS,
        ),
    ] = None,
    kind: Annotated[
        Literal["losses", "distances"] | None,
        typer.Option(
            "--kind",
            help="What a file of one value a row holds, in place of --losses or --distances.",
            rich_help_panel=NUMBERS,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="A fitted model: a file of joblib, or module:attribute. Opening it runs the code inside: "
            "trusted files only.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar="COLUMN|FILE", help="What the model predicts.", rich_help_panel=MODEL
        ),
    ] = None,
    loss: Annotated[
        Literal["zero_one", "hinge", "log_loss", "squared"],
        typer.Option("--loss", help="What a row loses.", rich_help_panel=MODEL),
    ] = "zero_one",
    method: Annotated[
        str, typer.Option("--method", help="How moves are found; auto knows.", rich_help_panel=MODEL)
    ] = "auto",
    queries: Annotated[
        int,
        typer.Option(
            "--queries",
            min=1,
            help="Most queries for a row, of models that can only predict.",
            rich_help_panel=MODEL,
        ),
    ] = 500,
    features: Annotated[
        str | None,
        typer.Option(
            "--features", metavar="A,B,...", help="The columns that may move.", rich_help_panel=MOVES
        ),
    ] = None,
    immutable: Annotated[
        str | None,
        typer.Option("--immutable", metavar="A,B,...", help="Columns that may not.", rich_help_panel=MOVES),
    ] = None,
    integer: Annotated[
        str | None,
        typer.Option("--integer", metavar="A,B,...", help="Columns of whole steps.", rich_help_panel=MOVES),
    ] = None,
    categorical: Annotated[
        str | None,
        typer.Option(
            "--categorical",
            metavar="A,B,...",
            help="Columns of numbers that stand for categories.",
            rich_help_panel=MOVES,
        ),
    ] = None,
    one_hot: Annotated[
        list[str] | None,
        typer.Option(
            "--one-hot",
            metavar="A,B,...",
            help="Columns of which one is 1 and the others 0; again for each group.",
            rich_help_panel=MOVES,
        ),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(
            "--bounds",
            metavar="A=LOW:HIGH,...",
            help="Limits of the moves; data: the range of each column.",
            rich_help_panel=MOVES,
        ),
    ] = None,
    cost: Annotated[
        Literal["std", "iqr", "range", "unit"],
        typer.Option(
            "--cost",
            help="The move of a column that is a distance of 1.",
            rich_help_panel=MOVES,
        ),
    ] = "std",
    label_flip: Annotated[
        float,
        typer.Option(
            "--label-flip", help="Distance of a change of the label (inf: never).", rich_help_panel=MOVES
        ),
    ] = float("inf"),
    feature_stability: Annotated[
        bool,
        typer.Option(
            "--feature-stability",
            help="Also the stability when one feature alone may move, for each.",
            rich_help_panel=MODEL,
        ),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN|FILE",
            help="With --feature-stability: also within each group of rows.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    theta1: Annotated[float, typer.Option("--theta1", help="Price of moving a row (inf: rows stay).")] = 0.4,
    theta2: Annotated[
        float, typer.Option("--theta2", help="Price of reweighting (inf: weights stay).")
    ] = 0.4,
    divergence: Annotated[
        Literal["kl", "chi2"], typer.Option("--divergence", help="How reweighting is measured.")
    ] = "kl",
    curve: Annotated[
        bool, typer.Option("--curve", help="Also print the stability over risk thresholds.")
    ] = False,
    seed: options.Seed = 0,
    id_column: options.Id = None,
    label: options.Label = None,
    weight: options.Weight = None,
    json: options.Json = None,
    report: options.Report = None,
    quiet: options.Quiet = False,
) -> None:
    """Find how little it takes to break the model: the least shift that lifts its risk to a threshold.

    FILE holds one value a row: a loss (--losses), or the distance to the nearest error (--distances), unsquared. Or
    it holds the rows that a --model predicts on, with their --target. Its other columns describe the rows: the report
    says which of them gain weight in the worst case.

    Example: `shiftmetrics stability patients.csv --distances distance --threshold 0.4 --report report.html`

    Example: `shiftmetrics stability patients.csv --model model.joblib --target died --threshold 0.4 --immutable sex`
    """
    from shiftmetrics.cli.model_stability import ModelOptions
    from shiftmetrics.cli.outputs import Output

    output = Output(json=json, report=report, quiet=quiet)
    output.check_folders()
    prices = {"theta1": theta1, "theta2": theta2, "divergence": divergence}
    if model is None:
        _refuse(
            {
                "--target": target, "--features": features, "--immutable": immutable, "--integer": integer,
                "--categorical": categorical, "--one-hot": one_hot, "--bounds": bounds,
                "--feature-stability": feature_stability, "--by": by,
            },
            "go with --model",
        )  # fmt: skip
        _of_numbers(
            file, output, threshold=threshold, losses=losses, distances=distances, kind=kind, prices=prices,
            id_column=id_column, label=label, weight=weight, curve=curve,
        )  # fmt: skip
        return
    _refuse({"--losses": losses, "--distances": distances, "--kind": kind}, "not go with --model")
    if target is None:
        raise ValueError("--target COLUMN must say what the model predicts, next to --model.")
    if not feature_stability:
        _refuse({"--by": by}, "go with --feature-stability")
    _of_model(
        file,
        output,
        ModelOptions(
            model=model, target=target, loss=loss, features=features, immutable=immutable, integer=integer,
            categorical=categorical, one_hot=one_hot or [], bounds=bounds, method=method, queries=queries, seed=seed,
            cost=cost, label_flip=label_flip,
        ),
        threshold=threshold, prices=prices, id_column=id_column, label=label, weight=weight, by=by,
        feature_stability=feature_stability, curve=curve,
    )  # fmt: skip


def _of_numbers(
    file: str,
    output: Output,
    *,
    threshold: float,
    losses: str | None,
    distances: str | None,
    kind: Literal["losses", "distances"] | None,
    prices: dict[str, Any],
    id_column: str | None,
    label: str | None,
    weight: str | None,
    curve: bool,
) -> None:
    """Answer from one loss or distance a row."""
    from shiftmetrics.cli.errors import named_arguments
    from shiftmetrics.cli.measurements import read_measurements
    from shiftmetrics.report import Context, Rows
    from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion

    sample = read_measurements(
        file, losses=losses, distances=distances, kind=kind, id_column=id_column, label=label, weight=weight
    )
    output.check([sample.source])
    with named_arguments(ARGUMENTS):
        loss: Any = ZeroOneLoss(sample.values) if sample.kind == "distances" else FixedLoss(sample.values)
        result = stability_criterion(
            loss, threshold, sample_weight=sample.weight, progress=output.progress, **prices
        )
    rows = Rows(
        loss=loss, sample_weight=sample.weight, names=sample.names, labels=sample.label, table=sample.table
    )
    name = str(sample.source)
    output.write_all(
        {name: result, **_curve(result, rows, curve)},
        title="Stability of a model",
        context=Context(
            description=f"{sample.kind.capitalize()} of {len(sample.values):,} rows in {sample.source}.",
            facts={
                "File": name,
                "Measured": sample.kind,
                "Risk that counts as broken": f"{threshold:g}",
            },
            rows={name: rows},
        ),
        notes=sample.source.notes,
    )


def _of_model(
    file: str,
    output: Output,
    model: Any,
    *,
    threshold: float,
    prices: dict[str, Any],
    id_column: str | None,
    label: str | None,
    weight: str | None,
    by: str | None,
    feature_stability: bool,
    curve: bool,
) -> None:
    """Answer from a model and its rows."""
    from shiftmetrics.cli.model_stability import solve
    from shiftmetrics.cli.models import check_model
    from shiftmetrics.cli.samples import read_row_values
    from shiftmetrics.cli.sources import parse_source
    from shiftmetrics.report import Context, Rows

    check_model(model.model)
    output.check([parse_source(file, "FILE")])
    answer = solve(
        file, model, threshold=threshold, prices=prices, id_column=id_column, weight=weight, by=by,
        feature_stability=feature_stability, progress=output.progress,
    )  # fmt: skip
    sample, result = answer.sample, answer.result
    labels: Any = sample.y
    if label is not None:
        labels = read_row_values(label, "--label", sample.table, required=True)
    rows = Rows(
        loss=result.loss,
        sample_weight=sample.weight,
        names=sample.names,
        labels=None if model.loss == "squared" and label is None else labels,
        table=sample.table,
    )
    name = str(sample.source)
    beside = {} if answer.features is None else {answer.features.title: answer.features}
    output.write_all(
        {name: result, **_curve(result, rows, curve), **beside},
        title="Stability of a model",
        context=Context(
            description=f"{answer.name} on {result.n_samples:,} rows in {sample.source}.",
            facts={
                "File": name,
                "Model": Path(model.model).name,
                "Loss": model.loss.replace("_", " "),
                "Risk that counts as broken": f"{threshold:g}",
                "Moves found by": f"the {result.route} route",
            },
            rows={name: rows},
        ),
        notes=answer.notes,
    )


def _curve(result: Any, rows: Any, wanted: bool) -> dict[str, Any]:
    """Return the stability over thresholds, from the risk as it is past the threshold that was asked for."""
    if not wanted:
        return {}
    import numpy as np

    from shiftmetrics.stability import stability_curve

    start, threshold = result.base_risk, result.settings["threshold"]
    thresholds = start + np.arange(1, 9) * max(threshold - start, 0.25 * max(start, 1e-3)) / 4
    settings = {name: result.settings[name] for name in ("theta1", "theta2", "divergence")}
    curve = stability_curve(
        rows.loss, [*thresholds, threshold], sample_weight=rows.sample_weight, progress=False, **settings
    )
    return {curve.title: curve}


def _refuse(given: dict[str, Any], rule: str) -> None:
    """Raise a ValueError for the first option that was given."""
    for option, value in given.items():
        if value:
            raise ValueError(f"{option} must {rule}.")
