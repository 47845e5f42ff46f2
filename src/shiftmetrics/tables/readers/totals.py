"""Files that tools write beside their logs: totals of whole tasks, and answers that have no scores yet."""

from __future__ import annotations

import re
from functools import partial

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, Reader

_LM_EVAL = re.compile(
    rb'\s*\{\s*"results"\s*:\s*\{\s*"[^"]+"\s*:\s*\{\s*"(alias|name|sample_len)"\s*:'
)
_LIGHTEVAL = re.compile(rb'\s*\{\s*"config_general"\s*:\s*\{')
_EVALSCOPE = re.compile(
    rb'\s*\{\s*("schema_version"\s*:\s*\d+\s*,\s*)?"name"\s*:\s*"[^"]*"\s*,\s*"dataset_name"\s*:'
)
_EVALSCOPE_ANSWERS = re.compile(
    rb'\s*\{\s*"index"\s*:\s*\d+\s*,\s*"model"\s*:\s*"[^"]*"\s*,\s*"model_output"\s*:'
)
_HELM = re.compile(
    rb'\s*\[\s*\{\s*"name"\s*:\s*\{\s*"name"\s*:[^{}]*\}\s*,\s*"count"\s*:\s*\d+\s*,\s*"sum"\s*:'
)
_HELM_ANSWERS = re.compile(rb'\s*\{\s*"adapter_spec"\s*:\s*\{')


def _is_totals(pattern: re.Pattern[bytes], content: Content) -> bool:
    return pattern.match(content.head.removeprefix(b"\xef\xbb\xbf")) is not None


def _refuse(what: str, remedy: str, content: Content) -> Cells:
    raise content.refusal(
        "a log with a row for each question", f"which holds the {what} only", remedy
    )


def _reader(
    tool: str,
    pattern: re.Pattern[bytes],
    told_by: str,
    remedy: str,
    *,
    what: str = "totals",
    suffix: str = ".json",
) -> Reader:
    return Reader(
        name=f"a file of {what} of {tool}",
        suffixes=(suffix,),
        told_by=f"{told_by}; refused",
        tells=partial(_is_totals, pattern),
        read=partial(_refuse, f"{what} of {tool}", remedy),
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
    _reader(
        "evalscope",
        _EVALSCOPE,
        'an object that begins with "name" and "dataset_name"',
        "Give the files of the folder reviews beside the folder reports.",
    ),
    _reader(
        "evalscope",
        _EVALSCOPE_ANSWERS,
        'a first line with "index", "model" and "model_output"',
        "Give the files of the folder reviews beside the folder predictions.",
        what="answers",
        suffix=".jsonl",
    ),
    _reader(
        "HELM",
        _HELM,
        'a list of objects with "name", "count" and "sum"',
        "Give the per_instance_stats.json beside it, or the folder of both.",
    ),
    _reader(
        "HELM",
        _HELM_ANSWERS,
        'an object that begins with "adapter_spec"',
        "Give the per_instance_stats.json beside it, or the folder of both.",
        what="answers",
    ),
)
