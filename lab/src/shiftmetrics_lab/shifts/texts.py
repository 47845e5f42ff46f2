"""Edits of strings: random characters, and adjectives that strengthen or weaken the sentiment.

The three attacks of Carvalho et al. (arXiv:2503.16271), appendix C. Texts are a list of str or a pandas Series, and
come back as the same. A strength is a number of edits; the paper's shift power W stands for ``strength=2**W``.
"""

from __future__ import annotations

import re
import string
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from shiftmetrics._core.arrays import is_labelled, is_table
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.validation import check_choice
from shiftmetrics_lab.shifts.protocol import SampleShift
from shiftmetrics_lab.shifts.streams import RowStreams

# fmt: off
POSITIVE_WORDS = (
    "admirable", "amazing", "beautiful", "brilliant", "captivating", "charming", "delightful",
    "excellent", "exceptional", "fantastic", "flawless", "great", "impressive", "lovely", "magnificent",
    "marvellous", "masterful", "outstanding", "perfect", "remarkable", "splendid", "stunning", "superb",
    "terrific", "touching", "wonderful",
)
# fmt: on
"""Adjectives that speak well of something."""

# fmt: off
NEGATIVE_WORDS = (
    "abysmal", "annoying", "appalling", "atrocious", "awful", "bad", "boring", "clumsy", "disappointing",
    "dreadful", "dull", "forgettable", "horrible", "irritating", "lame", "lousy", "mediocre", "pathetic",
    "poor", "ridiculous", "stupid", "tedious", "terrible", "unbearable", "unwatchable", "worthless",
)
# fmt: on
"""Adjectives that speak ill of something."""

MAX_EDITS = 1 << 16


class TextShift(SampleShift):
    """Base of the text edits: opens the strings and edits one after the other."""

    max_strength: ClassVar[float] = MAX_EDITS
    whole_strength: ClassVar[bool] = True

    def _check(self, X: Any) -> None:
        _check_texts(X)

    def _shift(
        self, X: Any, strength: float, streams: RowStreams, first_row: int, progress: bool
    ) -> Any:
        texts = progress_bar(progress, type(self).__name__, over=X, unit="text")
        edited = [
            self._edit(text, int(strength), row, streams.generator(row))
            for row, text in enumerate(texts, start=first_row)
        ]
        if not is_labelled(X):
            return edited
        shifted = X.copy()
        shifted.iloc[:] = edited
        return shifted

    @abstractmethod
    def _edit(self, text: str, n_edits: int, row: int, rng: np.random.Generator) -> str:
        """Return the edited text."""


@dataclass(frozen=True)
class CharacterEdits(TextShift):
    """Characters inserted, deleted or replaced. Strength: how many such edits in each text.

    The Levenshtein distance between the text and its edit is at most the strength, and close to it while the text
    is much longer than that.

    Parameters
    ----------
    alphabet : str
        Characters to insert and to replace by; the lower-case letters by default.

    Examples
    --------
    >>> from shiftmetrics_lab.shifts import CharacterEdits
    >>> texts = ["a fine film", "dull"]
    >>> edited = CharacterEdits()(texts, strength=2**1, rng=0)  # W = 1 of the paper
    >>> [abs(len(a) - len(b)) <= 2 for a, b in zip(texts, edited)]
    [True, True]
    """

    alphabet: str = string.ascii_lowercase

    def _check(self, X: Any) -> None:
        if not isinstance(self.alphabet, str) or len(set(self.alphabet)) < 2:
            expected = "a str of at least two distinct characters"
            raise ArgumentValueError("alphabet", expected, value=self.alphabet)
        super()._check(X)

    def _edit(self, text: str, n_edits: int, row: int, rng: np.random.Generator) -> str:
        characters = list(text)
        for _ in range(n_edits):
            # Three draws whatever happens: the first edits of a stronger shift are those of a weaker one.
            kind, place, letter = rng.random(3)
            if not characters or kind < 1 / 3:
                spot = int(place * (len(characters) + 1))
                characters.insert(spot, self.alphabet[int(letter * len(self.alphabet))])
            elif kind < 2 / 3:
                del characters[int(place * len(characters))]
            else:
                spot = int(place * len(characters))
                others = [other for other in self.alphabet if other != characters[spot]]
                characters[spot] = others[int(letter * len(others))]
        return "".join(characters)


