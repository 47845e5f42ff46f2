"""Routes: ways to find how far the rows of a model can be brought, and the records of what they find."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import Computing
from shiftmetrics._core.validation import describe
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.stability.criterion import worst_case_risk
from shiftmetrics.stability.losses import (
    CandidateLoss,
    FixedLoss,
    Kind,
    Loss,
    Reach,
    ZeroOneLoss,
)

_STEPS = 2.0**16, 2.0**20  # units of distance at which the growth of predictions is looked at
_LINEAR = 1.5 * _STEPS[1] / _STEPS[0]
_MOST_ROWS = 4
_MOST_WAYS = 64
RADIUS = 0.02
"""How far the distribution of the values may shift in the worst case: its relative entropy, in nats.

The shares of values then change by about a fifth. In `benchmarks/decisions.py stability` larger radii predict less
well what another domain does, and 0 no better.
"""

Points = Callable[[IntArray, FloatArray, IntArray | None], FloatArray]
"""From rows, their distances and their choices in the plan to the coded points where they stand then."""


class Redraws(NamedTuple):
    """The risk when all rows take the same value of a feature, for each of its values.

    Attributes
    ----------
    shares : array of shape (n_values,)
        How often each value occurs.
    risks : array of shape (n_parts, n_values)
        The risk of each part of the rows at each value.
    """

    shares: FloatArray
    risks: FloatArray

    def average(self, part: int = 0) -> float:
        """Return the risk of a part when values are drawn as they occur: that of a shuffle."""
        return float(self.risks[part] @ self.shares)

    def worst(self, part: int = 0) -> float:
        """Return the highest risk of a part when the distribution of the values shifts by at most `RADIUS`."""
        values = FixedLoss(self.risks[part])
        quiet = Computing(progress=False)
        prices: dict[str, Any] = {"theta1": np.inf, "theta2": 1.0, "sample_weight": self.shares}
        return worst_case_risk(values, RADIUS, **prices, resampling=None, computing=quiet).value


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
    redraws : Redraws or None
        The risks at the values of the columns that move, where they are known.
    """

    loss: Loss
    points: Points
    lower: Loss | None = None
    refine: Callable[[float], Answer | None] | None = None
    warnings: tuple[str, ...] = ()
    redraws: Redraws | None = None

    @property
    def kind(self) -> Kind:
        """What the stability of ``loss`` is for the model."""
        return self.loss.kind


