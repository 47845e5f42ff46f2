"""Sampling intervals of posterior agreement: bootstrap where pairs disagree, exact binomial where none does."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import BiasCorrected, binomial_interval
from shiftmetrics._core.maximum import Maximum
from shiftmetrics._core.resampling import Bootstrap, Units
from shiftmetrics._core.result import Interval
from shiftmetrics.agreement.channel import prior_channel_capacity
from shiftmetrics.agreement.draws import draw_agreement
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.statistic import AgreementLimits


@dataclass(frozen=True)
class AgreementSampling:
    """What is known of the sampling error of an agreement.

    Attributes
    ----------
    interval : Interval
        What other samples of this size would plausibly give.
    resampled : ndarray of shape (n_resamples,)
        The agreement in each bootstrap draw, in nats per sample.
    """

    interval: Interval
    resampled: FloatArray


def sample_agreement(
    pairs: ScorePairs,
    limits: AgreementLimits,
    best: Maximum,
    units: Units,
    *,
    value: float,
    level: float,
    n_resamples: int,
    seed: int,
    predicted: bool = False,
    executor: Executor | None = None,
) -> AgreementSampling:
    """Resample the pairs, or the groups of pairs that ``units`` holds, and read the interval.

    Where every pair shares a predicted class all draws agree alike, which says nothing about the pairs that did
    not come: there the number of units limits the share of contradictions that can have been missed.
    """
    bootstrap = Bootstrap(units.n_units, n_resamples, seed)
    draws = draw_agreement(pairs, best, bootstrap, units, predicted=predicted, executor=executor)
    if math.isinf(best.x):
        return AgreementSampling(unseen_contradictions(pairs, limits, units, value, level), draws.values)
    # At beta = 0 no pair has any influence: the shares of the draws are read as they are.
    own = value if value > 0.0 else float(np.median(draws.values))
    low, high = BiasCorrected.of(own, draws.values, draws.influence).interval(level)
    what = "pairs" if units.codes is None else "groups"
    return AgreementSampling(
        Interval(
            low=0.0 if value <= 0.0 else low,
            high=high,
            level=level,
            method=f"bias-corrected bootstrap of {units.n_units} {what}, {n_resamples} draws",
        ),
        draws.values,
    )


def unseen_contradictions(
    pairs: ScorePairs, limits: AgreementLimits, units: Units, value: float, level: float
) -> Interval:
    """Bound the agreement below by the channel whose error none of the units would have shown."""
    weights = units.sums(np.ones(pairs.n_samples) if pairs.weights is None else pairs.weights)
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    # Agreement cannot be underestimated here, so all of the error probability lies on one side.
    _, error = binomial_interval(0.0, effective, level, one_sided=True)
    shares = limits.predicted / limits.predicted.sum()
    used = pairs.prior > 0.0
    low = prior_channel_capacity(error, shares[used], pairs.prior[used])
    whole = prior_channel_capacity(0.0, shares[used], pairs.prior[used])
    what = "pairs" if units.codes is None else "groups"
    return Interval(
        low=min(value, value * low / whole) if whole > 0.0 else value,
        high=value,
        level=level,
        method=f"exact binomial through the channel identity, {effective:.6g} {what} without a contradiction",
    )
