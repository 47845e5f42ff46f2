"""The command ``shiftmetrics check``: rules on results, an exit code, and a JUnit file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftmetrics.tools.cli import options

if TYPE_CHECKING:
    from shiftmetrics.tools.rules import RulesResult

STYLES = {"passed": "green", "failed": "bold red", "warned": "yellow", "error": "bold red"}


def check(
    results: options.Results,
    rules: Annotated[
        Path,
        typer.Option("--rules", metavar="RULES.toml", help="What the results must hold.", show_default=False),
    ],
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE.xml", help="Write the outcomes as JUnit XML, for CI to show."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE.json", help="Write the outcomes as JSON.")
    ] = None,
    report: options.Report = None,
    quiet: options.Quiet = False,
) -> None:
    """Check results against rules, as the gate of a release: exit code 0 passed, 1 a rule failed, 2 an error.

    What is uncertain counts against passing: the unfavourable end of the interval is checked, where there is one. A
    rule that finds no result or no such field is an error.

    Example: `shiftmetrics check agreement.json stability.json --rules rules.toml --junit junit.xml`

    Example: `shiftmetrics check results/ --rules rules.toml --report report.html`
    """
    from shiftmetrics.tools.cli.errors import fail, reader_may_leave
    from shiftmetrics.tools.cli.results import check_outputs, read_result_files
    from shiftmetrics.tools.cli.sources import Source
    from shiftmetrics.tools.rules import check_results, read_rules, write_junit

    demanded = read_rules(rules)
    read = read_result_files(results)
    baselines = {rule.baseline for rule in demanded if rule.baseline is not None}
    check_outputs(
        {"--junit": junit, "--json": json, "--report": report},
        [
            *read.sources,
            Source(argument="--rules", path=rules),
            *(Source(argument="the baseline", path=Path(path)) for path in baselines),
        ],
    )
    checked = check_results(read.results, demanded)
    # Files first: a reader of the output that leaves early, such as `head`, must not cost us a file.
    if junit is not None:
        write_junit(checked, junit)
    if json is not None:
        checked.to_json(json)
    if report is not None:
        from shiftmetrics.views import Context, write_report

        context = Context(
            description="Results checked against the rules of a release.",
            facts={"Results": ", ".join(results), "Rules": str(rules)},
            rules=checked,
        )
        write_report(read.results, report, title="Release gate", context=context)
    if not quiet:
        with reader_may_leave():  # the exit code says how the rules ended, whoever reads
            show_outcomes(checked, notes=read.notes)
            _name_files({"JUnit": junit, "JSON": json, "Report": report})
    if checked.errors:
        first = checked.errors[0]
        left = f"{len(checked.errors)} of {len(checked.outcomes)} checks could not be made."
        fail(f"{left} {first.rule.name}: {first.text}")
    raise typer.Exit(checked.exit_code)


def show_outcomes(checked: RulesResult, *, notes: tuple[str, ...] = ()) -> None:
    """Print how the rules ended: a table, in a pipe tab-separated lines, then one sentence."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from shiftmetrics.tools.cli.outputs import new_console, print_table

    console = new_console()
    header = ("", "rule", "result", "what was found")
    rows = [
        (part.ended, *map(_one_line, (part.rule.name, part.where, part.with_reason)))
        for part in checked.outcomes
    ]
    if not console.is_terminal:
        print_table(console, header, rows)
    else:
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for name in header:
            table.add_column(name, overflow="fold")
        for ended, *cells in rows:
            table.add_row(Text(ended, style=STYLES[ended]), *map(Text, cells))
        console.print(table)
    for name in checked.unchecked:
        notes = (*notes, f"No rule looks at {name}.")
    for note in notes:
        console.print(Text(f"Note: {note}", style="dim"))
    console.print(Text(checked.headline(), style="bold"))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _name_files(written: dict[str, Path | None]) -> None:
    from shiftmetrics.tools.cli.outputs import say

    for what, path in written.items():
        if path is not None:
            say(f"{what}: {path}")
