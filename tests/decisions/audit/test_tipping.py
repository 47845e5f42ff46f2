"""The tipping fraction: against its equation, its coverage, and when it says nothing."""

import math

import numpy as np
import pytest

from shiftmetrics.decisions.audit.tipping import WIDEST, tipping_fraction


def test_the_fraction_where_the_mixture_passes_the_threshold():
    found = tipping_fraction((15, 30), (10, 100), 0.2, mode=1, today=0.05)
    assert found.fraction == pytest.approx((0.2 - 0.1) / (0.5 - 0.1), abs=0.0026)
    assert found.low < found.fraction < found.high
    assert (found.inside, found.outside, found.today) == (0.5, 0.1, 0.05)


def test_many_labels_make_a_sentence_and_few_none():
    few = tipping_fraction((15, 30), (10, 100), 0.2)
    assert few.high - few.low > WIDEST
    assert few.sentence() == ""
    many = tipping_fraction((1500, 3000), (1000, 10_000), 0.2, today=0.1)
    assert many.high - many.low <= WIDEST
    assert "20 %" in many.sentence()
    assert "25 %" in many.sentence()
    assert "10 %" in many.sentence()


def test_a_threshold_that_is_never_passed():
    found = tipping_fraction((3, 1000), (2, 1000), 0.5)
    assert found.fraction == math.inf
    assert found.high == math.inf
    assert not found.is_useful


@pytest.mark.slow
def test_intervals_cover():
    rng = np.random.default_rng(0)
    p, q, threshold = 0.5, 0.1, 0.25
    truth = (threshold - q) / (p - q)
    covered = 0
    for _ in range(1000):
        found = tipping_fraction(
            (int(rng.binomial(30, p)), 30), (int(rng.binomial(100, q)), 100), threshold
        )
        covered += found.low - 0.0025 <= truth <= found.high + 0.0025
    assert covered >= 930
