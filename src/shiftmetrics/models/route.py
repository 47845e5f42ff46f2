"""Routes: ways to find how far the rows of a model can be brought, from closed forms to search."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.validation import describe
from shiftmetrics.models.growth import EndlessLoss, grows_faster
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.models.redraws import Redraws
from shiftmetrics.stability.losses import (
    AlternativesLoss,
    CandidateLoss,
    FixedLoss,
    Kind,
    Loss,
    ZeroOneLoss,
)

Points = Callable[[IntArray, FloatArray, IntArray | None], FloatArray]
"""From rows, their distances and their choices in the plan to the coded points where they stand then."""
Flipped = Callable[[IntArray, IntArray | None], BoolArray]
"""From rows and their choices to whether their label is changed."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a route finds.

    Attributes
    ----------
    loss : Loss
        The loss of each row and where it may move; its ``kind`` is the kind of the stability.
    points : callable
        ``points(rows, distances, choices)`` returns the coded points, of shape (len(rows), n_features), at which
        these rows stand when the plan gives them these distances and choices (those of ``loss.transform``).
    lower : Loss or None
        A loss whose stability is a certified lower bound, where ``loss`` gives an upper one.
    refine : callable or None
        ``refine(dual)`` looks for better points at the present dual price and returns a better answer, or None when
        there is none: `model_stability` then solves again.
    warnings : tuple of str
        What the caller should know.
    flipped : callable or None
        Whether labels change, where they may.
    redraws : Redraws or None
        The risks at the values of the columns that move, where they are known.
    """

    loss: Loss
    points: Points
    lower: Loss | None = None
    refine: Callable[[float], Answer | None] | None = None
    warnings: tuple[str, ...] = ()
    flipped: Flipped | None = None
    redraws: Redraws | None = None

    @property
    def kind(self) -> Kind:
        """What the stability of ``loss`` is for the model."""
        return self.loss.kind


class Route(Protocol):
    """One way to answer. Routes that ``searches`` use only outputs of the model, and gradients."""

    searches: bool

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Tell whether this kind of model is for this route; imports no framework that is not loaded."""

    def answer(self, question: Question) -> Answer | None:
        """Answer, or return None when a closer look shows that another route must."""


ROUTES: dict[str, str] = {
    "linear": "shiftmetrics.models.linear:LinearRoute",
    "tree": "shiftmetrics.models.trees:TreeRoute",
    "ensemble": "shiftmetrics.models.trees:EnsembleRoute",
    "torch": "shiftmetrics.models.networks:TorchRoute",
    "blackbox": "shiftmetrics.models.blackbox:BlackboxRoute",  # the last resort
}
"""The class of each route, without arguments, in the order in which they are tried; imported when needed."""


def answer(
    question: Question,
    method: str = "auto",
    by: Callable[[Route, Question], Answer | None] = lambda route, question: route.answer(question),
) -> tuple[str, Answer]:
    """Return the name and the answer of the first route that has one; ``by`` may take it from elsewhere.

    Raises
    ------
    ValueError
        If no route answers, or the one named by ``method`` does not accept the model.
    """
    if question.domain.immovable:
        return "labels", with_label_flips(question, fixed_answer) or fixed_answer(question)
    model, loss = question.model, question.loss
    for name in ROUTES if method == "auto" else (method,):
        module, attribute = ROUTES[name].split(":")
        route = cast(Route, getattr(importlib.import_module(module), attribute)())
        if route.accepts(model, loss):
            if route.searches and grows_faster(question):
                return name, replace(
                    fixed_answer(question), loss=EndlessLoss(question.losses(question.codes, slice(None)))
                )
            found = with_label_flips(replace(question, costs=None), functools.partial(by, route))
            if found is not None:
                return name, with_costs(question, found)
        elif method != "auto":
            got = f"{method!r} for a {type(model).__name__} and loss {loss!r}"
            raise ValueError(describe("method", "a route for this model and loss", got, 'Use method="auto".'))
    expected, got = f"one that a route with loss {loss!r} knows", f"a {type(model).__name__}"
    raise ValueError(describe("model", expected, got, f"Routes: {', '.join(ROUTES)}."))


