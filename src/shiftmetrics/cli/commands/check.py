"""The command ``shiftmetrics check``: rules on results, an exit code, and a JUnit file."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from shiftmetrics._core.staging import all_or_nothing
from shiftmetrics.cli.console import new_console, say_text
from shiftmetrics.cli.errors import fail, reader_may_leave
from shiftmetrics.cli.inputs.results import read_result_files
from shiftmetrics.cli.inputs.sources import Source
from shiftmetrics.cli.outputs import (
    check_outputs,
    command_line,
    is_stdout,
    say_files,
)
from shiftmetrics.cli.signature import command
from shiftmetrics.rules import RulesResult, check_results, read_rules
from shiftmetrics.views import Context, write_report
from shiftmetrics.views.report import properties_of

STYLES = {"passed": "green", "failed": "bold red", "warned": "yellow", "error": "bold red"}


@command
def check(
    results: list[str],
    *,
    rules: Path,
    junit: Path | None = None,
    json: Path | None = None,
    report: Path | None = None,
    quiet: bool = False,
) -> None:
    """Check results against rules, as the gate of a release.

    Exit codes: 0 passed, 1 a rule failed, 2 an error.

    What is uncertain counts against passing: the unfavourable end of the interval is checked, where there is one. A
    rule that finds no result or no such field is an error.

    Example: `shiftmetrics check agreement.json stability.json --rules rules.toml --junit junit.xml`

    Example: `shiftmetrics check results/ --rules rules.toml --report report.html`

    Parameters
    ----------
    rules : RULES.toml
        What the results must hold.
    junit : FILE.xml
        Write the outcomes as JUnit XML, for CI to show.
    json : FILE.json
        Write the outcomes as JSON.
    """
    demanded = read_rules(rules)
    read = read_result_files(results)
    inputs = [*read.sources, Source(argument="--rules", path=rules)]
    # all paths are checked before a rule is
    check_outputs({"--junit": junit, "--json": json, "--report": report}, inputs, has_arrays=False)
    checked = check_results(read.results, demanded)
    context = Context(
        description="Results checked against the rules of a release.",
        facts={"Results": ", ".join(results), "Rules": str(rules)},
        command=command_line(),
        rules=checked,
    )
    # Files get their names at the end: where one cannot be written, or the output, all are as before.
    with all_or_nothing():
        if junit is not None:
            checked.to_junit(junit, properties_of(read.results))
        if json is not None and not is_stdout(json):
            checked.to_json(json)
        if report is not None:
            write_report(read.results, report, title="Release gate", context=context)
        # A reader of the output that leaves early, such as `head`, must not cost a file.
        with reader_may_leave():
            if is_stdout(json):
                say_text(checked.to_json())
            elif not quiet:
                show_outcomes(checked, notes=read.notes)
                say_files({"JUnit": junit, "JSON": json, "Report": report})
            sys.stdout.flush()
    if checked.errors:
        first = checked.errors[0]
        # a rule that could not be checked must not pass for one that held
        left = f"{len(checked.errors)} of {len(checked.outcomes)} checks could not be made."
        fail(f"{left} {first.rule.name}: {first.text}")
    raise typer.Exit(checked.exit_code)


def show_outcomes(checked: RulesResult, *, notes: tuple[str, ...] = ()) -> None:
    """Print how the rules ended: a table, in a pipe tab-separated lines, then one sentence."""
    console = new_console()
    rows = [
        (part.ended, part.rule.name, part.result, part.with_reason) for part in checked.outcomes
    ]
    console.table(("", "rule", "result", "what was found"), rows, STYLES)
    unchecked = [f"No rule looks at {name}." for name in checked.unchecked]
    for note in (*notes, *unchecked):
        console.line((f"Note: {note}", "dim"))
    console.line((checked.headline(), "bold"))
