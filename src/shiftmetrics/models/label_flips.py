"""Labels that may change at a distance: every route is asked once for each label that a row could have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.validation import describe
from shiftmetrics.models.question import Question
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import AlternativesLoss, FixedLoss, Kind, Loss


def with_label_flips(question: Question, ask_route: Callable[[Question], Answer | None]) -> Answer | None:
    """Return the answer of a route when labels may change at the distance ``question.domain.label_flip``.

    Raises
    ------
    ValueError
        For a regression, which has no labels.
    """
    if question.classes is None:
        raise ValueError(describe("label_flip", "inf for a regression", f"{question.domain.label_flip:g}"))
    first = ask_route(question)
    if first is None:
        return None
    if question.loss == "zero_one":
        # Another label than the prediction makes an error wherever a row stands.
        ones = FixedLoss(np.ones(question.n_samples))
        return _combined(question, [first, Answer(ones, _stay(question))])
    answers = [first]
    for turn in range(1, len(question.classes)):
        other = ask_route(replace(question, y=(question.y + turn) % len(question.classes)))
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
            own = np.sqrt(np.maximum(distances[mine] ** 2 - offsets[rows[mine], k] ** 2, 0.0))
            moving = mine[own > 0.0]
            if moving.size:
                placed[moving] = answer.points(rows[moving], own[own > 0.0], inner[moving])
        return placed

    def flipped(_rows: IntArray, choices: IntArray | None) -> BoolArray:
        assert choices is not None
        return np.asarray(choices % len(answers) > 0)

    def refine(dual: float) -> Answer | None:
        better = [None if answer.refine is None else answer.refine(dual) for answer in answers]
        if all(answer is None for answer in better):
            return None
        return _combined(
            question, [old if new is None else new for old, new in zip(answers, better, strict=True)]
        )

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


def _stay(question: Question) -> Callable[[IntArray, FloatArray, IntArray | None], FloatArray]:
    def points(rows: IntArray, _distances: FloatArray, _choices: IntArray | None) -> FloatArray:
        return np.asarray(question.codes[rows])

    return points


def fixed_answer(question: Question) -> Answer:
    """Return the answer where no column may move."""
    return Answer(FixedLoss(question.losses(question.codes, slice(None))), _stay(question))
