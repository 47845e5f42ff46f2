"""The routes in the order in which they are tried, and the search for the first that has a worst case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.options import Computing
from shiftmetrics._core.validation import check_choice
from shiftmetrics.models.blackbox import BlackboxRoute
from shiftmetrics.models.domain.perturbation import Search, search_of
from shiftmetrics.models.forests.route import EnsembleRoute, TreeRoute
from shiftmetrics.models.linear import DuelRoute, LinearRoute
from shiftmetrics.models.networks import TorchRoute
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.search.importance import Draws
from shiftmetrics.models.search.worst_case import Route, WorstCase

ROUTES: dict[str, Route] = {
    "linear": LinearRoute(),
    "pairs": DuelRoute(),
    "tree": TreeRoute(),
    "ensemble": EnsembleRoute(),
    "torch": TorchRoute(),
    "blackbox": BlackboxRoute(),  # the last resort
}


def search_options(computing: Computing | None) -> Search:
    """Return the options of a search, whose method is the name of a route.

    Raises
    ------
    TypeError, ValueError
        If they are no `Computing`, or name no route.
    """
    search = search_of(computing)
    check_choice(search.method, "method", ("auto", *ROUTES))
    return search


def find_worst_case(problem: ModelProblem) -> tuple[str, WorstCase]:
    """Return the name of the first route that has a worst case, and what it found.

    Raises
    ------
    ValueError
        If no route has one, or the one that the search names does not accept the model.
    """
    if problem.is_fixed:
        return "weights", WorstCase.fixed(problem)
    for name, route in _accepting(problem):
        # Routes know errors only; what they cost comes after.
        found = route.worst_case(replace(problem, costs=None))
        if found is not None:
            return name, found.with_costs(problem)
    raise _no_route(problem)


def worst_cases_by_group(
    problem: ModelProblem,
    groups: Sequence[Sequence[str | int]],
    draws: Draws | None = None,
) -> Iterator[tuple[int, WorstCase]]:
    """Yield the position and the worst case of each group of columns, when these alone may change.

    Parameters
    ----------
    problem : ModelProblem
        The model and the sample, with all that may change.
    groups : sequence of sequence of str or int
        Names or positions of columns.
    draws : Draws, optional
        Whose values replace those of a feature, for routes that know the risks at all values.

    Raises
    ------
    ValueError
        As `find_worst_case`.
    """
    left = []
    for position, group in enumerate(groups):
        if problem.restricted(group).is_fixed:
            yield position, WorstCase.fixed(problem)
        else:
            left.append(position)
    for _, route in _accepting(problem):
        if not left:
            return
        done = set()
        held = [groups[position] for position in left]
        for place, found in route.by_group(problem, held, draws):
            done.add(left[place])
            yield left[place], found.with_costs(problem)
        left = [position for position in left if position not in done]
    if left:
        raise _no_route(problem)


def _accepting(problem: ModelProblem) -> Iterator[tuple[str, Route]]:
    """Yield the routes for this kind of model, by their names; one that is named must accept it."""
    method = problem.search.method
    names = [method]
    if method == "auto":
        names = list(ROUTES)
    for name in names:
        route = ROUTES[name]
        if route.accepts(problem.model, problem.loss):
            yield name, route
        elif method != "auto":
            got = f"{method!r} for a {type(problem.model).__name__} and loss {problem.loss!r}"
            expected = "a route for this model and loss"
            remedy = Wording("Use ", Setting("method", "auto"), ".")
            raise ArgumentValueError("method", expected, got, remedy)


def _no_route(problem: ModelProblem) -> ValueError:
    expected = f"one that a route with loss {problem.loss!r} knows"
    got = f"a {type(problem.model).__name__}"
    return ArgumentValueError("model", expected, got, f"Routes: {', '.join(ROUTES)}.")
