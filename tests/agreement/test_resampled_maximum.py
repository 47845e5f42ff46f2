"""Maxima of all resamples at once: against functions whose maxima are known."""

import math

import numpy as np
import pytest

from shiftmetrics._core.maximum import Maximum
from shiftmetrics.agreement.resampled_maximum import MAX_ROUNDS, NEAR, first_betas, maxima_of_cubics


class Curves:
    """``peak * x * exp(1 - x)`` at ``x = beta / place``: 0 at 0, and greatest at its place."""

    def __init__(self, places: np.ndarray, peaks: np.ndarray) -> None:
        self.places = places[:, None]
        self.peaks = peaks[:, None]
        self.asked: list[np.ndarray] = []

    def __call__(self, betas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append(betas)
        x = betas / self.places
        decay = self.peaks * np.exp(1.0 - x)
        return decay * x, decay * (1.0 - x) / self.places


NOWHERE = -math.inf


def test_the_maxima_are_found_from_betas_far_away() -> None:
    curves = Curves(places=np.array([0.01, 0.9, 3.0, 400.0]), peaks=np.array([0.1, 0.7, 2.0, 0.5]))
    found = maxima_of_cubics(curves, np.array([1.0]), np.full(4, NOWHERE))
    np.testing.assert_allclose(found, curves.peaks[:, 0], rtol=1e-5)
    assert 1 < len(curves.asked) <= MAX_ROUNDS + 1
    # no beta costs a second pass
    asked = np.concatenate(curves.asked)
    assert len(np.unique(asked)) == len(asked)


def test_a_limit_that_is_higher_is_the_maximum() -> None:
    curves = Curves(places=np.array([1.0, 1.0]), peaks=np.array([0.5, 0.5]))
    found = maxima_of_cubics(curves, np.array([0.9, 1.05]), np.array([0.8, 0.2]))
    np.testing.assert_allclose(found, [0.8, 0.5], rtol=1e-5)


def test_a_resample_that_never_agrees_has_no_agreement() -> None:
    curves = Curves(places=np.array([1.0]), peaks=np.array([-0.5]))
    assert maxima_of_cubics(curves, np.array([0.5, 2.0]), np.array([NOWHERE])) == [0.0]
    assert len(curves.asked) == 1
    assert maxima_of_cubics(curves, np.array([]), np.array([NOWHERE])) == [0.0]


def solved(x: float, points: list[float]) -> Maximum:
    unused = dict.fromkeys(Maximum.__dataclass_fields__)
    return Maximum(**{**unused, "x": x, "points": np.array(points)})


def test_first_betas_are_close_around_the_solution_and_as_solved_elsewhere() -> None:
    betas = first_betas(solved(2.0, [0.0, 0.1, 1.9, 2.1, 50.0]))
    assert (betas[0], betas[-1]) == (0.1, 50.0)
    around = betas[1:-1]
    assert around[4] == pytest.approx(2.0)
    np.testing.assert_allclose(around[1:] / around[:-1], NEAR)


@pytest.mark.parametrize("end", [0.0, math.inf])
def test_an_end_of_the_search_has_nothing_around_it(end: float) -> None:
    np.testing.assert_array_equal(first_betas(solved(end, [0.0, 1.0, 8.0])), [1.0, 8.0])
