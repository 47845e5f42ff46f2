"""The file of a state: one process at a time moves it on, and a history keeps what every batch counted.

Beside ``state.json`` stand ``state.history.jsonl``, to which lines are only ever added, and ``state.json.lock``.
Each line of the history holds the counts of a batch and the digest of the line before it. The state names the last
line, so that a history which was edited no longer fits, and a replay of the counts gives the alarms again.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.staging import current_staging
from shiftmetrics.decisions.monitor.history import MOST_SHOWN, CountedBatch, counts_of_line
from shiftmetrics.decisions.monitor.monitor import MonitorResult
from shiftmetrics.decisions.monitor.passport import Passport
from shiftmetrics.decisions.monitor.records import canonical
from shiftmetrics.decisions.monitor.state import MonitorState

PATIENCE = 30.0
"""Seconds that a monitor waits for another one."""


class StateFile:
    """A state on disk with its history and its lock.

    Parameters
    ----------
    path : path
        The file of the state. A link stays a link: the lock stands beside the file that it points at.
    patience : float, default 30
        Seconds to wait while another process holds the state.
    """

    def __init__(self, path: str | os.PathLike[str], *, patience: float = PATIENCE) -> None:
        self.path = Path(path)
        self.patience = patience
        place = Path(os.path.realpath(path))
        self.history = place.with_name(f"{place.stem}.history.jsonl")
        self.lock = place.with_name(f"{place.name}.lock")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the state: another process that wants it waits.

        Inside `all_or_nothing` it is held until the files of the command are in their places.

        Raises
        ------
        ValueError
            If another process holds it for too long; it is named.
        """
        from filelock import FileLock, Timeout

        lock = FileLock(str(self.lock), timeout=self.patience)
        try:
            lock.acquire(poll_interval=0.02)
        except Timeout as error:
            got = f"{str(self.path)!r}, held for {self.patience:g} s by {self._holder()}"
            remedy = "Nothing was counted. Give the batch again."
            raise ArgumentValueError("state", "free", got, remedy) from error
        except OSError as error:
            got = f"{str(self.lock)!r} ({error.strerror})"
            raise ArgumentValueError("state", "in a folder where it can be locked", got) from error
        with ExitStack() as ended:
            # In a command the state is replaced when that ends, and not before.
            staging = current_staging()
            held = ended if staging is None else staging.held
            held.callback(lock.release)
            self.lock.write_text(f"{os.getpid()} {socket.gethostname()}\n", encoding="utf-8")
            yield

    def _holder(self) -> str:
        """Return the process that holds the lock, in words."""
        try:
            number, host = self.lock.read_text(encoding="utf-8").split()
        except (OSError, ValueError):
            return "another process"
        return f"process {number} on {host}"

    def read(self, passport: Passport) -> MonitorState | None:
        """Return the state, held against its passport and its history; None before the first batch.

        Raises
        ------
        ValueError
            If the state or its history is damaged.
        """
        # A link that points nowhere is no file yet; a pipe or a folder is there, and is refused.
        if not self.path.exists():
            return None
        state = MonitorState.load(self.path, passport)
        if state.history and self.history.exists() and state.history not in self._by_digest():
            expected = f"the line of batch {state.n_batches} that the state names"
            remedy = (
                "It was edited, or is that of another state. Put both back, or start a new state."
            )
            raise ArgumentValueError(
                "state", expected, f"none in {str(self.history)!r}", remedy, verb="find"
            )
        return state

    def write(self, result: MonitorResult, before: MonitorState | None) -> MonitorResult:
        """Add the batch to the history, then replace the state, last of all files of the command.

        Parameters
        ----------
        result : MonitorResult
            After the batch.
        before : MonitorState or None
            The state that the batch was added to.

        Returns
        -------
        MonitorResult
            With all batches of the history, and the digest of the last line in its state.
        """
        line = _line(result, before)
        state = replace(result.state, history=_digest(line))
        staging = current_staging()
        # A line whose state was not replaced, because the process was killed, is a batch that was not counted: it is
        # not on the way from the state to the start.
        if staging is None:
            self._append(line)
            state.save(self.path)
        else:
            length = self.history.stat().st_size if self.history.exists() else None
            staging.change(lambda: self._append(line), lambda: self._cut(length))
            with staging.as_last():
                state.save(self.path)
        last = CountedBatch.of_line(json.loads(line))
        batches = (*self.batches(before), last)[-MOST_SHOWN:]
        return replace(result, state=state, batches=batches)

    def _cut(self, length: int | None) -> None:
        """Take the line of a batch that was not counted off the history; without a length there was none."""
        if length is None:
            self.history.unlink(missing_ok=True)
        else:
            os.truncate(self.history, length)

    def _append(self, line: str) -> None:
        """Add a line to the history; one that was cut off by the end of a process is ended before."""
        with self.history.open("ab+") as file:
            if file.tell() > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _lines(self) -> list[str]:
        try:
            return self.history.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as error:
            got = f"{str(self.history)!r}, which is damaged"
            raise ArgumentValueError("state", "beside a history of JSON lines", got) from error

    def _by_digest(self) -> dict[str, str]:
        """Return the lines of the history by their digests; none where there is no history."""
        return {_digest(line): line for line in self._lines()} if self.history.exists() else {}

    def replay(self, passport: Passport) -> MonitorState:
        """Compute the state again from the counts in its history, to prove its alarms.

        Parameters
        ----------
        passport : Passport
            That of the state.

        Raises
        ------
        ValueError
            If a line on the way from the state to the first batch is missing or was edited, or the alarms differ.
        """
        state = self.read(passport)
        if state is None:
            raise ArgumentValueError("state", "an existing file", repr(str(self.path)))
        entries = list(self._entries(state))
        if len(entries) < state.n_batches:
            expected = f"all {state.n_batches} batches in its history"
            got = f"the last {len(entries)}"
            raise ArgumentValueError("state", expected, got, verb="have")
        again = MonitorState.start(passport)
        for entry in reversed(entries):
            # What was acknowledged came before the batch of the line.
            for note in entry.get("acknowledged", ()):
                again = again.acknowledge(note)
            again = again.update(counts_of_line(entry))
        again = replace(again, history=state.history)
        if not again.equals(state):
            raise ArgumentValueError("state", "what its history gives", "other alarms or counts")
        return again

    def batches(self, state: MonitorState | None) -> tuple[CountedBatch, ...]:
        """Return the batches of the history that lead to a state, at most the last 500; the last one last."""
        entries = itertools.islice(self._entries(state), MOST_SHOWN) if state is not None else ()
        return tuple(CountedBatch.of_line(entry) for entry in entries)[::-1]

    def _entries(self, state: MonitorState) -> Iterator[dict[str, Any]]:
        """Yield the lines on the way from a state to its first batch, as far as the history has them."""
        # Backwards, each line by the digest that the one after it holds: a line that no later one
        # names, such as that of a batch whose state was not replaced, is passed over.
        lines = self._by_digest()
        digest = state.history
        while digest in lines:
            entry = json.loads(lines[digest])
            yield entry
            digest = entry["previous"]


def _line(result: MonitorResult, before: MonitorState | None) -> str:
    """Return what the history keeps of a batch: what was acknowledged before, its counts, and what they led to."""
    state = result.state
    # Each line holds what is new, as a replay accepts it once, before this batch.
    known = 0 if before is None else len(before.acknowledged)
    last = state.last
    assert last is not None  # a batch was counted
    raised = [alarm.name for alarm in state.alarms if alarm.raised]
    return canonical(
        {
            "sequence": state.sequence,
            "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "passport": state.passport,
            "rows": [[count.hits, count.n] for count in last.rows],
            "errors": [last.errors.hits, last.errors.n],
            "digest": int(state.seen[-1, 1]),
            "columns": state.recent[-1].tolist() if len(state.recent) else [],
            "seasons": last.seasons.tolist(),
            "dates": [[each.column, each.first, each.last] for each in last.dates],
            "acknowledged": [each.note for each in state.acknowledged[known:]],
            "verdict": result.verdict,
            "raised": raised,
            "p_value": result.value,
            "previous": "" if before is None else before.history,
        }
    )


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()
