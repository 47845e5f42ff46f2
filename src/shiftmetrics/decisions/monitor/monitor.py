"""The monitor: batch after batch against a passport, with alarms that allow for looking every time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.result import Result, Status, format_percent, settings_of
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.leading_verdict import LeadingVerdict
from shiftmetrics.decisions.monitor.alarm import Alarm
from shiftmetrics.decisions.monitor.column_profiles import ColumnMove, moved_columns
from shiftmetrics.decisions.monitor.history import CountedBatch
from shiftmetrics.decisions.monitor.order import out_of_order
from shiftmetrics.decisions.monitor.passport import BatchCounts, Passport
from shiftmetrics.decisions.monitor.repeats import repeated_rows
from shiftmetrics.decisions.monitor.state import MonitorState, check_state

_MOST_NAMED = 3
"""Columns that a sentence names."""
_WITHOUT_ALARM = 0.01
"""Probability that a monitor ever names a column without an alarm where nothing has changed."""

_WATCHING = Status("watching", "All batches so far were counted.")
_NOTHING_WATCHED = Status(
    "nothing_watched",
    "Neither labelled errors nor the samples are watched.",
    "Give the passport labels, or a reference whose order does not matter.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class MonitorResult(LeadingVerdict, Drawn, Result):
    """What a monitor says after a batch.

    Attributes
    ----------
    value : float
        A p-value of "nothing has changed" that is valid at every look, over all alarms: below ``alpha`` of the
        passport where one is raised.
    above : tuple of str
        Warnings that stand above the verdict: the batch was taken before the reference.
    verdict : str
        "MORE ERRORS", "CHANGED", or "NO ALARM".
    state : MonitorState
        What the next call takes.
    note : str
        Why the samples are not watched, where they are not.
    seasons : str
        Which seasons are told apart, where some are.
    moved : tuple of ColumnMove
        While an alarm of the samples is raised: the columns that moved, the clearest first. Without one: those that
        moved so clearly that at most one of a hundred monitors would ever name any without a change.
    batches : tuple of CountedBatch
        The batches so far, at most the last 500, where a history is kept; the last one last.
    """

    measure = "monitor"
    title = "p-value of no change"
    higher_is_better = True

    above: tuple[str, ...] = ()
    verdict: str
    state: MonitorState
    note: str = ""
    seasons: str = ""
    moved: tuple[ColumnMove, ...] = ()
    batches: tuple[CountedBatch, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 where an alarm is raised, else 0."""
        return int(self.verdict != verdicts.NO_ALARM)

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        # Errors come first: samples may change without harm, and errors may rise although no sample looks new.
        state = self.state
        # Several tests see one change: the first alarm names it.
        place, alarm = self.clearest_alarm()
        if alarm is not None and alarm.raised and place is None:
            return (
                f"Alarm at batch {alarm.raised_at}: errors {_exceeded(alarm)}; since the start {alarm.n_hits} of "
                f"{alarm.n_samples} labelled samples are wrong."
            )
        if alarm is not None and alarm.raised:
            return (
                f"Alarm at batch {alarm.raised_at}: {alarm.n_hits} of {alarm.n_samples} samples are {alarm.name}; "
                f"they {_exceeded(alarm)}."
            )
        moved = ""
        if self.moved and not state.acknowledged:
            # Where there are many columns, one of them hardly moves the samples.
            moved = f"no alarm, but a column has changed: {self.moved[0].text}"
        if state.n_batches == 1:
            samples = "sample" if state.n_samples == 1 else "samples"
            shown = f"raises {moved}" if moved else "shows no change"
            return f"The first batch, of {state.n_samples} {samples}, {shown}."
        if moved:
            return f"{state.n_batches} batches of {state.n_samples} samples in all raise {moved}."
        beyond = ""
        if state.acknowledged:
            beyond = " beyond what was acknowledged"
        return (
            f"{state.n_batches} batches of {state.n_samples} samples in all show no change{beyond}."
        )

    def clearest_alarm(self) -> tuple[int | None, Alarm | None]:
        """Return the alarm that was raised first, or else has the highest evidence, and its place among the tests.

        Errors come first where their alarm is raised. The place is None for errors; the alarm is None where nothing
        was counted.
        """
        errors = self.state.errors
        rows = self.state.rows
        raised = [alarm for alarm in rows if alarm.raised]
        if errors is not None and errors.raised:
            return None, errors
        if raised:
            first = min(raised, key=lambda alarm: alarm.raised_at)
            return rows.index(first), first
        evidence = [alarm.alpha * alarm.highest for alarm in rows]
        most = max(evidence, default=0.0)
        if errors is not None and errors.n_samples and errors.alpha * errors.highest >= most:
            return None, errors
        if not rows:
            return None, None
        place = evidence.index(most)
        return place, rows[place]

    @property
    def next_steps(self) -> list[str]:
        """What to do now."""
        errors = self.state.errors
        if errors is not None and errors.raised:
            return [
                "Hold the model back, or retrain it on labelled samples of now.",
                "Find what changed: shiftmetrics audit REFERENCE BATCH.",
            ]
        if self.verdict != verdicts.NO_ALARM:
            return [
                "Find what changed: shiftmetrics audit REFERENCE BATCH.",
                "Label some of the samples: a change of the samples need not make the model worse.",
            ]
        if self.moved and not self.state.acknowledged:
            return ["Find what changed: shiftmetrics audit REFERENCE BATCH."]
        return ["Nothing to do: give the next batch."]

    def notes(self) -> list[str]:
        """Return what the alarms promise, and what is not watched."""
        alpha = float(self.settings["alpha"])
        sentences = []
        # Under an alarm it is news, too, that no single column explains it.
        if self.moved or (self.state.recent.size and self.state.samples_changed):
            sentences.append(_moves_in_words(self.moved))
        sentences += [
            f"At most {100 * alpha:g} % of monitors ever raise an alarm without a change, however "
            "often one looks."
        ]
        # Under an alarm columns are named at a level that holds for one batch, not for all.
        if self.moved and not self.exit_code:
            sentences.append("At most 1 % ever name a column without one.")
        if self.note:
            sentences.append(self.note)
        if self.seasons:
            sentences.append(self.seasons)
        if self.state.errors is None:
            sentences.append("Errors are not watched: the passport has no labels.")
        if self.exit_code:
            sentences.append(
                "The alarm stays until it is acknowledged: with the next batch, --acknowledge NOTE."
            )
        sentences += [each.sentence() for each in self.state.acknowledged]
        return [*sentences, *self.warnings]


