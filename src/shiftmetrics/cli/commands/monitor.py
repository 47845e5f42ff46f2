"""The command ``shiftmetrics monitor PASSPORT BATCH...``: alarms that allow for looking every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shiftmetrics.cli.inputs.objects import check_model, load_object
from shiftmetrics.cli.inputs.prediction_files import read_cells, typed_source
from shiftmetrics.cli.inputs.sources import Source
from shiftmetrics.cli.outputs import CommandAnswer, Job
from shiftmetrics.cli.signature import Call, measuring
from shiftmetrics.decisions import MonitorResult, Passport, monitor_batch
from shiftmetrics.decisions.monitor.passport import BatchCounts
from shiftmetrics.decisions.monitor.state import MonitorState
from shiftmetrics.decisions.monitor.state_file import StateFile
from shiftmetrics.rules import Rule, RulesResult
from shiftmetrics.rules.outcomes import Ended, Outcome
from shiftmetrics.views import Context
from shiftmetrics.views.report import properties_of


def default_state(passport: str) -> Path:
    """Return the state beside a passport."""
    return Path(passport).with_suffix(".state.json")


@measuring(
    {},
    words={
        "passport": "PASSPORT",
        "batch": "BATCH",
        "model": "--model",
        "state": "--state",
        "acknowledge": "--acknowledge",
    },
    default_paths={"state": lambda values: default_state(values["passport"])},
)
def monitor(
    passport: str,
    batch: list[str],
    *,
    call: Call,
    model: str | None = None,
    state: Path | None = None,
    acknowledge: str | None = None,
    junit: Path | None = None,
) -> Job:
    """Hold a batch against a passport: whether errors have risen, or the rows have changed.

    What was known comes first, then what is new. The state file remembers a few numbers between batches and no row.
    At most 5 % of monitors ever raise an alarm without a change, however often one looks. Several files are the
    parts of one batch, such as those of workers. Beside the state, a history (.history.jsonl) keeps the counts of
    every batch, so that an alarm can be proven; a monitor waits up to 30 s for another one of the same state.

    Exit codes: 0 no alarm, 1 an alarm that was not acknowledged, 2 an error; after an error the state is as before.

    Example: `shiftmetrics monitor passport.json monday.csv --state state.json`

    Example: `shiftmetrics monitor passport.json tuesday.csv --acknowledge "new station"`

    Parameters
    ----------
    passport : PASSPORT
        What `shiftmetrics passport` wrote.
    batch : BATCH
        New rows: one file, or the parts of a batch.
    model : MODEL
        The classifier of the passport, where it watches one.
    state : FILE.json
        What is remembered between batches. Default: the name of the passport with .state.json.
    acknowledge : NOTE
        What the change is that raised an alarm before this batch: the alarm is then started again, against what was
        seen since it was raised, and only later news raises it.
    junit : FILE.xml
        Write the alarms as JUnit XML, for CI to show.
    """
    known = call(Passport.load, _existing(passport, "PASSPORT"))
    place = state or default_state(passport)
    file = StateFile(place)
    call(file.read, known)  # a damaged state is refused before the batch is read
    if model is not None:
        check_model(model)
    sources = [typed_source(text, "BATCH") for text in batch]
    tables = [read_cells(source) for source in sources]
    opened: Any = None
    notes: list[str] = []
    if model is not None:
        opened, notes = load_object(model, "--model")

    def compute() -> CommandAnswer:
        counts = call(known.count, tables[0], model=opened)
        for table in tables[1:]:
            counts += call(known.count, table, model=opened)
        # Between reading the state and replacing it no other monitor may count.
        result = call(_moved_on, file, known, counts, acknowledge)
        if junit is not None:
            _as_outcomes(result).to_junit(junit, properties_of({result.title: result}))
        return CommandAnswer(
            results={result.title: result},
            title=f"Monitor of {passport}",
            context=Context(description=f"{', '.join(map(str, sources))} held against {passport}."),
            notes=[*notes, *(note for table in tables for note in table.notes)],
            exit_code=result.exit_code,
            written={"State": place, "JUnit": junit},
        )

    return Job(inputs=[Source(argument="PASSPORT", path=Path(passport)), *sources], compute=compute)


def _moved_on(
    file: StateFile, known: Passport, counts: BatchCounts, acknowledge: str | None
) -> MonitorResult:
    """Count a batch while no other process holds the state; alarms of earlier ones may be acknowledged before."""
    with file.locked():
        before = file.read(known)
        state = before
        if acknowledge is not None:
            state = (before or MonitorState.start(known)).acknowledge(acknowledge)
        result = monitor_batch(known, counts, state=state)
        return file.write(result, before)


def _as_outcomes(result: MonitorResult) -> RulesResult:
    """Return the alarms as outcomes of rules, which JUnit files show."""
    outcomes = []
    for alarm in result.state.alarms:
        text = f"{alarm.n_hits} of {alarm.n_samples}, allowed {alarm.allowed:.3g}."
        if alarm.raised:
            text = f"Alarm at batch {alarm.raised_at}: {text}"
        rule = Rule(name=alarm.name, measure="monitor", field="value", at_least=alarm.alpha)
        ended: Ended = "failed" if alarm.raised else "passed"
        outcomes.append(
            Outcome(
                rule=rule,
                result=result.title,
                measure="monitor",
                ended=ended,
                value=alarm.rate,
                text=text,
            )
        )
    return RulesResult(outcomes=tuple(outcomes))


def _existing(text: str, argument: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise ValueError(f"{argument} must be an existing file, got {text!r}, which is not there.")
    return path
