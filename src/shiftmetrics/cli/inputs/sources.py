"""Inputs as a user types them: a file, perhaps a part of it, or a Python object.

``scores.csv``, ``scores.npy`` and ``runs.npz:log_probs`` are sources; so are ``scores.joblib`` and
``module:attribute``, see `shiftmetrics.cli.inputs.objects`. What a file holds is told by `shiftmetrics.tables`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DATA_SUFFIXES = (
    ".csv", ".csv.gz", ".tsv", ".parquet", ".jsonl", ".ndjson", ".feather", ".arff", ".xlsx", ".npy", ".npz",
)  # fmt: skip
"""Of files that hold data, so that no page or result is written over them."""

OBJECT_SUFFIX = ".joblib"


@dataclass(frozen=True, kw_only=True)
class Source:
    """One input of a command.

    Attributes
    ----------
    argument : str
        The name that messages use: ``SHIFTED``, ``--prior``, ...
    path : Path
        An existing file or folder; of a Python object, its name.
    key : str or None
        The name of an array inside an ``.npz`` file, or of another part.
    is_attribute : bool
        Whether it is an object of a Python module, ``module:attribute``, instead of a file.
    """

    argument: str
    path: Path
    key: str | None = None
    is_attribute: bool = False

    def __str__(self) -> str:
        return self.path.name if self.key is None else f"{self.path.name}:{self.key}"


def is_there(text: str) -> bool:
    """Return True if a text names a file or a folder that exists; it may be no name at all, such as a long note."""
    try:
        return Path(text).exists()
    except OSError:
        return False


def parquet_files(text: str) -> tuple[Path, ...]:
    """Return the parquet files of a folder, or of a pattern such as ``scores/*.parquet``, in the order of names."""
    path, pattern = Path(text), "*.parquet"
    try:
        # a pattern, such as rows/*.parquet
        if text.lower().endswith(".parquet") and not path.exists():
            path, pattern = path.parent, path.name
        return tuple(sorted(path.glob(pattern))) if path.is_dir() and "*" in pattern else ()
    except OSError:  # a text that is no path, such as a long note
        return ()
