"""Errors at the edge: one line on stderr, exit code 2, and never a traceback unless it is asked for."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
DEBUG_VARIABLE = "SHIFTMETRICS_DEBUG"

# typer carries its own click since 0.20 and used the separate package before: find the class by its name.
_UsageError: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")


class CommandGroup(TyperGroup):
    """A group of commands that turns every error into one line."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line and leave with its exit code."""
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except _UsageError as error:
            context = getattr(error, "ctx", None)
            command = context.command_path if context is not None else "shiftmetrics"
            message = error.format_message().rstrip(".")
            fail(f"{message}{'' if message.endswith('?') else '.'} Try '{command} --help'.")
        except typer.Abort:
            sys.exit(EXIT_INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what it raises becomes a message."""
        if os.environ.get(DEBUG_VARIABLE):
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except (_UsageError, typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:
            _reader_has_left()
            raise typer.Exit(0) from None
        except Exception as error:
            fail(message_of(error))


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Let what is printed go nowhere once the reader of a pipe has seen enough, as in ``| head``."""
    try:
        yield
    except BrokenPipeError:
        _reader_has_left()


def _reader_has_left() -> None:
    sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - stays open until the process ends


def message_of(error: Exception) -> str:
    """Return what to tell the user about an error: bad input in its own words, anything else as a defect."""
    if isinstance(error, _UsageError):
        return str(error.format_message()).rstrip(".") + "."
    if isinstance(error, MemoryError):
        return f"Out of memory. {error}".strip()
    if isinstance(error, ValueError | TypeError | OSError | EOFError | ImportError):
        return str(error) or type(error).__name__
    return (
        f"An unforeseen {type(error).__name__}: {error}. This is a defect of shiftmetrics; "
        f"set {DEBUG_VARIABLE}=1 to see where it happened."
    )


def say_error(message: str) -> None:
    """Print ``error: message`` as one line on stderr."""
    try:
        sys.stderr.write(f"error: {' '.join(message.split())}\n")
        sys.stderr.flush()
    except BrokenPipeError:  # whoever reads, the exit code says that something is wrong
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - stays open until the process ends


def fail(message: str) -> NoReturn:
    """Print ``error: message`` as one line on stderr and leave with exit code 2."""
    say_error(message)
    sys.exit(EXIT_ERROR)


@contextmanager
def named_arguments(names: Mapping[str, str]) -> Iterator[None]:
    """Let messages of the library speak of the command line: ``scores must be ...`` becomes ``SHIFTED ...``.

    Parameters
    ----------
    names : mapping
        From the names of the library's arguments to what the user typed.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        # Longer names first, so that `reference_scores` is not taken for `scores`.
        known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
        message = re.sub(rf"(?<!-)\b({known})\b(?=[^.]* must )", lambda match: names[match[1]], str(error))
        message = re.sub(r'\b(\w+)="(\w+)"', r"--\1 \2", message)
        raise type(error)(message) from error
