"""Alarms for endless monitoring: an anytime-valid sequential test that a rate has not risen, with restarts."""

from __future__ import annotations

import math
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

    @classmethod
    def against(cls, name: str, hits: int, n: int, *, alpha: float) -> Alarm:
        """Start an alarm from the hits among n reference samples; half of alpha covers their own chance."""
        # The reference's rate is an estimate: held against it alone, 20 % of monitors would alarm without a change.
        allowed = binomial_interval(hits / n, n, 1.0 - alpha)[1]
        return cls(name=name, allowed=allowed, alpha=alpha, bets=np.zeros(len(_ODDS_RATIOS)))

    def update(self, hits: int, n: int) -> Alarm:
        """Return the alarm after a batch of n samples, of which ``hits`` count."""
        t = self.n_batches + 1
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
            n_batches=t,
            n_samples=self.n_samples + n,
            n_hits=self.n_hits + hits,
        )
        found = replace(found, highest=max(self.highest, found.evidence))
        # Half of alpha was spent on the upper limit of the reference: Ville's inequality has the other half.
        if self.raised_at == 0 and found.highest >= 2.0 / self.alpha:
            found = replace(found, raised_at=t)
        return found

    @property
    def evidence(self) -> float:
        """The e-value: the mean of the bets, and the stakes that have not been placed yet."""
        return float(self.bets.mean()) + 1.0 / (self.n_batches + 1.0)

    @property
    def raised(self) -> bool:
        """Whether the alarm was raised."""
        return self.raised_at > 0

    @property
    def rate(self) -> float:
        """Hits per sample so far; NaN before the first one."""
        return self.n_hits / self.n_samples if self.n_samples else math.nan
