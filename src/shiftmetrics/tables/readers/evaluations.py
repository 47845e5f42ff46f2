"""What readers of logs of evaluations share: a row for each answer, made by a short function for each tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import DAMAGED, Content, Reader
from shiftmetrics.tables.logs import (
    DIGEST,
    FAILED,
    QUESTION,
    REPEAT,
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

LONGEST_ID = 60
"""Longer questions are named by their beginning and a digest."""


@dataclass(frozen=True, kw_only=True)
class ScoredAnswer:
    """One answer of a log.

    Attributes
    ----------
    question : str
        What names the question; empty: the beginning of what was asked.
    asked : object
        All that was asked, of which a digest is taken.
    scores : mapping of str to object
        The one that the tool leads with first.
    task : str
    failed : bool
        Whether the tool says that there was an error in place of an answer.
    repeat : int or None
        Which of several answers to the question this is.
    about : object
        An object whose short fields name groups of questions.
    """

    question: str
    asked: Any
    scores: Mapping[str, Any]
    task: str = ""
    failed: bool = False
    repeat: int | None = None
    about: Any = field(default=None)


@dataclass(frozen=True, kw_only=True)
class LogFormat:
    """How the log of one tool is told and read.

    Attributes
    ----------
    tool : str
    name : str
        With its article, for messages.
    told_by : str
    tells : callable
        Takes the first bytes, without a byte order mark and blanks.
    answers : callable
        Takes what the file holds, parsed: the object, or the list of those of its lines.
    is_lines : bool
        Whether each line holds an object.
    falls : callable
        Takes the name of a score, returns True if lower ones are better.
    """

    tool: str
    name: str
    told_by: str
    tells: Callable[[bytes], bool]
    answers: Callable[[Any], Iterable[ScoredAnswer]]
    is_lines: bool = False
    falls: Callable[[str], bool] = has_falling_name


def reader_of(about: LogFormat) -> Reader:
    """Return the reader of a format."""
    return Reader(
        name=about.name,
        suffixes=(".jsonl" if about.is_lines else ".json",),
        told_by=about.told_by,
        tells=partial(_tells, about),
        read=partial(_read, about),
    )


def _tells(about: LogFormat, content: Content) -> bool:
    return about.tells(content.head.removeprefix(b"\xef\xbb\xbf").lstrip())


@collector_paused()
def _read(about: LogFormat, content: Content) -> Cells:
    content.check_size(4 * content.size)
    found = list(_lines(about, content)) if about.is_lines else _parsed(about, content)
    try:
        answers = list(about.answers(found))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise content.refusal(about.name, "whose samples cannot be read", DAMAGED) from error
    return cells_of_answers(content, about.tool, answers, falls=about.falls)


def _parsed(about: LogFormat, content: Content) -> Any:
    try:
        return json.loads(content.read())
    except (ValueError, RecursionError) as error:
        raise content.refusal(about.name, "which cannot be read", DAMAGED) from error


def _lines(about: LogFormat, content: Content) -> Iterator[Any]:
    for place, record in parsed_lines(content, about.name):
        if not isinstance(record, dict):
            raise content.refusal(about.name, f"whose line {place} is no object", DAMAGED)
        yield record


def parsed_lines(content: Content, name: str) -> Iterator[tuple[int, Any]]:
    """Yield what each line holds that is not empty, with its number from 1 on; ``name`` is what the file should be.

    Raises
    ------
    UnreadableError
        If a line is no JSON.
    """
    with content.open() as file:
        for place, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                got = f"whose line {place} cannot be read"
                raise content.refusal(name, got, DAMAGED) from error
            yield place, record


def cells_of_answers(
    content: Content,
    tool: str,
    answers: Iterable[ScoredAnswer],
    *,
    falls: Callable[[str], bool] = has_falling_name,
) -> Cells:
    """Return the cells of a log.

    Raises
    ------
    UnreadableError
        If there are no answers, or none has a score.
    """
    found = LogRows()
    scores: dict[str, None] = {}
    no_numbers: dict[str, None] = {}
    by_length: dict[str, None] = {}
    says_repeats = False
    for answer in answers:
        row: dict[str, Any] = {
            TASK: answer.task,
            QUESTION: answer.question or _shown(answer.asked),
            DIGEST: digest_of_question(answer.asked),
            FAILED: answer.failed,
        }
        if answer.repeat is not None:
            says_repeats = True
            row[REPEAT] = answer.repeat
        row |= plain_fields(answer.about, "about")
        for name, value in answer.scores.items():
            number = number_of_score(name, value)
            if number is None:
                no_numbers[name] = None
                continue
            scores[name] = None
            if is_with_length(value):
                by_length[name] = None
            row[column_of_score(name)] = number
        found.add(row)
    # One answer without a number is enough: the mean of the rest is of other questions.
    kept = [name for name in scores if name not in no_numbers]
    return found.cells(
        content,
        tool=tool,
        scores=[column_of_score(name) for name in kept],
        notes=[*left_out(no_numbers), *counting_alike(by_length)],
        lower_is_better=frozenset(column_of_score(name) for name in kept if falls(name)),
        says_repeats=says_repeats,
    )


def repeats_of(names: Iterable[Any]) -> list[int | None]:
    """Return which answer to its question each one is, from 1 on; None for all where each question has one."""
    return [place if any_twice else None for place, any_twice in numbered(names)]


def numbered(names: Iterable[Any]) -> Iterator[tuple[int, bool]]:
    """Return for each name which time it comes, from 1 on, and whether any name comes more than once."""
    listed = list(names)
    seen: dict[Any, int] = {}
    places = []
    for name in listed:
        seen[name] = seen.get(name, 0) + 1
        places.append(seen[name])
    any_twice = any(count > 1 for count in seen.values())
    return ((place, any_twice) for place in places)


def _shown(asked: Any) -> str:
    text = asked if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False, default=str)
    if len(text) <= LONGEST_ID:
        return text
    return f"{text[: LONGEST_ID - 8]} {digest_of_question(asked)[:7]}"
