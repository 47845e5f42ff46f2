"""Probabilities at the door: rows of sum 1, and a floor under zeros that never is zero itself."""

import numpy as np
import pytest

from optional import torch
from shiftmetrics import posterior_agreement
from shiftmetrics._core.probabilities import check_probabilities


def floor_of(*arrays: object, floor: float | None = None) -> float | None:
    return check_probabilities(*((array, "scores") for array in arrays), floor=floor)


def test_the_floor_is_half_the_smallest_positive_entry_of_both_samples() -> None:
    first, second = np.array([[0.0, 1.0], [0.25, 0.75]]), np.array([[0.125, 0.875]])
    assert floor_of(first, second) == 0.0625
    assert floor_of(torch.from_numpy(first), torch.from_numpy(second)) == 0.0625
    assert floor_of(first, floor=1e-6) == 1e-6


def test_no_zero_needs_no_floor() -> None:
    assert floor_of(np.array([[0.25, 0.75]])) is None


@pytest.mark.parametrize("smallest", [5e-324, 1e-320, 2.3e-308])
def test_the_floor_of_the_smallest_doubles_is_positive(smallest: float) -> None:
    """Naive Bayes gives such posteriors; half of the smallest double is 0, whose logarithm is no score."""
    probabilities = np.array([[1.0, 0.0, smallest], [0.5, 0.25, 0.25], [smallest, 0.0, 1.0]])
    floor = floor_of(probabilities)
    assert floor is not None
    assert 0.0 < floor <= smallest
    result = posterior_agreement(probabilities, probabilities[::-1], kind="probabilities")
    assert np.isfinite(result.value)
    assert np.isfinite(result.per_sample).all()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            [[0.5, 0.6]],
            r"scores must be probabilities .* got row 0 from 0\.5 to 0\.6 with sum 1\.1",
        ),
        ([[0.5, 0.5], [-0.1, 1.1]], "got row 1 from -0.1 to 1.1"),
        ([0.5, 1.5], "got row 1 from 1.5 to 1.5"),
    ],
)
def test_what_is_no_probability_is_named(value: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        floor_of(np.array(value))
