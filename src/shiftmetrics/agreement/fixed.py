"""Agreement at a given beta: for pairs other than those on which beta was found."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result, format_number, settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_number
from shiftmetrics.agreement.posterior import input_warnings, prior_setting
from shiftmetrics.agreement.scores import prepare_pairs
from shiftmetrics.agreement.solver import rounding_error
from shiftmetrics.agreement.statistic import evaluator, row_agreement, survey


class FixedAgreementStatus(Status):
    """What became of the evaluation."""

    evaluated = ("evaluated", True, "Agreement at the given beta; another beta may give more.")
    contradiction = (
        "contradiction",
        False,
        "At infinite beta a single pair without a common predicted class makes the agreement minus infinity. "
        "Choose a finite beta.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedAgreementResult(Drawn, Result):
    """Agreement at one beta.

    Attributes
    ----------
    value : float
        Agreement in nats per sample: 0 is chance, log K at most, negative where confident posteriors contradict.
    error_bound : float
        Rounding error.
    status : FixedAgreementStatus
        Not ok where the agreement is minus infinity.
    beta : float
        The inverse temperature given.
    log_pa : float
        ``n_samples * (value - log K)``.
    normalized : float
        ``value / log K``.
    n_classes : int
        Number of classes K.
    prior : ndarray of shape (n_classes,)
        The class prior used.
    per_sample : ndarray of shape (n_samples,) or None
        Contribution of each pair in nats; their weighted mean is ``value``.
    """

    measure: ClassVar[str] = "agreement_at"
    title: ClassVar[str] = "Agreement at a given beta"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True

    status: FixedAgreementStatus
    beta: float
    log_pa: float
    normalized: float
    n_classes: int
    prior: FloatArray
    per_sample: FloatArray | None = None

    def headline(self) -> str:
        """Return one sentence with the value and its beta."""
        return (
            f"Agreement at beta = {format_number(self.beta)}: {format_number(self.value)} nats of at most "
            f"{format_number(math.log(self.n_classes))}, where 0 is chance."
        )


def agreement_at(
    scores: Any,
    reference_scores: Any,
    beta: float,
    *,
    kind: str = "scores",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    align: Align = "labels",
    executor: Executor | None = None,
    keep_rows: bool = True,
) -> FixedAgreementResult:
    """Agreement of paired scores at a given inverse temperature: one pass, nothing is searched.

    For pairs other than those on which ``beta`` was found: another shift, held-out rows, another environment. Hand
    over that result's ``prior`` too where it was "predicted".

    Parameters
    ----------
    scores, reference_scores, kind, prior, sample_weight, floor, align, executor, keep_rows
        As in `posterior_agreement`.
    beta : float
        Inverse temperature, non-negative; infinity is allowed.

    Returns
    -------
    FixedAgreementResult
        Value in nats per sample; higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`, or if ``beta`` is negative or NaN.

    Examples
    --------
    >>> from shiftmetrics.agreement import agreement_at, posterior_agreement
    >>> fitted = posterior_agreement([1.0, 2.0, -1.0, 0.1], [1.0, 1.0, -1.0, -0.1])
    >>> elsewhere = agreement_at([1.0, -1.0], [2.0, -0.5], beta=fitted.beta)
    >>> round(elsewhere.value, 3)
    0.653
    """
    beta = check_number(beta, "beta", low=0.0, allow_inf=True)
    pairs = prepare_pairs(
        scores,
        reference_scores,
        kind=kind,
        prior=prior,
        sample_weight=sample_weight,
        floor=floor,
        align=align,
    )
    pairs, limits = survey(pairs, predicted=isinstance(prior, str), executor=executor)
    inner = beta / pairs.scale  # the common scale of the scores is a power of two
    if math.isinf(inner):
        value, error = limits.value, rounding_error(np.zeros(1), limits, pairs.prior)
    else:
        value = float(evaluator(pairs, executor=executor)([inner]).value[0])
        error = rounding_error(np.asarray([inner]), limits, pairs.prior)
    log_classes = math.log(pairs.n_classes)
    return FixedAgreementResult(
        value=value,
        error_bound=2.0 * float(error[0]),
        status=FixedAgreementStatus.evaluated if math.isfinite(value) else FixedAgreementStatus.contradiction,
        n_samples=pairs.n_samples,
        beta=beta,
        log_pa=pairs.n_samples * (value - log_classes),
        normalized=value / log_classes,
        n_classes=pairs.n_classes,
        prior=pairs.prior,
        per_sample=row_agreement(pairs, inner, executor=executor) if keep_rows else None,
        settings=settings_of(
            beta=beta,
            kind=pairs.kind,
            prior=prior_setting(prior),
            sample_weight=sample_weight is not None,
            floor=pairs.floor,
            align=align,
        ),
        warnings=tuple(input_warnings(pairs, limits)),
    )
