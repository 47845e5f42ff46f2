"""A claim of a paper, declared before anything is computed, and its verdict by rule."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

LEVEL = 0.95
RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Claim:
    """What a paper says, as an inequality: ``statistic relation bound``.

    Attributes
    ----------
    sentence : str
        The claim, in one sentence.
    statistic : str
        The number that each seed gives, in words with its unit.
    relation : {"<", "<=", ">", ">="}
        How the statistic compares with the bound where the claim is true.
    bound : float
        The bound.
    """

    sentence: str
    statistic: str
    relation: Literal["<", "<=", ">", ">="]
    bound: float


@dataclass(frozen=True)
class Finding:
    """What the seeds gave for one claim: the mean, its interval (None for a single seed) and the verdict."""

    mean: float
    low: float | None
    high: float | None
    verdict: Literal["holds", "does not hold", "undecided"]


def judge(claim: Claim, values: Sequence[float]) -> Finding:
    """Decide a claim by the t interval of the mean over seeds; a single value decides by itself.

    It holds where the whole interval satisfies the inequality, does not hold where none of it does, and is
    undecided otherwise.

    Raises
    ------
    ValueError
        If there is no value, or one is not a number.
    """
    if not len(values) or not all(math.isfinite(value) for value in values):
        raise ValueError(
            f"values of {claim.statistic!r} must be finite numbers, got {list(values)}."
        )
    mean = float(np.mean(values))
    satisfied = RELATIONS[claim.relation]
    if len(values) == 1:
        return Finding(
            mean, None, None, "holds" if satisfied(mean, claim.bound) else "does not hold"
        )
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1) * stats.sem(values))
    ends = [satisfied(end, claim.bound) for end in (mean - half, mean + half)]
    verdict = "holds" if all(ends) else "undecided" if any(ends) else "does not hold"
    return Finding(mean, mean - half, mean + half, verdict)
