"""A claim of a paper, declared before anything is computed, and its verdict by rule."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import stats

LEVEL = 0.95
RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
WITHIN = "within"
"""A claim that something does not change: its mean is less than the bound from 0 (an equivalence test)."""


@dataclass(frozen=True)
class Claim:
    """What a paper says, as an inequality: ``statistic relation bound``.

    Attributes
    ----------
    sentence : str
        The claim, in one sentence.
    statistic : str
        The number that each seed gives, in words with its unit; or what each seed says yes or no to.
    relation : {"<", "<=", ">", ">=", "within"}
        How the statistic compares with the bound where the claim is true.
    bound : float
        The bound.
    """

    sentence: str
    statistic: str
    relation: Literal["<", "<=", ">", ">=", "within"]
    bound: float


@dataclass(frozen=True)
class Finding:
    """What the seeds gave for one claim: the mean, its interval (None for a single seed) and the verdict.

    ``rival`` is the one that the claim is closest to fail against, where there are several.
    """

    mean: float
    low: float | None
    high: float | None
    verdict: Literal["holds", "does not hold", "undecided"]
    rival: str | None = None


def judge(claim: Claim, values: Sequence[float] | Sequence[Mapping[str, float]]) -> Finding:
    """Decide a claim by the t interval of the mean over seeds; a single value decides by itself.

    Where each seed says yes or no (a bool), the mean is the fraction of the seeds that say yes, and the interval the
    exact binomial one (Clopper and Pearson): that a seed says yes more often than not is a sign test.

    It holds where the whole interval satisfies the inequality, does not hold where none of it does, and is
    undecided otherwise. "X is best" has one number for each rival: it holds where it holds against all of them (an
    intersection-union test, which needs no correction), and does not where it fails against one.

    Raises
    ------
    ValueError
        If there is no value, or one is not a number.
    """
    if len(values) and isinstance(values[0], Mapping):
        against = {rival: _judge(claim, [one[rival] for one in values]) for rival in values[0]}
        order = ("does not hold", "undecided", "holds")
        sign = -1.0 if claim.relation in ("<", "<=") else 1.0
        rival = min(
            against, key=lambda one: (order.index(against[one].verdict), sign * against[one].mean)
        )
        return replace(against[rival], rival=rival)
    return _judge(claim, values)


def _judge(claim: Claim, values: Sequence[float]) -> Finding:
    if not len(values) or not all(math.isfinite(value) for value in values):
        raise ValueError(
            f"values of {claim.statistic!r} must be finite numbers, got {list(values)}."
        )
    mean = float(np.mean(values))
    low = high = mean
    if len(values) > 1:
        low, high = _interval(values)
    if claim.relation == WITHIN:
        satisfied = -claim.bound < low and high < claim.bound
        possible = low < claim.bound and high > -claim.bound
    else:
        ends = [RELATIONS[claim.relation](end, claim.bound) for end in (low, high)]
        satisfied, possible = all(ends), any(ends)
    verdict = "holds" if satisfied else "undecided" if possible else "does not hold"
    if len(values) == 1:
        return Finding(mean, None, None, verdict)
    return Finding(mean, low, high, verdict)


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the exact binomial interval of yes and no, and the t interval of the mean of numbers."""
    if all(isinstance(value, bool) for value in values):
        exact = stats.binomtest(sum(values), len(values)).proportion_ci(LEVEL, method="exact")
        return float(exact.low), float(exact.high)
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1) * stats.sem(values))
    mean = float(np.mean(values))
    return mean - half, mean + half
