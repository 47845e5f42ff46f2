"""The features of a question, columns or groups that move alone, and how far the rows can be brought along each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.validation import describe
from shiftmetrics.models.along_column import answer_along_column
from shiftmetrics.models.domain import Domain
from shiftmetrics.models.feature_result import MoveKind
from shiftmetrics.models.forests.answers import NotTheModel
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer, Route, answer
from shiftmetrics.models.trees import answers_for_groups


class Part(NamedTuple):
    """Columns that move together, under a name."""

    name: str
    columns: tuple[str, ...]
    moves: MoveKind = "columns"
    unit: float | None = None


def parts_of(question: Question, features: Any) -> list[Part]:
    """Return the features to look at, one by one or in the named groups of a dict."""
    domain = question.domain
    if isinstance(features, Mapping):
        wanted: dict[str, IntArray] = {
            str(name): domain.positions(group, f"features[{name!r}]") for name, group in features.items()
        }
    else:
        flip_of = {int(column): flip for flip in domain.flips for column in flip.columns}
        wanted = {}
        for column in range(domain.n_features) if features is None else domain.positions(features).tolist():
            flip = flip_of.get(column)
            columns = np.array([column]) if flip is None else flip.columns
            if features is not None or not domain.restricted(columns).immovable:
                wanted[domain.names[column] if flip is None else flip.name] = columns
    for name, columns in wanted.items():
        if not len(columns) or domain.restricted(columns).immovable:
            remedy = "They are immutable, or have one category."
            raise ValueError(describe("features", "columns that may move", repr(name), remedy))
    if not wanted:
        raise ValueError(describe("features", "at least one column that may move", "none"))
    return [_part(domain.restricted(columns), name, columns) for name, columns in wanted.items()]


def _part(domain: Domain, name: str, columns: IntArray) -> Part:
    names, sliding = tuple(domain.names[k] for k in columns), np.flatnonzero(domain.sliding)
    if len(sliding) + len(domain.movable_flips) > 1:
        return Part(name, names)
    if not sliding.size:
        return Part(name, names, "category")
    column = sliding[0]
    return Part(
        name, names, "whole steps" if domain.integer[column] else "number", float(domain.unit[column])
    )


def answers_of(
    question: Question, parts: Sequence[Part], method: str, weights: FloatArray | None = None
) -> Iterator[tuple[Part, Answer]]:
    """Yield the answer for each part; models of trees look at all parts at once, unless labels may change."""
    left = dict(enumerate(parts))
    if method in ("auto", "tree", "ensemble") and math.isinf(question.domain.label_flip):
        shared = answers_for_groups(question, [part.columns for part in parts], weights)
        try:
            for position, found in shared:
                yield left.pop(position), found
        except NotTheModel:  # the trees are not the whole model: other routes answer for the rest
            pass
    for part in left.values():
        restricted = replace(question, domain=question.domain.restricted(part.columns))
        yield part, answer(restricted, method, _by_grid)[1]


def _by_grid(route: Route, question: Question) -> Answer | None:
    """Try a grid along a single column in place of a search."""
    along = answer_along_column(question) if route.searches else None
    return route.answer(question) if along is None else along
