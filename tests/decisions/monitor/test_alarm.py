"""The sequential alarm: against its formula, and its false alarms and delays by simulation."""

import numpy as np
import pytest
from scipy import stats

from shiftmetrics.decisions.monitor.alarm import Alarm, counted_since, part_of_start

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


def test_parts_of_an_alarm_that_is_started_again_sum_to_its_whole():
    alarm = Alarm.against("errors", 10, 1000, alpha=0.02)
    spent = 0.0
    for n in range(1, 200):
        spent += alarm.alpha
        alarm = alarm.restarted()
        assert alarm.n_restarts == n
    # The first part is a half: all of it is 0.04.
    assert 0.0395 < spent < 0.04
    assert spent == pytest.approx(0.04 * sum(1 / (k * (k + 1)) for k in range(1, 200)))


def test_it_is_started_again_against_what_was_seen_since():
    alarm = Alarm.against("samples", 50, 1000, alpha=0.02)
    while not alarm.raised:
        alarm = alarm.update(12, 60)
        (alarm,) = counted_since((alarm,), [(12, 60)])
    again = alarm.restarted()
    assert (again.raised, again.highest, again.started_at) == (False, 0.0, alarm.n_batches)
    assert (again.n_batches, again.n_samples) == (alarm.n_batches, alarm.n_samples)
    assert stats.binom.cdf(12, 60, again.allowed) == pytest.approx(again.alpha / 2)
    # Stakes sum to one from the new start on, and what was accepted raises no alarm.
    assert again.update(0, 0).evidence == pytest.approx(1.0)
    for _ in range(30):
        again = again.update(12, 60)
    assert not again.raised
    for _ in range(30):
        again = again.update(40, 60)
    assert again.raised_at > again.started_at
    # Nothing was seen since: the limit stays.
    kept = Alarm.against("samples", 50, 1000, alpha=0.02)
    assert kept.restarted().allowed == kept.allowed
    assert counted_since((kept,), [(5, 60)]) == (kept,)


def judged_after_changes(rng, rates, n=50, length=60):
    """Return whether an alarm was false: raised in a period although its rate had been acknowledged."""
    alarm = Alarm.against(
        "samples", int(rng.binomial(2000, rates[0])), 2000, alpha=0.05 * part_of_start(0)
    )
    for number, rate in enumerate(rates):
        if number:
            # The change comes, is found, watched for five batches and acknowledged.
            after = 0
            while after < 5:
                hits = int(rng.binomial(n, rate))
                alarm = alarm.update(hits, n)
                (alarm,) = counted_since((alarm,), [(hits, n)])
                after += alarm.raised
            alarm = alarm.restarted()
        for _ in range(length):
            alarm = alarm.update(int(rng.binomial(n, rate)), n)
            if alarm.raised:
                return True
    return False


@pytest.mark.slow
def test_few_monitors_alarm_falsely_after_changes_that_were_acknowledged():
    rng = np.random.default_rng(4)
    false = sum(judged_after_changes(rng, (0.05, 0.2, 0.45, 0.8)) for _ in range(200))
    # At most 5 % over all starts together: of 200, more than 17 are rarer than 1 in 100.
    assert false <= 17


def by_urns(hits, sizes, reference):
    """Return the evidence of seasons after each batch, by binomial and beta-binomial probabilities."""
    bets = np.zeros(len(ODDS))
    urns = [(k + 1, n - k) for k, n in reference]
    values = []
    for t, (own_hits, own_n) in enumerate(zip(hits, sizes, strict=True), start=1):
        ratios = np.ones(len(ODDS))
        for season, (k, n) in enumerate(zip(own_hits, own_n, strict=True)):
            a, b = urns[season]
            rates = stats.beta.ppf((np.arange(32) + 0.5) / 32, a, b)
            for place, odds in enumerate(ODDS):
                risen = odds * rates / (1 - rates + odds * rates)
                likelihood = np.mean(stats.binom.pmf(k, n, risen))
                ratios[place] *= likelihood / stats.betabinom.pmf(k, n, a, b)
            urns[season] = (a + k, b + n - k)
        bets = ratios * (bets + 1 / (t * (t + 1)))
        values.append(bets.mean() + 1 / (t + 1))
    return values


