"""Logs of evaluations in JSON lines: evalscope, OpenAI's evals and HumanEval, garak."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from shiftmetrics.tables.readers.evaluations import (
    LogFormat,
    ScoredAnswer,
    numbered,
    reader_of,
    repeats_of,
)

COMPLETE = 2
"""The status of an attempt of garak whose outputs were judged."""


def _first(head: bytes) -> Any:
    """Return the first line as an object; one that goes on beyond the head as its bytes."""
    line, end, _ = head.partition(b"\n")
    if not line.startswith(b"{"):
        return {}
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return line if not end else {}
    return found if isinstance(found, dict) else {}


def _holds(first: Any, *names: str) -> bool:
    """Return True if the first line has all names."""
    if isinstance(first, bytes):
        return all(f'"{name}"'.encode() in first for name in names)
    return all(name in first for name in names)


def _evalscope(records: Any) -> Iterator[ScoredAnswer]:
    groups = [record["sample_score"].get("group_id") for record in records]
    indices = [record["index"] for record in records]
    # Repeats have indices of their own: their group is the question that they share.
    named = [
        index if group is None else group for index, group in zip(indices, groups, strict=True)
    ]
    for record, name, repeat in zip(records, named, repeats_of(named), strict=True):
        score = record["sample_score"]["score"]
        main = score.get("main_score_name")
        values = dict(score.get("value") or {})
        if main in values:
            values = {main: values.pop(main), **values}
        messages = record.get("messages") or []
        # Turns of the model differ from one log to another, though the question is the same.
        asked = [part.get("content") for part in messages if part.get("role") in ("system", "user")]
        status = str(score.get("status") or "success").lower()
        yield ScoredAnswer(
            question=str(name),
            asked=[asked or record.get("input"), record.get("target")],
            scores=values,
            failed=status not in ("success", "degraded"),
            repeat=repeat,
            about=record["sample_score"].get("sample_metadata"),
        )


def _openai_evals(records: Any) -> Iterator[ScoredAnswer]:
    asked: dict[str, Any] = {}
    answers: dict[str, dict[str, Any]] = {}
    errors: set[str] = set()
    for record in records:
        name, data = record.get("sample_id"), record.get("data")
        if name is None or not isinstance(data, dict):
            continue
        kind = record.get("type")
        if kind == "sampling":
            # a judge is asked after the model
            asked.setdefault(name, data.get("prompt"))
        elif kind == "match":
            answers.setdefault(name, {})["correct"] = data["correct"]
        elif kind == "metrics":
            answers.setdefault(name, {}).update(data)
        elif kind == "error":
            errors.add(name)
            answers.setdefault(name, {})
    for name, scores in answers.items():
        numbers = {
            key: value for key, value in scores.items() if isinstance(value, bool | int | float)
        }
        yield ScoredAnswer(
            question=str(name),
            asked=asked.get(name, name),
            scores=numbers or scores,
            failed=name in errors,
        )


def _human_eval(records: Any) -> Iterator[ScoredAnswer]:
    names = [str(record["task_id"]) for record in records]
    for record, name, repeat in zip(records, names, repeats_of(names), strict=True):
        yield ScoredAnswer(
            question=name, asked=name, scores={"passed": record["passed"]}, repeat=repeat
        )


def _garak(records: Any) -> Iterator[ScoredAnswer]:
    attempts = [
        record
        for record in records
        if record.get("entry_type") == "attempt" and record.get("status") == COMPLETE
    ]
    asked = [[record["probe_classname"], record.get("prompt")] for record in attempts]
    keys = [json.dumps(part, sort_keys=True, default=_text) for part in asked]
    n_outputs = max((len(record.get("outputs") or ()) for record in attempts), default=0)
    for record, own, (place, any_twice) in zip(attempts, asked, numbered(keys), strict=True):
        results = record.get("detector_results") or {}
        for output in range(len(record.get("outputs") or ())):
            scores = {
                name: values[output] if output < len(values) else None
                for name, values in results.items()
            }
            # A prompt may come in several attempts, of several outputs each: all of them are numbered in one row.
            repeat = (place - 1) * n_outputs + output + 1
            yield ScoredAnswer(
                question=f"{record['probe_classname']} {record.get('seq', '')}".strip(),
                asked=own,
                scores=scores,
                task=str(record["probe_classname"]),
                repeat=repeat if any_twice or n_outputs > 1 else None,
            )


def _text(value: Any) -> str:
    return str(value)


FORMATS = (
    LogFormat(
        tool="evalscope",
        name="a file of reviews of evalscope",
        told_by='a first line with "index" and "sample_score"',
        tells=lambda head: _holds(_first(head), "index", "sample_score"),
        answers=_evalscope,
        is_lines=True,
    ),
    LogFormat(
        tool="OpenAI's evals",
        name="a log of OpenAI's evals",
        told_by='a first line with "spec" that names the eval',
        tells=lambda head: _holds(_first(head), "spec") and b'"eval_name"' in head,
        answers=_openai_evals,
        is_lines=True,
    ),
    LogFormat(
        tool="HumanEval",
        name="a file of results of HumanEval",
        told_by='a first line with "task_id", "completion" and "passed"',
        tells=lambda head: _holds(_first(head), "task_id", "completion", "passed"),
        answers=_human_eval,
        is_lines=True,
    ),
    LogFormat(
        tool="garak",
        name="a report of garak",
        told_by='a first line with "entry_type"',
        tells=lambda head: _holds(_first(head), "entry_type"),
        answers=_garak,
        is_lines=True,
        # a hit of a detector is a failure of the model
        falls=lambda name: True,
    ),
)

READERS = tuple(map(reader_of, FORMATS))
