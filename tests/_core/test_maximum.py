"""The certified maximum of a difference of convex functions: found, bounded, and never claimed in vain."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics._core.convex_difference import Samples, Tail
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


GRID = np.concatenate([[0.0], np.geomspace(1e-5, 1e6, 4000)])


@given(st.integers(0, 100_000), st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_the_maximum_and_its_certificate(seed: int, atol: float) -> None:
    problem = random_problem(seed)
    found = problem.solve(atol=atol)
    values = problem.value(GRID)
    assert found.converged
    assert found.gap <= atol + 1e-13
    assert max(values.max(), problem.tail.value) <= found.value + found.error_bound
    if math.isfinite(found.x):
        assert problem.value(found.x) == pytest.approx(found.value, abs=1e-14)
    else:
        assert found.value == problem.tail.value


def test_the_peak_is_polished_to_ten_digits() -> None:
    problem = Problem(([0.2, 0.2], [1.0, 4.0]), ([1.0], [2.0]), fall=0.05)
    found = problem.solve()
    samples = problem.at(np.array([found.x]))
    step = 1e-5 * found.x
    slopes = problem.at(found.x + np.array([-step, step]))
    slope = samples.plus_slope - samples.minus_slope
    curvature = np.diff(slopes.plus_slope - slopes.minus_slope) / (2 * step)
    assert abs(slope / curvature) < 1e-10 * found.x


def test_several_maxima() -> None:
    problem = Problem(([0.5, 0.5], [0.03, 6.0]), ([0.62, 0.62], [0.045, 9.0]), fall=4e-4)
    values = problem.value(GRID)
    inner = np.flatnonzero((values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])) + 1
    assert len(inner) == 2
    found = problem.solve()
    assert found.value == pytest.approx(values.max(), abs=1e-6)
    assert found.value >= values.max() - 1e-9


def test_nothing_better_than_the_start() -> None:
    problem = Problem(([1.0], [2.0]), ([1.0], [1.0]))
    found = problem.solve()
    assert found.x == 0.0
    assert found.value == 0.0
    assert found.converged


def test_the_limit_can_win() -> None:
    problem = Problem(([1.0], [1.0]), ([1.5], [1.0]))
    found = problem.solve()
    assert found.x == math.inf
    assert found.value == pytest.approx(0.5 * math.log(2))
    assert problem.value(found.points[-1]) >= found.value - 1e-6


def test_a_flat_function_needs_no_evaluation() -> None:
    flat = Samples(*np.zeros((4, 1)))
    found = maximize_difference(
        lambda x: pytest.fail("called"), flat, Tail(0.0, 0.0, 0.0), atol=1e-9, max_evaluations=9
    )
    assert (found.x, found.value, found.gap, found.n_evaluations, found.converged) == (
        0.0,
        0.0,
        0.0,
        0,
        True,
    )


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_the_limit_on_evaluations_holds_and_the_gap_is_honest(limit: int) -> None:
    problem = random_problem(5)
    found = problem.solve(max_evaluations=limit)
    assert found.n_evaluations == sum(map(len, problem.calls)) == limit
    assert found.n_passes == len(problem.calls)
    assert not found.converged
    assert found.gap > 1e-6
    assert problem.value(GRID).max() <= found.value + found.error_bound


def test_guesses_only_save_passes() -> None:
    problem = random_problem(7)
    cold = problem.solve()
    for guesses in (list(cold.points), [0.0, -1.0, math.inf, math.nan, 1e-3, 1e-3], [1e9]):
        warm = problem.solve(guesses=guesses)
        assert warm.converged
        assert warm.value == pytest.approx(cold.value, abs=2e-6)
    assert problem.solve(guesses=list(cold.points)).n_passes < cold.n_passes


def test_points_are_distinct_and_come_in_batches() -> None:
    problem = random_problem(7)
    found = problem.solve(atol=1e-9)
    points = np.concatenate(problem.calls)
    assert len(np.unique(points)) == len(points) == found.n_evaluations
    assert found.n_passes < found.n_evaluations
    np.testing.assert_array_equal(found.points, np.append(0.0, np.sort(points)))


def test_rounding_enters_the_bound_and_stops_the_search() -> None:
    problem = random_problem(7)

    def rounding(x: np.ndarray) -> np.ndarray:
        return np.full_like(x, 1e-5)

    found = problem.solve(atol=1e-12, rounding=rounding)
    assert found.converged
    assert found.error_bound >= 2e-5
    assert found.n_evaluations < problem.solve(atol=1e-12).n_evaluations


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_unit_of_x_is_free(scale: float) -> None:
    problem = random_problem(17)
    plus, minus = ((weights, scales * scale) for weights, scales in (problem.plus, problem.minus))
    scaled = Problem(plus, minus, fall=problem.fall * scale)
    first, second = problem.solve(), scaled.solve()
    assert second.value == pytest.approx(first.value, abs=1e-12)
    assert second.x * scale == pytest.approx(first.x, rel=1e-6)
    assert second.n_evaluations == pytest.approx(first.n_evaluations, abs=3)
