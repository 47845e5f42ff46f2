"""Inputs as a user types them: a file, perhaps an array inside it and a part of that array, or a Python object.

``scores.csv``, ``scores.npy``, ``runs.npz:log_probs`` and ``runs.npz:log_probs[3,1]`` are sources; so are
``scores.joblib`` and ``module:attribute``. Opening the last two runs the code inside.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import is_table, to_numpy

TABLE_SUFFIXES = (".csv", ".csv.gz", ".parquet")
ARRAY_SUFFIXES = (".npy", ".npz")
OBJECT_SUFFIX = ".joblib"
JOBLIB_SUFFIXES = (".joblib", ".pkl", ".pickle")
PICKLE_SUFFIXES = (".pkl", ".pickle", ".pt", ".pth", ".dill")
KNOWN_SUFFIXES = (*TABLE_SUFFIXES, *ARRAY_SUFFIXES, OBJECT_SUFFIX)

_SOURCE = re.compile(r"(?P<path>.+?\.(?:npz|npy))(?::(?P<key>[^\[\]]+))?(?:\[(?P<index>[^\[\]]*)\])?")
_ATTRIBUTE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")

IndexPart = int | slice


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
    index : tuple of int or slice
        The part to take, axes from the left.
    part : str
        The array and the index, as they were typed after the path.
    is_attribute : bool
        Whether it is an object of a Python module, ``module:attribute``, instead of a file.
    """

    argument: str
    path: Path
    key: str | None = None
    index: tuple[IndexPart, ...] = ()
    part: str = ""
    is_attribute: bool = False

    @property
    def notes(self) -> list[str]:
        """What the user should know about how it is opened."""
        return [trust(self.argument)] if self.is_attribute or self.suffix == OBJECT_SUFFIX else []

    @property
    def suffix(self) -> str:
        """The file's suffix in lower case, ``.csv.gz`` as one."""
        name = self.path.name.lower()
        return ".csv.gz" if name.endswith(".csv.gz") else Path(name).suffix

    @property
    def is_table(self) -> bool:
        """Whether the file has named columns."""
        return self.suffix in TABLE_SUFFIXES

    @property
    def example(self) -> str:
        """How to take a part of this array, for messages."""
        return f"{self.path.name}:{self.key}[0]" if self.key else f"{self.path.name}[0]"

    def __str__(self) -> str:
        return self.path.name + self.part


def parse_source(text: str, argument: str) -> Source:
    """Read what the user typed and make sure that the file is there and of a kind that we read.

    Raises
    ------
    ValueError
        If the file is missing, is a folder, holds pickled objects or has an unknown suffix.
    """
    match = _SOURCE.fullmatch(text)
    source = Source(argument=argument, path=Path(text))
    if match and not source.path.exists():
        index = _parse_index(match["index"], argument) if match["index"] is not None else ()
        part = text[match.end("path") :]
        source = Source(argument=argument, path=Path(match["path"]), key=match["key"], index=index, part=part)
    if match is None and is_attribute(text) and not Path(text.partition(":")[0]).is_file():
        return dataclasses.replace(source, is_attribute=True)
    path = source.path
    if source.suffix in PICKLE_SUFFIXES:
        raise ValueError(
            f"{argument} must be a file of plain numbers, got {path.name!r}, whose kind can run code "
            "when it is opened. Save the numbers with numpy.save, numpy.savez or as csv."
        )
    if path.is_dir():
        raise ValueError(f"{argument} must be a file, got the folder {str(path)!r}.")
    if source.suffix not in KNOWN_SUFFIXES:
        known = ", ".join(KNOWN_SUFFIXES)
        raise ValueError(f"{argument} must be a file of kind {known}, got {text!r}.")
    if not path.is_file():
        raise ValueError(f"{argument} must be an existing file, got {str(path)!r}, which is not there.")
    if source.key is not None and source.suffix != ".npz":
        raise ValueError(f"{argument} must name an array only inside an .npz file, got {text!r}.")
    return source


def looks_like_source(text: str) -> bool:
    """Tell whether ``text`` is meant as a file rather than as the name of a column."""
    match = _SOURCE.fullmatch(text)
    return match is not None or is_attribute(text) or text.lower().endswith(KNOWN_SUFFIXES + PICKLE_SUFFIXES)


def _parse_index(text: str, argument: str) -> tuple[IndexPart, ...]:
    parts: list[IndexPart] = []
    for part in text.replace(" ", "").split(","):
        if re.fullmatch(r"-?\d+", part):
            parts.append(int(part))
        elif re.fullmatch(r"-?\d*:-?\d*(:-?\d+)?", part):
            parts.append(slice(*(int(bound) if bound else None for bound in part.split(":"))))
        else:
            raise ValueError(
                f"{argument} must have an index of whole numbers and slices, got [{text}]. "
                "An example is file.npz:log_probs[3,1] or file.npy[:500]."
            )
    return tuple(parts)


def is_attribute(text: str) -> bool:
    """Tell whether ``text`` has the form ``module:attribute``."""
    return _ATTRIBUTE.fullmatch(text) is not None


def trust(argument: str, what: str = "files") -> str:
    """Return what the user must know of an object that was opened."""
    return f"Opening {argument} ran the code inside it: give only {what} from people you trust."


def load_file(path: Path, argument: str, what: str = "an object") -> tuple[Any, list[str]]:
    """Return what a file of joblib or pickle holds, and the warnings of other versions that it was written by.

    Raises
    ------
    ValueError
        If it cannot be opened here.
    """
    import joblib

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = joblib.load(path)
        except Exception as error:
            raise ValueError(
                f"{argument} must be {what} that joblib.load can open here, got {path.name!r} "
                f"({type(error).__name__}: {error}). The versions that wrote it may be needed."
            ) from error
    texts = [str(warning.message) for warning in caught]
    return found, sorted({text.splitlines()[0] for text in texts if "version" in text})


def load_attribute(text: str, argument: str) -> Any:
    """Return the object that ``module:attribute`` names; modules are looked up in the present folder first.

    Raises
    ------
    ValueError
        If there is no such module or attribute.
    """
    module, _, attribute = text.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:
        is_missing = isinstance(error, ImportError | AttributeError)
        cause = f" ({error})" if is_missing else f", which fails on import ({type(error).__name__}: {error})"
        raise ValueError(
            f"{argument} must name something that can be imported, got {text!r}{cause}."
        ) from error
    finally:
        sys.path.remove(here)
    return found


def as_content(value: Any, argument: str) -> Any:
    """Return a table of named columns, or an array, as a file of data would give it.

    Raises
    ------
    TypeError
        If the object is neither.
    """
    if hasattr(value, "to_pandas"):  # polars, pyarrow
        value = value.to_pandas()
    if is_table(value):
        named = any(name is not None for name in value.index.names)
        frame = value.reset_index(drop=not named)  # an index with a name is a column of ids
        frame.columns = [str(name) for name in frame.columns]
        return frame
    if hasattr(value, "shape") or hasattr(value, "to_numpy") or isinstance(value, list | tuple):
        return np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else to_numpy(value))
    raise TypeError(f"{argument} must be a table or an array, got an object of type {type(value).__name__}.")
