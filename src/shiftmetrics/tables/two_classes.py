"""For which of two classes one column of numbers speaks: by its name, by the labels, and never against both."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.tables.ask import AmbiguousReadingError, PossibleReading, UnreadableTableError
from shiftmetrics.tables.classes import class_order
from shiftmetrics.tables.evidence import Words
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.spelling import PAIRS

FEW_LABELS = 10
"""Labels from which on they tell for which class a column speaks."""

ERRORS = 2.0
"""Standard errors of the area under the curve, if the numbers said nothing, by which labels bear out a class."""

PROBABILITY_WORDS = frozenset({
    "p", "pr", "prob", "probs", "proba", "probability", "probabilities", "prediction", "predict", "pred", "predicted",
    "posterior", "class", "label", "score", "scores", "y", "yhat", "of",
})  # fmt: skip
"""What stands beside a class in the name of its probability."""

NEGATIVE_WORDS = frozenset({
    "no", "not", "non", "neg", "negative", "false", "normal", "benign", "healthy", "legit", "legitimate", "ham",
    "absent",
})  # fmt: skip
"""What is not there, whatever the classes are called."""

NOT = frozenset({"not", "non", "no"})


def names_of_two(
    column: str,
    known: set[str],
    scores: Sequence[FloatArray],
    truth: Words | None,
    options: RoleOptions,
    where: str,
) -> tuple[str, str]:
    """Return the classes of one column of probabilities or margins: the second one is what it speaks for.

    Parameters
    ----------
    column : str
    known : set of str
        The classes that labels, or else answers, name.
    scores : sequence of ndarray of shape (n_known,)
        The column in the labelled rows of each file.
    truth : ndarray of shape (n_known,) or None
    options : RoleOptions
    where : str
        What messages call the file.

    Raises
    ------
    AmbiguousReadingError
        If the labels speak against what the name says, or neither says anything.
    """
    if options.classes is not None:
        if len(options.classes) != 2:
            raise UnreadableTableError(
                f"{options.typed('--classes', options.classes)} must name two classes for the one column {column!r}."
            )
        return options.classes[0], options.classes[1]
    is_negative = _is_negative(column)
    if not known:
        return ("1", "0") if is_negative else ("0", "1")
    pair = _boolean_pair(known)
    if pair is None and len(known) == 1:
        (only,) = known
        raise UnreadableTableError(
            f"The column {column!r} of {where} is about two classes, but all labels are {only!r}. Give both, as "
            f"in {options.typed('--classes', ('other', only))}."
        )
    # Name and labels each may tell the class or be silent. Where both speak they have to agree;
    # where neither does, the second class of counted ones (0 and 1) or of a Boolean is taken; else
    # ask.
    first, second = pair or tuple(sorted(known, key=class_order))
    bears_out, speaks_against = _evidence(scores, truth, second)
    named = _named_class(column, (first, second))
    if named is not None:
        # What the labels say of the class that the name does not name is turned round.
        if not (speaks_against if named == second else bears_out):
            return (first, second) if named == second else (second, first)
    elif is_negative:
        if bears_out:
            return first, second
        if speaks_against:
            return second, first
    elif not speaks_against:
        is_counted = pair is not None or all(not class_order(word)[0] for word in known)
        if is_counted or bears_out:
            return first, second
    possible = [
        PossibleReading(f"{column!r} speaks for {two}", options.typed("--classes", (one, two)))
        for one, two in ((first, second), (second, first))
    ]
    raise AmbiguousReadingError(
        f"It is not clear for which of {first} and {second} the column {column!r} of {where} speaks.",
        possible,
    )


def _is_negative(column: str) -> bool:
    """Return True if a name says that something is not there: prob_no, p_0, 1-p; a 0 alone is the name of nothing."""
    words = _tokens(column)
    others = set(words) - {"0"}
    is_zero = "0" in words and bool(others) and others <= PROBABILITY_WORDS
    return is_zero or bool(others & NEGATIVE_WORDS) or words == ("1", "p")


def _boolean_pair(known: set[str]) -> tuple[str, str] | None:
    """Return the two spellings of a Boolean, the false one first; None for other words."""
    names = {word.lower(): word for word in known}
    for false, true in PAIRS:
        if set(names) <= {false, true}:
            return names.get(false, false), names.get(true, true)
    return None


def _evidence(scores: Sequence[FloatArray], truth: Words | None, second: str) -> tuple[bool, bool]:
    """Return whether rows of the second class have the higher numbers in all files, and whether the lower ones.

    The area under the curve needs no cut, which may be wrong where the order of the rows is right.
    """
    from scipy.stats import rankdata

    if truth is None or len(truth) < FEW_LABELS or not scores:
        return False, False
    is_second = np.asarray(truth == second)
    n_second = int(is_second.sum())
    n_first = len(is_second) - n_second
    if not n_first or not n_second:
        return False, False
    # The variance of the area under the curve of numbers that say nothing: that of Wilcoxon's rank sum.
    error = np.sqrt((len(is_second) + 1.0) / (12.0 * n_first * n_second))
    excess = []
    for own in scores:
        ranks = rankdata(own)[is_second].sum() - n_second * (n_second + 1.0) / 2.0
        excess.append(float(ranks / (n_first * n_second) - 0.5))
    bears_out = all(part > ERRORS * error for part in excess)
    speaks_against = all(part < -ERRORS * error for part in excess)
    return bears_out, speaks_against


def _tokens(name: str) -> tuple[str, ...]:
    """Return the words of a name in small letters."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(re.findall(r"[^\W_]+", spaced.lower()))


def _named_class(column: str, classes: tuple[str, str]) -> str | None:
    """Return the class whose name stands in that of the column; None if neither or both do."""
    words = _tokens(column)
    found: dict[str, tuple[int, int]] = {}
    for name in classes:
        own = _tokens(name)
        for start in range(len(words) - len(own) + 1):
            end = start + len(own)
            if not own or words[start:end] != own:
                continue
            others = {*words[:start], *words[end:]}
            # One letter, or a number, may name a run or a model: all else has to say that this is a probability.
            is_short = len(name) == 1
            if is_short and (not others or not others <= PROBABILITY_WORDS):
                continue
            found[name] = (start, end)
    if not found:
        text = column.lower()
        inside = [name for name in classes if len(name) > 1 and name.lower() in text]
        # The longer of two names may hold the other: male in female.
        if len(inside) == 2:
            inside = [
                name
                for name, other in ((classes[0], classes[1]), (classes[1], classes[0]))
                if other.lower() in name.lower()
            ]
        return inside[0] if len(inside) == 1 else None
    longest = max(found, key=lambda name: found[name][1] - found[name][0])
    spans = [found[name][1] - found[name][0] for name in found]
    if len(found) == 2 and spans[0] == spans[1]:
        return None
    start = found[longest][0]
    other = classes[1] if longest == classes[0] else classes[0]
    if start and words[start - 1] in NOT:
        return other
    return longest
