"""What a monitor remembers between batches, with a checksum: a damaged state is refused, never read as new."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions.monitor.acknowledgement import Acknowledgement
from shiftmetrics.decisions.monitor.alarm import Alarm, counted_since, part_of_start
from shiftmetrics.decisions.monitor.column_profiles import MOST_RECENT, add_recent
from shiftmetrics.decisions.monitor.order import DateSpan, latest_of
from shiftmetrics.decisions.monitor.passport import BatchCounts, Passport
from shiftmetrics.decisions.monitor.records import FileRecord, canonical
from shiftmetrics.decisions.monitor.repeats import MOST_KEPT, add_batch

_ADDED = ("recent", "recent_seasons", "latest")
_REMEDY = "Go back to a copy of it, or start a new state: nothing was counted."


@dataclass(frozen=True, eq=False, kw_only=True)
class MonitorState(FileRecord):
    """What a monitor remembers between batches: a few numbers for each alarm, and no sample.

    Attributes
    ----------
    passport : str
        The digest of the passport that it belongs to.
    errors : Alarm or None
        The alarm of labelled errors.
    rows : tuple of Alarm
        The alarms of the samples; empty where they are not watched.
    n_batches, n_samples : int
        What was seen so far.
    last : BatchCounts or None
        The counts of the last batch.
    history : str
        The digest of the last line of its history; empty where none is kept.
    seen : array of int of shape (n_kept, 2)
        For up to 200 batches the number of rows, and a sum of hashes of 20 or more rows, by which one that is given
        again is found.
    recent : array of int of shape (n_kept, n_cells)
        How many samples fell into each cell of the passport's columns, in each of up to eight last batches.
    recent_seasons : array of int of shape (n_kept, n_seasons)
        How many samples of each season these batches have; empty where the passport has no seasons.
    latest : tuple of DateSpan
        The first and last days of the latest batch.
    acknowledged : tuple of Acknowledgement
        The alarms that somebody has seen and accepted, in order.
    """

    argument: ClassVar[str] = "state"
    version: int = 2

    passport: str
    errors: Alarm | None
    rows: tuple[Alarm, ...]
    n_batches: int = 0
    n_samples: int = 0
    last: BatchCounts | None = None
    history: str = ""
    seen: IntArray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    recent: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    recent_seasons: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    latest: tuple[DateSpan, ...] = ()
    acknowledged: tuple[Acknowledgement, ...] = ()

    @classmethod
    def start(cls, passport: Passport) -> MonitorState:
        """Return the state before the first batch."""
        errors, rows = passport.alarms()
        return cls(passport=passport.digest, errors=errors, rows=rows)

    def update(self, counts: BatchCounts) -> MonitorState:
        """Return the state after a batch, from its counts; those of several workers are added before."""
        errors = self.errors
        if errors is not None:
            errors = errors.update(*counts.of_test(-1))
        # Samples that are not watched are counted all the same, and have no alarms: then this is empty.
        rows = tuple(alarm.update(*counts.of_test(place)) for place, alarm in enumerate(self.rows))
        if errors is not None:
            (errors,) = counted_since((errors,), [(counts.errors.hits, counts.errors.n)])
        rows = counted_since(rows, [(count.hits, count.n) for count in counts.rows])
        return replace(
            self,
            errors=errors,
            rows=rows,
            n_batches=self.n_batches + 1,
            n_samples=self.n_samples + counts.n_samples,
            last=BatchCounts(
                counts.rows, counts.errors, seasons=counts.seasons, dates=counts.dates
            ),
            latest=latest_of(self.latest, counts.dates),
            recent=add_recent(self.recent, counts.columns),
            recent_seasons=add_recent(self.recent_seasons, counts.of_season),
            seen=add_batch(self.seen, counts.n_samples, counts.digest),
        )

    def acknowledge(self, note: str) -> MonitorState:
        """Return the state in which all alarms that are raised are started again, for a change that is accepted.

        Alarms of the samples are started again together: several of them see one change.

        Parameters
        ----------
        note : str
            What the change is, such as "new station".

        Raises
        ------
        ValueError
            If the note is empty, or no alarm is raised.
        """
        if not note.strip():
            raise ArgumentValueError("acknowledge", "what the change is", value=note)
        raised = tuple(alarm.name for alarm in self.alarms if alarm.raised)
        if not raised:
            remedy = "Give the batch without it."
            expected = "a note on an alarm that is raised"
            raise ArgumentValueError("acknowledge", expected, "no alarm that is raised", remedy)
        errors = self.errors
        if errors is not None and errors.raised:
            errors = errors.restarted()
        rows = self.rows
        if self.samples_changed:
            rows = tuple(alarm.restarted() for alarm in rows)
        added = Acknowledgement(note=note.strip(), batch=self.n_batches, alarms=raised)
        return replace(self, errors=errors, rows=rows, acknowledged=(*self.acknowledged, added))

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All alarms, that of errors first."""
        return self.rows if self.errors is None else (self.errors, *self.rows)

    @property
    def samples_changed(self) -> bool:
        """Whether an alarm of the samples is raised."""
        return any(alarm.raised for alarm in self.rows)

    @property
    def sequence(self) -> int:
        """How often the state was moved on: once a batch."""
        return self.n_batches

    @property
    def text(self) -> str:
        """The state as JSON in one line, with its sequence number and a checksum of all the rest."""
        content = {**json.loads(super().text), "sequence": self.sequence}
        return canonical({**content, "checksum": _checksum(content)}) + "\n"

    @classmethod
    def load(cls, path: str | os.PathLike[str], passport: Passport | None = None) -> Self:
        """Read a file that `save` wrote.

        Parameters
        ----------
        path : path
            The file.
        passport : Passport, optional
            The state is held against it too, so that what was changed by hand is named.

        Raises
        ------
        ValueError
            If the file is no state, of another version, damaged, or that of another passport.
        """
        return cls._read(path, lambda state, content: _check_file(state, content, passport))


