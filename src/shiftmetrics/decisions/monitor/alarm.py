"""Alarms for endless monitoring: an anytime-valid sequential test that a rate has not risen, with restarts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics._core.record import Record

_ODDS_RATIOS = np.array([1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0])
"""How many times higher the odds may have become: one bet on each."""
_LARGEST = 1e200


@dataclass(frozen=True, eq=False, kw_only=True)
class Alarm(Record):
    """A test, after each batch, that a rate is still at most what a reference allows.

    For each odds ratio the likelihood ratio of a rate that has risen so much is a bet whose fair value is at most 1.
    New bets start at every batch with weights 1 / (t (t + 1)), which sum to 1, so that a change is found whenever
    it comes. Under "not risen" the mean W of the bets is at most 1 in expectation, at any time (an e-process): by
    Ville's inequality it ever reaches 1 / alpha with a probability of at most alpha, however often one looks.

    Attributes
    ----------
    name : str
        What is counted, such as "errors".
    allowed : float
        The rate that the reference allows: the upper confidence limit of its own count.
    alpha : float
        Probability of ever raising this alarm without a change.
    bets : array of shape (11,)
        What each bet has won so far.
    n_batches, n_samples, n_hits : int
        Batches, samples and hits so far.
    highest : float
        The highest evidence so far.
    raised_at : int
        The batch at which the alarm was raised; 0 while it was not.
    n_restarts, started_at : int
        How often it was started again, after an alarm was acknowledged, and the batch after which it was started.
    n_since, n_hits_since : int
        Samples and hits from the batch on in which an alarm of its kind was raised: what is expected after it is
        acknowledged.
    """

    name: str
    allowed: float
    alpha: float
    bets: FloatArray
    n_batches: int = 0
    n_samples: int = 0
    n_hits: int = 0
    highest: float = 0.0
    raised_at: int = 0
    n_restarts: int = 0
    started_at: int = 0
    n_since: int = 0
    n_hits_since: int = 0

    @classmethod
    def against(cls, name: str, hits: int, n: int, *, alpha: float) -> Alarm:
        """Start an alarm from the hits among n reference samples; half of alpha covers their own chance."""
        # The reference's rate is an estimate: held against it alone, 20 % of monitors would alarm without a change.
        allowed = binomial_interval(hits / n, n, 1.0 - alpha)[1]
        return cls(name=name, allowed=allowed, alpha=alpha, bets=np.zeros(len(_ODDS_RATIOS)))

    def update(self, hits: int, n: int) -> Alarm:
        """Return the alarm after a batch of n samples, of which ``hits`` count."""
        t = self.n_batches - self.started_at + 1
        log_ratio = np.zeros(len(_ODDS_RATIOS))
        # A rate of 1 cannot rise: every bet keeps its value then.
        if self.allowed < 1.0:
            odds = _ODDS_RATIOS * self.allowed / (1.0 - self.allowed)
            raised = odds / (1.0 + odds)
            log_ratio += hits * np.log(raised / self.allowed)
            log_ratio += (n - hits) * np.log((1.0 - raised) / (1.0 - self.allowed))
        # Old stakes and the new one are put on this batch together.
        stake = 1.0 / (t * (t + 1.0))
        with np.errstate(over="ignore"):
            bets = np.exp(log_ratio) * (self.bets + stake)
        # Far beyond any alarm, and no infinity in a state file.
        bets = np.minimum(bets, _LARGEST)
        found = replace(
            self,
            bets=bets,
            n_batches=self.n_batches + 1,
            n_samples=self.n_samples + n,
            n_hits=self.n_hits + hits,
        )
        found = replace(found, highest=max(self.highest, found.evidence))
        # Half of alpha was spent on the upper limit of the reference: Ville's inequality has the other half.
        if self.raised_at == 0 and found.highest >= 2.0 / self.alpha:
            found = replace(found, raised_at=found.n_batches)
        return found

    def restarted(self) -> Alarm:
        """Return the alarm started again, against the rate that was seen since an alarm of its kind was raised.

        Its part of the error probability is the next of 1 / 2, 1 / 6, 1 / 12, ..., which sum to 1: with all that
        follow, however many changes are acknowledged, false alarms have the same probability as without.
        """
        n = self.n_restarts + 1
        alpha = self.alpha * part_of_start(n) / part_of_start(self.n_restarts)
        allowed = self.allowed
        if self.n_since:
            # What chance added to the rate in the batch of the alarm makes the limit higher, never lower.
            high = binomial_interval(self.n_hits_since / self.n_since, self.n_since, 1.0 - alpha)[1]
            allowed = max(allowed, high)
        return replace(
            self,
            allowed=allowed,
            alpha=alpha,
            bets=np.zeros(len(_ODDS_RATIOS)),
            highest=0.0,
            raised_at=0,
            n_restarts=n,
            started_at=self.n_batches,
            n_since=0,
            n_hits_since=0,
        )

    @property
    def evidence(self) -> float:
        """The e-value: the mean of the bets, and the stakes that have not been placed yet."""
        return float(self.bets.mean()) + 1.0 / (self.n_batches - self.started_at + 1.0)

    @property
    def raised(self) -> bool:
        """Whether the alarm was raised."""
        return self.raised_at > 0

    @property
    def rate(self) -> float:
        """Hits per sample so far; NaN before the first one."""
        return self.n_hits / self.n_samples if self.n_samples else math.nan


def part_of_start(n_restarts: int) -> float:
    """Return the part of the error probability of an alarm that was started again so often; all of them sum to 1."""
    return 1.0 / ((n_restarts + 1.0) * (n_restarts + 2.0))


def counted_since(
    alarms: tuple[Alarm, ...], counts: Iterable[tuple[int, int]]
) -> tuple[Alarm, ...]:
    """Add the hits and samples of a batch to what is known since an alarm, if one of these is raised.

    Several alarms see one change, each at its own time: they are acknowledged together.
    """
    if not any(alarm.raised for alarm in alarms):
        return alarms
    return tuple(
        replace(alarm, n_since=alarm.n_since + n, n_hits_since=alarm.n_hits_since + hits)
        for alarm, (hits, n) in zip(alarms, counts, strict=False)
    )
