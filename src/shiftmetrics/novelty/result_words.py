"""The headline of novelty: what is new, what is missing, and what differs without being confirmed as either."""

from __future__ import annotations

from typing import Literal, Protocol

from shiftmetrics._core.result import format_percent, p_words
from shiftmetrics.novelty.modes.fraction_bound import RARE
from shiftmetrics.novelty.modes.mode import Mode
from shiftmetrics.novelty.result_parts import NoveltyChanges, NoveltyScore, NoveltyTest

_SHOWN = 3
"""Modes, and samples, that are named."""

_PURE = 0.7
"""Fraction of the members of a mode that held-out samples bear out, below which it is said how many these are."""

_OTHER_SIZE = 0.2
"""Part of the fraction that is new, by which the modes must be larger or smaller for their size to be said."""

_LEAST_APART = 0.01
"""Fraction of the sample, by which they must be larger or smaller in any case."""

_NEARLY_ALL = 0.85
"""Fraction that is new, beside which the rest of the sample is too little to miss anything in it."""


Finding = Literal["modes", "gradual", "times", "groups", "nothing", "something"]
"""What is said of what is new: modes, a gradual change, no mode so many times as frequent, groups that are not
confirmed as new, nothing, or something without a clear mode."""


class WhatWasFound(Protocol):
    """What a headline tells, as `NoveltyResult` has it."""

    @property
    def fraction(self) -> float:
        """Fraction of the sample that is new."""

    @property
    def missing_fraction(self) -> float:
        """Fraction of the reference that is missing."""

    @property
    def new(self) -> tuple[Mode, ...]:
        """The new modes."""

    @property
    def missing(self) -> tuple[Mode, ...]:
        """The missing modes."""

    @property
    def changes(self) -> NoveltyChanges:
        """What is neither."""

    @property
    def score(self) -> NoveltyScore:
        """The paper's score."""

    @property
    def test(self) -> NoveltyTest:
        """The p-values."""

    @property
    def near_level(self) -> list[str]:
        """Sides whose verdict another seed could change."""


def what_is_new(result: WhatWasFound) -> Finding:
    """Return what is said of what is new, the clearest answer first: the headline and the first screen agree in it.

    Parameters
    ----------
    result : WhatWasFound
        What was found.
    """
    if result.new:
        return "modes"
    if result.changes.are_gradual:
        return "gradual"
    if result.score.eta > 1.0:
        return "times"
    if any(not mode.missing for mode in result.changes.modes):
        return "groups"
    if result.test.p_value > 1.0 - result.test.confidence_level:
        return "nothing"
    return "something"


def something_is_missing(result: WhatWasFound) -> bool:
    """Return True if something of the reference is missing, but no mode, and no group or change that says what.

    Parameters
    ----------
    result : WhatWasFound
        What was found.
    """
    named = result.missing or result.changes.are_gradual
    named = named or any(mode.missing for mode in result.changes.modes)
    return not named and result.test.missing_p_value <= 1.0 - result.test.confidence_level


def headline_of(result: WhatWasFound) -> str:
    """Return what is new, what is missing, and what else changed, in words.

    Parameters
    ----------
    result : WhatWasFound
        What was found.
    """
    p_missing = result.test.missing_p_value
    more = [mode for mode in result.changes.modes if not mode.missing]
    less = [mode for mode in result.changes.modes if mode.missing]
    # What makes p-values void stands before them; then new, missing, changed, and how sure the verdicts are.
    sentences = [*result.test.dependence, _new_in_words(result, more)]
    if result.missing:
        amount = f"Missing: about {format_percent(result.missing_fraction)} of the reference"
        sentences.append(f"{amount}, {_listed(result.missing, p_missing)}")
    elif something_is_missing(result):
        sentences.append(f"Something is missing ({p_words(p_missing)}); no single clear mode.")
    elif result.fraction >= _NEARLY_ALL:
        sentences.append("What is missing cannot be told beside so much that is new.")
    elif not result.changes.are_gradual:
        sentences.append("Nothing is shown to be missing.")
    # Modes of both samples are no news, and are told last, unless they are all that there is to say.
    told = more if result.new or result.score.eta > 1.0 else []
    for word, modes in (("More", told), ("Less", less)):
        for mode in modes[:_SHOWN]:
            own = format_percent(mode.fraction)
            other = format_percent(mode.reference_fraction)
            sentences.append(f"{word} frequent: {own} against {other}, {mode.in_words()}.")
    if near := result.near_level:
        what = " and ".join(near)
        sentences.append(f"Borderline: another seed could turn the verdict on what is {what}.")
    return " ".join(sentences)


