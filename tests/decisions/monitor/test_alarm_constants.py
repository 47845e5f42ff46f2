"""The alarm's threshold, stakes and cut: each against the value that its proof needs, without any simulation."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from shiftmetrics.decisions.monitor.alarm import Alarm, part_of_start


def alarm_with(evidence, *, alpha=0.05):
    """Return an alarm whose e-value is this one after one more batch without rows."""
    # The stakes: 1 / 2 on the first batch, and 1 / 2 that are not placed yet.
    bets = np.full(11, evidence - 1.0)
    return Alarm(name="errors", allowed=0.1, alpha=alpha, bets=bets)


@pytest.mark.parametrize("alpha", [0.05, 0.0125])
def test_it_is_raised_at_two_over_alpha_and_not_below(alpha):
    # Half of alpha is spent on the reference: Ville's inequality for the other half has 2 / alpha.
    assert not alarm_with(1.999 / alpha, alpha=alpha).update(0, 0).raised
    assert alarm_with(2.0 / alpha, alpha=alpha).update(0, 0).raised_at == 1


def test_the_reference_has_the_other_half_of_alpha():
    # P(X <= 3 | allowed) of 50 rows is half of alpha.
    alarm = Alarm.against("errors", 3, 50, alpha=0.04)
    assert stats.binom.cdf(3, 50, alarm.allowed) == pytest.approx(0.02)
    assert alarm.alpha == 0.04
    assert (alarm.highest, alarm.evidence) == (0.0, 1.0)
    assert math.isnan(alarm.rate)
    assert alarm.update(2, 8).rate == 0.25


def test_a_single_batch_by_hand():
    alarm = Alarm(name="errors", allowed=0.6, alpha=0.05, bets=np.zeros(11)).update(3, 4)
    odds = np.array([1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3, 4, 6, 10]) * 0.6 / 0.4
    raised = odds / (1.0 + odds)
    ratio = (raised / 0.6) ** 3 * (1.0 - raised) / 0.4
    # Half of the stakes is on this batch.
    assert alarm.evidence == pytest.approx(0.5 * ratio.mean() + 0.5)
    assert alarm.highest == alarm.evidence


def test_all_stakes_sum_to_one_at_any_time():
    # Batches without rows are fair bets whatever the rate: the e-value stays 1.
    alarm = Alarm.against("errors", 3, 50, alpha=0.04)
    for _ in range(20):
        alarm = alarm.update(0, 0)
        assert alarm.evidence == pytest.approx(1.0)


def test_each_bet_is_fair_at_the_allowed_rate_and_loses_below():
    start = Alarm(name="errors", allowed=0.3, alpha=0.05, bets=np.linspace(0.0, 2.0, 11))
    for rate, expected in ((0.3, 0.0), (0.2, -1e-3)):
        mean = sum(stats.binom.pmf(hits, 5, rate) * start.update(hits, 5).bets for hits in range(6))
        gain = mean - (start.bets + 0.5)
        assert (gain <= expected + 1e-12).all()
        assert rate < 0.3 or gain == pytest.approx(np.zeros(11), abs=1e-12)


def test_the_highest_evidence_is_kept():
    alarm = dataclasses.replace(alarm_with(30.0), allowed=0.3)
    fallen = alarm.update(0, 0).update(0, 500)
    assert fallen.evidence < 1.0
    assert fallen.highest == pytest.approx(30.0)
    assert not fallen.raised


def test_the_parts_of_all_starts_sum_to_one():
    parts = [part_of_start(n) for n in range(1000)]
    assert parts[:3] == [1 / 2, 1 / 6, 1 / 12]
    # What is left after n of them is 1 / (n + 1).
    assert sum(parts) == pytest.approx(1.0 - 1 / 1001)


def test_readings_expect_the_mean_of_their_urn():
    alarm = Alarm.against_readings("x", [(3, 50), (0, 20)], alpha=0.05)
    assert alarm.limits.tolist() == [4 / 51, 1 / 21]
    assert alarm.allowed == 4 / 51


def test_a_season_that_has_not_come_again_keeps_the_limit_of_its_urn():
    alarm = Alarm.against_readings("x", [(3, 50), (9, 20)], alpha=0.06)
    # Half of the new alpha, 1 / 6 over 1 / 2 of the old one, is shared by two seasons.
    limits = stats.beta.ppf(1.0 - 0.5 * 0.02 / 2, [4, 10], [47, 11])
    again = dataclasses.replace(alarm, n_since=1000, n_hits_since=0).restarted()
    assert again.alpha == pytest.approx(0.02)
    assert again.limits == pytest.approx(limits)
    assert again.allowed == pytest.approx(limits[1])
    assert (again.n_since, again.n_hits_since, again.raised_at, again.highest) == (0, 0, 0, 0.0)


@pytest.mark.parametrize("urn", [(4.0, 47.0), (47.0, 4.0)])
def test_a_batch_of_an_urn_by_hand(urn):
    alarm = Alarm.against_readings("x", [(int(urn[0]) - 1, int(sum(urn)) - 1)], alpha=0.05)
    found = alarm.update(np.array([5]), np.array([6]))
    rates = stats.beta.ppf((np.arange(32) + 0.5) / 32, *urn)
    ratio = []
    for odds in [1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3, 4, 6, 10]:
        raised = odds * rates / (1.0 - rates + odds * rates)
        risen = stats.binom.pmf(5, 6, raised).mean()
        ratio.append(risen / stats.betabinom.pmf(5, 6, *urn))
    assert found.bets == pytest.approx(0.5 * np.array(ratio))
    assert found.urns.tolist() == [[urn[0] + 5, urn[1] + 1]]


def test_the_season_that_allows_least_and_the_one_that_allows_most():
    readings = Alarm.against_readings("far", [(4, 30), (11, 23)], alpha=0.01)
    limits = Alarm.against_seasons("errors", [(4, 50), (10, 40)], alpha=0.03)
    for alarm in (readings, limits):
        assert alarm.limits[0] < alarm.limits[1]
        assert (alarm.least_allowed, alarm.allowed) == tuple(alarm.limits)
    # A rate that was seen since and is higher than either is allowed in all seasons.
    again = dataclasses.replace(readings, n_since=1000, n_hits_since=900).restarted()
    assert stats.binom.cdf(900, 1000, again.limits) == pytest.approx(0.01 / 3 / 2)
