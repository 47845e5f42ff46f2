"""Tables of decisions: read as they are, and csv files to label that never replace one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shiftmetrics._core.arrays import is_in_chunks
from shiftmetrics.cli.inputs.readers import read_source
from shiftmetrics.cli.inputs.sources import Source


def read_table(source: Source) -> Any:
    """Read a file of rows and columns as it is.

    Raises
    ------
    ValueError
        If it stands for several files.
    """
    content = read_source(source)
    if is_in_chunks(content):
        raise ValueError(f"{source.argument} must be one file, got {source}, which are several.")
    return content


def check_new_table(path: Path, option: str) -> None:
    """Raise a ValueError unless a csv file can be written here; one that is there may hold labels."""
    if path.suffix != ".csv":
        raise ValueError(f"{option} must end in .csv, got {str(path)!r}.")
    if path.exists():
        raise ValueError(
            f"{option} must be a new file, got {str(path)!r}, which exists and may hold labels. "
            f"Give it as --labels, or move it away."
        )
    if not path.parent.is_dir():
        raise ValueError(f"{option} must be in a folder that exists, got {str(path)!r}.")
