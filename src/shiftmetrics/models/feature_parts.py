"""Features and groups of them, each with the answer when nothing else may move."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shiftmetrics._core.validation import describe
from shiftmetrics.models.along_column import answer_along_column
from shiftmetrics.models.forests.reached import NotTheModel
from shiftmetrics.models.label_flips import with_label_flips
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer, answer, routes_for
from shiftmetrics.models.trees import answers_for_groups

_SEARCHES = ("blackbox", "torch", "network")
"""Routes that ask the model again and again: along one column a grid with bisection is better."""


@dataclass(frozen=True)
class Part:
    """Columns that move together, under a name."""

    name: str
    columns: tuple[str, ...]
    positions: tuple[int, ...]


def parts_of(question: Question, features: Any) -> list[Part]:
    """Return the features to look at, one by one or in the named groups of a dict."""
    domain = question.domain
    if isinstance(features, Mapping):
        parts = [_part(question, features[name], name) for name in features]
    else:
        flip_of = {int(column): flip for flip in domain.flips for column in flip.columns}
        wanted = range(domain.n_features) if features is None else domain.positions(features)
        found: dict[tuple[int, ...], Part] = {}
        for position in map(int, wanted):
            flip = flip_of.get(position)
            columns = (position,) if flip is None else tuple(flip.columns.tolist())
            if features is None and domain.restricted(columns).immovable:
                continue
            found[columns] = _part(question, columns, domain.names[position] if flip is None else flip.name)
        parts = list(found.values())
    if not parts:
        raise ValueError(describe("features", "at least one column that may move", "none"))
    return parts


def _part(question: Question, features: Sequence[str | int], name: str) -> Part:
    domain = question.domain
    columns = tuple(domain.positions(features, f"features[{name!r}]").tolist())
    if not columns or domain.restricted(columns).immovable:
        remedy = "They are immutable, or have one category."
        raise ValueError(describe("features", "columns that may move", repr(name), remedy))
    return Part(name, tuple(domain.names[column] for column in columns), columns)


def answers_of(
    question: Question, parts: Sequence[Part], method: str, can_move: bool, fixed: Answer
) -> Iterator[tuple[Part, Answer]]:
    """Yield the answer for each part; models of trees share one look at all of them, unless labels may change."""
    if not can_move:
        yield from ((part, fixed) for part in parts)
        return
    left = dict(enumerate(parts))
    if method in ("auto", "tree", "ensemble") and math.isinf(question.domain.label_flip):
        shared = answers_for_groups(question, [part.columns for part in parts])
        try:
            for position, found in shared or ():
                yield left.pop(position), found
        except NotTheModel:  # the trees are not all of it: the other routes have the rest
            pass
    for part in left.values():
        asked = replace(question, domain=question.domain.restricted(part.positions))
        yield part, _answer(asked, method)


def _answer(question: Question, method: str) -> Answer:
    """Ask the routes; those that search leave single columns to the grid."""
    if method != "auto":
        return answer(question, method)[1]
    found = _ask(question) if math.isinf(question.domain.label_flip) else with_label_flips(question, _ask)
    return answer(question)[1] if found is None else found


def _ask(question: Question) -> Answer | None:
    for route in routes_for(question.model, question.loss, "auto"):
        found = answer_along_column(question) if route.name in _SEARCHES else None
        found = route.answer(question) if found is None else found
        if found is not None:
            return found
    return None
