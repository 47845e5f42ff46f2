"""The answer of a result, once: a word, a sentence, tiles, a picture, and what to do now.

The page, the card of a notebook, Markdown, the terminal and JUnit print this object and decide nothing themselves. A
class of results registers with `answers` the function that makes it; where none does, the result speaks for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from shiftmetrics._core.result import Interval, Result, format_number
from shiftmetrics.decisions.verdicts import BAD, GOOD
from shiftmetrics.views.loading import load_views
from shiftmetrics.views.report.steps import with_files

Tone = Literal["good", "bad", "open", "plain"]
"""Green, red, or amber: nothing to do, something is wrong, or it cannot be told yet. Blue: nothing is decided."""

MOST_WORDS = 20
"""Of the sentence of an answer."""

MOST_STEPS = 3
"""Things to do now."""

FROM_WORST: tuple[Tone, ...] = ("bad", "open", "plain", "good")


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One number of the first screen: what it is, the number as it is printed, and its interval or of what it is."""

    name: str
    value: str
    meaning: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a result says, ready to be printed.

    Attributes
    ----------
    word : str
        One word or few, of at most thirteen letters, such as "SAFE".
    tone : {"good", "bad", "open", "plain"}
        Its colour.
    sentence : str
        What the word rests on, in at most twenty words: no p-value, and no name that is code.
    tiles : sequence of Tile
        Three to six numbers to show large.
    chart : str or None
        The kind of drawing that shows the value against the line that decides, as in `plot`; "" for none, None for
        the first of the class.
    steps : sequence of str
        What to do now, at most three.
    findings : sequence of str
        What else was found; where none are given, what the result says of itself.
    evidence : sequence of str
        Figures for experts, for the page alone.
    above : sequence of str
        Warnings that void the answer.
    warnings : sequence of str
        All others.
    """

    word: str
    tone: Tone
    sentence: str
    tiles: tuple[Tile, ...] = ()
    chart: str | None = None
    steps: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The word and the sentence, as a terminal prints them."""
        return f"{self.word}  {self.sentence}"

    @property
    def lines(self) -> dict[str, str]:
        """Everything that the first screen says in text, by its name: what JUnit files show."""
        lines = {"answer": self.line}
        for tile in self.tiles:
            lines[tile.name] = f"{tile.value} ({tile.meaning})" if tile.meaning else tile.value
        return lines

    def named(self, files: Mapping[str, str], command: str = "") -> Answer:
        """Return the answer with commands that can be typed: with the files that were given, after what was typed."""
        return replace(self, steps=with_files(self.steps, files, command))


TONES: dict[str, Tone] = {
    **dict.fromkeys(GOOD, "good"),
    **dict.fromkeys(BAD, "bad"),
}
"""Colours of verdicts; one that is not here is open."""

_ANSWERS: dict[type, Callable[[Any], Answer]] = {}


