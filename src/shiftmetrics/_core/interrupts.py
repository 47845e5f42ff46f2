"""What an interrupt of a command waits for, and what it removes: nothing is left half-written or half-replaced.

The command line lets `leave` handle Ctrl-C, a request to end (SIGTERM) and a terminal that is closed (SIGHUP). The
library itself installs no handler: whoever calls it gets the exception that Python raises.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNFINISHED: set[Path] = set()
"""Temporary files that a process which ends at once has to remove, and folders made for results, if empty."""

_FOLDERS: set[Path] = set()
"""Temporary folders, which go with all that they hold."""


class _Interruption:
    """What has come, and whether it comes too late.

    Attributes
    ----------
    n_holds : int
        Steps in progress that belong together.
    came : list of int
        Signals that have not ended the process.
    is_done : bool
        Whether the files of the command are in their places: it ends as if nothing had come then.
    """

    def __init__(self) -> None:
        self.n_holds = 0
        self.came: list[int] = []
        self.is_done = False


_INTERRUPTION = _Interruption()


def leave(number: int) -> None:
    """End the process at once with 128 and the number of a signal, or let steps that belong together end first.

    Where all files are in their places already, the first signal changes nothing: a code that says "interrupted"
    would have the same batch counted twice. A second one ends the process.
    """
    state = _INTERRUPTION
    is_first = not state.came
    state.came.append(number)
    if state.n_holds or (state.is_done and is_first):
        return
    remove_unfinished()
    # No exception: it could be lost, or become a traceback, in imports and in other threads.
    os._exit(128 + number)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let an interrupt wait until this block has ended."""
    state = _INTERRUPTION
    state.n_holds += 1
    try:
        yield
    finally:
        state.n_holds -= 1
        if state.came and not state.is_done:
            leave(state.came[-1])


def begin() -> None:
    """Say that files are to be written from here on; what came after earlier ones ends the process now."""
    state = _INTERRUPTION
    state.is_done = False
    if state.came:
        leave(state.came[-1])


def finish() -> None:
    """Say that all files are in their places."""
    _INTERRUPTION.is_done = True


def remove_unfinished() -> None:
    """Remove what is temporary; a folder that was made for results stays if it holds any."""
    for folder in _FOLDERS:
        shutil.rmtree(folder, ignore_errors=True)
    for path in sorted(UNFINISHED, reverse=True):  # what is inside a folder comes before it
        with suppress(OSError):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)


def make_temporary(folder: Path | None = None, *, prefix: str = "", suffix: str = "") -> Path:
    """Make an empty file for oneself alone, which an interrupt removes while it is among `UNFINISHED`.

    Raises
    ------
    OSError
        If the folder, by default that of the system, cannot be written.
    """
    with undisturbed():
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=folder)
        os.close(handle)
        path = Path(name)
        UNFINISHED.add(path)
    return path


def remove_temporary(path: Path) -> None:
    """Remove a file that `make_temporary` made."""
    path.unlink(missing_ok=True)
    UNFINISHED.discard(path)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder of the system's temporary files that is removed at the end, also by an interrupt."""
    with undisturbed():
        folder = Path(tempfile.mkdtemp())
        _FOLDERS.add(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _FOLDERS.discard(folder)


@contextmanager
def folder_for_results(folder: Path) -> Iterator[None]:
    """Make a folder with those above it; where the block raises or is interrupted, those that are empty go again."""
    # The folder comes before those above it, so that each is empty when its turn comes to be removed.
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    UNFINISHED.update(missing)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
        raise
    finally:
        UNFINISHED.difference_update(missing)
