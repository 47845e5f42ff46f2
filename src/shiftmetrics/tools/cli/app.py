"""The command line application: its commands and the options before them."""

from __future__ import annotations

from typing import Annotated

import typer

from shiftmetrics._version import __version__
from shiftmetrics.tools.cli.agreement import agreement
from shiftmetrics.tools.cli.check import check
from shiftmetrics.tools.cli.compare import compare
from shiftmetrics.tools.cli.demo import demo
from shiftmetrics.tools.cli.doctor import doctor
from shiftmetrics.tools.cli.errors import CommandGroup
from shiftmetrics.tools.cli.novelty import novelty
from shiftmetrics.tools.cli.report import report
from shiftmetrics.tools.cli.run import run
from shiftmetrics.tools.cli.stability import stability

app = typer.Typer(
    name="shiftmetrics",
    cls=CommandGroup,
    rich_markup_mode="markdown",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shiftmetrics {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def shiftmetrics(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Measure how a model holds when its data shifts, how little breaks it, and what is new in the data.

    Files are csv, csv.gz, parquet, npy or npz; write `runs.npz:scores` for an array inside an npz file and
    `runs.npz:scores[3,1]` for a part of it. Or they are Python objects, `scores.joblib` and `module:attribute`:
    opening these runs the code inside, so trust them first. The sample under test comes first, the baseline second.

    Exit codes: 0 done, 1 a rule failed, 2 an error.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (demo, agreement, stability, novelty, compare, check, run, report, doctor):
    app.command()(command)
