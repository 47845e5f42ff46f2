"""McNemar's test and intervals for future rows: exact sign, coverage by enumeration."""

import numpy as np
import pytest
from scipy.stats import beta, binom, binomtest, multinomial

from shiftmetrics.decisions.labelling.paired import (
    difference_of_rates,
    future_interval,
    mcnemar_p_value,
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


def test_the_limit_is_the_smallest_product_on_the_ellipse() -> None:
    # 24 of 200 rows differ, 18 are fixed: the rate at half the error of 5 %, the sign at the whole.
    rates = beta.ppf([0.0125, 0.9875], [24, 25], [177, 176])
    sign = (18 - 6) / 24
    angles = np.linspace(0.0, np.pi / 2, 5000)
    expected = []
    for limit in (2.0 * beta.ppf(0.025, 18, 7) - 1.0, 2.0 * beta.ppf(0.975, 19, 6) - 1.0):
        signs = sign + (limit - sign) * np.sin(angles)
        expected += [(0.12 + (rate - 0.12) * np.cos(angles)) * signs for rate in rates]
    interval = future_interval(18, 6, 200)
    assert interval.low == pytest.approx(np.min(expected), rel=1e-4)
    assert interval.high == pytest.approx(np.max(expected), rel=1e-4)


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


@pytest.mark.parametrize(
    ("n", "change", "allow"),
    [(20, 0.1, 0.05), (50, 0.03, 0.03), (200, 0.024, 0.02), (200, 0.03, 0.02), (400, 0.012, 0.01)],
)
def test_false_verdicts_at_the_limit_by_enumeration(n: int, change: float, allow: float) -> None:
    # two-sided changes with a true loss of what is allowed; the third and the last were above 2.9 %
    safe, worse = false_verdicts(n, change, allow)
    assert safe <= 0.025
    assert worse <= 0.025


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("change", [0.01, 0.03, 0.1, 0.3])
def test_false_verdicts_of_all_rates(n: int, change: float) -> None:
    for allow in (0.005, 0.01, 0.02, 0.05, 0.1, 0.3):
        if allow <= change:
            assert max(false_verdicts(n, change, allow)) <= 0.025, allow


def false_verdicts(n: int, change: float, allow: float) -> tuple[float, float]:
    """Return how often the interval excludes a true loss of ``allow``, below and above, of all outcomes."""
    below = above = 0.0
    for differing in range(int(binom.ppf(1.0 - 1e-6, n, change)) + 1):
        fixed = np.arange(differing + 1)
        weights = binom.pmf(differing, n, change) * binom.pmf(
            fixed, differing, 0.5 * (change - allow) / change
        )
        for count, weight in zip(fixed.tolist(), weights.tolist(), strict=True):
            if weight > 1e-8:
                interval = future_interval(count, differing - count, n)
                below += weight * (interval.low > -allow)
                above += weight * (interval.high < -allow)
    return below, above


def test_the_difference_of_two_rates_by_hand() -> None:
    # Below: how far the first may be lower, and the second higher; above the other way round.
    low, high = difference_of_rates((0.7, 0.6, 0.75), (0.4, 0.38, 0.7))
    assert low == pytest.approx(0.3 - np.sqrt(0.1**2 + 0.3**2))
    assert high == pytest.approx(0.3 + np.sqrt(0.05**2 + 0.02**2))


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
