"""Python objects as inputs, ``model.joblib`` and ``module:attribute``: opening them runs code, so it needs trust."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import is_in_chunks, is_table, to_numpy
from shiftmetrics._core.exceptions import error_at
from shiftmetrics._core.validation import first_few, needs
from shiftmetrics.cli.options import OPENING

SKOPS_SUFFIX = ".skops"
MODEL_SUFFIXES = (".joblib", ".pkl", ".pickle", SKOPS_SUFFIX)

PREDICT_FIRST = (
    "Of a model its predictions are measured: save model.predict_proba(X) as a file, or let it be asked: "
    "`diff` and `compare` take --data FILE, `agreement` takes --model FILE."
)
"""What to do with a model where a file of numbers is asked for."""

MOST_SECONDS = 120
SPARE_GIB = 8.0
"""Address space of an interpreter with its libraries, beside what a file may hold."""

_ATTRIBUTE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


class UntrustedError(ValueError):
    """An object that nobody said to trust; it was not opened."""


def is_attribute(text: str) -> bool:
    """Return True if ``text`` has the form ``module:attribute``."""
    return _ATTRIBUTE.fullmatch(text) is not None


def require_trust(text: str, argument: str, *, remedy: str = "") -> None:
    """Raise an UntrustedError unless the user has given --trust."""
    if not OPENING.get().trust:
        raise UntrustedError(
            f"Opening {argument}, {text}, runs the code inside it. "
            f"Give --trust, or trust = true in a configuration, if you trust its origin.{remedy}"
        )


def check_model(text: str, argument: str = "--model") -> None:
    """Make sure that ``argument`` names a model that may be opened, without opening it.

    Raises
    ------
    ValueError
        If it is neither a file that exists nor ``module:attribute``, or is not trusted.
    """
    if text.lower().endswith(MODEL_SUFFIXES):
        if not Path(text).is_file():
            raise ValueError(
                f"{argument} must be an existing file, got {text!r}, which is not there."
            )
    elif not is_attribute(text):
        raise ValueError(
            f"{argument} must be a file of kind {', '.join(MODEL_SUFFIXES)}, or module:attribute, "
            f"got {text!r}. Write a model with skops.io.dump(model, 'model.skops')."
        )
    if not text.lower().endswith(SKOPS_SUFFIX):
        remedy = " A model of scikit-learn that skops.io.dump has written needs no trust."
        require_trust(text, argument, remedy="" if is_attribute(text) else remedy)


def load_object(text: str, argument: str) -> tuple[Any, list[str]]:
    """Return the object of a file or of ``module:attribute``, and warnings of other versions that wrote it.

    Modules are looked up in the present folder first. A file of skops needs no trust as long as it holds nothing
    but types that skops knows.

    Raises
    ------
    UntrustedError
        If the user does not trust it.
    ValueError
        If it cannot be opened here.
    """
    is_skops = text.lower().endswith(SKOPS_SUFFIX)
    if not is_skops:
        require_trust(text, argument)
    load, remedy = _load_joblib, " The packages and versions that wrote it may be needed."
    if is_skops:
        load = _load_skops
    elif is_attribute(text):
        load, remedy = _attribute, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = load(text, argument)
        except UntrustedError:
            raise
        # a module that leaves by sys.exit(0) would otherwise pass for an answer
        except (Exception, SystemExit) as error:
            raise ValueError(
                f"{argument} must name an object that can be opened here, got {text!r} "
                f"({type(error).__name__}: {error}).{remedy}"
            ) from error
    # only what was written by other versions is worth a note
    texts = [str(warning.message) for warning in caught]
    return found, sorted({text.splitlines()[0] for text in texts if "version" in text})


def _load_joblib(text: str, argument: str) -> Any:
    import joblib

    _try_apart(text)
    return joblib.load(text)


def _try_apart(text: str) -> None:
    """Open a file in a process of its own first: damage can crash an interpreter, or ask for all of its memory.

    Raises
    ------
    ValueError
        If that process is killed, or does not end. An error that it raises is raised here again by who opens it.
    """
    limit = int((OPENING.get().max_gib + SPARE_GIB) * 2**30)
    code = "import sys, joblib; joblib.load(sys.argv[1])"
    if sys.platform != "win32":
        code = f"import resource as r; r.setrlimit(r.RLIMIT_AS, ({limit}, {limit})); {code}"
    # Modules are found where they are found here.
    path = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, text],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"it does not open within {MOST_SECONDS} seconds") from error
    if done.returncode < 0 or b"MemoryError" in done.stderr:
        raise ValueError(
            "opening it crashes the interpreter, or takes too much memory: it is damaged"
        )


def _load_skops(text: str, argument: str) -> Any:
    with needs(f"{argument}, a file of skops,", "skops", "skops"):
        from skops import io
    # skops opens what it knows, and lists the rest
    unknown = io.get_untrusted_types(file=text)
    if unknown and not OPENING.get().trust:
        raise UntrustedError(
            f"Opening {argument}, {text}, makes objects of types that skops does not know, whose code runs: "
            f"{first_few(sorted(unknown), show=str)}. Give --trust, or trust = true in a configuration, if you trust "
            "its origin. Models of scikit-learn alone need no trust."
        )
    return io.load(text, trusted=unknown)


def _attribute(text: str, argument: str) -> Any:
    module, _, attribute = text.partition(":")
    # modules are looked up in the present folder first
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    finally:
        sys.path.remove(here)
    return found


def predicted_rows(
    model: Any,
    content: Any,
    argument: str,
    named: list[str],
    other_classes: Sequence[str] | None = None,
) -> Any:
    """Return what a model predicts for the rows of a file, beside its ids, labels and the columns that are named.

    ``other_classes`` are those that a model beside it gives probabilities of.

    Raises
    ------
    TypeError, ValueError
        If the file is no table, or the model cannot read it; the message begins with ``argument``.
    """
    from shiftmetrics.decisions.predictions.model_outputs import prediction_table
    from shiftmetrics.tables.encoder.roles import as_frame

    if is_in_chunks(content):
        raise ValueError(f"{argument} must be one file for a model, got several.")
    try:
        table = as_frame(content, argument)
        return prediction_table(model, table, named, other_classes=other_classes)
    except (TypeError, ValueError) as error:
        # of two models, or two files, it has to be said which one
        raise error_at(error, argument) from error


def as_content(value: Any, argument: str) -> Any:
    """Return a table of named columns, or an array, as a file of data would give it.

    Raises
    ------
    TypeError
        If the object is neither.
    """
    # tables of any library become those of pandas
    if hasattr(value, "to_pandas"):  # polars, pyarrow
        value = value.to_pandas()
    if is_table(value):
        named = any(name is not None for name in value.index.names)
        frame = value.reset_index(drop=not named)  # an index with a name is a column of ids
        frame.columns = [str(name) for name in frame.columns]
        return frame
    try:
        value = value.to_numpy() if hasattr(value, "to_numpy") else value
        # what has a shape may lie on a device, or carry gradients
        array = np.asarray(to_numpy(value) if hasattr(value, "shape") else value)
    except Exception as error:  # a ragged list, a tensor that NumPy cannot read, ...
        raise TypeError(f"{argument} must be an array of numbers ({error}).") from error
    # an ensemble has a length, too: NumPy would make an array of its members
    if hasattr(value, "predict") or (array.ndim == 0 and array.dtype == object):
        raise TypeError(
            f"{argument} must be a table or an array, got an object of type {type(value).__name__}. {PREDICT_FIRST}"
        )
    return array