def _check_file(state: Any, content: Mapping[str, Any], passport: Passport | None) -> None:
    """Name the first place of a file that cannot be right; then compare its checksum."""
    # One that was written before these were kept has none of them.
    names = [each.name for each in fields(MonitorState) if each.name not in _ADDED]
    for name in ("sequence", "checksum", *names):
        _check(name in content, name, "there", "none")
    for place, alarm in zip(_places(state), state.alarms, strict=True):
        _check_alarm(alarm, place)
    _check_counts(state)
    _check(
        content["sequence"] == state.sequence, "sequence", str(state.sequence), content["sequence"]
    )
    # The state of another passport is no damaged one: `monitor_batch` names both.
    if passport is not None and passport.digest == state.passport:
        check_state(state, passport)
    rest = {name: part for name, part in content.items() if name != "checksum"}
    found = _checksum(rest)
    _check(
        content["checksum"] == found,
        "checksum",
        f"{found[:12]}... by its content",
        content["checksum"],
    )


def check_state(state: MonitorState, passport: Passport) -> None:
    """Hold a state against its passport.

    Raises
    ------
    ValueError
        If it has other alarms than those that the passport starts, or counts that cannot be.
    """
    start = MonitorState.start(passport)
    n_rows = len(start.rows)
    _check(
        len(state.rows) == n_rows, "rows", f"the {n_rows} alarms of the passport", len(state.rows)
    )
    has_errors = "an alarm" if start.errors is not None else "None"
    _check((state.errors is None) == (start.errors is None), "errors", has_errors, state.errors)
    for place, alarm, first in zip(_places(state), state.alarms, start.alarms, strict=True):
        # One that was started again has a limit of its own, and the part of alpha of that start.
        started = first
        if alarm.n_restarts:
            part = part_of_start(alarm.n_restarts) / part_of_start(0)
            started = replace(first, allowed=alarm.allowed, alpha=part * first.alpha)
            least = f"at least {first.allowed:.3g}"
            _check(alarm.allowed >= first.allowed, f"{place}.allowed", least, alarm.allowed)
        for name in ("name", "allowed", "alpha"):
            _check_same(getattr(alarm, name), getattr(started, name), f"{place}.{name}")
        n_seasons = len(first.limits)
        expected = f"those of {n_seasons} seasons"
        _check(
            alarm.limits.shape == (n_seasons,), f"{place}.limits", expected, alarm.limits.tolist()
        )
        if not alarm.n_restarts:
            right = bool(np.allclose(alarm.limits, first.limits, rtol=1e-6, atol=0.0))
            _check(right, f"{place}.limits", str(first.limits.tolist()), alarm.limits.tolist())
        # An urn has what the reference put into it, and each sample since.
        urns = 0 if alarm.n_restarts else len(first.urns)
        right = alarm.urns.shape == (urns, 2)
        if urns:
            right = right and bool((alarm.urns >= first.urns - 1e-6).all())
            n = first.urns.sum() + alarm.n_samples
            right = right and bool(np.isclose(alarm.urns.sum(), n, rtol=1e-9))
        _check(right, f"{place}.urns", f"those of {urns} seasons", alarm.urns.tolist())
        _check_alarm(alarm, place)
    _check_counts(state)
    if state.last is not None:
        n_tests = len(passport.tests)
        n_counts = len(state.last.rows)
        _check(n_counts == n_tests, "last.rows", f"the counts of {n_tests} tests", n_counts)
    if state.recent.size:
        n_cells = sum(len(profile.counts) for profile in passport.columns)
        width = state.recent.shape[1]
        _check(width == n_cells, "recent", f"{n_cells} cells of a batch", width)
    n_seasons = 0 if passport.seasons is None else len(passport.seasons.profiles)
    if state.recent_seasons.size:
        width = state.recent_seasons.shape[1]
        _check(width == n_seasons, "recent_seasons", f"the samples of {n_seasons} seasons", width)