def test_the_evidence_of_seasons_against_their_urns():
    rng = np.random.default_rng(4)
    reference = [(5, 50), (3, 40), (20, 60)]
    sizes = rng.integers(0, 30, (8, 3))
    hits = rng.binomial(sizes, 0.2)
    alarm = Alarm.against_readings("far", reference, alpha=0.01)
    seen = []
    for own_hits, own_n in zip(hits, sizes, strict=True):
        alarm = alarm.update(own_hits, own_n)
        seen.append(alarm.evidence)
    np.testing.assert_allclose(seen, by_urns(hits, sizes, reference), rtol=1e-8)
    assert (alarm.n_samples, alarm.n_hits) == (sizes.sum(), hits.sum())


def test_a_bet_against_an_urn_is_fair():
    """Over all numbers of hits, weighted as the urn gives them, the first bets are worth their stake."""
    start = Alarm.against_readings("far", [(4, 30)], alpha=0.01)
    n = 9
    worth = np.zeros(len(ODDS))
    for k in range(n + 1):
        worth += stats.betabinom.pmf(k, n, 5, 26) * start.update([k], [n]).bets
    np.testing.assert_allclose(worth, 0.5)


def test_limits_by_season_hold_together_and_multiply():
    reference = [(4, 50), (10, 40), (0, 0)]
    alarm = Alarm.against_seasons("errors", reference, alpha=0.03)
    expected = [stats.beta.ppf(1 - 0.005, k + 1, n - k) for k, n in reference[:2]]
    np.testing.assert_allclose(alarm.limits, [*expected, 1.0])
    after = alarm.update([3, 5, 9], [12, 7, 9])
    ratios = []
    for odds in ODDS:
        ratio = 1.0
        for allowed, k, n in zip(expected, (3, 5), (12, 7), strict=True):
            risen = odds * allowed / (1 - allowed + odds * allowed)
            ratio *= stats.binom.pmf(k, n, risen) / stats.binom.pmf(k, n, allowed)
        ratios.append(ratio / 2)
    np.testing.assert_allclose(after.bets, ratios)


def test_an_accepted_change_is_allowed_in_all_seasons():
    alarm = Alarm.against_readings("far", [(5, 50), (30, 60)], alpha=0.02)
    while not alarm.raised:
        alarm = alarm.update([30, 0], [40, 0])
    (alarm,) = counted_since((alarm,), [(30, 40)])
    again = alarm.restarted()
    seen = stats.beta.ppf(1 - again.alpha / 2, 31, 10)
    urns = [stats.beta.ppf(1 - again.alpha / 4, a, b) for a, b in alarm.urns]
    np.testing.assert_allclose(again.limits, np.maximum(urns, seen))
    assert again.urns.size == 0
    for _ in range(20):
        again = again.update([15, 14], [40, 40])
    assert not again.raised


@pytest.mark.slow
def test_false_alarms_of_seasons_are_as_rare_as_promised():
    rng = np.random.default_rng(0)
    raised = 0
    for _ in range(300):
        readings = np.sort(rng.normal(size=(12, 50)), axis=1)
        thresholds = readings[:, 44]
        alarm = Alarm.against_readings("far", [(5, 50)] * 12, alpha=0.2)
        for month in list(range(12)) * 3:
            hits = np.zeros(12, dtype=int)
            hits[month] = (rng.normal(size=100) > thresholds[month]).sum()
            alarm = alarm.update(hits, 100 * (np.arange(12) == month))
        raised += alarm.raised
    assert raised <= 300 * 0.2
    assert raised > 0
