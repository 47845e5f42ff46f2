"""Booleans in all their spellings, as one kind over files."""

from __future__ import annotations

from collections.abc import Iterable

PAIRS_OF_WORDS = {
    "true/false": ("false", "true"),
    "t/f": ("f", "t"),
    "yes/no": ("no", "yes"),
    "y/n": ("n", "y"),
    "on/off": ("off", "on"),
    "1/0": ("0", "1"),
}
"""The spellings, the false word before the true one."""

SPOKEN = ("yes/no", "y/n", "on/off")
"""Spellings that are answers rather than a type: where all files have the same one, the words say more."""


def boolean_spelling(words: Iterable[str]) -> str | None:
    """Return the spelling of words that are Booleans, or None; `1.0` and `0.0` are `1/0`."""
    plain: set[str] = set()
    for word in words:
        plain.add(_plain(word))
        # A pair has two words, however many cells there are.
        if len(plain) > 2:
            return None
    if not plain:
        return None
    for spelling, pair in PAIRS_OF_WORDS.items():
        if plain <= set(pair):
            return spelling
    return None


def as_booleans(words: Iterable[str], spelling: str) -> list[bool]:
    """Return words of one spelling as Booleans."""
    true_word = PAIRS_OF_WORDS[spelling][1]
    return [_plain(word) == true_word for word in words]


def _plain(word: str) -> str:
    plain = word.strip().lower()
    if plain in ("1.0", "0.0"):
        return plain[0]
    return plain
