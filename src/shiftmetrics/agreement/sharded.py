"""Posterior agreement of pairs that lie in several places: partitions of a cluster, processes of a training job.

The solver asks for sums over all pairs, so whoever can add up the statistics of the shards can have the certified
agreement: no scores travel.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.validation import check_integer, check_number
from shiftmetrics.agreement.posterior import constant_warning, prior_setting
from shiftmetrics.agreement.result import PosteriorAgreementResult, certified_fields
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.agreement.solver import solve_agreement
from shiftmetrics.agreement.statistic import AgreementLimits, AgreementStatistic, evaluator, limits_of

Total = Callable[[Callable[[ScorePairs], Any]], Any]
"""Maps a function from pairs to a statistic to the sum of its values over all shards."""


def sharded_agreement(
    total: Total,
    uniform: FloatArray,
    *,
    kind: str,
    prior: Any,
    floor: float | None,
    atol: float,
    max_iter: int,
) -> PosteriorAgreementResult:
    """Solve for the agreement of all shards together; ``uniform`` is the prior of the shards as prepared."""
    atol = check_number(atol, "atol", low=0.0, open_low=True)
    max_iter = check_integer(max_iter, "max_iter", low=1)
    limits: AgreementLimits = total(functools.partial(_limits, prior=uniform, scale=1.0))
    spread = max(limits.pair_spread, limits.single_spread)
    scale = 1.0
    if not (spread == 0.0 or 1e-150 < spread < 1e150):
        scale = 2.0 ** -max(-1000, min(1000, math.frexp(spread)[1] if math.isfinite(spread) else 1000))
        limits = total(functools.partial(_limits, prior=uniform, scale=scale))
    weights = uniform
    if isinstance(prior, str):
        weights = limits.predicted / limits.predicted.sum()
        limits = total(functools.partial(_limits, prior=weights, scale=scale))
    best = solve_agreement(
        lambda betas: total(functools.partial(_sums, prior=weights, scale=scale, betas=betas)),
        limits,
        prior=weights,
        atol=atol,
        max_iter=max_iter,
    )
    fields = certified_fields(best, limits, prior=weights, scale=scale, uniform=prior is None)
    return PosteriorAgreementResult(
        **fields,
        settings=settings_of(
            kind=kind, prior=prior_setting(prior), floor=floor, atol=atol, max_iter=max_iter
        ),
        warnings=tuple(constant_warning(fields["effective_classes"], predicted=isinstance(prior, str))),
    )


def _limits(pairs: ScorePairs, *, prior: FloatArray, scale: float) -> AgreementLimits:
    return limits_of(pairs.replace(prior=prior, scale=scale))


def _sums(pairs: ScorePairs, *, prior: FloatArray, scale: float, betas: FloatArray) -> AgreementStatistic:
    return evaluator(pairs.replace(prior=prior, scale=scale))(betas)
