"""The command ``shiftmetrics example NAME``: small files to try a command on."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from shiftmetrics.tools.cli.outputs import say
from shiftmetrics.tools.cli.signature import command

NEXT = {"diff": "shiftmetrics diff {0} {1}\nshiftmetrics diff {0} {1} --labels {2} --allow 0.01"}
"""What to type with the files."""


@command
def example(name: Literal["diff"], *, output: Path = Path(), quiet: bool = False) -> None:
    """Write small files to try a command on.

    They come from scikit-learn's handwritten digits: `diff` gets the predictions of two classifiers for the same 899
    images, and the labels.

    Example: `shiftmetrics example diff`

    Parameters
    ----------
    name : NAME
        The command: diff.
    output : FOLDER
        Where the files go. Default: the present folder.
    """
    from shiftmetrics.lab.demo.predictions import write_predictions

    if not output.is_dir():
        raise ValueError(f"--output must be a folder that exists, got {str(output)!r}.")
    # an example must not replace what is somebody's own
    for file in ("old.csv", "new.csv", "labels.csv"):
        if (output / file).exists():
            raise ValueError(f"--output must not hold {file} yet, got {str(output)!r}.")
    files = [str(file) for file in write_predictions(output)]
    if not quiet:
        say(f"Wrote {', '.join(files)}. Now type:\n\n{NEXT[name].format(*files)}")
