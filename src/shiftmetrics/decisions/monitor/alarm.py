"""Alarms for endless monitoring: an anytime-valid sequential test that a rate has not risen, with restarts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics._core.record import Record

_ODDS_RATIOS = np.array([1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0])
"""How many times higher the odds may have become: one bet on each."""
_LARGEST = 1e200
_N_RATES = 32
"""Quantiles of the distribution of a rate whose odds a bet multiplies."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Alarm(Record):
    """A test, after each batch, that a rate is still at most what a reference allows.

    For each odds ratio the likelihood ratio of a rate that has risen so much is a bet whose fair value is at most 1.
    New bets start at every batch with weights 1 / (t (t + 1)), which sum to 1, so that a change is found whenever
    it comes. Under "not risen" the mean W of the bets is at most 1 in expectation, at any time (an e-process): by
    Ville's inequality it ever reaches 1 / alpha with a probability of at most alpha, however often one looks.

    Where a passport knows seasons, a bet is the product of the likelihood ratios of the seasons of a batch: one test
    over all seasons, which a change that stays moves on in every one of them. A limit for each season would cost too
    much: of 50 samples it lies far above their rate. Of samples none is needed. The threshold of a season is one of
    its own n readings, with k beyond it, so that the rate of new samples beyond it has the distribution
    Beta(k + 1, n - k), whatever that of the readings, and the hits of a season are those of Polya's urn. Against that
    known distribution the likelihood ratio of risen rates has expectation 1, and is the bet. Errors have no such
    threshold: each season has a limit for them.

    Attributes
    ----------
    name : str
        What is counted, such as "errors".
    allowed : float
        The rate that the reference allows: the upper confidence limit of its own count; with seasons, the highest of
        ``limits``.
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
    limits : array of shape (n_seasons,)
        What is allowed in each season, or with ``urns`` expected; empty where there are none.
    urns : array of shape (n_seasons, 2)
        Parameters of the Beta distribution of the rate of each season, given the batches so far; empty where its
        threshold is no reading of its own, and after an alarm was acknowledged.
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
    limits: FloatArray = field(default_factory=lambda: np.zeros(0))
    urns: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))

    @classmethod
    def against(cls, name: str, hits: int, n: int, *, alpha: float) -> Alarm:
        """Start an alarm from the hits among n reference samples; half of alpha covers their own chance."""
        # The reference's rate is an estimate: held against it alone, 20 % of monitors would alarm without a change.
        allowed = binomial_interval(hits / n, n, 1.0 - alpha)[1]
        return cls(name=name, allowed=allowed, alpha=alpha, bets=np.zeros(len(_ODDS_RATIOS)))

    @classmethod
    def against_seasons(
        cls, name: str, counts: Sequence[tuple[int, int]], *, alpha: float
    ) -> Alarm:
        """Start an alarm from the hits among the n reference samples of each season."""
        # All limits hold together: each season has its part of the half of alpha that covers the chance of counts.
        level = 1.0 - alpha / len(counts)
        limits = np.array(
            [binomial_interval(hits / n, n, level)[1] if n else 1.0 for hits, n in counts]
        )
        bets = np.zeros(len(_ODDS_RATIOS))
        return cls(name=name, allowed=float(limits.max()), alpha=alpha, bets=bets, limits=limits)

    @classmethod
    def against_readings(
        cls, name: str, counts: Sequence[tuple[int, int]], *, alpha: float
    ) -> Alarm:
        """Start an alarm from the readings of each season beyond one of its own n: k of them, for each season."""
        urns = np.array([(hits + 1.0, n - hits) for hits, n in counts])
        limits = urns[:, 0] / urns.sum(axis=1)
        return cls(
            name=name,
            allowed=float(limits.max()),
            alpha=alpha,
            bets=np.zeros(len(_ODDS_RATIOS)),
            limits=limits,
            urns=urns,
        )

    def update(self, hits: int | IntArray, n: int | IntArray) -> Alarm:
        """Return the alarm after a batch of n samples, of which ``hits`` count; with seasons, those of each."""
        t = self.n_batches - self.started_at + 1
        log_ratio = np.zeros(len(_ODDS_RATIOS))
        limits = self.limits if self.limits.size else np.array([self.allowed])
        counts = np.column_stack([np.atleast_1d(hits), np.atleast_1d(n)])
        urns = self.urns.copy()
        for season, (own_hits, own_n) in enumerate(counts.tolist()):
            if not own_n:
                continue
            if urns.size:
                log_ratio += _urn_ratios(urns[season], own_hits, own_n)
                urns[season] += own_hits, own_n - own_hits
            else:
                log_ratio += _rate_ratios(float(limits[season]), own_hits, own_n)
        # Old stakes and the new one are put on this batch together.
        stake = 1.0 / (t * (t + 1.0))
        with np.errstate(over="ignore"):
            bets = np.exp(log_ratio) * (self.bets + stake)
        # Far beyond any alarm, and no infinity in a state file.
        bets = np.minimum(bets, _LARGEST)
        found = replace(
            self,
            bets=bets,
            urns=urns,
            n_batches=self.n_batches + 1,
            n_samples=self.n_samples + int(np.sum(n)),
            n_hits=self.n_hits + int(np.sum(hits)),
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
        limits = self.limits
        if self.n_since:
            # What chance added to the rate in the batch of the alarm makes the limit higher, never lower.
            high = binomial_interval(self.n_hits_since / self.n_since, self.n_since, 1.0 - alpha)[1]
            allowed = max(allowed, high)
            # In seasons that have not come since, the accepted change is expected to be as large.
            limits = np.maximum(self._limits_of_seasons(alpha), high)
            if limits.size:
                allowed = float(limits.max())
        return replace(
            self,
            allowed=allowed,
            limits=limits,
            urns=np.zeros((0, 2)),
            alpha=alpha,
            bets=np.zeros(len(_ODDS_RATIOS)),
            highest=0.0,
            raised_at=0,
            n_restarts=n,
            started_at=self.n_batches,
            n_since=0,
            n_hits_since=0,
        )

    def _limits_of_seasons(self, alpha: float) -> FloatArray:
        """Return what each season allows by what is known of it, all together but for half of alpha."""
        from scipy.stats import beta

        if not self.urns.size:
            return self.limits
        level = 1.0 - 0.5 * alpha / len(self.urns)
        return np.asarray(beta.ppf(level, self.urns[:, 0], self.urns[:, 1]), dtype=np.float64)

    @property
    def evidence(self) -> float:
        """The e-value: the mean of the bets, and the stakes that have not been placed yet."""
        # The stakes 1 / (s (s + 1)) of all batches s after the t-th sum to 1 / (t + 1).
        return float(self.bets.mean()) + 1.0 / (self.n_batches - self.started_at + 1.0)

    @property
    def least_allowed(self) -> float:
        """The rate that is allowed in the season that allows least; the same as ``allowed`` without seasons."""
        return float(self.limits.min()) if self.limits.size else self.allowed

    @property
    def raised(self) -> bool:
        """Whether the alarm was raised."""
        return self.raised_at > 0

    @property
    def rate(self) -> float:
        """Hits per sample so far; NaN before the first one."""
        return self.n_hits / self.n_samples if self.n_samples else math.nan


def _rate_ratios(allowed: float, hits: int, n: int) -> FloatArray:
    """Return the logarithm of the likelihood ratio of each risen rate against the allowed one."""
    # Under any rate up to the allowed one the ratio of a higher rate has an expectation of at most
    # 1: a bet that is fair against the limit is no better against what lies below it.
    # A rate of 1 cannot rise: every bet keeps its value then.
    if allowed >= 1.0:
        return np.zeros(len(_ODDS_RATIOS))
    odds = _ODDS_RATIOS * allowed / (1.0 - allowed)
    raised = odds / (1.0 + odds)
    ratios = hits * np.log(raised / allowed)
    return np.asarray(ratios + (n - hits) * np.log((1.0 - raised) / (1.0 - allowed)))


def _urn_ratios(urn: FloatArray, hits: int, n: int) -> FloatArray:
    """Return the logarithm of the likelihood ratio of each risen rate against that of an urn.

    A risen rate is one of a few quantiles of the urn's distribution with its odds multiplied: whichever they are, the
    hits then have some distribution, and the ratio of it to that of the urn has expectation 1.
    """
    from scipy.special import betaln, logsumexp
    from scipy.stats import beta

    places = (np.arange(_N_RATES) + 0.5) / _N_RATES
    rates = np.clip(beta.ppf(places, *urn), 1e-12, 1.0 - 1e-12)
    odds = np.outer(_ODDS_RATIOS, rates / (1.0 - rates))
    # In odds o the likelihood is o^hits / (1 + o)^n; the binomial coefficient stands in both and
    # cancels.
    log_likelihood = hits * np.log(odds) - n * np.log1p(odds)
    log_risen = logsumexp(log_likelihood, axis=1) - np.log(_N_RATES)
    log_urn = betaln(urn[0] + hits, urn[1] + n - hits) - betaln(*urn)
    return np.asarray(log_risen - log_urn, dtype=np.float64)


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
