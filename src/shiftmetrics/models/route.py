"""Routes: ways to find how far the rows of a model can be brought, from closed forms to search."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.models.question import LossName, Question
from shiftmetrics.stability.losses import Kind, Loss

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
    """

    loss: Loss
    points: Points
    lower: Loss | None = None
    refine: Callable[[float], Answer | None] | None = None
    warnings: tuple[str, ...] = ()
    flipped: Flipped | None = None

    @property
    def kind(self) -> Kind:
        """What the stability of ``loss`` is for the model."""
        return self.loss.kind


class Route(Protocol):
    """One way to answer."""

    name: str

    def accepts(self, model: Any, loss: LossName) -> bool:
        """Tell whether this kind of model is for this route; imports no framework that is not loaded."""

    def answer(self, question: Question) -> Answer | None:
        """Answer, or return None when a closer look shows that another route must."""


ROUTES: dict[str, str] = {
    "linear": "shiftmetrics.models.linear:LinearRoute",
    "tree": "shiftmetrics.models.trees:TreeRoute",
    "ensemble": "shiftmetrics.models.trees:EnsembleRoute",
    "torch": "shiftmetrics.models.networks.route:TorchRoute",
    "blackbox": "shiftmetrics.models.blackbox:BlackboxRoute",  # the last resort
}
"""Where each route lives, in the order in which they are asked. A class without arguments; imported when needed."""


def route_named(name: str) -> Route:
    """Return the route of this name."""
    module, attribute = ROUTES[check_choice(name, "method", tuple(ROUTES))].split(":")
    return cast(Route, getattr(importlib.import_module(module), attribute)())


def routes_for(model: Any, loss: LossName, method: str) -> Iterator[Route]:
    """Return the routes to try: the one named by ``method``, or with "auto" all that accept the model.

    Raises
    ------
    ValueError
        If ``method`` is no route, or does not accept the model.
    """
    check_choice(method, "method", ("auto", *ROUTES))
    if method == "auto":
        for name in ROUTES:
            route = route_named(name)
            if route.accepts(model, loss):
                yield route
        return
    route = route_named(method)
    if not route.accepts(model, loss):
        raise ValueError(
            describe(
                "method", "a route for this model and loss",
                f"{method!r} for a {type(model).__name__} and loss {loss!r}", 'Use method="auto".',
            )
        )  # fmt: skip
    yield route


def answer(question: Question, method: str = "auto") -> tuple[Route, Answer]:
    """Ask the routes in turn and return the first that answers.

    Raises
    ------
    ValueError
        If none does.
    """
    from shiftmetrics.models.label_flips import with_label_flips

    for route in routes_for(question.model, question.loss, method):
        may_flip = math.isfinite(question.domain.label_flip)
        found = with_label_flips(question, route.answer) if may_flip else route.answer(question)
        if found is not None:
            return route, found
    raise ValueError(
        describe(
            "model", f"one that a route with loss {question.loss!r} knows", f"a {type(question.model).__name__}",
            f"Routes: {', '.join(ROUTES)}.",
        )
    )  # fmt: skip
