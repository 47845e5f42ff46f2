"""The command ``shiftmetrics stability FILE``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from shiftmetrics.tools.cli import options

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
    confidence: Annotated[float, typer.Option("--confidence", help="Level of the intervals.")] = 0.95,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="COLUMN|FILE",
            help="Rows that belong together, such as visits of one patient: intervals take them as one.",
        ),
    ] = None,
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
    from shiftmetrics.tools.cli.model_stability import ModelOptions
    from shiftmetrics.tools.cli.outputs import Output
    from shiftmetrics.tools.cli.stability_answers import Asked, of_model, of_numbers

    output = Output(json=json, report=report, quiet=quiet)
    output.check_folders()
    asked = Asked(
        threshold=threshold, theta1=theta1, theta2=theta2, divergence=divergence, level=confidence,
        id_column=id_column, label=label, weight=weight, groups=groups, curve=curve,
    )  # fmt: skip
    if model is None:
        _refuse(
            {
                "--target": target, "--features": features, "--immutable": immutable, "--integer": integer,
                "--categorical": categorical, "--one-hot": one_hot, "--bounds": bounds,
                "--feature-stability": feature_stability, "--by": by,
            },
            "go with --model",
        )  # fmt: skip
        of_numbers(file, output, asked, losses=losses, distances=distances, kind=kind)
        return
    _refuse({"--losses": losses, "--distances": distances, "--kind": kind}, "not go with --model")
    if target is None:
        raise ValueError("--target COLUMN must say what the model predicts, next to --model.")
    if not feature_stability:
        _refuse({"--by": by}, "go with --feature-stability")
    of_model(
        file,
        output,
        asked,
        ModelOptions(
            model=model, target=target, loss=loss, features=features, immutable=immutable, integer=integer,
            categorical=categorical, one_hot=one_hot or [], bounds=bounds, method=method, queries=queries, seed=seed,
            cost=cost, label_flip=label_flip, feature_stability=feature_stability, by=by,
        ),
    )  # fmt: skip


def _refuse(given: dict[str, Any], rule: str) -> None:
    """Raise a ValueError for the first option that was given."""
    for option, value in given.items():
        if value:
            raise ValueError(f"{option} must {rule}.")
