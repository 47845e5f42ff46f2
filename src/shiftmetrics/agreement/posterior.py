"""Posterior agreement: do a model's predictions survive this shift? The public function and its result."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.maximum import Maximum
from shiftmetrics._core.numerics import entropy
from shiftmetrics._core.probabilities import look_like_probabilities
from shiftmetrics._core.record import Status
from shiftmetrics._core.resampling import Units
from shiftmetrics._core.result import Interval, Result, format_number, settings_of
from shiftmetrics._core.tables import Align, align_tables
from shiftmetrics._core.validation import check_integer, check_number, seed_of
from shiftmetrics.agreement.channel import equivalent_error
from shiftmetrics.agreement.intervals import sample_agreement
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.solver import pilot_betas, solve_agreement
from shiftmetrics.agreement.statistic import AgreementLimits, evaluator, row_agreement, survey


class AgreementStatus(Status):
    """How the search for beta ended."""

    converged = ("converged", True, "The maximum is certified to the tolerance.")
    boundary = (
        "boundary",
        True,
        "Agreement rises for ever: every pair shares a predicted class, so beta is infinite and only ties cost.",
    )
    no_agreement = (
        "no_agreement",
        True,
        "No beta gives more agreement than chance: beta is 0 and the posteriors are flat.",
    )
    max_iter = (
        "max_iter",
        False,
        "The certificate did not reach the tolerance: error_bound says how far it came. Raise max_iter or atol.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class PosteriorAgreementResult(Result):
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


def posterior_agreement(
    scores: Any,
    reference_scores: Any,
    *,
    kind: str = "scores",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    align: Align = "labels",
    atol: float = 1e-6,
    max_iter: int = 200,
    executor: Executor | None = None,
    keep_rows: bool = True,
    confidence_level: float | None = None,
    n_resamples: int = 1000,
    groups: Any = None,
    rng: Any = None,
) -> PosteriorAgreementResult:
    """Posterior agreement of paired scores: how far predictions survive a shift. No labels are needed.

    The largest mean log-overlap ``log(K sum_k p(k) q(k))``, over all inverse temperatures, between the Gibbs
    posteriors of a sample and of its shifted copy [1]_. It is found with a certificate: the function of beta is a
    difference of two convex ones (it is not concave), so bounds between evaluated betas enclose its maximum.

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes) or (n_samples,)
        Scores (logits) on the shifted sample: NumPy, torch, any array API library, DataFrame or nested lists. A
        one-dimensional array is a binary margin s, read as the scores (0, s).
    reference_scores : array of the same shape
        Scores on the original sample; row i belongs to the same observation as row i of ``scores``.
    kind : {"scores", "probabilities"}, default "scores"
        Probabilities become scores by their logarithm; in one dimension they are those of the second class.
    prior : array of shape (n_classes,) or "predicted", optional
        Class prior inside the posteriors, scaled to sum 1; classes of prior 0 drop out. Default: uniform, for which a
        constant classifier is perfectly robust. "predicted" takes the share of rows, of both samples, in which each
        class is predicted: then a constant classifier scores 0, which is what choosing a model needs.
    sample_weight : array of shape (n_samples,), optional
        Non-negative observation weights.
    floor : float, optional
        Smaller probabilities are raised to it. Default: half the smallest positive entry if there are zeros.
    align : {"labels", "position"}, default "labels"
        Whether two DataFrames are matched by row and column labels or as they stand.
    atol : float, default 1e-6
        Certified gap, in nats per sample.
    max_iter : int, default 200
        Most betas to evaluate; 15 to 40 suffice unless the agreement is close to 0.
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks of rows. Default: one for each CPU.
    keep_rows : bool, default True
        Whether to compute ``per_sample``.
    confidence_level : float, optional
        Compute a sampling interval of this level, between 0 and 1: by the bootstrap, with beta found anew in each
        draw; where no pair disagrees, by the exact binomial bound on contradictions that did not show.
    n_resamples : int, default 1000
        Bootstrap draws.
    groups : array of shape (n_samples,), optional
        Labels of pairs that belong together, such as the picture that several pairs show: they are drawn together.
    rng : int, Generator or None
        Seed of the draws, recorded in the settings. The same seed draws the same pairs for another model.

    Returns
    -------
    PosteriorAgreementResult
        Value in nats per sample; higher is better.

    Raises
    ------
    TypeError
        If inputs hold no numbers, come from different array libraries, or are one-dimensional integers (labels).
    ValueError
        If shapes or labels differ, values are not finite, there is one class only, or an argument is out of range.

    References
    ----------
    .. [1] Carvalho et al., "Rethinking Robustness in Machine Learning: A Posterior Agreement Approach", TMLR 2025,
       arXiv:2503.16271, eq. (10) and theorem 2. Its theorem 3 (concavity) does not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import posterior_agreement
    >>> reference = np.repeat(1.0, 1000)  # 1000 binary margins, of which 300 change sign
    >>> shifted = np.where(np.arange(1000) < 300, -1.0, 1.0)
    >>> result = posterior_agreement(shifted, reference)
    >>> round(result.value, 6), round(result.equivalent_error, 4)
    (0.082283, 0.3)
    """
    atol = check_number(atol, "atol", low=0.0, open_low=True)
    max_iter = check_integer(max_iter, "max_iter", low=1)
    seed = None
    if confidence_level is not None:
        confidence_level = check_number(
            confidence_level, "confidence_level", low=0.0, high=1.0, open_low=True, open_high=True
        )
        n_resamples = check_integer(n_resamples, "n_resamples", low=2)
        seed = seed_of(rng)
        _, groups = align_tables(scores, groups, "scores", "groups", align=align)
    pairs = prepare_pairs(
        scores,
        reference_scores,
        kind=kind,
        prior=prior,
        sample_weight=sample_weight,
        floor=floor,
        align=align,
    )
    predicted = isinstance(prior, str)
    pairs, limits = survey(pairs, predicted=predicted, executor=executor)
    best = solve_agreement(
        evaluator(pairs, executor=executor),
        limits,
        prior=pairs.prior,
        atol=atol,
        max_iter=max_iter,
        guesses=pilot_betas(pairs, atol),
    )
    value = min(best.value, math.log(pairs.n_classes)) if prior is None else best.value
    sampling = None
    if confidence_level is not None and seed is not None:
        sampling = sample_agreement(
            pairs,
            limits,
            best,
            Units.of(groups, pairs.n_samples),
            value=value,
            level=confidence_level,
            n_resamples=n_resamples,
            seed=seed,
            predicted=predicted,
            executor=executor,
        )
    per_sample = row_agreement(pairs, best.x, executor=executor) if keep_rows else None
    fields = certified_fields(best, limits, prior=pairs.prior, scale=pairs.scale, uniform=prior is None)
    return PosteriorAgreementResult(
        **fields,
        interval=None if sampling is None else sampling.interval,
        per_sample=per_sample,
        resampled=None if sampling is None else sampling.resampled,
        settings=settings_of(
            kind=pairs.kind,
            prior=prior_setting(prior),
            sample_weight=sample_weight is not None,
            floor=pairs.floor,
            align=align,
            atol=atol,
            max_iter=max_iter,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            groups=groups is not None,
            rng=seed,
        ),
        warnings=(
            *input_warnings(pairs, limits),
            *constant_warning(fields["effective_classes"], predicted=predicted),
        ),
    )


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


def prior_setting(prior: Any) -> str:
    """Name the prior for the settings of a result, which holds its numbers."""
    return prior if isinstance(prior, str) else "uniform" if prior is None else "given"


def input_warnings(pairs: ScorePairs, limits: AgreementLimits) -> Iterator[str]:
    """Say what is odd about the input, with the remedy."""
    if limits.n_identical == limits.n_rows:
        yield (
            "scores and reference_scores are identical in every row (up to a constant), so they agree perfectly "
            "without saying anything about a shift. Check that the shifted sample was given."
        )
    for array, name in ((pairs.scores, "scores"), (pairs.reference_scores, "reference_scores")):
        if pairs.kind == "scores" and look_like_probabilities(array):
            rows = "rows are non-negative and sum to 1" if array.ndim == 2 else "values lie between 0 and 1"
            yield f'{name} look like probabilities ({rows}). If they are, pass kind="probabilities".'


def constant_warning(effective_classes: float, *, predicted: bool) -> Iterator[str]:
    """Say that the model is constant, and what that does to its agreement."""
    if effective_classes < 1.0 + 1e-9:
        remedy = (
            "With the predicted prior its agreement is 0."
            if predicted
            else 'Pass prior="predicted" to measure the agreement beyond that.'
        )
        yield f"Every row of both samples is predicted to be the same class: the model is constant. {remedy}"