def _check_counts(state: MonitorState) -> None:
    """Hold the counts of a state against those of its alarms."""
    for name in ("n_batches", "n_samples"):
        _check(getattr(state, name) >= 0, name, "at least 0", getattr(state, name))
    for place, alarm in zip(_places(state), state.alarms, strict=True):
        _check_same(alarm.n_batches, state.n_batches, f"{place}.n_batches")
    # Alarms of the samples see all of them, that of errors those with a label alone.
    for number, alarm in enumerate(state.rows):
        _check_same(alarm.n_samples, state.n_samples, f"rows[{number}].n_samples")
    n_known = len(state.acknowledged)
    # An alarm starts again only with a note, and one note may start several.
    for place, alarm in zip(_places(state), state.alarms, strict=True):
        n = alarm.n_restarts
        _check(n <= n_known, f"{place}.n_restarts", f"at most {n_known}, as acknowledged", n)
    if state.errors is not None:
        n = state.errors.n_samples
        _check(n <= state.n_samples, "errors.n_samples", f"at most {state.n_samples}", n)
    shape = (min(state.n_batches, MOST_KEPT), 2)
    right = (
        state.seen.shape == shape and state.seen.dtype == np.int64 and bool((state.seen >= 0).all())
    )
    _check(right, "seen", f"integers of shape {shape}, of at least 0", state.seen.tolist())
    # Fewer may be kept: a batch whose columns were not counted adds nothing.
    most = min(state.n_batches, MOST_RECENT)
    for name in ("recent", "recent_seasons"):
        recent = getattr(state, name)
        right = recent.ndim == 2 and len(recent) <= most and recent.dtype == np.int64
        right = right and bool((recent >= 0).all())
        _check(right, name, f"integers of at least 0 of at most {most} batches", recent.tolist())
    expected = "the counts of a batch" if state.n_batches else "None"
    _check((state.last is None) == (state.n_batches == 0), "last", expected, state.last)


def _check_alarm(alarm: Alarm, place: str) -> None:
    """Hold the numbers of an alarm against each other."""
    bets = alarm.bets
    n_bets = len(Alarm.against("", 0, 1, alpha=0.5).bets)
    right = bets.shape == (n_bets,) and bool(np.all(np.isfinite(bets) & (bets >= 0.0)))
    _check(right, f"{place}.bets", f"{n_bets} finite numbers of at least 0", bets.tolist())
    _check(0.0 < alarm.alpha < 1.0, f"{place}.alpha", "between 0 and 1", alarm.alpha)
    _check(0.0 <= alarm.allowed <= 1.0, f"{place}.allowed", "between 0 and 1", alarm.allowed)
    counts = (
        "n_batches",
        "n_samples",
        "n_hits",
        "raised_at",
        "n_restarts",
        "started_at",
        "n_since",
        "n_hits_since",
    )
    for name in counts:
        _check(getattr(alarm, name) >= 0, f"{place}.{name}", "at least 0", getattr(alarm, name))
    most = alarm.n_samples
    _check(alarm.n_hits <= most, f"{place}.n_hits", f"at most {most}", alarm.n_hits)
    latest = alarm.n_batches
    _check(alarm.raised_at <= latest, f"{place}.raised_at", f"at most {latest}", alarm.raised_at)
    started = alarm.started_at
    _check(started <= latest, f"{place}.started_at", f"at most {latest}", started)
    least = alarm.evidence if alarm.n_batches > started else 0.0
    right = math.isfinite(alarm.highest) and alarm.highest >= least
    _check(right, f"{place}.highest", f"at least the evidence, {least:.3g}", alarm.highest)
    # An alarm is raised at this evidence, and stays.
    if alarm.raised != (alarm.highest >= 2.0 / alarm.alpha):
        expected = "the batch of the alarm" if not alarm.raised else "0"
        _check(False, f"{place}.raised_at", expected, alarm.raised_at)


def _places(state: MonitorState) -> list[str]:
    """Return where the alarms of a state stand in its file."""
    rows = [f"rows[{number}]" for number in range(len(state.rows))]
    return rows if state.errors is None else ["errors", *rows]


def _check_same(value: Any, expected: Any, place: str) -> None:
    right = value == expected
    if isinstance(expected, float) and isinstance(value, float):
        # Another version of SciPy may round a limit differently.
        right = math.isclose(value, expected, rel_tol=1e-6)
    _check(right, place, repr(expected), value)


def _check(right: bool, place: str, expected: str, value: Any) -> None:
    if not right:
        raise ArgumentValueError(f"state: {place}", expected, value=value, remedy=_REMEDY)


def _checksum(content: Mapping[str, Any]) -> str:
    """Return a hash of what a state says, however its JSON is laid out."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()
