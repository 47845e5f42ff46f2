"""Logs of promptfoo: ``.json``, and ``.jsonl`` with one result a line."""

from __future__ import annotations

import json
import re
from typing import Any

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.logs import (
    DIGEST,
    FAILED,
    MODEL,
    QUESTION,
    REPEAT,
    LogRows,
    collector_paused,
    column_of_score,
    digest_of_question,
    number_of,
    plain_fields,
)

TOOL = "promptfoo"

PROVIDER_ERROR = 2
"""The reason of a failure that is an error of the provider, not a wrong answer."""

_JSON = re.compile(rb'\s*\{\s*("evalId"|"results")\s*:')
_RESULT = (b'"testIdx"', b'"promptIdx"', b'"vars"', b'"success"')
LEADING = ("success", "score")


def _is_json_log(content: Content) -> bool:
    head = content.head
    if not _JSON.match(head.removeprefix(b"\xef\xbb\xbf")):
        return False
    if b'"promptIdx"' in head or b'"evalId"' in head[:200]:
        return True
    return b'"testPassCount"' in head


def _is_lines(content: Content) -> bool:
    head = content.head.lstrip()
    if not head.startswith(b"{"):
        return False
    # of long answers, the first line may go on beyond the head
    line = head.partition(b"\n")[0]
    return sum(name in line for name in _RESULT) >= 3


@collector_paused()
def _read_json(content: Content) -> Cells:
    content.check_size(4 * content.size)
    log = _parsed(content, content.read(), 0)
    results = log.get("results")
    if isinstance(results, dict):
        results = results.get("results")
    if not isinstance(results, list) or not results:
        raise content.refusal(f"a log of {TOOL} with results", "which holds none")
    options = (log.get("config") or {}).get("evaluateOptions") or {}
    options = {**options, **(log.get("runtimeOptions") or {})}
    return _cells(content, results, says_repeats=int(options.get("repeat") or 1) > 1)


@collector_paused()
def _read_lines(content: Content) -> Cells:
    content.check_size(4 * content.size)
    results = []
    with content.open() as file:
        for place, line in enumerate(file):
            if line.strip():
                results.append(_parsed(content, line, place + 1))
    return _cells(content, results, says_repeats=False)


def _parsed(content: Content, data: bytes, line: int) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        where = f"whose line {line} cannot be read" if line else "which cannot be read"
        remedy = "Write it anew: it may be truncated or damaged."
        raise content.refusal(f"a log of {TOOL}", where, remedy) from error


def _cells(content: Content, results: list[dict[str, Any]], *, says_repeats: bool) -> Cells:
    # what the variables are, once for each result
    asked_of = [digest_of_question(result.get("vars") or {}) for result in results]
    names = _names(results, len(set(asked_of)))
    found = LogRows()
    named: dict[str, None] = {}
    seen: dict[tuple[str, str], int] = {}
    for result, digest_of_variables in zip(results, asked_of, strict=True):
        prompt = result.get("prompt") or {}
        asked = prompt.get("raw") if isinstance(prompt, dict) else prompt
        variables = result.get("vars") or {}
        digest = digest_of_question(digest_of_variables, asked)
        model = _model(result.get("provider"))
        row: dict[str, Any] = {
            QUESTION: str(variables.get(names)) if names else _shown(variables, asked),
            DIGEST: digest,
            MODEL: model,
            FAILED: result.get("failureReason") == PROVIDER_ERROR or _has_no_answer(result),
            "prompt": _label(prompt),
        }
        # The results of one question are numbered in the order of the file: the log itself does not do so.
        if says_repeats:
            seen[model, digest] = seen.get((model, digest), 0) + 1
            row[REPEAT] = seen[model, digest]
        row |= plain_fields(variables, "vars")
        for name in LEADING:
            row[name] = number_of(result.get(name))
        for name, value in (result.get("namedScores") or {}).items():
            number = number_of(value)
            if number is not None:
                full_name = f"named.{name}" if name in LEADING else column_of_score(name)
                named[full_name] = None
                row[full_name] = number
        found.add(row)
    settings = {"prompts": json.dumps(sorted(set(found.columns["prompt"])))}
    return found.cells(
        content,
        tool=TOOL,
        scores=[*LEADING, *named],
        says_repeats=says_repeats,
        settings=settings,
    )


def _has_no_answer(result: dict[str, Any]) -> bool:
    """Return True for an error of the provider, as logs without a reason of failures write it."""
    response = result.get("response")
    return isinstance(response, dict) and bool(response.get("error"))


def _model(provider: Any) -> str:
    if isinstance(provider, dict):
        return str(provider.get("label") or provider.get("id") or "")
    return str(provider or "")


def _label(prompt: Any) -> str:
    if isinstance(prompt, dict):
        return str(prompt.get("label") or "")
    return str(prompt or "")


def _names(results: list[dict[str, Any]], n_questions: int) -> str | None:
    """Return the variable that names the questions: the first one of words that differs in all of them."""
    first = results[0].get("vars") or {}
    for name, value in first.items():
        if not isinstance(value, str) or len(value) > 60:
            continue
        values = {str((result.get("vars") or {}).get(name)) for result in results}
        if len(values) == n_questions:
            return str(name)
    return None


def _shown(variables: dict[str, Any], asked: Any) -> str:
    text = json.dumps(variables, ensure_ascii=False) if variables else str(asked)
    return text if len(text) <= 60 else f"{text[:52]} {digest_of_question(variables, asked)[:7]}"


READERS = (
    Reader(
        name=f"a log of {TOOL}",
        suffixes=(".json",),
        told_by='an object that begins with "evalId" or "results"',
        tells=_is_json_log,
        read=_read_json,
    ),
    Reader(
        name=f"a file of {TOOL} in JSON lines",
        suffixes=(".jsonl",),
        told_by="a first line with variables, places of test and prompt, and success",
        tells=_is_lines,
        read=_read_lines,
    ),
)
