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


def in_letters(spelling: str, words: Iterable[str]) -> str:
    """Return a spelling in the letters of the words, such as Yes/No; as it is where they have several."""
    found: dict[str, set[str]] = {word: set() for word in spelling.split("/")}
    for word in words:
        plain = _plain(word)
        if plain in found:
            found[plain].add(word.strip())
    if spelling == "1/0" or any(len(letters) > 1 for letters in found.values()):
        return spelling
    seen = [word for letters in found.values() for word in letters]
    parts = []
    for plain, letters in found.items():
        word = next(iter(letters), plain)
        if not letters and seen:
            # the other word tells how this one would be written
            word = plain.upper() if seen[0].isupper() else word
            word = plain.title() if seen[0].istitle() and not seen[0].isupper() else word
        parts.append(word)
    return "/".join(parts)


def as_booleans(words: Iterable[str], spelling: str) -> list[bool]:
    """Return words of one spelling as Booleans."""
    true_word = PAIRS_OF_WORDS[spelling][1]
    return [_plain(word) == true_word for word in words]


def _plain(word: str) -> str:
    plain = word.strip().lower()
    if plain in ("1.0", "0.0"):
        return plain[0]
    return plain
