"""The root of a monotone function that may jump: brackets, certificates, and how many evaluations they take."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics._core.root import Bracket, Probe, monotone_root

TIGHT = 1e-12


class Counted:
    """A convex function with its slope, which remembers where it was evaluated."""

    def __init__(self, value: Callable[[float], float], slope: Callable[[float], float]) -> None:
        self.value, self.slope, self.seen = value, slope, []

    def __call__(self, x: float) -> Probe[str]:
        self.seen.append(x)
        return Probe(x, self.value(x), self.slope(x), f"state at {x!r}")


def within(gap: float) -> Callable[[Bracket[str]], bool]:
    return lambda bracket: bracket.gap <= gap


SMOOTH = {
    "quadratic": Counted(lambda x: (x - 3.0) ** 2, lambda x: 2 * (x - 3.0)),
    "entropy": Counted(lambda x: x * math.log(x) - 4 * x, lambda x: math.log(x) - 3),
    "exponential": Counted(lambda x: math.exp(x) - 50 * x, lambda x: math.exp(x) - 50),
    "barrier": Counted(lambda x: 1 / x + x / 400, lambda x: -1 / x**2 + 1 / 400),
    "quartic": Counted(lambda x: (x - 2) ** 4, lambda x: 4 * (x - 2) ** 3),
}
MINIMA = {
    "quadratic": 0.0, "entropy": -math.exp(3), "exponential": 50 - 50 * math.log(50), "barrier": 0.1, "quartic": 0.0,
}  # fmt: skip


@pytest.mark.parametrize("start", [1e-3, 0.9, 40.0])
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_take_few_evaluations(name: str, start: float) -> None:
    function = SMOOTH[name]
    function.seen.clear()
    bracket = monotone_root(function, start, within(TIGHT))
    assert bracket.closed
    assert bracket.low.slope <= 0.0 <= bracket.high.slope
    assert bracket.least - bracket.gap <= MINIMA[name] + 1e-12
    assert bracket.least >= MINIMA[name] - 1e-12
    assert bracket.evaluations == len(function.seen) <= 30


@pytest.mark.parametrize("kink", [1e-6, 0.3, 1.0, 77.7])
@pytest.mark.parametrize("curvature", [0.0, 0.5])
def test_a_kink_is_enclosed_to_the_last_digits(kink: float, curvature: float) -> None:
    def value(x: float) -> float:
        return max(-(x - kink), 3 * (x - kink)) + curvature * (x - kink) ** 2

    def slope(x: float) -> float:
        return (-1.0 if x <= kink else 3.0) + 2 * curvature * (x - kink)

    bracket = monotone_root(Counted(value, slope), 1.0, lambda b: b.width <= 1e-9 * b.high.x)
    assert bracket.closed
    assert bracket.low.x <= kink <= bracket.high.x
    assert bracket.evaluations <= 40
    # The mixture of both ends has slope zero.
    assert bracket.low_fraction * bracket.low.slope + (
        1 - bracket.low_fraction
    ) * bracket.high.slope == pytest.approx(0, abs=1e-12)
    assert bracket.low_fraction == pytest.approx(0.75, abs=1e-6)
    assert bracket.gap <= 1e-8 * max(kink, 1.0)


def test_neighbouring_floats_end_the_search() -> None:
    kink = 1 / 3
    function = Counted(lambda x: abs(x - kink), lambda x: -1.0 if x < kink else 1.0)
    bracket = monotone_root(function, 1.0, lambda _: False)
    assert np.nextafter(bracket.low.x, 1.0) == bracket.high.x
    assert bracket.evaluations < 200


def test_the_states_of_both_ends_are_kept() -> None:
    bracket = monotone_root(SMOOTH["quadratic"], 1.0, lambda b: b.width < 0.1)
    for end in (bracket.low, bracket.high):
        assert end.state == f"state at {end.x!r}"


def test_a_root_that_is_hit_exactly_is_both_ends() -> None:
    bracket = monotone_root(SMOOTH["quadratic"], 3.0, within(0.0))
    assert bracket.low is bracket.high
    assert (bracket.low.x, bracket.gap, bracket.width, bracket.low_fraction) == (3.0, 0.0, 0.0, 1.0)
    assert bracket.evaluations == 1


def test_a_known_low_end_saves_its_evaluation() -> None:
    function = Counted(lambda x: (x - 3.0) ** 2, lambda x: 2 * (x - 3.0))
    known = Probe(0.0, 9.0, -6.0, "known")
    bracket = monotone_root(function, 4.0, lambda _: True, low=known)
    assert bracket.low is known
    assert function.seen == [4.0]


def test_a_root_next_to_the_upper_end_of_the_domain() -> None:
    # slope 1 / (1 - x)^2 - 1e20: the root is 1e-10 below the pole
    function = Counted(lambda x: 1 / (1 - x) - 1e20 * x, lambda x: 1 / (1 - x) ** 2 - 1e20)
    bracket = monotone_root(function, 0.5, lambda b: b.width <= 1e-14, upper=1.0)
    assert bracket.closed
    assert 1 - bracket.high.x == pytest.approx(1e-10, rel=1e-3)
    assert all(0.0 < x < 1.0 for x in function.seen)
    assert bracket.evaluations <= 60


def test_a_root_many_orders_of_magnitude_away() -> None:
    for root in (1e-30, 1e30):
        function = Counted(
            lambda x, c=root: x * (math.log(x / c) - 1), lambda x, c=root: math.log(x / c)
        )
        bracket = monotone_root(function, 1.0, lambda b: b.width <= 1e-9 * b.high.x)
        assert bracket.closed
        assert bracket.low.x == pytest.approx(root, rel=1e-8)
        assert bracket.evaluations <= 60


def test_an_overflow_ends_the_domain() -> None:
    def value(x: float) -> float:
        return math.inf if x > 1e3 else (x - 400.0) ** 2

    function = Counted(value, lambda x: math.nan if x > 1e3 else 2 * (x - 400.0))
    for start in (1e200, 50.0):
        bracket = monotone_root(function, start, lambda b: b.width <= 1e-6)
        assert bracket.closed
        assert bracket.low.x <= 400.0 <= bracket.high.x
    beyond = Counted(lambda x: -x if x < 1e3 else math.nan, lambda _: -1.0)
    bracket = monotone_root(beyond, 1.0, within(TIGHT), max_iter=50)
    assert not bracket.closed
    assert 1.0 <= bracket.low.x < 1e3


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_slope_of_one_sign_leaves_the_bracket_open(sign: float) -> None:
    bracket = monotone_root(
        Counted(lambda x: sign * x, lambda x: sign), 1.0, within(TIGHT), upper=2.0
    )
    assert not bracket.closed
    assert bracket.low is bracket.high
    assert bracket.gap == math.inf


def test_it_stops_when_the_evaluations_run_out() -> None:
    for limit in (1, 2, 5):
        function = Counted(lambda x: x * (math.log(x * 1e30) - 1), lambda x: math.log(x * 1e30))
        bracket = monotone_root(function, 1.0, within(0.0), max_iter=limit)
        assert bracket.evaluations == len(function.seen) <= limit


@given(
    kinks=st.lists(st.floats(0.01, 100.0), min_size=1, max_size=12, unique=True),
    jumps=st.lists(st.floats(0.01, 10.0), min_size=12, max_size=12),
    depth=st.floats(0.05, 0.95),
    start=st.floats(1e-3, 1e3),
)
def test_staircases(kinks: list[float], jumps: list[float], depth: float, start: float) -> None:
    places, sizes = np.sort(kinks), np.array(jumps[: len(kinks)])
    offset = depth * sizes.sum()

    def value(x: float) -> float:
        return float(np.maximum(x - places, 0.0) @ sizes - offset * x)

    def slope(x: float) -> float:
        return float((x > places) @ sizes - offset)

    bracket = monotone_root(Counted(value, slope), start, within(1e-10))
    least = min(value(x) for x in places)
    assert bracket.closed
    assert bracket.least >= least - 1e-9
    assert bracket.least - bracket.gap <= least + 1e-9  # the tangents meet below the minimum
