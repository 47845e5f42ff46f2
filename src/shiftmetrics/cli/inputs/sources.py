"""Inputs as a user types them: a file, perhaps an array inside it, or a Python object.

``scores.csv``, ``scores.npy`` and ``runs.npz:log_probs`` are sources; so are ``scores.joblib`` and
``module:attribute``, see `shiftmetrics.cli.inputs.objects`.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path

from shiftmetrics.cli.inputs.objects import MODEL_SUFFIXES, PREDICT_FIRST, is_attribute

TABLE_SUFFIXES = (".csv", ".csv.gz", ".parquet", ".jsonl")
ARRAY_SUFFIXES = (".npy", ".npz")
OBJECT_SUFFIX = ".joblib"
KNOWN_SUFFIXES = (*TABLE_SUFFIXES, *ARRAY_SUFFIXES, OBJECT_SUFFIX)

_ARRAY_OF_NPZ = re.compile(r"(?P<path>.+?\.npz):(?P<key>.+)")


@dataclass(frozen=True, kw_only=True)
class Source:
    """One input of a command.

    Attributes
    ----------
    argument : str
        The name that messages use: ``SHIFTED``, ``--prior``, ...
    path : Path
        An existing file; of a Python object, its name.
    key : str or None
        The name of an array inside an ``.npz`` file.
    is_attribute : bool
        Whether it is an object of a Python module, ``module:attribute``, instead of a file.
    files : tuple of Path
        The parquet files of a folder or a pattern; none for one file.
    """

    argument: str
    path: Path
    key: str | None = None
    is_attribute: bool = False
    files: tuple[Path, ...] = ()

    @property
    def suffix(self) -> str:
        """The file's suffix in lower case, ``.csv.gz`` as one."""
        name = self.path.name.lower()
        return ".csv.gz" if name.endswith(".csv.gz") else Path(name).suffix

    @property
    def is_table(self) -> bool:
        """Whether the file has named columns."""
        return self.suffix in TABLE_SUFFIXES

    def __str__(self) -> str:
        return self.path.name if self.key is None else f"{self.path.name}:{self.key}"


def parse_source(text: str, argument: str) -> Source:
    """Read what the user typed and make sure that the file is there and of a kind that we read.

    Raises
    ------
    ValueError
        If the file is missing, is a folder or has an unknown suffix.
    """
    source = Source(argument=argument, path=Path(text), files=parquet_files(text))
    if source.files:
        return source
    match = _ARRAY_OF_NPZ.fullmatch(text)
    # a file whose own name has a colon comes before an array inside a file
    if match and not source.path.exists():
        source = Source(argument=argument, path=Path(match["path"]), key=match["key"])
    elif is_attribute(text) and not Path(text.partition(":")[0]).is_file():
        return dataclasses.replace(source, is_attribute=True)
    path = source.path
    if path.is_dir():
        raise ValueError(f"{argument} must be a file, got the folder {str(path)!r}.")
    # the suffix says how to read it: no content is guessed
    if source.suffix not in KNOWN_SUFFIXES:
        known = ", ".join(KNOWN_SUFFIXES)
        remedy = f" {PREDICT_FIRST}" if source.suffix in MODEL_SUFFIXES else ""
        raise ValueError(f"{argument} must be a file of kind {known}, got {text!r}.{remedy}")
    if not path.is_file():
        found = (
            "a pipe or a device: save it to a file first" if path.exists() else "which is not there"
        )
        raise ValueError(f"{argument} must be an existing file, got {str(path)!r}, {found}.")
    return source


def parquet_files(text: str) -> tuple[Path, ...]:
    """Return the parquet files of a folder, or of a pattern such as ``scores/*.parquet``, in the order of names."""
    path, pattern = Path(text), "*.parquet"
    # a pattern, such as rows/*.parquet
    if text.lower().endswith(".parquet") and not path.exists():
        path, pattern = path.parent, path.name
    return tuple(sorted(path.glob(pattern))) if path.is_dir() and "*" in pattern else ()


def looks_like_source(text: str) -> bool:
    """Return True if ``text`` is meant as a file rather than as the name of a column."""
    is_file = text.lower().endswith(KNOWN_SUFFIXES) or _ARRAY_OF_NPZ.fullmatch(text) is not None
    return is_file or is_attribute(text)