@dataclass(frozen=True)
class SentimentWords(TextShift):
    """Adjectives that agree with a text's sentiment, or contradict it. Strength: how many in each text.

    Under words that agree ("amplification") accuracy tends to rise and posterior agreement to fall: predictions
    change.

    Parameters
    ----------
    labels : sequence of bool, shape (n_samples,)
        True where the text of that row is positive; 0 and 1 will do.
    agree : bool, default True
        Whether the adjectives agree with the sentiment.
    mode : {"add", "replace"}, default "add"
        Add the adjectives between words, or put them in the place of words, at most as many as there are. (The
        paper's text says the former, the caption of its figure 10 the latter.)
    positive, negative : sequence of str, optional
        The adjectives.

    Examples
    --------
    >>> from shiftmetrics_lab.shifts import SentimentWords
    >>> SentimentWords([True], positive=["superb"])(["a film"], strength=1, rng=0)
    ['a superb film']
    >>> SentimentWords([True], agree=False, negative=["awful"], mode="replace")(["good"], strength=1, rng=0)
    ['awful']
    """

    labels: Any = field(repr=False)
    agree: bool = True
    mode: Literal["add", "replace"] = "add"
    positive: Sequence[str] = field(default=POSITIVE_WORDS, repr=False)
    negative: Sequence[str] = field(default=NEGATIVE_WORDS, repr=False)

    def _check(self, X: Any) -> None:
        super()._check(X)
        check_choice(self.mode, "mode", ("add", "replace"))
        for words, argument in ((self.positive, "positive"), (self.negative, "negative")):
            if (
                isinstance(words, str)
                or not words
                or not all(isinstance(word, str) for word in words)
            ):
                raise ArgumentValueError(argument, "a list of at least one word", value=words)
        labels = np.asarray(self.labels)
        if labels.ndim != 1 or not np.isin(labels, (0, 1)).all():
            expected = "one of 0 and 1 (or False and True) for each text"
            got = f"shape {labels.shape} with values {np.unique(labels)[:4].tolist()}"
            raise ArgumentValueError("labels", expected, got)

    def _shift(
        self, X: Any, strength: float, streams: RowStreams, first_row: int, progress: bool
    ) -> Any:
        n_labels = len(self.labels)
        if (n_labels != len(X)) if first_row == 0 else (n_labels < first_row + len(X)):
            expected = f"of length {first_row + len(X)}, one for each text"
            raise ArgumentValueError("labels", expected, f"length {n_labels}")
        return super()._shift(X, strength, streams, first_row, progress)

    def _edit(self, text: str, n_edits: int, row: int, rng: np.random.Generator) -> str:
        positive = bool(np.asarray(self.labels)[row]) == self.agree
        lexicon = self.positive if positive else self.negative
        pieces = re.findall(
            r"\S+|\s+", text
        )  # words and the white space between them, which is kept
        words = [place for place, piece in enumerate(pieces) if not piece.isspace()]
        added = [lexicon[int(draw * len(lexicon))] for draw in rng.random(n_edits)]
        if self.mode == "replace":
            for place, word in zip(rng.permutation(words), added, strict=False):
                pieces[place] = word
            return "".join(pieces)
        if not words:
            return text + " ".join(added)
        before: dict[int, list[str]] = {}
        for place, word in zip(rng.choice(words, size=n_edits), added, strict=True):
            before.setdefault(int(place), []).append(word)
        return "".join(
            " ".join([*before.get(place, ()), piece]) for place, piece in enumerate(pieces)
        )


def _check_texts(X: Any) -> None:
    if isinstance(X, str) or is_table(X) or not (isinstance(X, list | tuple) or is_labelled(X)):
        expected = "a list or pandas Series of strings"
        raise ArgumentTypeError("X", expected, type(X).__name__, "Pass one column, or a list.")
    if not len(X):
        raise ArgumentValueError("X", "at least one text", "none")
    for row, text in enumerate(X):
        if not isinstance(text, str):
            raise ArgumentTypeError(
                "X", "strings only", f"{text!r} at row {row}", "Drop or fill it."
            )