def fixed_answer(question: Question) -> Answer:
    """Return the answer where no column may move."""
    loss = FixedLoss(question.losses(question.codes, slice(None)))
    return Answer(loss, lambda rows, distances, choices: question.codes[rows])


def with_costs(question: Question, answer: Answer) -> Answer:
    """Return the answer to a question of errors with their costs."""
    if question.costs is None:
        return answer
    costs = question.costs[question.y]

    def of_loss(loss: Loss) -> Loss:
        if isinstance(loss, ZeroOneLoss):
            wrong = np.asarray(loss.distances) == 0.0
            losses = np.stack([wrong * costs, costs], axis=1)
            distances = np.stack([np.zeros(len(costs)), np.where(wrong, np.inf, loss.distances)], axis=1)
            return CandidateLoss(losses, distances, kind=loss.kind)
        assert isinstance(loss, CandidateLoss)
        return CandidateLoss(loss.losses * costs[:, None], loss.distances, kind=loss.kind)

    lower = None if answer.lower is None else of_loss(answer.lower)
    return replace(answer, loss=of_loss(answer.loss), lower=lower)


def with_label_flips(question: Question, of_route: Callable[[Question], Answer | None]) -> Answer | None:
    """Return the answer of a route where labels may change at the distance ``question.domain.label_flip``.

    The route answers once for each label that a row could have.

    Raises
    ------
    ValueError
        For a regression, which has no labels.
    """
    first = of_route(question)
    if first is None or math.isinf(question.domain.label_flip):
        return first
    if question.classes is None:
        raise ValueError(describe("label_flip", "inf for a regression", f"{question.domain.label_flip:g}"))
    answers = [first]
    if question.loss == "zero_one":  # another label than the prediction is an error wherever a row stands
        error = FixedLoss(np.ones(question.n_samples))
        return _combined(question, [first, replace(fixed_answer(question), loss=error)])
    for turn in range(1, len(question.classes)):
        other = of_route(replace(question, y=(question.y + turn) % len(question.classes)))
        if other is None:
            return None
        answers.append(other)
    return _combined(question, answers)


def _combined(question: Question, answers: Sequence[Answer]) -> Answer:
    """Let each row take the worst of its labels."""
    offsets = np.full((question.n_samples, len(answers)), question.domain.label_flip)
    offsets[:, 0] = 0.0
    kinds = {answer.kind for answer in answers}
    kind: Kind = "exact" if kinds == {"exact"} else "upper_bound"

    def points(rows: IntArray, distances: FloatArray, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        inner, label = np.divmod(choices, len(answers))
        placed = np.array(question.codes[rows])
        for k, answer in enumerate(answers):
            mine = np.flatnonzero(label == k)
            rest = np.sqrt(np.maximum(distances[mine] ** 2 - offsets[rows[mine], k] ** 2, 0.0))
            moving = mine[rest > 0.0]
            if moving.size:
                placed[moving] = answer.points(rows[moving], rest[rest > 0.0], inner[moving])
        return placed

    def flipped(_rows: IntArray, choices: IntArray | None) -> BoolArray:
        assert choices is not None
        return np.asarray(choices % len(answers) > 0)

    def refine(dual: float) -> Answer | None:
        better = [None if answer.refine is None else answer.refine(dual) for answer in answers]
        pairs = zip(better, answers, strict=True)
        return _combined(question, [new or old for new, old in pairs]) if any(better) else None

    lower: Loss | None = None
    if any(answer.lower is not None for answer in answers):
        parts = [answer.loss if answer.lower is None else answer.lower for answer in answers]
        certified = all(answer.lower is not None or answer.kind == "exact" for answer in answers)
        lower = AlternativesLoss(parts, offsets, kind="lower_bound") if certified else None
    return Answer(
        AlternativesLoss([answer.loss for answer in answers], offsets, kind=kind),
        points,
        lower=lower,
        refine=refine if any(answer.refine is not None for answer in answers) else None,
        warnings=answers[0].warnings,
        flipped=flipped,
    )
