"""Errors as one line on stderr with exit code 2; a traceback only where SHIFTMETRICS_DEBUG is set."""

from __future__ import annotations

import errno
import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

from shiftmetrics._core.drawing import one_line

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
REMEDIES = {
    errno.ENOSPC: "Make room there, or choose another place.",
    errno.EDQUOT: "Make room there, or choose another place.",
    errno.EACCES: "Change its permissions, or choose another place.",
    errno.EPERM: "Change its permissions, or choose another place.",
    errno.EROFS: "Choose a place that can be written.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}
"""What to do about errors of the file system."""
DEBUG_VARIABLE = "SHIFTMETRICS_DEBUG"

# typer carries its own click since 0.20 and used the separate package before: find the class by its name.
UsageError: Any = next(
    cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException"
)


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Discard the output once the reader of a pipe has closed it, as in ``| head``."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        if (
            getattr(error, "code", 1) != 1
        ):  # the code with which rich ends a program then, and nothing else here
            raise
        discard_output()


def discard_output() -> None:
    """Send everything that is still printed nowhere, what waits in the buffer included."""
    with suppress(AttributeError, OSError, ValueError):  # stdout may be closed, or no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - stays open until the process ends


def message_of(error: Exception) -> str:
    """Return the message for the user: bad input in its own words, anything else as a defect.

    Where SHIFTMETRICS_DEBUG is set, the error is raised instead.
    """
    # for developers: where it happened
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    if isinstance(error, UsageError):
        return str(error.format_message()).rstrip(".") + "."
    if isinstance(error, MemoryError):
        return f"Out of memory. {error}".strip()
    if (
        isinstance(error, OSError) and error.strerror and error.filename is None
    ):  # files have a name
        return f"Standard output cannot be written: {error.strerror}."
    if isinstance(error, OSError) and error.strerror:
        return _of_file(error, error.strerror)
    if isinstance(error, ValueError | TypeError | OSError | EOFError | ImportError):
        return str(error) or type(error).__name__
    return (
        f"An unforeseen {type(error).__name__}: {error}. This is a defect of shiftmetrics; "
        f"set {DEBUG_VARIABLE}=1 to see where it happened."
    )


def _of_file(error: OSError, reason: str) -> str:
    """Say which file could not be used, by the option that names it, why, and what to do."""
    path = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else str(error.filename)
    argument = "The file"
    for before, typed in itertools.pairwise(sys.argv):
        if typed == path and before.startswith("-"):
            argument = before
        elif typed.startswith("--") and typed.endswith(f"={path}"):
            argument = typed.partition("=")[0]
    remedy = REMEDIES.get(error.errno or 0, "Choose another file.")
    return (
        f"{argument} must be a file that can be opened or written, got {path!r}: {reason}. {remedy}"
    )


def say_error(message: str) -> None:
    """Print ``error: message`` as one line on stderr."""
    try:
        sys.stderr.write(f"error: {one_line(' '.join(message.split()))}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # closed, or full: the exit code still tells
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - stays open until the process ends


def fail(message: str) -> NoReturn:
    """Print ``error: message`` as one line on stderr and leave with exit code 2."""
    say_error(message)
    try:
        sys.stdout.flush()
    except (
        OSError
    ):  # else some versions of Python try again at the end, and leave with another code
        discard_output()
    sys.exit(EXIT_ERROR)
