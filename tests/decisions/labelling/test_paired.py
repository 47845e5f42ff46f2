"""McNemar's test and intervals for future rows: exact sign, coverage by enumeration."""

import numpy as np
import pytest
from scipy.stats import binomtest, multinomial

from shiftmetrics.decisions.labelling.paired import (
    difference_of_rates,
    future_interval,
    mcnemar_p_value,
    mean_interval,
)


@pytest.mark.parametrize(
    ("fixed", "broken"), [(0, 0), (1, 0), (5, 5), (52, 33), (3, 19), (400, 321)]
)
def test_the_p_value_is_that_of_the_binomial_test(fixed: int, broken: int) -> None:
    expected = 1.0
    if fixed + broken:
        expected = binomtest(fixed, fixed + broken, 0.5).pvalue
    assert mcnemar_p_value(fixed, broken) == pytest.approx(expected, rel=1e-9)


def test_the_interval_leaves_out_zero_exactly_where_the_test_rejects() -> None:
    decided = set()
    for fixed in range(40):
        for broken in range(40):
            interval = future_interval(fixed, broken, 200)
            rejects = mcnemar_p_value(fixed, broken) < 0.05
            assert (interval.low > 0.0 or interval.high < 0.0) == rejects, (fixed, broken)
            assert interval.low <= (fixed - broken) / 200 <= interval.high
            decided.add(rejects)
    assert decided == {True, False}


def test_models_exchanged_give_the_interval_reversed() -> None:
    one = future_interval(30, 12, 500)
    other = future_interval(12, 30, 500)
    assert (one.low, one.high) == (-other.high, -other.low)


def test_no_differing_row_leaves_room_for_some() -> None:
    interval = future_interval(0, 0, 100)
    # The exact upper limit of a rate of which 100 rows show nothing.
    assert interval.high == pytest.approx(1.0 - 0.025 ** (1 / 100))
    assert interval.low == -interval.high


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 60])
def test_coverage_by_enumeration(n: int) -> None:
    counts = [(a, b) for a in range(n + 1) for b in range(n + 1 - a)]
    intervals = [future_interval(a, b, n) for a, b in counts]
    low = np.array([interval.low for interval in intervals])
    high = np.array([interval.high for interval in intervals])
    cells = np.array([(a, b, n - a - b) for a, b in counts])
    for rate in (0.02, 0.1, 0.3, 0.6, 1.0):
        for share in (0.5, 0.6, 0.8, 0.95, 1.0):
            chances = [rate * share, rate * (1.0 - share), 1.0 - rate]
            truth = chances[0] - chances[1]
            probabilities = multinomial(n, chances).pmf(cells)
            held = (low <= truth + 1e-12) & (truth <= high + 1e-12)
            assert probabilities[held].sum() >= 0.95, (rate, share)


@pytest.mark.parametrize("kind", ["heavy on both sides", "skewed", "normal"])
def test_coverage_of_the_interval_of_a_mean(kind: str) -> None:
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(1000):
        truth = 0.0
        differences = rng.normal(size=60)
        if kind == "heavy on both sides":
            truth = 0.5 / 3.0
            differences = rng.exponential(size=60) * rng.choice([-1.0, 0.0, 1.5], size=60)
        elif kind == "skewed":
            truth = np.exp(0.5)
            differences = rng.lognormal(size=60)
        interval = mean_interval(differences, 0.9)
        held += interval.low <= truth <= interval.high
    assert 0.86 <= held / 1000 <= 0.95


@pytest.mark.slow
def test_coverage_of_the_difference_of_two_rates() -> None:
    from shiftmetrics._core.confidence import binomial_interval

    rng = np.random.default_rng(4)
    held = 0
    for _ in range(1000):
        parts = []
        for rate, n in ((0.7, 60), (0.8, 300)):
            seen = rng.binomial(n, rate) / n
            parts.append((seen, *binomial_interval(seen, n, 0.9)))
        low, high = difference_of_rates(*parts)
        held += low <= -0.1 <= high
    assert held / 1000 >= 0.88
