"""The command ``shiftmetrics report RESULTS...``: one page from any number of results that other commands wrote."""

from __future__ import annotations

from pathlib import Path

from shiftmetrics.tools.cli.check import show_outcomes
from shiftmetrics.tools.cli.options import TITLE
from shiftmetrics.tools.cli.outputs import check_outputs, say
from shiftmetrics.tools.cli.results import read_result_files
from shiftmetrics.tools.cli.signature import command
from shiftmetrics.tools.cli.sources import Source
from shiftmetrics.tools.rules import check_results, read_rules
from shiftmetrics.views import Context, write_report


@command
def report(
    results: list[str],
    *,
    page: Path,
    rules: Path | None = None,
    title: str = TITLE,
    quiet: bool = False,
) -> None:
    """Write one self-contained HTML page of any number of results.

    The page shows what results hold. What needs the rows themselves, such as the pairs that agree least, is drawn by
    the command that measures, and by `shiftmetrics run`.

    Exit code: 0, also when a rule failed; `shiftmetrics check` is the gate.

    Example: `shiftmetrics report agreement.json stability.json --output report.html`

    Example: `shiftmetrics report results/ --rules rules.toml --title "Release 4" --output report.html`

    Parameters
    ----------
    page : FILE.html
        The page.
    rules : RULES.toml
        Check the results, and show how each rule ended.
    title : TEXT
        Title of the page.
    """
    demanded = [] if rules is None else read_rules(rules)
    read = read_result_files(results)
    inputs = list(read.sources)
    facts = {"Results": ", ".join(results)}
    if rules is not None:
        inputs.append(Source(argument="--rules", path=rules))
        facts["Rules"] = str(rules)
    check_outputs({"--output": page}, inputs)
    checked = check_results(read.results, demanded) if demanded else None
    write_report(read.results, page, title=title, context=Context(facts=facts, rules=checked))
    if quiet:
        return
    for name, result in read.results.items():
        say(f"{name}: {result.headline()}")
    for note in read.notes:
        say(f"Note: {note}")
    if checked is not None:
        show_outcomes(checked)
    say(f"Report: {page}")
