"""The command line application: each command's file is imported when the command is used."""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shiftmetrics._version import __version__
from shiftmetrics.cli.errors import (
    EXIT_INTERRUPTED,
    UsageError,
    fail,
    message_of,
    reader_may_leave,
)
from shiftmetrics.cli.options import SETTINGS
from shiftmetrics.cli.values import as_plain_flag

COMMANDS = {
    "diff": "Say whether a new model is safe to ship, from the predictions of both on the same rows.",
    "read": "Say what the columns of files are taken for, and keep it for a gate that guesses nothing.",
    "example": "Write small files to try a command on.",
    "audit": "Say what changed in this table, in which rows and since when, and whether the model is worse.",
    "passport": "Write a small profile of a reference, without its rows, for `shiftmetrics monitor`.",
    "monitor": "Hold a batch against a passport: whether errors have risen, or the rows have changed.",
    "demo": "Train a small classifier of handwritten digits, shift its data, measure, and write a report.",
    "agreement": "Measure whether predictions survive this shift: posterior agreement; no labels needed.",
    "curves": "Draw agreement, unchanged and right predictions against the level of a shift.",
    "stability": "Find how little it takes to break the model: the least shift that lifts its risk to a threshold.",
    "novelty": "Find what is new in this data, and what is missing: kernel entropic novelty; no labels needed.",
    "compare": "Rank models for use under a shift, with or without labels.",
    "check": "Check results against rules, as the gate of a release.",
    "run": "Measure all that a file lists, and check it by rules.",
    "report": "Write one self-contained HTML page of any number of results.",
}
"""Commands with the line that ``shiftmetrics --help`` shows, so that it need not import them."""


def load_command(name: str) -> Any:
    """Import the file of a command, and return the command with all its options."""
    from shiftmetrics.cli.signature import click_command

    module = importlib.import_module(f"shiftmetrics.cli.commands.{name}")
    return click_command(getattr(module, name))


class CommandGroup(TyperGroup):
    """A group of commands that are loaded on first use, and whose errors are one line."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return ``--help``, which needs no conversion."""
        return as_plain_flag(super().get_help_option(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the stand-in of a command by the command."""
        # the stand-in has the name and the help, and no options
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else load_command(name), rest

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line and leave with its exit code."""
        code = None
        try:
            with reader_may_leave():
                # errors come back as exceptions, to be printed on one line
                code = super().main(*args, **{**options, "standalone_mode": False})
                sys.stdout.flush()
        except OSError as error:  # a full disk, say
            fail(message_of(error))
        except UsageError as error:
            context = getattr(error, "ctx", None)
            # the help of the command that was typed, not that of the program
            command = context.command_path if context is not None else "shiftmetrics"
            message = error.format_message().rstrip(".")
            fail(f"{message}{'' if message.endswith('?') else '.'} Try '{command} --help'.")
        except typer.Abort:
            sys.exit(EXIT_INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a job that it returns is finished, and an exception becomes a message."""
        try:
            job = super().invoke(ctx)
            # a measuring command returns a job: its inputs are read and checked, nothing is computed
            return None if job is None else job.finish()
        except (UsageError, typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except SystemExit as error:
            if error.code:
                raise
            # Code of the user's, such as a model, has ended the program: that is no answer.
            fail("The command was ended by code that it called, by sys.exit(0).")
        except Exception as error:
            fail(message_of(error))


app = typer.Typer(name="shiftmetrics", cls=CommandGroup, **SETTINGS)


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

    Files are csv in all its dialects, JSON, parquet, npy and others, told by content; write `runs.npz:scores` for
    an array inside an npz file. `read` says what a file holds.
    Or they are Python objects, `scores.joblib` and `module:attribute`: opening these runs the code inside, which
    needs `--trust`. The sample under test comes first, the baseline second; in `diff` the old one comes first.

    Exit codes: 0 done, 1 worse, or a rule failed, 2 an error, 3 cannot tell yet, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for name, summary in COMMANDS.items():
    app.command(name, short_help=summary)(
        lambda: None
    )  # a stand-in, see `CommandGroup.resolve_command`
