"""The result of posterior agreement: the value, its certificate, and how to read both."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.maximum import Maximum
from shiftmetrics._core.numerics import entropy
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Interval, Result, format_number
from shiftmetrics.agreement.channel import equivalent_error
from shiftmetrics.agreement.statistic import AgreementLimits

BOUNDARY = (
    "boundary",
    True,
    "Agreement rises for ever: every pair shares a predicted class, so beta is infinite and only ties cost.",
)
NO_AGREEMENT = (
    "no_agreement",
    True,
    "No beta gives more agreement than chance: beta is 0 and the posteriors are flat.",
)
"""Statuses of every search for beta, in memory or of a stream."""


class AgreementStatus(Status):
    """How the search for beta ended."""

    converged = ("converged", True, "The maximum is certified to the tolerance.")
    boundary = BOUNDARY
    no_agreement = NO_AGREEMENT
    max_iter = (
        "max_iter",
        False,
        "The certificate did not reach the tolerance: error_bound says how far it came. Raise max_iter or atol.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class PosteriorAgreementResult(Drawn, Result):
    """Posterior agreement with its certificate.

    Attributes
    ----------
    value : float
        Agreement in nats per sample, from 0 (chance) to log K. Higher is better.
    error_bound : float
        Certificate gap and rounding: the supremum over all beta is within ``value +- error_bound``.
    status : AgreementStatus
        How the search for beta ended.
    beta : float
        Inverse temperature where the agreement is largest; infinity when it is a limit.
    log_pa : float
        The same on the scale of the papers: ``n_samples * (value - log K)``, at most 0.
    normalized : float
        ``value / log K``.
    equivalent_error : float
        Error rate of the symmetric channel with this capacity. Lower is better.
    disagreement : float
        Share of pairs (by weight) that have no predicted class in common.
    effective_classes : float
        Exponential of the entropy of the predicted classes of both samples: near 1 when the model has collapsed.
    n_classes : int
        Number of classes K.
    prior : ndarray of shape (n_classes,)
        The class prior used.
    per_sample : ndarray of shape (n_samples,) or None
        Contribution of each pair in nats; their weighted mean is ``value``.
    resampled : ndarray of shape (n_resamples,) or None
        The value in each bootstrap draw, where an interval was asked for; draws of models on the same pairs with
        one seed are paired.
    curve_beta, curve_value, curve_bound : ndarray of shape (n_points,)
        The betas evaluated, the agreement there, and its upper bound from there to the next beta (the last: to
        infinity). Together they are the certificate.
    n_evaluations, n_passes : int
        Betas evaluated on all pairs, and passes over the pairs that they took.
    """

    measure: ClassVar[str] = "posterior_agreement"
    title: ClassVar[str] = "Posterior agreement"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True

    status: AgreementStatus
    beta: float
    log_pa: float
    normalized: float
    equivalent_error: float
    disagreement: float
    effective_classes: float
    n_classes: int
    prior: FloatArray
    per_sample: FloatArray | None = None
    resampled: FloatArray | None = None
    curve_beta: FloatArray
    curve_value: FloatArray
    curve_bound: FloatArray
    n_evaluations: int
    n_passes: int

    @property
    def normalized_error_bound(self) -> float:
        """Numerical error of ``normalized``."""
        return self.error_bound / math.log(self.n_classes)

    @property
    def normalized_interval(self) -> Interval | None:
        """Sampling interval of ``normalized``, where there is one of the value."""
        return self._interval_by(lambda value: value / math.log(self.n_classes))

    @property
    def equivalent_error_bound(self) -> float:
        """Numerical error of ``equivalent_error``."""
        low, high = (
            equivalent_error(self.value + sign * self.error_bound, self.n_classes) for sign in (1, -1)
        )
        return max(self.equivalent_error - low, high - self.equivalent_error)

    @property
    def equivalent_error_interval(self) -> Interval | None:
        """Sampling interval of ``equivalent_error``, where there is one of the value."""
        return self._interval_by(lambda value: equivalent_error(value, self.n_classes))

    def _interval_by(self, scale: Callable[[float], float]) -> Interval | None:
        """Return the interval on another scale, on which higher agreement may be a lower number."""
        if self.interval is None:
            return None
        low, high = sorted(map(scale, (self.interval.low, self.interval.high)))
        return dataclasses.replace(self.interval, low=low, high=high)

    def headline(self) -> str:
        """Return one sentence with the value and the channel it equals."""
        return (
            f"{self.title}: {format_number(self.value)} nats of at most {format_number(math.log(self.n_classes))} "
            f"(normalized {format_number(self.normalized)}); the two sets of predictions agree as well as a "
            f"channel that flips {100 * self.equivalent_error:.3g} % of the labels."
        )

    def notes(self) -> list[str]:
        """Return the sentences on beta, on the classes, and those of every measure."""
        share = (
            f"{100 * self.disagreement:.3g} % of the {self.n_samples} pairs have no predicted class in common"
        )
        classes = f"predictions use {self.effective_classes:.3g} of {self.n_classes} classes in effect"
        beta = "infinite beta" if math.isinf(self.beta) else f"beta = {format_number(self.beta)}"
        sentences = [f"Reached at {beta}; {share}; {classes}."]
        if self.status in (AgreementStatus.boundary, AgreementStatus.no_agreement):
            sentences.append(self.status.text)
        return [*sentences, *super().notes()]


def certified_fields(
    best: Maximum, limits: AgreementLimits, *, prior: FloatArray, scale: float, uniform: bool
) -> dict[str, Any]:
    """Return the fields of a result that follow from the sums over all pairs, whoever took them."""
    n_classes, n_samples = len(prior), round(limits.n_rows)
    log_classes = math.log(n_classes)
    value = min(best.value, log_classes) if uniform else best.value
    return {
        "value": value,
        "error_bound": best.error_bound,
        "status": status_of(best),
        "n_samples": n_samples,
        "beta": float(_given_units(np.asarray(best.x), scale)),
        "log_pa": n_samples * (value - log_classes),
        "normalized": value / log_classes,
        "equivalent_error": equivalent_error(value, n_classes),
        "disagreement": limits.disagreeing / limits.weight,
        "effective_classes": math.exp(entropy(limits.predicted / limits.predicted.sum())),
        "n_classes": n_classes,
        "prior": prior,
        "curve_beta": _given_units(best.points, scale),
        "curve_value": best.values,
        "curve_bound": best.bounds,
        "n_evaluations": best.n_evaluations,
        "n_passes": best.n_passes,
    }


def status_of(best: Maximum) -> AgreementStatus:
    """Return how a search for beta ended."""
    if not best.converged:
        return AgreementStatus.max_iter
    if best.x == 0.0:
        return AgreementStatus.no_agreement
    return AgreementStatus.boundary if math.isinf(best.x) else AgreementStatus.converged


def _given_units(betas: FloatArray, scale: float) -> FloatArray:
    """Undo the common scale; a finite beta stays finite, since infinity means the limit."""
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(betas), np.minimum(betas * scale, sys.float_info.max), betas)