def monitor_batch(
    passport: Passport, batch: Any, *, state: MonitorState | None = None, model: Any = None
) -> MonitorResult:
    """Hold a batch against a passport and update the alarms.

    Parameters
    ----------
    passport : Passport
        The profile of the reference, by `make_passport`.
    batch : DataFrame, array or BatchCounts
        New samples; or their counts, such as the sum of `Passport.count` over workers.
    state : MonitorState, optional
        What the call before returned as ``result.state``. Default: this is the first batch.
    model : object, optional
        The classifier of the passport, where it watches one.

    Raises
    ------
    TypeError, ValueError
        If the state belongs to another passport, or the batch cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.decisions.monitor.monitor import monitor_batch
    >>> from shiftmetrics.decisions.monitor.profile import make_passport
    >>> rng = np.random.default_rng(0)
    >>> passport = make_passport(rng.normal(size=(1000, 3)))
    >>> result = monitor_batch(passport, rng.normal(size=(50, 3)))
    >>> result.verdict
    'NO ALARM'
    >>> for _ in range(20):
    ...     result = monitor_batch(passport, rng.normal(2.0, 1.0, size=(50, 3)), state=result.state)
    >>> result.verdict
    'CHANGED'
    """
    # A state of another passport would add up counts of other tests.
    if not isinstance(passport, Passport):
        expected = "a Passport, by make_passport or Passport.load"
        raise ArgumentTypeError("passport", expected, type(passport).__name__)
    state = MonitorState.start(passport) if state is None else state
    if state.passport != passport.digest:
        remedy = "Start a new state, or give the passport that it was started with."
        got = f"the state of passport {state.passport}"
        raise ArgumentValueError("state", f"that of passport {passport.digest}", got, remedy)
    check_state(state, passport)
    counts = batch if isinstance(batch, BatchCounts) else passport.count(batch, model=model)
    n_seasons = 0 if passport.seasons is None else len(passport.seasons.profiles)
    if len(counts.seasons) != n_seasons:
        expected = f"counts of the {n_seasons} seasons of the passport"
        raise ArgumentValueError("batch", expected, f"those of {len(counts.seasons)}")
    order = out_of_order(state.latest, counts.dates)
    state = state.update(counts)
    repeated = repeated_rows(state.seen, state.n_batches)
    return MonitorResult(
        value=_p_value(state, passport.alpha),
        error_bound=0.0,
        status=_WATCHING if state.alarms else _NOTHING_WATCHED,
        n_samples=counts.n_samples,
        settings=settings_of(alpha=passport.alpha, passport=passport.digest),
        warnings=(*((repeated,) if repeated else ()), *order),
        above=counts.above,
        verdict=_verdict(state),
        state=state,
        note=passport.note,
        seasons="" if passport.seasons is None else passport.seasons.sentence(),
        moved=_moved(passport, state),
    )


