"""What leaves the library: text without commands to a terminal, and files that are never half-written.

Files carry a mark, so that no file of the user is taken for one of ours.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiftmetrics._core.interrupts import UNFINISHED, make_temporary, remove_temporary
from shiftmetrics._core.staging import current_staging, rename
from shiftmetrics._version import __version__

WRITTEN_BY = {"written_by": f"shiftmetrics {__version__}"}
"""The mark of a JSON document."""

MARK = "Written by shiftmetrics."
"""The mark of XML, TOML and Markdown files, in a comment."""

MARKS = {
    "html": ("<!doctype html>", '<meta name="generator" content="shiftmetrics '),
    "xml": ("<?xml ", f"<!-- {MARK} -->"),
    "toml": (f"# {MARK}", ""),
    "md": (f"<!-- {MARK} -->", ""),
}
"""How a file of each kind begins, and what only our writers leave in its first 1,000 characters."""


def is_ours(file: Path, kind: str) -> bool:
    """Return True if this package wrote a file, and it is of the kind "json", "html", "xml", "toml" or "md"."""
    if not file.is_file():  # a device may have no end
        return False
    try:
        text = file.read_text(encoding="utf-8").lstrip()
        if kind == "json":
            document = json.loads(text)
            mark = document.get("written_by") if isinstance(document, dict) else None
            return isinstance(mark, str) and mark.startswith("shiftmetrics ")
    except (OSError, ValueError, RecursionError):
        return False
    start, mark = MARKS[kind]
    return text.startswith(start) and mark in text[:1000]


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return True for a pipe or a device: nothing can stand beside it, and it is never replaced."""
    path = Path(path)
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path that replaces ``target`` when the block ends, or vanishes when it raises.

    Inside `all_or_nothing` it waits for the other files of the command.

    Raises
    ------
    ValueError
        If the folder of ``target`` does not exist or is not writable, or ``target`` is a folder.
    """
    path = Path(target)
    if path.is_dir():
        raise ValueError(f"The output path must be a file, got the folder {str(path)!r}.")
    if not path.parent.is_dir():
        raise ValueError(
            f"The output folder must exist, got {str(path.parent)!r}. Create it first, or choose another path."
        )
    if is_stream(path):
        with _naming(path):
            yield path
        return
    path = Path(
        os.path.realpath(path)
    )  # a link stays a link: the file that it points at is replaced
    try:
        temporary = make_temporary(path.parent, prefix=f".{path.name[:40]}.", suffix=path.suffix)
    except OSError as error:
        raise ValueError(
            f"The output folder must be writable, got {str(path.parent)!r} ({error.strerror}). Choose another path."
        ) from error
    try:
        with _naming(path):
            yield temporary
        # mkstemp makes private files; a result should have the permissions of any other new file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        rename(temporary, path)
    except BaseException:
        remove_temporary(temporary)
        raise
    # Inside a command it stays unfinished until all files are renamed together.
    if current_staging() is None:
        UNFINISHED.discard(temporary)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in errors that come without one, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or isinstance(error, BrokenPipeError):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` to ``target`` as UTF-8, all of it or nothing."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
