"""The first screen: a decision in one word, the figures it rests on, and what to do now.

A result decides something if it has a ``verdict``, a ``sentence`` and ``next_steps``. The terminal, the report and
the card in a notebook print these; a class that registers with `verdicts` adds its figures and its chart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from shiftmetrics._core.result import Result
from shiftmetrics.decisions.verdicts import BAD, GOOD
from shiftmetrics.views.loading import load_views

Tone = Literal["good", "bad", "open"]
"""Green, red, or amber: nothing to do, something is wrong, or it cannot be told yet."""


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
    tone : {"good", "bad", "open"}
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
        The kind of drawing to show beside them, as in `plot`.
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


def verdicts(cls: type) -> Callable[[Callable[[Any], Verdict]], Callable[[Any], Verdict]]:
    """Register the decorated function, which takes a result and returns its `Verdict`, for a class of results."""

    def register(function: Callable[[Any], Verdict]) -> Callable[[Any], Verdict]:
        _VERDICTS[cls] = function
        return function

    return register


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