def _new_in_words(result: WhatWasFound, more: list[Mode]) -> str:
    """Say whether anything is new, and in which modes; ``more`` are those that are not confirmed as new."""
    test = result.test
    found = what_is_new(result)
    if found == "modes":
        amount = f"New: about {format_percent(result.fraction)} of the sample"
        within, size = _size_of_modes(result)
        return f"{amount}, {within}{_listed(result.new, test.p_value, test.borne_out, size)}"
    # What is not confirmed as new may show on either side: the clearer p-value is told.
    least = min(test.p_value, test.missing_p_value)
    if found == "gradual":
        text = f"Something differs ({p_words(least)}): {result.changes.in_words()}."
        if test.p_value <= 1.0 - test.confidence_level:
            text += f" No group is confirmed as new; the rows that stand out most are {_first_rows(result)}, ..."
        return text
    if found == "times":
        # At eta > 1 the p-value is of this ratio, and says nothing of smaller differences.
        times = f"more than {result.score.eta:g} times as frequent"
        return f"No mode {times} shown at this size ({p_words(test.p_value)})."
    if found == "groups":
        groups = [_unconfirmed(mode) for mode in more[:_SHOWN]]
        return _ended(f"Something differs ({p_words(least)}): {'; '.join(groups)}")
    if found == "nothing":
        return f"Nothing new shown at this size ({p_words(test.p_value)})."
    rows = _first_rows(result)
    return f"Something is new ({p_words(test.p_value)}); no single clear mode; look first at rows {rows}, ..."


def _size_of_modes(result: WhatWasFound) -> tuple[str, str]:
    """Return words before and after "one mode" where the modes hold much less than what is new, or much more.

    How much is new is estimated from scores of all samples: some of it may be in no mode, and some members ordinary.
    """
    in_modes = min(1.0, sum(mode.fraction for mode in result.new))
    if not are_of_other_size(in_modes, result.fraction):
        return "", ""
    together = " together" if len(result.new) > 1 else ""
    size = f" of {format_percent(in_modes)}{together}"
    return ("among " if in_modes > result.fraction else "clearest in "), size


def are_of_other_size(in_modes: float, fraction: float) -> bool:
    """Return True if modes hold so much more, or less, than what is new that their size has to be said."""
    return abs(in_modes - fraction) > max(_LEAST_APART, _OTHER_SIZE * fraction)


def _unconfirmed(mode: Mode) -> str:
    """Say how large a group is in both samples, and what is not known of it: whether it is new at all."""
    own = format_percent(mode.fraction)
    other = format_percent(mode.reference_fraction)
    # Held-out samples did not bear it out; a group that the reference has too is no candidate.
    verdict = "is more frequent"
    if mode.reference_fraction <= RARE * mode.fraction:
        verdict = "is not confirmed as new"
    return f"a group of {own}, {other} in the reference, {verdict}: {mode.in_words()}"


def _first_rows(result: WhatWasFound) -> str:
    """Name the samples that look most new."""
    names = result.test.first_names or tuple(map(str, result.test.first_rows))
    return ", ".join(names[:_SHOWN])


def _listed(
    modes: tuple[Mode, ...], p_value: float, borne_out: tuple[float, ...] = (), size: str = ""
) -> str:
    """Say how many modes there are, which samples are in them, and where many of these may be ordinary."""
    count = "one mode" if len(modes) == 1 else f"{len(modes)} modes"
    words = [mode.in_words() for mode in modes[:_SHOWN]]
    for place, fraction in enumerate(borne_out[:_SHOWN]):
        if fraction < _PURE:
            n = modes[place].n_members
            words[place] += (
                f", of whose {n} members {round(fraction * n)} are borne out and the others may be ordinary"
            )
    if len(modes) > _SHOWN:
        words.append("...")
    return _ended(f"{count}{size} ({p_words(p_value)}): {'; '.join(words)}")


def _ended(text: str) -> str:
    return text if text.endswith("...") else f"{text}."