def answers(cls: type) -> Callable[[Callable[[Any], Answer]], Callable[[Any], Answer]]:
    """Register the decorated function, which takes a result and returns its `Answer`, for a class of results."""

    def register(function: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
        _ANSWERS[cls] = function
        return function

    return register


def answer_of(result: Result) -> Answer:
    """Return what a result says; of a class that has not registered, in its own words."""
    load_views(type(result), "report")
    # the nearest class that has registered
    makers = (_ANSWERS[base] for base in type(result).__mro__ if base in _ANSWERS)
    answer = next(makers, plain_answer)(result)
    sentence, rest = in_brief(answer.sentence)
    findings = answer.findings or own_words(result, {answer.sentence, *answer.evidence})
    above = tuple(getattr(result, "above", ()))
    return replace(
        answer,
        sentence=sentence,
        findings=(rest, *findings) if rest else findings,
        above=above,
        # a doubt that decides stands in the sentence
        warnings=tuple(
            text
            for text in result.warnings
            if text not in above and text[1:].rstrip(".") not in answer.sentence
        ),
    )


def plain_answer(result: Any) -> Answer:
    """Return the answer of a result in its own words: its verdict, or else its value."""
    if hasattr(result, "verdict"):
        return Answer(
            word=result.verdict,
            tone=TONES.get(result.verdict, "open"),
            sentence=result.sentence,
            steps=tuple(result.next_steps),
        )
    value = f"{format_number(result.value)} {result.unit}".strip()
    tile = Tile(name=result.title, value=value, meaning=ends_of(result.interval))
    answer = Answer(word="MEASURED", tone="plain", sentence=result.headline(), tiles=(tile,))
    return answer if result.status.ok else replace(answer, word="NO ANSWER", tone="open")


def in_brief(sentence: str) -> tuple[str, str]:
    """Return a sentence of at most twenty words, and what is left of it: it ends where a part of it does.

    A name of many words may leave no such part: the sentence is then cut, and what is left is all of it.

    Examples
    --------
    >>> in_brief("Errors exceeded 5 % (of 20; of 30); since " + "then, " * 17 + "they are 12.")[0]
    'Errors exceeded 5 % (of 20; of 30).'
    >>> in_brief("The " + "very " * 30 + "long name.")[0][-11:]
    'very very …'
    """
    tokens = sentence.split(" ")
    n_words = 0
    depth = 0
    end = 0
    for place, token in enumerate(tokens, start=1):
        # a sign of per cent is no word
        n_words += any(map(str.isalnum, token))
        if n_words > MOST_WORDS:
            break
        depth += token.count("(") - token.count(")")
        if place == len(tokens):
            return sentence, ""
        # A mark within brackets ends no part.
        if depth == 0 and token.endswith((";", ":", ".")):
            end = place
    if not end:
        return f"{' '.join(tokens[: MOST_WORDS - 1])} …", sentence
    rest = " ".join(tokens[end:])
    if tokens[end - 1].endswith(";"):
        # after a colon the name of a file may stand, which keeps its letters
        rest = f"{rest[:1].upper()}{rest[1:]}"
    return f"{' '.join(tokens[:end]).rstrip(';:.')}.", rest


def own_words(result: Any, said: set[str]) -> tuple[str, ...]:
    """Return what a result says of itself, without what stands in other parts of its answer."""
    sentences = list(result.notes())
    if not hasattr(result, "verdict"):
        sentences.insert(0, result.headline())
    elsewhere = {*said, *getattr(result, "next_steps", ())}
    for warning in result.warnings:
        elsewhere |= {warning, f"Warning: {warning}"}
    return tuple(text for text in sentences if text not in elsewhere)


def ends_of(interval: Interval | None, show: Callable[[float], str] = format_number) -> str:
    """Return the ends of an interval under its number; nothing where there is none.

    Examples
    --------
    >>> ends_of(Interval(low=-25.2, high=-12.3))
    '95 %: -25.2 to -12.3'
    """
    if interval is None:
        return ""
    return f"{100 * interval.confidence_level:g} %: {show(interval.low)} to {show(interval.high)}"


def overall(named: Mapping[str, Answer]) -> Answer:
    """Return the answer of several results: the word of the worst of them, and of which they are.

    Examples
    --------
    >>> parts = {
    ...     "model": Answer(word="SAFE", tone="good", sentence="It is."),
    ...     "data": Answer(word="CHANGED", tone="open", sentence="They are."),
    ... }
    >>> overall(parts).line
    'CHANGED  The worst of 2 measurements: data.'
    """
    name, worst = min(named.items(), key=lambda part: FROM_WORST.index(part[1].tone))
    others = sum(answer.tone == worst.tone for answer in named.values()) - 1
    alike = f", and {others} more like it" if others else ""
    return Answer(
        word=worst.word,
        tone=worst.tone,
        sentence=f"The worst of {len(named)} measurements: {name}{alike}.",
        chart="",
    )


def properties_of(results: Mapping[str, Result]) -> dict[str, str]:
    """Return the answers of results as JUnit files hold them: names and texts."""
    return {
        f"{name}: {what}": text
        for name, result in results.items()
        for what, text in answer_of(result).lines.items()
    }
