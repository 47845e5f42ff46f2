"""The command ``shiftmetrics example NAME``: small files to try a command on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from shiftmetrics._core.interrupts import temporary_folder
from shiftmetrics._core.staging import all_or_nothing
from shiftmetrics.cli.console import say, say_text
from shiftmetrics.cli.errors import reader_may_leave
from shiftmetrics.cli.signature import command

NEXT = {
    "diff": "shiftmetrics diff {0} {1}\nshiftmetrics diff {0} {1} --labels {2} --allow 0.01",
    "audit": "shiftmetrics audit {0} {1} --time day",
}
"""What to type with the files."""

FILES = {"diff": ("old.csv", "new.csv", "labels.csv"), "audit": ("reference.csv", "current.csv")}


@command
def example(name: Literal["diff", "audit"], *, output: Path = Path(), quiet: bool = False) -> None:
    """Write small files to try a command on.

    `diff` gets the predictions of two classifiers for the same 899 of scikit-learn's handwritten digits, and the
    labels; `audit` gets made-up records of a month, and of the one after it.

    Example: `shiftmetrics example diff`

    Parameters
    ----------
    name : NAME
        The command: diff or audit.
    output : FOLDER
        Where the files go. Default: the present folder.
    """
    if not output.is_dir():
        raise ValueError(f"--output must be a folder that exists, got {str(output)!r}.")
    if name == "diff":
        from shiftmetrics.examples.predictions import write_predictions as write
    else:
        from shiftmetrics.examples.records import write_records as write
    there = {file: output / file for file in FILES[name] if os.path.lexists(output / file)}
    if there:
        _check_same(there, write)
    with all_or_nothing():
        files = [str(file) for file in write(output)]
        if not quiet:
            # A reader of the output that leaves early, such as `head`, must not cost a file.
            with reader_may_leave():
                say(f"Wrote {', '.join(files)}. Now type:")
                say_text(f"\n{NEXT[name].format(*files)}")


def _check_same(there: Mapping[str, Path], write: Callable[[Path], Any]) -> None:
    """Refuse to replace what is somebody's own; files of an earlier call, or of one that was killed, are the same."""
    with temporary_folder() as folder:
        write(folder)
        for file, path in there.items():
            if not path.is_file() or path.read_bytes() != (folder / file).read_bytes():
                raise ValueError(
                    f"--output must not hold another {file}, got {str(path.parent)!r}. Choose an empty folder."
                )
