"""Sums are those of `math.fsum`, whatever is added."""

import math

import numpy as np
import pytest

from shiftmetrics._core.sums import WIDTH, exact_sum

RNG = np.random.default_rng(0)
N = 5 * WIDTH + 17


def cancelling():
    values = RNG.normal(size=N) * 10.0 ** RNG.integers(-20, 20, size=N)
    return RNG.permutation(np.concatenate([values, -values, RNG.normal(size=9)]))


CASES = {
    "none": np.empty(0),
    "few": RNG.normal(size=100),
    "signs": RNG.integers(-1, 2, size=N).astype(float),
    "small and large": RNG.normal(size=N) * 10.0 ** RNG.integers(-200, 200, size=N),
    "squares": RNG.normal(size=N) ** 2,
    "those that cancel": cancelling(),
    "halves of the last digit": np.tile([1.0, 2.0**-53, 2.0**-54], N),
    "every second of a table": RNG.normal(size=(N, 2))[:, 1],
    "beyond the largest float between": np.repeat([1e308, -1e308], N),
    "infinite": np.append(np.ones(N), np.inf),
}


@pytest.mark.parametrize("name", CASES)
def test_a_sum_is_rounded_once(name):
    values = CASES[name]
    before = values.copy()
    try:
        expected = math.fsum(values.tolist())
    except OverflowError:
        with pytest.raises(OverflowError):
            exact_sum(values)
        return
    assert exact_sum(values) == expected
    np.testing.assert_array_equal(values, before)


def test_many_sums_in_random_order_are_one():
    values = RNG.normal(size=N) * 10.0 ** RNG.integers(-8, 8, size=N)
    found = {exact_sum(RNG.permutation(values)) for _ in range(20)}
    assert found == {math.fsum(values.tolist())}