def _moved(passport: Passport, state: MonitorState) -> tuple[ColumnMove, ...]:
    """Return the columns that moved: under an alarm of the samples, or so clearly that no alarm is needed.

    The tests of samples hardly see one column of many, even where all its cells are missing. Without an alarm the
    k-th batch has the part 6 / (pi k)^2 of an error probability of its own, so that all batches together keep to it.
    """
    if passport.seasons is None:
        found = moved_columns(passport.columns, state.recent)
    else:
        cells = np.array([profile.cells for profile in passport.seasons.profiles])
        found = moved_columns(passport.columns, state.recent, (cells, state.recent_seasons))
    if state.samples_changed:
        return found
    level = _WITHOUT_ALARM * 6.0 / (math.pi * max(state.n_batches, 1)) ** 2
    return tuple(move for move in found if move.p_value <= level)


def allowed_in_words(alarm: Alarm) -> str:
    """Return the rate that an alarm allows; with seasons the least and the highest."""
    low, high = (format_percent(each) for each in (alarm.least_allowed, alarm.allowed))
    return high if low == high else f"{low} to {high}"


def _exceeded(alarm: Alarm) -> str:
    """Say what a rate exceeded, and that it did so for a time only, where that of all batches is lower."""
    if alarm.urns.size:
        return f"are more than in the same season of the reference, {allowed_in_words(alarm)}"
    where = "the reference allows"
    if alarm.limits.size:
        where += " by season"
    if alarm.rate <= alarm.least_allowed:
        where += " in some batches"
    return f"exceeded {allowed_in_words(alarm)}, what {where}"


def _moves_in_words(moved: tuple[ColumnMove, ...]) -> str:
    """Name the columns that moved; some may have moved earlier than others."""
    if not moved:
        return "No column alone is shown to have moved in the last batches."
    named = "; ".join(move.text for move in moved[:_MOST_NAMED])
    more = f"; {len(moved) - _MOST_NAMED} more" if len(moved) > _MOST_NAMED else ""
    return f"Moved: {named}{more}."


def _verdict(state: MonitorState) -> str:
    """Return the worst that is shown: errors before samples, which may change without harm."""
    if state.errors is not None and state.errors.raised:
        return verdicts.MORE_ERRORS
    if state.samples_changed:
        return verdicts.CHANGED
    return verdicts.NO_ALARM


def _p_value(state: MonitorState, alpha: float) -> float:
    """Return the level at which an alarm would have been raised by now.

    An alarm with its part ``a`` of alpha is raised at evidence 2 / a. Evidence e reaches that at a level of
    alpha (2 / a) / e.
    """
    # The least of them, at most 1: the parts of alpha are Bonferroni's correction already.
    levels = [alpha * (2.0 / alarm.alpha) / alarm.highest for alarm in state.alarms]
    return min([1.0, *levels])
