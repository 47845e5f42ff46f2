"""The sequential alarm: against its formula, and its false alarms and delays by simulation."""

import numpy as np
import pytest
from scipy import stats

from shiftmetrics.decisions.monitor.alarm import Alarm

ODDS = [1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3, 4, 6, 10]


def by_hand(hits, sizes, allowed):
    """Return the e-value after each batch, written as the sum over all starts of the bets."""
    values = []
    for t in range(1, len(hits) + 1):
        total = 0.0
        for odds in ODDS:
            raised = odds * allowed / (1 - allowed + odds * allowed)
            for start in range(1, t + 1):
                k = sum(hits[start - 1 : t])
                n = sum(sizes[start - 1 : t])
                ratio = (raised / allowed) ** k * ((1 - raised) / (1 - allowed)) ** (n - k)
                total += ratio / (start * (start + 1)) / len(ODDS)
        values.append(total + 1 / (t + 1))
    return values


def test_evidence_against_the_sum_over_all_starts():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 12, 15)
    hits = rng.binomial(sizes, 0.3)
    alarm = Alarm.against("errors", 80, 1000, alpha=0.025)
    assert alarm.allowed == pytest.approx(stats.beta.ppf(1 - 0.0125, 81, 920))
    seen = []
    for k, n in zip(hits, sizes, strict=True):
        alarm = alarm.update(int(k), int(n))
        seen.append(alarm.evidence)
    np.testing.assert_allclose(seen, by_hand(hits, sizes, alarm.allowed), rtol=1e-10)
    assert (alarm.n_batches, alarm.n_samples, alarm.n_hits) == (15, sizes.sum(), hits.sum())


def test_an_alarm_stays_raised_and_never_overflows():
    alarm = Alarm.against("errors", 10, 1000, alpha=0.025)
    for _ in range(5):
        alarm = alarm.update(10, 10)
    assert alarm.raised
    first = alarm.raised_at
    for _ in range(100):
        alarm = alarm.update(0, 10)
    assert alarm.raised_at == first
    for _ in range(500):
        alarm = alarm.update(10, 10)
    assert np.isfinite(alarm.bets).all()


def test_a_reference_of_errors_only_never_alarms():
    alarm = Alarm.against("errors", 5, 5, alpha=0.05)
    for _ in range(50):
        alarm = alarm.update(10, 10)
    assert not alarm.raised


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.08, 0.2])
def test_false_alarms_and_delays(error):
    rng = np.random.default_rng(0)
    false = 0
    delays = []
    for _ in range(100):
        start = Alarm.against("errors", int(rng.binomial(2000, error)), 2000, alpha=0.025)
        alarm = start
        for hits in rng.binomial(10, error, 1000):
            alarm = alarm.update(int(hits), 10)
        false += alarm.raised
        alarm = start
        for look in range(1, 401):
            rate = error if look <= 100 else error + 0.2
            alarm = alarm.update(int(rng.binomial(10, rate)), 10)
            if alarm.raised:
                break
        delays.append(look - 100)
    assert false <= 3  # at most 5 % of monitors ever alarm without a change
    assert np.mean(delays) <= 25
