"""How a monitor is reported: its verdict, each alarm, the columns that moved, and every batch so far."""

from __future__ import annotations

from typing import Any

from shiftmetrics._core.result import p_number
from shiftmetrics.decisions.monitor.column_profiles import ColumnMove
from shiftmetrics.decisions.monitor.history import CountedBatch
from shiftmetrics.decisions.monitor.monitor import MonitorResult, allowed_in_words
from shiftmetrics.views.report.answer import TONES, Answer, Tile, answers
from shiftmetrics.views.report.parts import Entry, Number, percent, reports

_MOST_BATCHES = 100
"""Batches that the page lists."""


@answers(MonitorResult)
def monitor_answer(result: MonitorResult) -> Answer:
    """Return the alarms."""
    state = result.state
    figures = [
        Tile(name="Batches", value=f"{state.n_batches:,}", meaning=f"{state.n_samples:,} samples")
    ]
    # A passport may watch errors before any batch has labels: then there is no rate.
    if state.errors is not None and state.errors.n_samples:
        figures.append(
            Tile(
                name="Errors",
                value=percent(state.errors.rate),
                meaning=f"the reference allows {allowed_in_words(state.errors)}",
            )
        )
    raised = sum(alarm.raised for alarm in state.alarms)
    figures.append(Tile(name="Alarms", value=str(raised), meaning=f"of {len(state.alarms)}"))
    if result.moved:
        move = result.moved[0]
        before = f"was {percent(move.before[0] / move.before[1])}"
        figures.append(
            Tile(name=move.rule, value=percent(move.now[0] / move.now[1]), meaning=before)
        )
    return Answer(
        word=result.verdict,
        tone=TONES.get(result.verdict, "open"),
        sentence=result.sentence,
        steps=tuple(result.next_steps),
        tiles=tuple(figures),
        chart="batches" if len(result.batches) > 1 else "alarms",
    )


@reports("audit", MonitorResult)
def fill_monitor(entry: Entry) -> None:
    """Show each alarm."""
    result: MonitorResult = entry.result
    entry.sentences += entry.answer.findings
    lines = [
        {
            "Alarm": alarm.name,
            "Counted": Number(f"{alarm.n_hits:,} of {alarm.n_samples:,}"),
            "Rate": percent(alarm.rate),
            "Allowed": allowed_in_words(alarm),
            "Raised at batch": Number(str(alarm.raised_at or "–")),
        }
        for alarm in result.state.alarms
    ]
    entry.add_table(lines, "Alarms")
    entry.add_table([_move_line(move) for move in result.moved], "Columns that moved")
    shown = result.batches[-_MOST_BATCHES:][::-1]
    caption = "Batches, the last one first"
    if len(shown) < result.state.n_batches:
        caption = f"The last {len(shown)} of {result.state.n_batches:,} batches"
    entry.add_table([_batch_line(result, batch) for batch in shown], caption)


def _move_line(move: ColumnMove) -> dict[str, Any]:
    """Return a column that moved, with its counts."""
    return {
        "Samples": move.rule,
        "Last batches": Number(str(move.n_batches)),
        "Now": Number(f"{move.now[0]:,} of {move.now[1]:,}"),
        "Reference": Number(f"{move.before[0]:,} of {move.before[1]:,}"),
        "p": Number(p_number(move.p_value)),
    }


def _batch_line(result: MonitorResult, batch: CountedBatch) -> dict[str, Any]:
    """Return one batch: what was counted in it, what was said after it, and what was acknowledged before."""
    line: dict[str, Any] = {
        "Batch": Number(str(batch.number)),
        "Counted": batch.time[:16].replace("T", " "),
        "Samples": Number(f"{batch.n_samples:,}"),
    }
    if result.state.errors is not None:
        line["Errors"] = Number(f"{batch.errors.hits:,} of {batch.errors.n:,}")
    place, alarm = result.clearest_alarm()
    if place is not None and alarm is not None:
        line[alarm.name.capitalize()] = Number(f"{batch.rows[place].hits:,}")
    said = batch.verdict
    if batch.acknowledged:
        said = f"{said}; acknowledged before it: {'; '.join(batch.acknowledged)}"
    line["Said"] = said
    return line
