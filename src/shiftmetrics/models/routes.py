"""The routes in the order in which they are tried, and the search for the first that has a worst case."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.validation import describe
from shiftmetrics.models.blackbox import BlackboxRoute
from shiftmetrics.models.importance import Draws
from shiftmetrics.models.linear import LinearRoute
from shiftmetrics.models.model import ModelProblem
from shiftmetrics.models.networks import TorchRoute
from shiftmetrics.models.trees import EnsembleRoute, TreeRoute
from shiftmetrics.models.worst_case import EVERYONE, EndlessLoss, Route, WorstCase

ROUTES: dict[str, Route] = {
    "linear": LinearRoute(),
    "tree": TreeRoute(),
    "ensemble": EnsembleRoute(),
    "torch": TorchRoute(),
    "blackbox": BlackboxRoute(),  # the last resort
}

# Where the growth of predictions is looked at.
_FAR = 2.0**16  # units of distance
_FARTHER = 2.0**20
_LINEAR = 1.5 * _FARTHER / _FAR
_MOST_SAMPLES = 4
_MOST_DIRECTIONS = 64


def find_worst_case(problem: ModelProblem, method: str = "auto") -> tuple[str, WorstCase]:
    """Return the name of the first route that has a worst case, and what it found.

    Raises
    ------
    ValueError
        If no route has one, or the one named by ``method`` does not accept the model.
    """
    if problem.is_fixed:
        return "weights", WorstCase.fixed(problem)
    for name, route in _accepting(problem, method):
        found = None
        if route.searches:
            found = _endless(problem)
        if found is None:
            # Routes know errors only; what they cost comes after.
            found = route.worst_case(replace(problem, costs=None))
            if found is not None:
                found = found.with_costs(problem)
        if found is not None:
            return name, found
    raise _no_route(problem)


def worst_cases_by_group(
    problem: ModelProblem,
    groups: Sequence[Sequence[str | int]],
    method: str = "auto",
    draws: Draws | None = None,
) -> Iterator[tuple[int, WorstCase]]:
    """Yield the position and the worst case of each group of columns, when these alone may change.

    Parameters
    ----------
    problem : ModelProblem
        The model and the sample, with all that may change.
    groups : sequence of sequence of str or int
        Names or positions of columns.
    method : str, default "auto"
        The route.
    draws : Draws, optional
        Whose values are drawn, for routes that know the risks at all values.

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
    for _, route in _accepting(problem, method):
        if not left:
            return
        done = set()
        if route.searches:
            for position in left:
                endless = _endless(problem.restricted(groups[position]))
                if endless is not None:
                    done.add(position)
                    yield position, endless
        asked = [position for position in left if position not in done]
        held = [groups[position] for position in asked]
        for place, found in route.by_group(problem, held, draws):
            done.add(asked[place])
            yield asked[place], found.with_costs(problem)
        left = [position for position in left if position not in done]
    if left:
        raise _no_route(problem)


def _accepting(problem: ModelProblem, method: str) -> Iterator[tuple[str, Route]]:
    """Yield the routes for this kind of model, by their names; one that is named must accept it."""
    names = list(ROUTES) if method == "auto" else [method]
    for name in names:
        route = ROUTES[name]
        if route.accepts(problem.model, problem.loss):
            yield name, route
        elif method != "auto":
            got = f"{method!r} for a {type(problem.model).__name__} and loss {problem.loss!r}"
            expected = "a route for this model and loss"
            raise ValueError(describe("method", expected, got, 'Use method="auto".'))


def _no_route(problem: ModelProblem) -> ValueError:
    expected = f"one that a route with loss {problem.loss!r} knows"
    got = f"a {type(problem.model).__name__}"
    return ValueError(describe("model", expected, got, f"Routes: {', '.join(ROUTES)}."))


def _endless(problem: ModelProblem) -> WorstCase | None:
    """Return the worst case of a loss that outgrows the squared distance, or None where it does not."""
    if not grows_faster(problem):
        return None
    losses = problem.losses(problem.codes, EVERYONE)
    return replace(WorstCase.fixed(problem), loss=EndlessLoss(losses))


def grows_faster(problem: ModelProblem) -> bool:
    """Return True if predictions of a regression grow faster than linearly, from far points of a few samples.

    Such are those of generalised linear models with a logarithmic link, and of polynomials: their squared loss
    outgrows the squared distance.
    """
    domain = problem.domain
    free = np.flatnonzero(domain.numeric & (np.isinf(domain.lower) | np.isinf(domain.upper)))
    if problem.loss != "squared" or not free.size:
        return False
    # Directions: along each free column, both ways, and along random diagonals; some of these at random.
    n_axes = 2 * len(free)
    directions = np.zeros((n_axes + _MOST_DIRECTIONS, domain.n_features))
    directions[np.arange(n_axes), np.tile(free, 2)] = np.repeat([1.0, -1.0], len(free))
    rng = np.random.default_rng(0)
    directions[n_axes:, free] = rng.choice([1.0, -1.0], size=(_MOST_DIRECTIONS, len(free)))
    directions = rng.permutation(directions)[:_MOST_DIRECTIONS]
    # How much predictions change far off, and 16 times as far: a linear function changes 16 times as much.
    chosen: IntArray = np.linspace(0, problem.n_samples - 1, _MOST_SAMPLES).astype(int)
    start = np.repeat(problem.codes[chosen], len(directions), axis=0)
    steps = np.tile(directions, (len(chosen), 1)) * domain.unit
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = problem.predict(start)
        far = problem.predict(domain.clip(start + _FAR * steps, start))
        farther = problem.predict(domain.clip(start + _FARTHER * steps, start))
        near_change = np.abs(far - here)
        far_change = np.abs(farther - here)
        faster = (far_change > _LINEAR * near_change) & (near_change > 0.0)
        return bool((np.isinf(farther) | faster).any())
