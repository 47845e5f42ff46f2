"""Files that are never half-written: each goes to a temporary name beside its target and is renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED: set[Path] = set()
"""Temporary files that a process which ends at once has to remove."""


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path that replaces ``target`` when the block ends, or vanishes when it raises.

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
    if (
        path.exists() and not path.is_file()
    ):  # a pipe or a device, such as /dev/stdout, is never replaced
        with _naming(path):
            yield path
        return
    path = Path(
        os.path.realpath(path)
    )  # a link stays a link: the file that it points at is replaced
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.name[:40]}.", suffix=path.suffix, dir=path.parent
        )
    except OSError as error:
        raise ValueError(
            f"The output folder must be writable, got {str(path.parent)!r} ({error.strerror}). Choose another path."
        ) from error
    os.close(handle)
    temporary = Path(name)
    UNFINISHED.add(temporary)
    try:
        with _naming(path):
            yield temporary
        # mkstemp makes private files; a result should have the permissions of any other new file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
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
