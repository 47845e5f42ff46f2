"""What the names of columns say of scores: beginnings that they share, and names of what stands beside scores."""

from __future__ import annotations

from collections.abc import Sequence

from shiftmetrics.tables.roles.names import ROLE_NAMES, has_name_of, plain_name


def without_beginning(names: Sequence[str]) -> list[str]:
    """Return names without the beginning, up to a mark, that all of them share."""
    beginnings = {name[: max(name.rfind(mark) for mark in "_.:(") + 1] for name in names}
    if len(beginnings) != 1:
        return list(names)
    return [name[len(next(iter(beginnings))) :] for name in names]


def are_beside(names: Sequence[str]) -> bool:
    """Return True if some column has the name of something that stands beside scores."""
    return any(has_name_of(name, "beside") or has_name_of(name, "confidence") for name in names)


def middle_of(name: str, beginning: str, ending: str) -> str:
    """Return what stands between the beginning and the end of a name."""
    return name[len(beginning) : len(name) - len(ending)]


def affixes_of_longest(names: Sequence[str], known: set[str]) -> list[tuple[str, str]]:
    """Return the beginnings and ends between which the names of columns hold the longest class."""
    longest = max(known, key=lambda word: (len(word), word))
    found = [("", "")]
    for name in names:
        start = name.find(longest)
        while start >= 0:
            affix = (name[:start], name[start + len(longest) :])
            if affix not in found:
                found.append(affix)
            start = name.find(longest, start + 1)
    return found


def is_single_score(names: Sequence[str]) -> bool:
    """Return True if at most one column may be a score: the others have names of something else."""
    left = [name for name in names if not has_name_of(name, "beside")]
    return len(left) <= 1


def otherwise_named(names: Sequence[str]) -> set[str]:
    """Return columns that lack the beginning, up to a mark, which most of the others share."""
    beginnings = [name[: max(name.rfind(mark) for mark in "_.:(") + 1] for name in names]
    usual = max(set(beginnings), key=beginnings.count)
    if beginnings.count(usual) < 2:
        return set()
    return {name for name, own in zip(names, beginnings, strict=True) if own != usual}


def is_plain_role(name: str) -> bool:
    """Return True for the plain name of an answer or a truth: prediction, but not p_true."""
    plain = plain_name(name)
    return plain in ROLE_NAMES["answer"] or plain in ROLE_NAMES["truth"]
