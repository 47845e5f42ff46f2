"""The result of posterior agreement: the value, its certificate, and how to read both."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, entropy
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.exceptions import Setting, Wording
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval, Result, Status, format_number, format_percent
from shiftmetrics.agreement.channel import SymmetricChannel, channel_of
from shiftmetrics.agreement.contributions import AgreementContributions

CONVERGED = Status("converged", "The maximum is certified to the tolerance.")
BOUNDARY = Status(
    "boundary",
    "Agreement rises without end in beta: every pair has a class of largest score in common, so beta is infinite and "
    "only ties cost.",
)
NO_AGREEMENT = Status(
    "no_agreement",
    "No beta gives more agreement than chance: beta is 0 and the posteriors are flat.",
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
    "At infinite beta one pair without a class of largest score in common makes the agreement minus infinity.",
    "Choose a finite beta.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionChanges(Record):
    """The predictions that change from one sample to the other.

    Attributes
    ----------
    disagreement : float
        Fraction of pairs (by weight) whose predicted class changes. It is the first of the largest scores, as NumPy,
        torch and scikit-learn take it.
    disagreement_interval : Interval or None
        What other samples of this size would give of it (Clopper and Pearson), with ``resampling``. It is short where
        that of the agreement cannot be: in 50 pairs of which none changes.
    kappa : float
        Cohen's kappa of the predictions before and after: 1 where none changes, 0 as for independent predictions.
    confident : float or None
        Fraction of the changed predictions that are confident before and after: the posterior of the predicted class
        at the beta of the result is at least 0.9 in both samples. None where pairs passed by only once.
    equivalent_error_interval : Interval or None
        Sampling interval of the equivalent error, with ``resampling``.
    n_tied : int
        Number of pairs in which several classes have the largest score, in either sample.
    """

    disagreement: float
    disagreement_interval: Interval | None = None
    kappa: float
    confident: float | None = None
    equivalent_error_interval: Interval | None = None
    n_tied: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class BetaSearch(Record):
    """The search for the inverse temperature, and its certificate.

    Attributes
    ----------
    beta, value : ndarray of shape (n_points,)
        The betas evaluated, and the agreement there.
    bound : ndarray of shape (n_points,) or None
        Upper bound of the agreement from each beta to the next (the last: to infinity): the certificate. None where
        there is none.
    n_evaluations, n_passes : int
        Betas evaluated on all pairs, and passes over the pairs that they took.
    """

    beta: FloatArray
    value: FloatArray
    bound: FloatArray | None = None
    n_evaluations: int
    n_passes: int


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
    changes : PredictionChanges
        Which predictions change: fraction, kappa, and how confident they were.
    class_fractions : ndarray of shape (n_classes,)
        How often each class is predicted, on average over both samples.
    prior : ndarray of shape (n_classes,)
        The class prior used.
    search : BetaSearch
        The betas evaluated, and the certificate.
    per_sample : ndarray of shape (n_samples,) or None
        Contribution of each pair in nats; their weighted mean is ``value``. None where pairs are not kept in memory.
    resampled : ndarray of shape (n_resamples,) or None
        The value in each bootstrap resample, with ``resampling``; resamples of models on the same pairs with one
        seed are paired.
    contributions : AgreementContributions or None
        Of `agreement_contributions`: the split by what happened to each pair.
    """

    measure = "posterior_agreement"
    title = "Posterior agreement"
    higher_is_better = True
    unit = "nats"
    rule_field = "changes.disagreement"

    beta: float
    changes: PredictionChanges
    class_fractions: FloatArray
    prior: FloatArray
    search: BetaSearch
    per_sample: FloatArray | None = None
    resampled: FloatArray | None = None
    contributions: AgreementContributions | None = None

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what must be equal for a comparison: agreement in nats grows with the number of classes."""
        criterion = Setting("criterion", "agreement_over_ceiling")
        remedy = Wording("Agreement over its ceiling can be compared: ", criterion, ".")
        return {"number of classes": (self.n_classes, remedy)}

    @property
    def secondary_metrics(self) -> dict[str, Any]:
        """Return figures that a comparison shows beside the agreement."""
        return {
            "disagreement": self.changes.disagreement,
            "kappa": self.changes.kappa,
            "normalized": self.normalized,
            "ceiling": self.ceiling,
            "equivalent_error": self.equivalent_error,
            "beta": self.beta,
        }

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.prior)

    @property
    def log_pa(self) -> float:
        """The same on the scale of the papers: ``n_samples * (value - log K)``."""
        return self.n_samples * (self.value - math.log(self.n_classes))

    @property
    def normalized(self) -> float:
        """``value / ceiling``: 1 where no prediction changes, 0 for a constant model under the predicted prior."""
        return self._channel.normalized(self.value)

    @property
    def equivalent_error(self) -> float:
        """Fraction of the predictions that a channel of this agreement flips at random. Lower is better."""
        return self._channel.error(self.value)

    @property
    def ceiling(self) -> float:
        """The most that predictions of these fractions can agree: ``sum_k fraction_k log(1 / prior_k)``, in nats."""
        return self._channel.ceiling

    @property
    def effective_classes(self) -> float:
        """Exponential of the entropy of ``class_fractions``: 1 for a constant model."""
        return math.exp(entropy(self.class_fractions))

    @property
    def normalized_error_bound(self) -> float:
        """Numerical error of ``normalized``."""
        return self._channel.normalized(self.error_bound)

    @property
    def normalized_interval(self) -> Interval | None:
        """Sampling interval of ``normalized``, where there is one of the value."""
        if self.interval is None:
            return None
        low = self._channel.normalized(self.interval.low)
        high = self._channel.normalized(self.interval.high)
        return dataclasses.replace(self.interval, low=low, high=high)

    @property
    def equivalent_error_interval(self) -> Interval | None:
        """Sampling interval of ``equivalent_error``, where there is one of the value."""
        return self.changes.equivalent_error_interval

    @property
    def _channel(self) -> SymmetricChannel:
        return channel_of(self.prior, self.class_fractions)

    def headline(self) -> str:
        """Return one sentence with the predictions that change, and the agreement over its ceiling."""
        # What changes comes first, then how far agreement is from its maximum.
        agreement = f"agreement {format_number(self.value)} of a maximum of {format_number(self.ceiling)} nats"
        if self.changes.disagreement == 0.0:
            changes = f"None of the {self.n_samples} predictions changes"
        else:
            changes = f"{format_percent(self.changes.disagreement)} of the predictions change"
            changes += f" (kappa {self.changes.kappa:.2f})"
            if self.changes.confident is not None and 0.0 < self.beta < math.inf:
                changes += f"; {format_percent(self.changes.confident)} of them confidently"
        if str(self.status) in ("evaluated", "contradiction"):
            return (
                f"{changes}; {agreement} at beta = {format_number(self.beta)}, where 0 is chance."
            )
        if self.value <= 0.0:
            return f"{changes}; agreement is no better than chance."
        text = f"{changes}; {agreement} ({format_percent(self.normalized)})"
        if self.value < self.ceiling - self.error_bound:
            text += f", like flipping {format_percent(self.equivalent_error)} of them at random"
        return f"{text}."

    def notes(self) -> list[str]:
        """Return the sentences on what changes, ties and contributions, and those of every measure."""
        sentences = []
        if str(self.status) in ("boundary", "no_agreement"):
            sentences.append(self.status.text)
        if self.changes.disagreement_interval is not None:
            ends = self.changes.disagreement_interval
            sentences.append(
                f"In other samples like this {format_percent(ends.low)} to {format_percent(ends.high)} of the "
                f"predictions change ({100 * ends.confidence_level:g} %)."
            )
        if self.changes.n_tied:
            sentences.append(
                f"In {self.changes.n_tied} of the {self.n_samples} pairs classes are tied for the largest score: the "
                "first of them is the prediction, as in NumPy, torch and scikit-learn."
            )
        if self.interval is not None and self.changes.disagreement == 0.0:
            sentences.append(
                "No change was seen, and so not what one would cost: the interval of the agreement allows for those "
                "that are not seen in so few pairs, at 20 times the margin of the others."
            )
        # At another prior the maximum that the groups fall short of is not log K.
        if self.contributions is not None and np.ptp(self.prior) < 1e-12:
            sentences.append(self.contributions.sentence())
        return [*sentences, *super().notes()]

    def details(self) -> list[str]:
        """Return the sentences on beta and classes, and those of every measure."""
        beta = "infinite beta" if math.isinf(self.beta) else f"beta = {format_number(self.beta)}"
        verb = "Measured" if str(self.status) in ("evaluated", "contradiction") else "Reached"
        reached = (
            f"{verb} at {beta} on {self.n_samples} pairs; predictions use {self.effective_classes:.3g} of "
            f"{self.n_classes} classes in effect."
        )
        return [reached, *super().details()]
