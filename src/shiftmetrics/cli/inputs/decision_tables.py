"""Csv files to label, which never replace one."""

from __future__ import annotations

from pathlib import Path


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
