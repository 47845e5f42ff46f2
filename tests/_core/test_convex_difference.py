"""Bounds on a difference of convex functions between the points where it is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics._core.convex_difference import Nodes, Samples, Tail, upper_bounds
from shiftmetrics._core.maximum import Maximum, maximize_difference


def softplus(z: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, z)


class Problem:
    """Decaying sums of logistic functions: ``plus`` and ``minus`` are sums of w log((1 + e^(-s x)) / 2), convex.

    ``fall`` adds ``-fall * x`` to ``plus``: then the function goes to minus infinity.
    """

    def __init__(
        self, plus: tuple[list, list], minus: tuple[list, list], fall: float = 0.0
    ) -> None:
        self.plus, self.minus = (
            tuple(np.asarray(part, float) for part in side) for side in (plus, minus)
        )
        self.fall = fall
        self.calls: list[np.ndarray] = []

    def __call__(self, x: np.ndarray) -> Samples:
        self.calls.append(np.array(x))
        return self.at(x)

    def at(self, x: np.ndarray) -> Samples:
        x = np.asarray(x, float)
        parts = []
        for (weights, scales), fall in ((self.plus, self.fall), (self.minus, 0.0)):
            z = -np.multiply.outer(x, scales)
            parts.append((softplus(z) - math.log(2)) @ weights - fall * x)
            parts.append((-scales / (1.0 + np.exp(-np.maximum(z, -700)))) @ weights - fall)
        return Samples(*parts)

    def value(self, x: np.ndarray) -> np.ndarray:
        samples = self.at(x)
        return samples.plus - samples.minus

    @property
    def tail(self) -> Tail:
        limit = -math.log(2) * (self.plus[0].sum() - self.minus[0].sum())
        return Tail(
            -self.fall, -math.log(2) * self.minus[0].sum(), -math.inf if self.fall else limit
        )

    def solve(self, *, atol: float = 1e-6, max_evaluations: int = 300, **options) -> Maximum:
        return maximize_difference(
            self,
            self.at(np.zeros(1)),
            self.tail,
            atol=atol,
            max_evaluations=max_evaluations,
            **options,
        )


def random_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=2)
    plus, minus = ((rng.dirichlet(np.ones(n)), 10.0 ** rng.uniform(-2, 2, size=n)) for n in sizes)
    return Problem(plus, minus, fall=float(rng.choice([0.0, 1e-4, 0.1])))


@given(st.integers(0, 100_000), st.integers(1, 12))
def test_every_bound_holds_everywhere(seed: int, n_points: int) -> None:
    problem = random_problem(seed)
    points = np.unique(10.0 ** np.random.default_rng(seed).uniform(-3, 3, size=n_points))
    nodes = Nodes(np.zeros(1), problem.at(np.zeros(1))).insert(points, problem.at(points))
    bounds = upper_bounds(nodes, problem.tail)
    ends = np.append(nodes.x, max(1e4, 100 * points[-1]))
    for i in range(len(nodes.x)):
        inside = np.linspace(ends[i], ends[i + 1], 101)
        assert problem.value(inside).max() <= bounds.value[i] + 1e-13
        right = ends[i + 1] if i < len(points) else math.inf
        assert ends[i] * (1 - 1e-12) <= bounds.kink[i] <= right


def test_the_bound_between_close_points_is_of_second_order() -> None:
    problem = Problem(([0.2, 0.2], [1.0, 4.0]), ([1.0], [2.0]), fall=0.05)
    peak = problem.solve().x
    excess = []
    for width in (1e-1, 1e-2):
        points = peak + width * np.array([-0.5, 0.5])
        nodes = Nodes(np.zeros(1), problem.at(np.zeros(1))).insert(points, problem.at(points))
        excess.append(upper_bounds(nodes, problem.tail).value[1] - problem.value(peak))
    assert excess[0] / excess[1] == pytest.approx(1e2, rel=0.1)
