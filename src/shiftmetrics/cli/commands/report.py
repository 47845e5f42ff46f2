"""The command ``shiftmetrics report RESULTS...``: one page from any number of results that other commands wrote."""

from __future__ import annotations

from pathlib import Path

from shiftmetrics._core.staging import all_or_nothing
from shiftmetrics.cli.console import say
from shiftmetrics.cli.errors import reader_may_leave
from shiftmetrics.cli.inputs.results import ResultFiles, read_result_files
from shiftmetrics.cli.options import TITLE
from shiftmetrics.cli.outputs import check_outputs
from shiftmetrics.cli.signature import command
from shiftmetrics.views import Context, write_report
from shiftmetrics.views.report import answer_of


@command
def report(
    results: list[str],
    *,
    page: Path,
    title: str = TITLE,
    quiet: bool = False,
) -> None:
    """Write one self-contained HTML page of any number of results.

    The page shows what results hold. What needs the rows themselves, such as the pairs that agree least, is shown by
    the command that measures, and by `shiftmetrics run`.

    `shiftmetrics check --report` writes the same page with the outcomes of rules.

    Example: `shiftmetrics report agreement.json stability.json --output report.html`

    Example: `shiftmetrics report results/ --title "Release 4" --output report.html`

    Parameters
    ----------
    page : FILE.html
        The page.
    title : TEXT
        Title of the page.
    """
    read = read_result_files(results)
    # the page must not replace a result
    check_outputs({"--output": page}, read.sources)
    context = Context(facts={"Results": ", ".join(results)})
    # The page gets its name at the end: where the output cannot be written, it is as before.
    with all_or_nothing():
        write_report(read.results, page, title=title, context=context)
        if not quiet:
            # A reader of the output that leaves early, such as `head`, must not cost the page.
            with reader_may_leave():
                _say(read, page)


def _say(read: ResultFiles, page: Path) -> None:
    """Print what was found, and where the page is."""
    for name, result in read.results.items():
        answer = answer_of(result)
        for warning in answer.above:
            say(f"Warning: {warning}")
        say(f"{name}: {answer.line}")
    for note in read.notes:
        say(f"Note: {note}")
    say(f"Report: {page}")
