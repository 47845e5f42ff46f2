"""All files of a command, or none of them: each is written beside its place, and all are renamed at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from shiftmetrics._core.interrupts import UNFINISHED, begin, finish, undisturbed


class Staging:
    """The steps that put the files of a command in their places.

    Attributes
    ----------
    held : ExitStack
        What is released once all is in its place, or nothing is: the lock of a state, say.
    """

    def __init__(self) -> None:
        self.held = ExitStack()
        self._steps: list[tuple[Path, Path | None]] = []
        self._last: list[tuple[Path, Path | None]] = []
        self._is_last = False
        self._changes: list[tuple[Callable[[], None], Callable[[], None]]] = []

    def add(self, source: Path, target: Path | None) -> None:
        """Rename ``source`` to ``target`` at the end; without a target, remove it."""
        steps = self._last if self._is_last else self._steps
        steps.append((source, target))

    def change(self, do: Callable[[], None], undo: Callable[[], None]) -> None:
        """Change a file in its place, such as by a line at its end, before all is renamed.

        ``undo`` is called where this or a later step fails, also when ``do`` has failed halfway; not where the
        process is killed, because then nobody knows which step was the last.
        """
        self._changes.append((do, undo))

    @contextmanager
    def as_last(self) -> Iterator[None]:
        """Put what is written in this block in its place after everything else."""
        self._is_last = True
        try:
            yield
        finally:
            self._is_last = False

    def commit(self) -> None:
        """Change and rename all files, in the order in which they were written; an interrupt comes too late then."""
        with undisturbed():
            undo: list[Callable[[], None]] = []
            try:
                for do, undo_it in self._changes:
                    # Before the step itself, so that one that fails halfway is undone too; the last one first.
                    undo.append(undo_it)
                    do()
                steps = [*self._steps, *self._last]
                with _alone({target.parent for _, target in steps if target is not None}):
                    self._rename_all()
            except Exception:
                while undo:
                    undo.pop()()
                raise
            finish()

    def _rename_all(self) -> None:
        while self._steps or self._last:
            steps = self._steps or self._last
            source, target = steps[0]
            if target is None:
                source.unlink(missing_ok=True)
            else:
                source.replace(target)
            UNFINISHED.discard(source)
            # A step is dropped only once it is done: what is left is removed by `discard`.
            del steps[0]

    def discard(self) -> None:
        """Remove what was written beside its place and has not been renamed."""
        for source, target in [*self._steps, *self._last]:
            # A step without a target removes a file of an earlier call, which stays then.
            if target is not None and source in UNFINISHED:
                source.unlink(missing_ok=True)
                UNFINISHED.discard(source)


@contextmanager
def _alone(folders: Iterable[Path]) -> Iterator[None]:
    """Let no other command put files into these folders meanwhile: two results of one name would mix their files.

    A folder itself is locked, so that no file is left for it, where the system and the file system can.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with ExitStack() as opened:
        # All commands take them in the same order, so that none waits for one that waits for it.
        for folder in sorted({folder.resolve() for folder in folders}):
            with suppress(OSError):
                place = os.open(folder, os.O_RDONLY)
                opened.callback(os.close, place)
                fcntl.flock(place, fcntl.LOCK_EX)
        yield


_STAGING: ContextVar[Staging | None] = ContextVar("STAGING", default=None)


def current_staging() -> Staging | None:
    """Return the staging of the command that runs; None outside of one."""
    return _STAGING.get()


@contextmanager
def all_or_nothing() -> Iterator[Staging]:
    """Put all files that are written in this block in their places when it ends, or none where it raises.

    Pipes and devices are written through at once: a full one is noticed before any file is replaced.
    """
    begin()
    staging = Staging()
    token = _STAGING.set(staging)
    try:
        # The lock of a state is given back after the state has been replaced, or all is as before.
        with staging.held:
            try:
                yield staging
                staging.commit()
            finally:
                staging.discard()
    finally:
        _STAGING.reset(token)


def rename(source: Path, target: Path | None) -> None:
    """Rename a file, or remove it where there is no target: at once, or with all others of the command."""
    staging = current_staging()
    if staging is not None:
        staging.add(source, target)
    elif target is None:
        source.unlink(missing_ok=True)
    else:
        source.replace(target)
