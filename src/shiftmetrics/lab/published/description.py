"""Out-of-sample description length: the generalisation error that posterior agreement bounds from below."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, log_partition, posteriors, to_float64
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.options import Computing
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Status, format_number
from shiftmetrics._core.validation import check_number
from shiftmetrics.agreement.posterior import posterior_agreement
from shiftmetrics.agreement.scores import ScorePairs, named_prior, prepare_pairs
from shiftmetrics.agreement.solver import rounding_error
from shiftmetrics.agreement.statistic import survey

EVALUATED = Status("evaluated", "The description length at this beta.")
UNBOUNDED = Status(
    "unbounded",
    "At infinite beta a class that one sample predicts has no probability in the other: the code is infinitely long.",
    "Choose a finite beta.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class DescriptionLength(Record):
    """Out-of-sample description length.

    Attributes
    ----------
    value : float
        Nats per sample, less those of a code by the prior alone; ``-log K`` is the shortest. Lower is better.
    error_bound : float
        Rounding error.
    status : Status
        Not ok where the value is infinite.
    beta : float
        Inverse temperature of both posteriors.
    agreement : float
        Agreement at the same beta: ``value >= -agreement`` always (Jensen).
    per_sample : ndarray of shape (n_samples,)
        Each row's code length in nats; their weighted mean is ``value``.
    """

    value: float
    error_bound: float
    status: Status
    beta: float
    agreement: float
    per_sample: FloatArray

    @property
    def bits(self) -> float:
        """The length in bits per sample."""
        return self.value / math.log(2.0)

    def __str__(self) -> str:
        return (
            f"Coding classes drawn from the reference posteriors by the shifted ones takes "
            f"{format_number(abs(self.value))} nats ({format_number(abs(self.bits))} bits) per row "
            f"{'less' if self.value < 0 else 'more'} than by the prior, at beta = {format_number(self.beta)}; "
            f"{'the most that agreement allows to save is' if self.agreement >= 0 else 'agreement costs at least'} "
            f"{format_number(abs(self.agreement))} nats."
        )


def description_length(
    scores: Any,
    reference_scores: Any,
    *,
    beta: float | None = None,
    kind: str = "scores",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    executor: Executor | None = None,
) -> DescriptionLength:
    """Out-of-sample description length: the loss of the shifted posteriors on classes drawn from the reference ones.

    The mean over rows of ``sum_k q(k) (-log p(k) / pi(k))``, with p the posterior of the shifted and q that of the
    reference row [1]_. Posterior agreement with its sign turned is a lower bound of it.

    Parameters
    ----------
    scores, reference_scores, kind, prior, sample_weight, floor, executor
        As in `posterior_agreement`.
    beta : float, optional
        Inverse temperature of both posteriors; infinity is allowed. Default: that of posterior agreement.

    Returns
    -------
    DescriptionLength
        Value in nats per sample; lower is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`, or if ``beta`` is negative or NaN.

    References
    ----------
    .. [1] V. Jimenez Rodriguez, master thesis, ETH Zurich 2024, section 2.3 and lemma 2.3.1. Its "non-negative" does
       not hold: the least value is -log K.

    Examples
    --------
    >>> from shiftmetrics.lab.published import description_length
    >>> length = description_length([2.0, 1.0, -1.0, -2.0], [1.0, 2.0, -1.0, 0.5], beta=1.0)
    >>> round(length.value, 4), round(-length.agreement, 4)
    (0.0697, -0.1475)
    """
    if beta is not None:
        beta = check_number(beta, "beta", low=0.0, allow_inf=True)
    options: dict[str, Any] = {"kind": kind, "sample_weight": sample_weight, "floor": floor}
    used = prior
    if beta is None:
        computing = Computing(executor=executor)
        fitted = posterior_agreement(
            scores, reference_scores, prior=prior, computing=computing, **options
        )
        beta, used = fitted.beta, fitted.prior
    pairs = prepare_pairs(scores, reference_scores, prior=used, **options)
    pairs, limits = survey(pairs, predicted=isinstance(named_prior(used), str), executor=executor)
    inner = beta / pairs.scale
    slices = pairs.slices()
    lengths, overlaps = np.empty(pairs.n_samples), np.empty(pairs.n_samples)
    for rows, both in zip(
        slices,
        map_blocks(lambda rows: _code_lengths(pairs, rows, inner), slices, executor=executor),
        strict=True,
    ):
        lengths[rows], overlaps[rows] = both
    value, agreement = (_mean(part, pairs.weights) for part in (lengths, overlaps))
    error = rounding_error(
        np.asarray([inner if math.isfinite(inner) else 0.0]), limits, pairs.prior
    )
    return DescriptionLength(
        value=value,
        error_bound=2.0 * float(error[0]),
        status=EVALUATED if math.isfinite(value) else UNBOUNDED,
        beta=beta,
        agreement=agreement,
        per_sample=lengths,
    )


def _code_lengths(pairs: ScorePairs, rows: slice, beta: float) -> tuple[FloatArray, FloatArray]:
    """Return each row's code length and agreement; -log(p / pi) = L(a) - beta a needs no small probability."""
    block = to_float64(pairs.block(rows))
    prior = pairs.prior[pairs.prior > 0.0]
    shifted, reference, pair = block
    q = posteriors(reference, prior, beta)
    if math.isinf(beta):
        best = shifted == 0.0
        mass = best @ prior
        missed = (q * ~best).sum(axis=1)
        with np.errstate(divide="ignore"):
            overlap = np.log((q * best).sum(axis=1)) - np.log(mass)
        return np.where(missed > 0.0, math.inf, np.log(mass)), overlap
    own, _ = log_partition(shifted, prior, beta)
    other, _ = log_partition(reference, prior, beta)
    both, _ = log_partition(pair, prior, beta)
    return own - beta * (q * shifted).sum(axis=1), both - own - other


def _mean(values: FloatArray, weights: FloatArray | None) -> float:
    if weights is None:
        return float(values.mean())
    return float(np.average(values[weights > 0.0], weights=weights[weights > 0.0]))
