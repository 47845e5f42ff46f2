"""The command ``shiftmetrics demo``: a small real classifier, shifted data, three measures, one report."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from shiftmetrics._core.documents import write_results
from shiftmetrics._core.files import is_ours
from shiftmetrics._core.interrupts import folder_for_results
from shiftmetrics._core.staging import all_or_nothing
from shiftmetrics._core.validation import check_integer
from shiftmetrics.cli.console import say, say_text
from shiftmetrics.cli.errors import reader_may_leave
from shiftmetrics.cli.outputs import check_outputs, show
from shiftmetrics.cli.signature import command
from shiftmetrics.views import write_report


@command
def demo(
    *, output: Path = Path("demo-output"), seed: int = 0, digit: int = 4, quiet: bool = False
) -> None:
    """Train a small classifier of handwritten digits, shift its data, measure, and write a report.

    It needs nothing but the installed package: the digits come with scikit-learn. Beside the report it writes its
    data and a configuration for `shiftmetrics run`, which measures the same from files and checks rules.

    Parameters
    ----------
    output : FOLDER
        Where report.html and the rest go.
    digit : 0-9
        The digit withheld from the reference.
    """
    started = time.perf_counter()
    check_integer(digit, "--digit", low=0, high=9)
    if output.exists() and not output.is_dir():
        raise ValueError(f"--output must be a folder, got the file {str(output)!r}.")
    # whatever ends it, the interrupt of somebody who does not want to wait too, leaves no empty folder
    with folder_for_results(output):
        _write_demonstration(output, seed=seed, digit=digit, quiet=quiet, started=started)


def _write_demonstration(
    output: Path, *, seed: int, digit: int, quiet: bool, started: float
) -> None:
    """Measure, and write everything into a folder that is there."""
    page, results = output / "report.html", output / "results.json"
    # what cannot be written is refused before anything is fitted
    check_outputs(
        {
            file.name: file
            for file in (results, page, output / "config.toml", output / "rules.toml")
        },
        (),
    )
    inputs = output / "digits.npz"
    if inputs.exists() and not is_ours(output / "config.toml", "toml"):
        raise ValueError(
            f"--output must not hold a file that shiftmetrics did not write, got {str(inputs)!r}. "
            "Move it away, or choose another folder."
        )
    if not quiet:
        say(
            "Fitting a classifier of handwritten digits, shifting its data and measuring three ways ..."
        )

    # the laboratory is loaded when the demonstration runs, not for --help
    from shiftmetrics.examples.evaluate import evaluate_digits
    from shiftmetrics.examples.files import write_inputs

    found = evaluate_digits(seed=seed, withheld=digit, progress=not quiet)
    # Files get their names at the end: where one cannot be written, or the output, all are as before.
    with all_or_nothing():
        # results and page, then the same as inputs of `run`
        write_results(found.results, results)
        write_report(
            found.results,
            page,
            title="A classifier of handwritten digits under shift",
            context=found.context,
        )
        config = write_inputs(found, output, seed=seed)
        if quiet:
            return
        # A reader of the output that leaves early, such as `head`, must not cost a file.
        with reader_may_leave():
            show(found.results)
            say(str(found.withheld))
            say_text(
                f"\nReport:  {page}\nResults: {results}\nDone in {time.perf_counter() - started:.1f} s."
            )
            say_text(
                "\nThe same from files, with rules that the rotated digits fail: "
                f"shiftmetrics run {shlex.quote(str(config))}"
            )
