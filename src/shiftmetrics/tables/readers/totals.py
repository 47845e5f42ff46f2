"""Files of totals that tools write beside their logs: figures of whole tasks, with no question to pair."""

from __future__ import annotations

import re
from functools import partial

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, Reader

_LM_EVAL = re.compile(
    rb'\s*\{\s*"results"\s*:\s*\{\s*"[^"]+"\s*:\s*\{\s*"(alias|name|sample_len)"\s*:'
)
_LIGHTEVAL = re.compile(rb'\s*\{\s*"config_general"\s*:\s*\{')


def _is_totals(pattern: re.Pattern[bytes], content: Content) -> bool:
    return pattern.match(content.head.removeprefix(b"\xef\xbb\xbf")) is not None


def _refuse(tool: str, remedy: str, content: Content) -> Cells:
    raise content.refusal(
        "a log with a row for each question", f"which holds the totals of {tool} only", remedy
    )


def _reader(tool: str, pattern: re.Pattern[bytes], told_by: str, remedy: str) -> Reader:
    return Reader(
        name=f"a file of totals of {tool}",
        suffixes=(".json",),
        told_by=f"{told_by}; refused",
        tells=partial(_is_totals, pattern),
        read=partial(_refuse, tool, remedy),
    )


READERS = (
    _reader(
        "lm-evaluation-harness",
        _LM_EVAL,
        'an object of "results" of tasks, each with its "alias"',
        "Run it with --log_samples, and give the samples_TASK_TIME.jsonl beside it.",
    ),
    _reader(
        "lighteval",
        _LIGHTEVAL,
        'an object that begins with "config_general"',
        "Run it with --save-details, and give the files of the folder details.",
    ),
)
