"""Logs of lm-evaluation-harness: ``samples_TASK_TIME.jsonl``, one line for each document and filter."""

from __future__ import annotations

import json
import re
from typing import Any

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.logs import (
    DIGEST,
    FAILED,
    QUESTION,
    TASK,
    LogRows,
    collector_paused,
    column_of_score,
    counting_alike,
    digest_of_question,
    has_falling_name,
    is_with_length,
    left_out,
    number_of_score,
    plain_fields,
)
from shiftmetrics.tables.readers.evaluations import parsed_lines
from shiftmetrics.tables.readers.json import read_json_lines

TOOL = "lm-evaluation-harness"

_FIRST = re.compile(rb'\s*\{\s*"doc_id"\s*:\s*[^,]{1,80},\s*"doc"\s*:')
_NAME = re.compile(r"samples_(?P<task>.+?)(_\d{4}-\d\d-\d\dT[\d\-.:]+)?\.jsonl?(\..*)?")

ANSWERS = ("resps", "filtered_resps")
BESIDE = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash",
}  # fmt: skip
"""What a line holds beside its scores."""


def _tells(content: Content) -> bool:
    head = content.head.removeprefix(b"\xef\xbb\xbf")
    return _FIRST.match(head) is not None


@collector_paused()
def _read(content: Content) -> Cells:
    match = _NAME.fullmatch(content.name)
    task = match["task"] if match else ""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    scores: dict[str, None] = {}
    no_numbers: set[str] = set()
    by_length: dict[str, None] = {}
    doubled: list[dict[str, Any]] = []
    prompts: set[str] = set()
    settings: dict[str, str] = {}
    content.check_size(4 * content.size)
    for place, (_, record) in enumerate(parsed_lines(content, f"a log of {TOOL}")):
        if not isinstance(record, dict) or not any(name in record for name in ANSWERS):
            # another table which happens to begin so
            return read_json_lines(content)
        question = str(record["doc_id"])
        digest = record.get("doc_hash") or digest_of_question(record.get("doc"))
        # Each filter has a line of its own for the same document: the lines are joined.
        row = rows.get((question, digest))
        if row is None:
            row = {TASK: task, QUESTION: question, DIGEST: digest, FAILED: False}
            row |= plain_fields(record.get("doc"), "doc")
            row["prompt"] = record.get("prompt_hash")
            rows[question, digest] = row
        for name, value in _scores(record).items():
            number = number_of_score(name, value)
            if number is None:
                no_numbers.add(name)
                continue
            scores[name] = None
            if is_with_length(value):
                by_length[name] = None
            column = column_of_score(name)
            # A second value of one score of one document: a row of its own, which is refused where
            # the questions of two logs are matched.
            if column in row and not _same(row[column], number):
                doubled.append({**row, column: number})
            row[column] = number
        if place == 0:
            settings = _settings(record)
        prompts.add(str(record.get("prompt_hash")))
    found = LogRows()
    for row in [*rows.values(), *doubled]:
        found.add(row)
    kept = [name for name in scores if name not in no_numbers]
    return found.cells(
        content,
        tool=TOOL,
        scores=[column_of_score(name) for name in kept],
        notes=[*left_out(sorted(no_numbers)), *counting_alike(by_length)],
        lower_is_better=frozenset(name for name in kept if has_falling_name(name)),
        settings=settings,
    )


def _scores(record: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the metrics of a line; with a filter, a metric is another score."""
    names = record.get("metrics")
    if not isinstance(names, list):
        names = [name for name in record if name not in BESIDE]
    chosen = record.get("filter", "none")
    ending = "" if chosen in (None, "none") else f",{chosen}"
    return {f"{name}{ending}": record[name] for name in names if name in record}


def _same(first: float, second: float) -> bool:
    return first == second or (first != first and second != second)


def _settings(record: dict[str, Any]) -> dict[str, str]:
    """Return how answers were generated."""
    arguments = record.get("arguments")
    if not isinstance(arguments, dict):
        return {}
    for call in arguments.values():
        if isinstance(call, dict):
            for value in call.values():
                if isinstance(value, dict):
                    return {str(key): json.dumps(part) for key, part in value.items()}
    return {}


READER = Reader(
    name=f"a log of samples of {TOOL}",
    suffixes=(".jsonl",),
    told_by='a first line with "doc_id" and "doc"',
    tells=_tells,
    read=_read,
)
