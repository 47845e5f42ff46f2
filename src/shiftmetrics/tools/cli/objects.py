"""Python objects on the command line: files of joblib, or ``module:attribute``. Both are programs that run."""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import is_table, to_numpy

JOBLIB_SUFFIXES = (".joblib", ".pkl", ".pickle")
_ATTRIBUTE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


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
    said = {str(warning.message).splitlines()[0] for warning in caught if "version" in str(warning.message)}
    return found, sorted(said)


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
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{argument} must name something that can be imported, got {text!r} ({error})."
        ) from error
    except Exception as error:
        raise ValueError(
            f"{argument} must name something that can be imported, got {text!r}, which fails on import "
            f"({type(error).__name__}: {error})."
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
