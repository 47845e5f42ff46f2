"""The command ``shiftmetrics run CONFIG``: the measurements of one file, their report, and the rules they meet."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftmetrics.tools.cli import options

if TYPE_CHECKING:
    from shiftmetrics.tools.cli.config import Config, Measurement
    from shiftmetrics.tools.cli.session import Session
    from shiftmetrics.tools.rules import Rule


def run(
    config: Annotated[
        Path,
        typer.Argument(metavar="CONFIG", help="A TOML file that lists measurements.", show_default=False),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Measure this alone, again for each; the others are taken from their files, where there are any.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Where results go, in place of what CONFIG says."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Read the inputs and print the commands; compute and write nothing."),
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure all that a file lists, and check it by rules: one folder with results, report.html and junit.xml.

    CONFIG holds tables [[agreement]], [[stability]], [[novelty]] and [[compare]], each with a name and the arguments
    and options of that command; besides, a title, an output folder, a seed, and rules = "rules.toml" or [[rule]]
    tables. Paths start at the folder of CONFIG. All inputs are read before anything is computed.

    Exit codes: 0 done and all rules passed, 1 a rule failed, 2 an error.

    Example: `shiftmetrics run config.toml`
    """
    import contextlib

    from typer.main import get_command

    from shiftmetrics.tools.cli.app import app
    from shiftmetrics.tools.cli.config import read_config
    from shiftmetrics.tools.cli.gathering import Folder
    from shiftmetrics.tools.cli.session import Session

    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    plan = read_config(config, commands)
    folder = Folder(path=(output or config.parent / plan.output).resolve())
    chosen = _chosen(plan, only)
    start = Path.cwd()
    with contextlib.chdir(config.parent):
        written = folder.files([part.name for part in plan.measurements])
        rules = _rules_of(plan, written)
        session = Session(
            plan=plan, folder=folder, written=written, commands=commands, rules=rules, quiet=quiet, start=start
        )  # fmt: skip
        session.read_inputs(chosen)
        if dry_run:
            _print_plan(session, chosen)
            return
        code = session.measure(chosen)
    raise typer.Exit(code)


def _rules_of(plan: Config, written: Container[Path]) -> list[Rule]:
    """Read the rules that the file names, and those that stand in it; their baselines must not be ours to write."""
    if plan.rules is None and not plan.inline_rules:
        return []
    from shiftmetrics.tools.rules import read_rules

    rules = [] if plan.rules is None else list(read_rules(plan.rules))
    if plan.inline_rules:
        rules += read_rules({"rule": plan.inline_rules})
    names = [rule.name for rule in rules]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"Rules must have names of their own, got {repeated!r} twice.")
    for rule in rules:
        if rule.baseline is not None and Path(rule.baseline).resolve() in written:
            raise ValueError(
                f"Rule {rule.name!r}: baseline must not be a file that this run writes, got {rule.baseline!r}. "
                "Keep the results of the earlier release elsewhere."
            )
    return rules


def _chosen(plan: Config, only: Sequence[str] | None) -> list[Measurement]:
    """Return the measurements that ``--only`` names, in the order of the file; without it, all."""
    from shiftmetrics._core.validation import check_keys

    names = [part.name for part in plan.measurements]
    check_keys(only or [], "--only", names, f"the name of a measurement of {plan.path.name}")
    return [part for part in plan.measurements if not only or part.name in only]


def _print_plan(session: Session, chosen: Sequence[Measurement]) -> None:
    """Print what would run, as one would type it."""
    import os
    import shlex

    from shiftmetrics.tools.cli.outputs import say

    here = Path.cwd()  # the folder of the file
    if here != session.start:
        say(shlex.join(["cd", session.shown(here)]))
    for part in chosen:
        target = os.path.relpath(session.folder.result(part.name), here)
        say(shlex.join(["shiftmetrics", part.kind, *part.arguments, "--json", target]))
    beside = f" and {session.shown(session.folder.junit)}" if session.rules else ""
    say(f"Then {session.shown(session.folder.report)}{beside}.")
    say(f"Measurements with their inputs in order: {len(chosen)}. Nothing was computed or written.")
