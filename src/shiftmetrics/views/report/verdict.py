"""The first screen: an answer in one word, the figures it rests on, and what to do now.

A result decides something if it has a ``verdict``, a ``sentence`` and ``next_steps``. The terminal, the report and
the card in a notebook print these; a class that registers with `verdicts` adds its figures and its chart. A measure
decides nothing, but its page and its card have the same first screen: its class registers with `answers`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shiftmetrics._core.result import Result
from shiftmetrics.decisions.verdicts import BAD, GOOD
from shiftmetrics.views.loading import load_views

Tone = Literal["good", "bad", "open", "plain"]
"""Green, red, or amber: nothing to do, something is wrong, or it cannot be told yet. Blue: nothing is decided."""


@dataclass(frozen=True, kw_only=True)
class KeyFigure:
    """One number of the first screen: what it is, the number as it is printed, and a word of explanation."""

    name: str
    value: str
    meaning: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A decision, ready to be printed.

    Attributes
    ----------
    word : str
        Such as "SAFE".
    tone : {"good", "bad", "open", "plain"}
        Its colour.
    sentence : str
        What the word rests on, with figures.
    steps : sequence of str
        What to do now, at most three.
    findings : sequence of str
        What else was found, for the terminal and for the page below the first screen.
    evidence : sequence of str
        Figures for experts, for the page alone.
    figures : sequence of KeyFigure
        Numbers to show large.
    chart : str or None
        The kind of drawing to show beside them, as in `plot`; "" for none, None for the first of the class.
    """

    word: str
    tone: Tone
    sentence: str
    steps: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    figures: tuple[KeyFigure, ...] = ()
    chart: str | None = None


TONES: dict[str, Tone] = {
    **dict.fromkeys(GOOD, "good"),
    **dict.fromkeys(BAD, "bad"),
}
"""Colours of verdicts; one that is not here is open."""

_VERDICTS: dict[type, Callable[[Any], Verdict]] = {}
_ANSWERS: dict[type, Callable[[Any], Verdict]] = {}
"""Of measures, which decide nothing."""


def verdicts(cls: type) -> Callable[[Callable[[Any], Verdict]], Callable[[Any], Verdict]]:
    """Register the decorated function, which takes a result and returns its `Verdict`, for a class of results."""

    def register(function: Callable[[Any], Verdict]) -> Callable[[Any], Verdict]:
        _VERDICTS[cls] = function
        return function

    return register


def answers(cls: type) -> Callable[[Callable[[Any], Verdict]], Callable[[Any], Verdict]]:
    """Register the decorated function, which takes a result of a measure and returns its first screen."""

    def register(function: Callable[[Any], Verdict]) -> Callable[[Any], Verdict]:
        _ANSWERS[cls] = function
        return function

    return register


def answer_of(result: Result) -> Verdict | None:
    """Return the first screen of a result, whether it decides or measures; None where its class has none."""
    verdict = verdict_of(result)
    if verdict is not None:
        return verdict
    for base in type(result).__mro__:
        if base in _ANSWERS:
            return _ANSWERS[base](result)
    return None


def with_files(steps: tuple[str, ...], files: Mapping[str, str]) -> tuple[str, ...]:
    """Return steps in which the arguments of commands, such as REFERENCE, are the files that were given.

    Examples
    --------
    >>> with_files(("Type: shiftmetrics audit REFERENCE CURRENT.",), {"REFERENCE": "may.csv"})
    ('Type: shiftmetrics audit may.csv CURRENT.',)
    """
    named = []
    for step in steps:
        for argument, file in files.items():
            # a file may hold signs that a pattern would read
            quoted = shlex.quote(file).replace("\\", r"\\")
            step = re.sub(rf"(?<![\w-]){argument}(?!\w)", quoted, step)
        named.append(step)
    return tuple(named)


def verdict_of(result: Result) -> Verdict | None:
    """Return what a result decides; None where it is a measure, which decides nothing."""
    load_views(type(result), "report")
    # the nearest class that has registered
    for base in type(result).__mro__:
        if base in _VERDICTS:
            return _VERDICTS[base](result)
    return plain_verdict(result) if hasattr(result, "verdict") else None


def plain_verdict(result: Any) -> Verdict:
    """Return the verdict of a result in its own words."""
    # the words are those of the result
    steps = tuple(result.next_steps)
    # notes hold the steps and the warnings too, which are printed on their own
    said = {*steps, *(f"Warning: {warning}" for warning in result.warnings)}
    return Verdict(
        word=result.verdict,
        tone=TONES.get(result.verdict, "open"),
        sentence=result.sentence,
        steps=steps,
        findings=tuple(part for part in result.notes() if part not in said),
    )
