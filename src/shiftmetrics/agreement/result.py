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
from shiftmetrics._core.result import Interval, Result, format_number
from shiftmetrics._core.status import Status
from shiftmetrics.agreement.channel import equivalent_error
from shiftmetrics.agreement.groups import AgreementContributions
from shiftmetrics.agreement.pairing import Pairing
from shiftmetrics.agreement.statistic import AgreementLimits

CONVERGED = Status("converged", "The maximum is certified to the tolerance.")
BOUNDARY = Status(
    "boundary",
    "Agreement rises without end in beta: every pair shares a predicted class, so beta is infinite and only ties "
    "cost.",
)
NO_AGREEMENT = Status(
    "no_agreement", "No beta gives more agreement than chance: beta is 0 and the posteriors are flat."
)
MAX_ITER = Status(
    "max_iter",
    "The search stopped before it reached the tolerance: error_bound says how close it is.",
    "Raise max_iter or atol.",
    ok=False,
)
EVALUATED = Status("evaluated", "Agreement at the given beta; another beta may give more.")
CONTRADICTION = Status(
    "contradiction",
    "At infinite beta one pair without a common predicted class makes the agreement minus infinity.",
    "Choose a finite beta.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class PosteriorAgreementResult(Drawn, Result):
    """Posterior agreement with its certificate.

    Attributes
    ----------
    value : float
        Agreement in nats per sample, from 0 (chance) to log K; at a given beta it can be negative. Higher is better.
    error_bound : float
        Certificate gap and rounding: the supremum over all beta is within ``value +- error_bound``.
    status : Status
        How the search for beta ended.
    beta : float
        Inverse temperature where the agreement is largest, or the one given; infinity when it is a limit.
    log_pa : float
        The same on the scale of the papers: ``n_samples * (value - log K)``.
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
        Contribution of each pair in nats; their weighted mean is ``value``. None where pairs are not kept in memory.
    resampled : ndarray of shape (n_draws,) or None
        The value in each bootstrap draw, with ``resampling``; draws of models on the same pairs with one seed are
        paired.
    curve_beta, curve_value : ndarray of shape (n_points,)
        The betas evaluated, and the agreement there.
    curve_bound : ndarray of shape (n_points,) or None
        Upper bound of the agreement from each beta to the next (the last: to infinity): the certificate. None where
        there is none.
    n_evaluations, n_passes : int
        Betas evaluated on all pairs, and passes over the pairs that they took.
    pairing : Pairing or None
        How unpaired samples were paired; of several pairings, the first.
    pairing_values : ndarray of shape (n_pairings,) or None
        The agreement of each of several pairings, whose mean is ``value``; rows, beta and curve are of the first.
    contributions : AgreementContributions or None
        Of `agreement_contributions`: the split by what happened to each pair.
    """

    measure: ClassVar[str] = "posterior_agreement"
    title: ClassVar[str] = "Posterior agreement"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True

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
    curve_bound: FloatArray | None = None
    n_evaluations: int
    n_passes: int
    pairing: Pairing | None = None
    pairing_values: FloatArray | None = None
    contributions: AgreementContributions | None = None

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

    @property
    def pairing_spread(self) -> float:
        """Standard deviation over several pairings: what the choice of partners decides. 0 for one pairing."""
        values = self.pairing_values
        return 0.0 if values is None or len(values) < 2 else float(values.std(ddof=1))

    def _interval_by(self, scale: Callable[[float], float]) -> Interval | None:
        """Return the interval on another scale, on which higher agreement may be a lower number."""
        if self.interval is None:
            return None
        low, high = sorted(map(scale, (self.interval.low, self.interval.high)))
        return dataclasses.replace(self.interval, low=low, high=high)

    def headline(self) -> str:
        """Return one sentence with the value and the channel it equals."""
        most = f"{format_number(self.value)} nats of at most {format_number(math.log(self.n_classes))}"
        if str(self.status) in ("evaluated", "contradiction"):
            return f"Agreement at beta = {format_number(self.beta)}: {most}, where 0 is chance."
        return (
            f"{self.title}: {most} (normalized {format_number(self.normalized)}); the two sets of predictions agree "
            f"as well as a channel that flips {100 * self.equivalent_error:.3g} % of the labels."
        )

    def notes(self) -> list[str]:
        """Return the sentences on beta, classes, pairing and contributions, and those of every measure."""
        beta = "infinite beta" if math.isinf(self.beta) else f"beta = {format_number(self.beta)}"
        verb = "Measured" if str(self.status) in ("evaluated", "contradiction") else "Reached"
        sentences = [
            f"{verb} at {beta}; {100 * self.disagreement:.3g} % of the {self.n_samples} pairs have no predicted "
            f"class in common; predictions use {self.effective_classes:.3g} of {self.n_classes} classes in effect."
        ]
        if str(self.status) in ("boundary", "no_agreement"):
            sentences.append(self.status.text)
        if self.pairing is not None:
            sentences.append(str(self.pairing))
        if self.pairing_values is not None:
            low, high = (format_number(float(part)) for part in np.quantile(self.pairing_values, (0, 1)))
            sentences.append(
                f"The spread over {len(self.pairing_values)} pairings is {format_number(self.pairing_spread)} nats "
                f"(from {low} to {high})."
            )
        if self.contributions is not None:
            sentences.extend(self.contributions.sentences(self.beta))
        return [*sentences, *super().notes()]


def certified_fields(
    best: Maximum, limits: AgreementLimits, *, prior: FloatArray, scale: float, uniform: bool
) -> dict[str, Any]:
    """Return the fields of a result that follow from sums over all pairs, wherever the pairs are."""
    return {
        **value_fields(best.value, round(limits.n_rows), prior, uniform=uniform),
        "error_bound": best.error_bound,
        "status": status_of(best),
        "beta": float(given_units(np.asarray(best.x), scale)),
        "disagreement": limits.disagreeing / limits.weight,
        "effective_classes": math.exp(entropy(limits.predicted / limits.predicted.sum())),
        "curve_beta": given_units(best.points, scale),
        "curve_value": best.values,
        "curve_bound": best.bounds,
        "n_evaluations": best.n_evaluations,
        "n_passes": best.n_passes,
    }


def value_fields(value: float, n_samples: int, prior: FloatArray, *, uniform: bool = False) -> dict[str, Any]:
    """Return the value on all its scales; with a uniform prior it cannot exceed log K, whatever the rounding."""
    n_classes = len(prior)
    log_classes = math.log(n_classes)
    value = min(value, log_classes) if uniform else value
    return {
        "value": value,
        "n_samples": n_samples,
        "log_pa": n_samples * (value - log_classes),
        "normalized": value / log_classes,
        "equivalent_error": equivalent_error(max(value, 0.0), n_classes),
        "n_classes": n_classes,
        "prior": prior,
    }


def status_of(best: Maximum) -> Status:
    """Return how a search for beta ended."""
    if not best.converged:
        return MAX_ITER
    if best.x == 0.0:
        return NO_AGREEMENT
    return BOUNDARY if math.isinf(best.x) else CONVERGED


def given_units(betas: FloatArray, scale: float) -> FloatArray:
    """Undo the common scale; a finite beta stays finite, since infinity means the limit."""
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(betas), np.minimum(betas * scale, sys.float_info.max), betas)
