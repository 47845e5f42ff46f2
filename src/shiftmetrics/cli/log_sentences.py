"""What ``shiftmetrics read`` says of logs of evaluations: their scores, and whether their questions match."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from shiftmetrics._core.exceptions import ArgumentError
from shiftmetrics._core.validation import first_few
from shiftmetrics.cli.console import say
from shiftmetrics.tables.logs import FAILED, QUESTION, ROLES, TASK, LogCells

MOST_NAMES = 8
"""So many names of a kind are said."""


def say_logs(
    logs: Sequence[LogCells],
    files: Sequence[str],
    *,
    ids: str | None,
    group: str | None,
    inner: bool,
    save: Path | None,
) -> None:
    """Say what logs hold, and of two of them what `diff` matches.

    Raises
    ------
    ValueError
        If a reading is to be kept, of which logs have none, or the questions of two logs do not match.
    """
    if save is not None:
        raise ValueError(
            "--save keeps how predictions are read, and logs of evaluations are read in one way."
        )
    for log in logs:
        _say_log(log)
    if len(logs) != 2 or any(len(log.models) > 1 for log in logs):
        return
    # here, so that other files do not wait for it
    from shiftmetrics.decisions.scores.questions import matched_questions
    from shiftmetrics.decisions.scores.sides import side_of

    old, new = logs
    try:
        first = side_of(old, str(old), None, ids, group)
        second = side_of(new, str(new), first.score, ids, group)
        pair = matched_questions(first, second, inner=inner)
    except ArgumentError as error:
        words = {"ids": "--id", "groups": "--group", "inner": "--inner", "scores": "--scores"}
        words |= {"old": str(old), "new": str(new)}
        raise ValueError(error.in_words(words)) from error
    for note in pair.notes:
        say(f"Note: {note.rstrip('.')}.")
    for warning in pair.warnings:
        say(f"Warning: {warning.rstrip('.')}.")
    typed = shlex.join(["shiftmetrics", "diff", *files])
    if ids is not None:
        typed += f" --id {shlex.quote(ids)}"
    if inner:
        typed += " --inner"
    say(f"In both: {_counted(len(pair.ids), 'question')}. `{typed}` compares {first.score}.")


def _say_log(log: LogCells) -> None:
    """Say the scores of a log, its questions, and the columns that may name them or group them."""
    frame = log.frame
    n_failed = int(frame[FAILED].sum())
    parts = [f"a log of {log.tool} with {_counted(frame[QUESTION].nunique(), 'question')}"]
    n_tasks = frame[TASK].nunique()
    if n_tasks > 1:
        parts.append(f"{n_tasks:,} tasks")
    if n_failed:
        parts.append(_counted(n_failed, "failed answer"))
    if len(log.models) > 1:
        parts.append(f"answers of the models {first_few(log.models, MOST_NAMES, show=str)}")
    falling = [name for name in log.scores if name in log.lower_is_better]
    scores = first_few(log.scores, MOST_NAMES, show=str)
    lower = f"; lower is better for {first_few(falling, MOST_NAMES, show=str)}" if falling else ""
    say(f"{log}: {', '.join(parts)}; scores {scores}{lower}.")
    fields = [name for name in map(str, frame.columns) if name not in (*ROLES, *log.scores)]
    if fields:
        say(f"Fields for --id and --group: {first_few(fields, MOST_NAMES, show=str)}.")


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
