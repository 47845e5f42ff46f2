"""Two models on one sample: how far their predictions agree, each at its own confidence."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result, format_number, settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_integer, check_number
from shiftmetrics.agreement.channel import equivalent_error
from shiftmetrics.agreement.own_betas import solve_two_betas
from shiftmetrics.agreement.posterior import input_warnings, prior_setting
from shiftmetrics.agreement.scores import ScorePairs, prepare_pairs
from shiftmetrics.agreement.solver import pilot_betas, solve_agreement
from shiftmetrics.agreement.statistic import AgreementLimits, evaluator, survey


class ModelAgreementStatus(Status):
    """How the search for the betas ended."""

    certified = ("certified", True, "One beta for both models; its maximum is certified.")
    local = (
        "local",
        True,
        "Each model has its own beta: no change of one alone gains anything, but other maxima cannot be excluded.",
    )
    boundary = (
        "boundary",
        True,
        "Agreement rises for ever: every pair shares a predicted class, so both betas are infinite.",
    )
    no_agreement = (
        "no_agreement",
        True,
        "No betas were found that give more agreement than chance: the posteriors are flat.",
    )
    max_iter = (
        "max_iter",
        False,
        "The search was still gaining when it was stopped. Raise max_iter or atol.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelAgreementResult(Result):
    """Agreement of two models on one sample.

    Attributes
    ----------
    value : float
        Nats per sample, from 0 (chance) to log K. Higher is better.
    error_bound : float
        With one beta, the certificate: how far the supremum may be. With two, how much a change of either beta alone
        could still gain.
    status : ModelAgreementStatus
        How the search for the betas ended.
    beta, reference_beta : float
        Inverse temperature of either model.
    common_value : float
        The certified maximum with one beta for both, which is never larger than ``value``.
    normalized : float
        ``value / log K``.
    equivalent_error : float
        Error rate of the symmetric channel with this capacity. Lower is better.
    disagreement : float
        Share of rows (by weight) in which the models have no predicted class in common.
    n_classes : int
        Number of classes K.
    prior : ndarray of shape (n_classes,)
        The class prior used.
    ends : tuple of float
        Values where the starts of the search ended, of a large sample on part of its rows; empty with one beta.
    """

    measure: ClassVar[str] = "model_agreement"
    title: ClassVar[str] = "Agreement of two models"
    unit: ClassVar[str] = "nats"
    higher_is_better: ClassVar[bool] = True

    status: ModelAgreementStatus
    beta: float
    reference_beta: float
    common_value: float
    normalized: float
    equivalent_error: float
    disagreement: float
    n_classes: int
    prior: FloatArray
    ends: tuple[float, ...] = ()

    def headline(self) -> str:
        """Return one sentence with the value and both betas."""
        return (
            f"{self.title}: {format_number(self.value)} nats of at most {format_number(math.log(self.n_classes))} "
            f"(normalized {format_number(self.normalized)}) at beta = {format_number(self.beta)} and "
            f"{format_number(self.reference_beta)}; {100 * self.disagreement:.3g} % of the rows have no predicted "
            "class in common."
        )


def model_agreement(
    scores: Any,
    reference_scores: Any,
    *,
    common_beta: bool = False,
    kind: str = "scores",
    prior: Any = None,
    sample_weight: Any = None,
    floor: float | None = None,
    align: Align = "labels",
    atol: float = 1e-5,
    max_iter: int = 50,
    executor: Executor | None = None,
) -> ModelAgreementResult:
    """Agreement of two models on one sample, each at its own inverse temperature.

    With one beta for both, as in `posterior_agreement`, the value depends on the ratio of the scales of their scores.
    Here each side has its own; certified searches over one of them take turns from several starts.

    Parameters
    ----------
    scores, reference_scores, kind, prior, sample_weight, floor, align, executor
        As in `posterior_agreement`: the scores of two models for the same rows.
    common_beta : bool, default False
        Whether both models share one beta, whose maximum is then certified.
    atol : float, default 1e-5
        The search ends when a turn gains less, in nats per sample.
    max_iter : int, default 50
        Most turns of each start.

    Returns
    -------
    ModelAgreementResult
        Value in nats per sample; higher is better.

    Raises
    ------
    TypeError, ValueError
        As in `posterior_agreement`.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.agreement import model_agreement
    >>> rng = np.random.default_rng(0)
    >>> first = rng.normal(size=(300, 3))
    >>> second = first + 0.5 * rng.normal(size=(300, 3))
    >>> [round(model_agreement(c * first, second).value, 3) for c in (0.1, 1.0, 10.0)]
    [0.612, 0.612, 0.612]
    """
    atol = check_number(atol, "atol", low=0.0, open_low=True)
    max_iter = check_integer(max_iter, "max_iter", low=1)
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
    found = solve_models(
        pairs, limits, common_beta=common_beta, atol=atol, max_iter=max_iter, executor=executor
    )
    return ModelAgreementResult(
        value=found.value,
        error_bound=found.error_bound,
        status=found.status,
        n_samples=pairs.n_samples,
        beta=found.beta,
        reference_beta=found.reference_beta,
        common_value=found.common_value,
        normalized=found.value / math.log(pairs.n_classes),
        equivalent_error=equivalent_error(found.value, pairs.n_classes),
        disagreement=limits.disagreeing / limits.weight,
        n_classes=pairs.n_classes,
        prior=pairs.prior,
        ends=found.ends,
        settings=settings_of(
            common_beta=common_beta,
            kind=pairs.kind,
            prior=prior_setting(prior),
            sample_weight=sample_weight is not None,
            floor=pairs.floor,
            align=align,
            atol=atol,
            max_iter=max_iter,
        ),
        warnings=tuple(input_warnings(pairs, limits)),
    )


@dataclass(frozen=True)
class ModelSolution:
    """Agreement of two models, with betas in the units of the scores as given."""

    value: float
    error_bound: float
    status: ModelAgreementStatus
    beta: float
    reference_beta: float
    common_value: float
    ends: tuple[float, ...] = ()


def solve_models(
    pairs: ScorePairs,
    limits: AgreementLimits,
    *,
    common_beta: bool,
    atol: float,
    max_iter: int,
    executor: Executor | None = None,
) -> ModelSolution:
    """Find the best betas of surveyed pairs: one for both sides, or one each."""
    common = solve_agreement(
        evaluator(pairs, executor=executor),
        limits,
        prior=pairs.prior,
        atol=atol,
        guesses=pilot_betas(pairs, atol),
    )
    if common_beta or math.isinf(common.x):  # where no pair disagrees, nothing agrees more than the limit
        status = ModelAgreementStatus.certified if common.converged else ModelAgreementStatus.max_iter
        if math.isinf(common.x):
            status = ModelAgreementStatus.boundary
        elif common.x == 0.0:
            status = ModelAgreementStatus.no_agreement
        beta = common.x * pairs.scale
        return ModelSolution(common.value, common.error_bound, status, beta, beta, common.value)
    ends = solve_two_betas(pairs, limits, common, atol=atol, max_turns=max_iter, executor=executor)
    status = ModelAgreementStatus.local if ends.settled else ModelAgreementStatus.max_iter
    if ends.settled and ends.value <= 0.0:
        status = ModelAgreementStatus.no_agreement
    return ModelSolution(
        ends.value,
        ends.error,
        status,
        ends.beta * pairs.scale,
        ends.reference_beta * pairs.scale,
        common.value,
        ends.ends,
    )