class Route(Protocol):
    """One way to answer. Routes that ``searches`` use only outputs of the model, and gradients."""

    searches: bool

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Return True if this kind of model is for this route; imports no framework that is not loaded."""

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
        return "weights", fixed_answer(question)
    model = question.model
    loss = question.loss
    names = list(ROUTES) if method == "auto" else [method]
    for name in names:
        module, attribute = ROUTES[name].split(":")
        route = cast(Route, getattr(importlib.import_module(module), attribute)())
        if route.accepts(model, loss):
            if route.searches and grows_faster(question):
                losses = question.losses(question.codes, slice(None))
                return name, replace(fixed_answer(question), loss=EndlessLoss(losses))
            # Routes know errors only; what they cost comes after.
            found = by(route, replace(question, costs=None))
            if found is not None:
                return name, with_costs(question, found)
        elif method != "auto":
            got = f"{method!r} for a {type(model).__name__} and loss {loss!r}"
            raise ValueError(
                describe("method", "a route for this model and loss", got, 'Use method="auto".')
            )
    expected = f"one that a route with loss {loss!r} knows"
    got = f"a {type(model).__name__}"
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
        loss = as_candidates(loss)
        return CandidateLoss(loss.losses * costs[:, None], loss.distances, kind=loss.kind)

    lower = None if answer.lower is None else of_loss(answer.lower)
    return replace(answer, loss=of_loss(answer.loss), lower=lower)


def as_candidates(loss: Loss) -> CandidateLoss:
    """Return a 0/1 loss as one of two candidates: the row, and its nearest error."""
    if isinstance(loss, ZeroOneLoss):
        distances = np.asarray(loss.distances)
        wrong = distances == 0.0
        still = np.zeros(len(distances))
        losses = np.stack([wrong.astype(np.float64), np.ones(len(wrong))], axis=1)
        apart = np.stack([still, np.where(wrong, np.inf, distances)], axis=1)
        return CandidateLoss(losses, apart, kind=loss.kind)
    assert isinstance(loss, CandidateLoss)
    return loss


class EndlessLoss(FixedLoss):
    """Losses that grow faster than the squared distance, so that the stability is 0."""

    def largest_dual(self, theta1: float) -> float:
        """Return 0: at any price of a unit of loss a move pays."""
        return math.inf if math.isinf(theta1) else 0.0

    def _reach(self, rows: slice) -> Reach:
        losses = self.base(rows)
        return Reach(np.full_like(losses, math.inf), np.zeros_like(losses))


def grows_faster(question: Question) -> bool:
    """Return True if predictions of a regression grow faster than linearly, from far points of a few rows.

    Such are those of generalised linear models with a logarithmic link, and of polynomials: their squared loss
    outgrows the squared distance.
    """
    domain = question.domain
    free = np.flatnonzero(domain.sliding & (np.isinf(domain.lower) | np.isinf(domain.upper)))
    if question.loss != "squared" or not free.size:
        return False
    # Directions: along each free column, both ways, and along random diagonals; some of these at random.
    n_axes = 2 * len(free)
    ways = np.zeros((n_axes + _MOST_WAYS, domain.n_features))
    ways[np.arange(n_axes), np.tile(free, 2)] = np.repeat([1.0, -1.0], len(free))
    rng = np.random.default_rng(0)
    ways[n_axes:, free] = rng.choice([1.0, -1.0], size=(_MOST_WAYS, len(free)))
    ways = rng.permutation(ways)[:_MOST_WAYS]
    chosen: IntArray = np.linspace(0, question.n_samples - 1, _MOST_ROWS).astype(int)
    start = np.repeat(question.codes[chosen], len(ways), axis=0)
    moves = np.tile(ways, (len(chosen), 1)) * domain.unit
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        far = [question.predict(domain.clip(start + step * moves, start)) for step in _STEPS]
        near_size, far_size = (np.abs(values - question.predict(start)) for values in far)
        # 16 times as far a linear function grows 16 times as much; half as much again is faster.
        faster = (far_size > _LINEAR * near_size) & (near_size > 0.0)
        return bool((np.isinf(far[1]) | faster).any())


class MappedAnswer(NamedTuple):
    """What a route finds for rows, without their points.

    Attributes
    ----------
    route : str
        Its name.
    loss, lower : Loss
        As in `Answer`.
    y : array of shape (n_samples,)
        Positions of the labels, or values.
    unconfirmed : array of shape (n_samples,)
        For how many rows each stands whose nearest error the model, asked again, takes for right.
    n_queries : int
        Rows that the model predicted.
    warnings : tuple of str
        What the caller should know.
    """

    route: str
    loss: Loss
    lower: Loss | None
    y: npt.NDArray[Any]
    unconfirmed: FloatArray
    n_queries: int
    warnings: tuple[str, ...]


def joined(parts: Sequence[MappedAnswer]) -> MappedAnswer:
    """Put what was found for blocks of rows together."""
    loss = _joined_losses([part.loss for part in parts])
    # A lower bound of all blocks needs one of each block; the loss itself is one where it is exact.
    lower = None
    if loss.kind != "exact" and all(
        part.lower is not None or part.loss.kind == "exact" for part in parts
    ):
        lower = _joined_losses([part.loss if part.lower is None else part.lower for part in parts])
    # Each warning once, in the order of the blocks.
    warnings = dict.fromkeys(text for part in parts for text in part.warnings)
    if isinstance(loss, ZeroOneLoss) and loss.kind == "upper_bound":
        warnings |= dict.fromkeys(unreached(np.asarray(loss.distances)))
    # Where blocks took several routes, the one that is tried last is named.
    names = {part.route for part in parts}
    if len(names) == 1:
        (route,) = names
    else:
        route = max(names, key=list(ROUTES).index)
    return MappedAnswer(
        route=route,
        loss=loss,
        lower=lower,
        y=np.concatenate([part.y for part in parts]),
        unconfirmed=np.concatenate([part.unconfirmed for part in parts]),
        n_queries=sum(part.n_queries for part in parts),
        warnings=tuple(warnings),
    )


def _joined_losses(parts: Sequence[Loss]) -> Loss:
    """Return the loss of blocks of rows together."""
    kind: Kind = next((part.kind for part in parts if part.kind != "exact"), "exact")
    if all(isinstance(part, FixedLoss) for part in parts):
        fixed: Any = next((type(part) for part in parts if type(part) is not FixedLoss), FixedLoss)
        return cast(
            FixedLoss, fixed(np.concatenate([cast(FixedLoss, part).losses for part in parts]))
        )
    if all(isinstance(part, ZeroOneLoss) for part in parts):
        return ZeroOneLoss(
            np.concatenate([cast(ZeroOneLoss, part).distances for part in parts]), kind=kind
        )
    # Blocks with fewer candidates get some that are infinitely far.
    candidates = [as_candidates(part) for part in parts]
    width = max(part.n_candidates for part in candidates)
    losses = []
    distances = []
    for part in candidates:
        missing = ((0, 0), (0, width - part.n_candidates))
        losses.append(np.pad(part.losses, missing, constant_values=0.0))
        distances.append(np.pad(part.distances, missing, constant_values=math.inf))
    return CandidateLoss(np.concatenate(losses), np.concatenate(distances), kind=kind)


def unreached(distances: FloatArray) -> tuple[str, ...]:
    """Return a warning where a search found no error for some rows."""
    missing = int(np.isinf(distances).sum())
    text = (
        f"No error was found within reach of {missing} of {len(distances)} rows; they count as if they had none. "
        "More n_queries, or rows of other classes, may find some."
    )
    return (text,) if missing else ()
