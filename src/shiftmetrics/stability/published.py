"""Stability as the paper computes it, by gradient steps on points and price, to compare with the exact solve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import format_number
from shiftmetrics._core.validation import check_matrix, check_number, check_vector, check_weights, describe
from shiftmetrics.stability.adam import AdamOptions, AdamRun, PointLoss, as_options, run_adam
from shiftmetrics.stability.criterion import least_shift, settings_with
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import CandidateLoss, Loss, Transform
from shiftmetrics.stability.options import Options
from shiftmetrics.stability.plan import Part
from shiftmetrics.stability.problem import Problem
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.stability.sampling import normal_interval

SETTLED = 0.01
"""Difference of risk and threshold, relative to the threshold, up to which the steps have settled."""


class AdamStabilityStatus(Status):
    """How the steps ended."""

    SETTLED = (
        "settled",
        True,
        "All steps were taken, and the risk of the shifted sample is within 1 % of the threshold; that neither the "
        "points nor the price can be improved is not certified by the steps themselves.",
    )
    ALREADY_AT_RISK = (
        "already_at_risk",
        True,
        "The sample as it stands has this risk, so no shift is needed. Choose a higher threshold.",
    )
    UNSETTLED = (
        "unsettled",
        False,
        "The steps ended where the risk of the shifted sample is more than 1 % away from the threshold. Take more "
        "steps, or longer ones; the threshold may also be out of reach.",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class AdamStabilityResult(StabilityResult):
    """Where gradient steps on the points and the price ended.

    Attributes
    ----------
    value : float
        The dual objective at the last price and points, as the paper reports it: neither an upper nor a lower bound.
    error_bound : float
        How far the value is from the exact one, where that is known; else inf.
    status : AdamStabilityStatus
        Whether the risk came near the threshold.
    upper_bound : float
        The least cost of a shift to the points found that reaches the threshold: a true upper bound of the stability.
    exact_value : float or None
        The exact stability, where a loss with exact worst cases was given.
    moved_points : array of shape (n_samples, n_features) or None
        Where each row was brought; None with ``keep_rows=False``.
    trace_dual, trace_value, trace_risk : array of shape (n_steps + 1,)
        The price, the dual objective and the reweighted risk before each step of the price, and at the end.
    """

    measure: ClassVar[str] = "stability_adam"
    title: ClassVar[str] = "Stability by gradient steps"
    higher_is_better: ClassVar[bool] = True

    status: AdamStabilityStatus  # type: ignore[assignment]
    upper_bound: float
    exact_value: float | None
    moved_points: FloatArray | None = None
    trace_dual: FloatArray
    trace_value: FloatArray
    trace_risk: FloatArray

    def headline(self) -> str:
        """Return one sentence with where the steps ended and what they missed."""
        exact = "" if self.exact_value is None else f"; the exact value is {format_number(self.exact_value)}"
        return (
            f"{len(self.trace_dual) - 1} Adam steps end at stability {format_number(self.value)} with risk "
            f"{format_number(self.risk)} at threshold {format_number(self.settings['threshold'])}{exact}. "
            f"Shifts to the points found reach it at cost {format_number(self.upper_bound)}."
        )

    def notes(self) -> list[str]:
        """Return the sentences that follow the headline."""
        sentences = super().notes()
        if math.isinf(self.error_bound):
            sentences[0] = "Higher is better. Nothing certifies how far it is from the exact value."
        return sentences


def stability_criterion_adam(
    loss: PointLoss,
    points: Any,
    threshold: float,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    unit: Any = None,
    exact: Loss | None = None,
    sample_weight: Any = None,
    n_steps: int = 300,
    n_inner: int = 20,
    learning_rate: float = 0.01,
    dual_learning_rate: float = 0.05,
    initial_dual: float = 1.0,
    level: float = 0.95,
    keep_rows: bool = True,
    progress: bool = True,
) -> AdamStabilityResult:
    """Stability as the paper computes it, corrected: Algorithm 1 (KL) or 2 (chi-squared) [1]_.

    For comparison. It needs the gradient of the loss, takes a given number of steps wherever they lead, and certifies
    nothing by itself; `stability_criterion` solves for the price exactly, in a fraction of the time.

    Parameters
    ----------
    loss : callable
        Maps points of shape (n_samples, n_features), one for each row, to their losses (n_samples,) and the gradients
        of these (n_samples, n_features).
    points : array_like of shape (n_samples, n_features)
        Where the rows stand.
    threshold, theta1, theta2, divergence, sample_weight, level, keep_rows
        As in `stability_criterion`.
    unit : array_like of shape (n_features,), optional
        A move of a feature by that much is a distance of 1; 0 for features that may not move. Default: 1 for all.
    exact : Loss, optional
        The same loss with exact worst cases, such as `LogisticLoss`: then ``error_bound`` is certified.
    n_steps, n_inner : int, default 300 and 20
        Steps of the price, and steps of the points before each of them.
    learning_rate, dual_learning_rate : float, default 0.01 and 0.05
        Step sizes of the points (in units) and of the price.
    initial_dual : float, default 1
        Where the price starts.
    progress : bool, default True
        Whether to show a progress bar, over the steps, for work of more than two seconds.

    Returns
    -------
    AdamStabilityResult
        The value with its trace, and the cost of a shift to the points found, which is an upper bound.

    Raises
    ------
    TypeError
        If ``loss`` is not callable, or an option is not a number.
    ValueError
        If ``loss`` returns other shapes, or an option is out of its range.

    References
    ----------
    .. [1] Blanchet, Cui, Li, Liu, arXiv:2405.03198, appendix B.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics import LogisticLoss
    >>> from shiftmetrics.stability import stability_criterion_adam
    >>> weights, points = np.array([1.5, 0.0]), np.stack([np.linspace(-0.3, 1.6, 30), np.zeros(30)], axis=1)
    >>> def loss(points):
    ...     odds = np.exp(-(points @ weights))
    ...     return np.log1p(odds), -(odds / (1.0 + odds))[:, None] * weights
    >>> found = stability_criterion_adam(loss, points, 1.0, exact=LogisticLoss(points @ weights, 1.5))
    >>> round(found.exact_value, 3), abs(found.value - found.exact_value) <= found.error_bound < 1e-3
    (0.198, True)
    """
    threshold = check_number(threshold, "threshold", low=0.0)
    if not callable(loss):
        remedy = "It maps points to their losses and gradients."
        raise TypeError(describe("loss", "callable", type(loss).__name__, remedy))
    start = np.array(to_float64(check_matrix(points, "points")))
    units = (
        np.ones(start.shape[1])
        if unit is None
        else check_vector(unit, "unit", length=start.shape[1], low=0.0)
    )
    options = Options(
        theta1=theta1, theta2=theta2, divergence=divergence, rtol=1e-10, max_iter=200, initial_dual=None,
        level=level, keep_rows=keep_rows, executor=None, progress=progress,
    )  # fmt: skip
    steps = as_options(
        n_steps=n_steps, n_inner=n_inner, learning_rate=learning_rate, dual_learning_rate=dual_learning_rate,
        initial_dual=initial_dual,
    )  # fmt: skip
    fields, run = adam_fields(
        loss,
        start,
        threshold,
        unit=units,
        options=options,
        steps=steps,
        sample_weight=sample_weight,
        exact=exact,
    )
    return AdamStabilityResult(**fields, moved_points=start + units * run.moves if keep_rows else None)


def adam_fields(
    loss: PointLoss,
    start: FloatArray,
    threshold: float,
    *,
    unit: FloatArray,
    options: Options,
    steps: AdamOptions,
    sample_weight: Any,
    exact: Loss | None,
    limits: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[dict[str, Any], AdamRun]:
    """Take the steps, and describe the shift to where they ended in the fields of a result."""
    base = _checked(loss, start)
    weights = check_weights(sample_weight, "sample_weight", len(base))
    run = run_adam(
        loss, start, threshold, unit=unit, theta1=options.theta1, divergence=options.price_of_weights,
        weights=weights, options=steps, limits=limits, progress=options.progress,
    )  # fmt: skip
    known = CandidateLoss(
        np.stack([base, run.losses], axis=1), np.stack([np.zeros_like(base), np.sqrt(run.squared)], axis=1)
    )
    problem = Problem.of(known, sample_weight, options)
    kept = slice(None) if problem.kept is None else problem.kept
    places = Transform(run.transformed(options.theta1)[kept], run.losses[kept], run.squared[kept])
    shift = problem.realise((Part(_Where(places), run.moment),))
    value = float(run.values[-1])
    exact_value, error = None, math.inf
    if exact is not None:
        best = least_shift(Problem.of(exact, sample_weight, options), threshold, {"threshold": threshold})
        exact_value, error = best.value, best.error_bound
        if value != best.value:  # not inf and inf
            error += abs(value - best.value)
    status = _status(problem, threshold, shift.risk)
    error_known = status.ok  # steps that did not settle have no value that another sample could give
    settings = settings_with(known, options, sample_weight, threshold=threshold)
    settings |= {"loss": getattr(loss, "__qualname__", type(loss).__name__), **vars(steps)}
    return {
        "value": value,
        "error_bound": error,
        "interval": normal_interval(value, shift.standard_error, options.level) if error_known else None,
        "status": status,
        "settings": settings,
        "kind": "estimate",
        "dual": run.moment.dual,
        "standard_error": shift.standard_error if error_known else None,
        "influence": shift.influence if error_known else None,
        "upper_bound": least_shift(problem, threshold, settings).value,
        "exact_value": exact_value,
        "trace_dual": run.duals,
        "trace_value": run.values,
        "trace_risk": run.risks,
        **shift.fields(),
    }, run


@dataclass(frozen=True)
class _Where:
    """Rows where the steps left them."""

    places: Transform

    def __call__(self, loss: Loss, rows: slice) -> Transform:
        """Return a block of them."""
        value, losses, squared, _ = self.places
        return Transform(value[rows], losses[rows], squared[rows])


def _status(problem: Problem, threshold: float, risk: float) -> AdamStabilityStatus:
    if threshold <= problem.dual.baseline.risk:
        return AdamStabilityStatus.ALREADY_AT_RISK
    near = abs(risk - threshold) <= SETTLED * threshold
    return AdamStabilityStatus.SETTLED if near else AdamStabilityStatus.UNSETTLED


def _checked(loss: PointLoss, start: FloatArray) -> FloatArray:
    """Return the losses where the rows stand; the first call tells whether the shapes are right."""
    answer = loss(start.copy())
    expected = f"a pair of losses {start.shape[:1]} and gradients {start.shape}"
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise TypeError(describe("loss", f"a function that returns {expected}", type(answer).__name__))
    shapes = tuple(np.shape(part) for part in answer)
    if shapes != (start.shape[:1], start.shape):
        raise ValueError(describe("loss", f"a function that returns {expected}", f"shapes {shapes}"))
    return check_vector(answer[0], "losses of the points", low=0.0)
