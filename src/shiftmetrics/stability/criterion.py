"""OT stability and its inverse: the least cost to reach a risk, and the highest risk within a cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics._core.result import Interval
from shiftmetrics._core.validation import check_number
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.dual import Solution, least_cost, most_risk
from shiftmetrics.stability.losses.base import Kind, Loss
from shiftmetrics.stability.losses.fixed import FixedLoss
from shiftmetrics.stability.problem import Prices, Shift, StabilityProblem, counted_passes
from shiftmetrics.stability.result import ALREADY_AT_RISK, CONVERGED, StabilityResult
from shiftmetrics.stability.sampling import (
    interval_of_cost,
    interval_of_error_rate,
    interval_of_risk,
)

_ROUNDING = 32.0 * float(np.finfo(np.float64).eps)
_OPPOSITE: dict[Kind, Kind] = {
    "exact": "exact",
    "upper_bound": "lower_bound",
    "lower_bound": "upper_bound",
}


def stability_criterion(
    loss: Loss,
    threshold: float,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
    computing: Computing | None = None,
) -> StabilityResult:
    r"""Return the least cost of a shift of the sample that raises its risk to a threshold; higher is better.

    Each row may move, at ``theta1`` times its squared distance d, and change its weight W, at ``theta2`` times a
    divergence of the weights from 1:

    .. math:: R(r) = \min\{\theta_1 E[W d^2] + \theta_2 E[\varphi(W)] : E[W \ell] \ge r,\ E[W] = 1\}

    Parameters
    ----------
    loss : Loss
        Loss of each row, before and after its moves: `FixedLoss`, `ZeroOneLoss`, `HingeLoss`, `LogisticLoss`,
        `SquaredLoss`, `PiecewiseLinearLoss` or `CandidateLoss`. The first two take rows of Dask: sums leave the
        workers, and one number of each row for the standard error; the result is then without rows. The others take
        such rows to memory.
    threshold : float
        The risk (mean loss) that counts as broken, r; at least 0.
    theta1 : float, default 0.4
        Price of data corruption; inf forbids rows to move.
    theta2 : float, default 0.4
        Price of sub-population shift; inf forbids weights to change. The defaults keep 1/theta1 + 1/theta2 = 5.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight t: ``t log t - t + 1`` or ``(t - 1)^2``.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each row in the sample, in any scale; they replace 1/n throughout. The standard error is that of
        survey weights (a sandwich).
    resampling : Resampling, float or None, default 0.95
        Confidence level of the interval; None for none. A `Resampling` may also hold ``groups`` of rows that belong
        together, such as the visits of one patient: the interval is then that of a sample of groups.
    computing : Computing, optional
        How to compute: ``rtol``, the relative primal-dual gap at which to stop, by default 1e-10; ``max_iter``, most
        evaluations of the dual, by default 200; ``memory_limit``, the bytes that rows in parts and what each row does
        may take, by default none; threads and progress.

    Returns
    -------
    StabilityResult
        The value, a certified numerical error, a sampling interval, and the shift itself. A threshold that is
        reached already (value 0) or out of reach (value inf) sets ``status``.

    Raises
    ------
    TypeError
        If ``loss`` is not a loss object.
    ValueError
        If a number is out of its range, or the weights do not match the rows.

    See Also
    --------
    worst_case_risk : The inverse: the highest risk within a cost.

    Notes
    -----
    The dual is one concave function of the price h of a unit of risk. Its maximum is bracketed and both ends are
    mixed, so that the shift has the risk ``threshold`` exactly; ``value`` is the cost of that shift, and
    ``error_bound`` its distance from the dual bound, plus rounding. A threshold that is the risk as it is, or the
    highest one, up to rounding counts as that risk.

    References
    ----------
    Blanchet, Cui, Li, Liu, "Stability Evaluation through Distributional Perturbation Analysis", ICML 2024,
    arXiv:2405.03198.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, stability_criterion
    >>> distances = np.maximum(np.linspace(-0.5, 2.4, 30), 0) / 1.5
    >>> result = stability_criterion(ZeroOneLoss(distances), 0.5)
    >>> print(result.headline())
    50 % errors (now 20 %) once 24.2 % of the rows move, by at most 0.4667 in units of the distances, and weights ...
    """
    threshold = check_number(threshold, "threshold", low=0.0)
    prices = Prices(theta1, theta2, divergence)
    with counted_passes("stability", computing) as on_pass:
        problem = StabilityProblem.of(loss, sample_weight, prices, resampling, computing, on_pass)
        result = least_shift(problem, threshold)
    if result.status is not CONVERGED or math.isinf(theta1) or result.base_losses is None:
        return result
    base = result.base_losses
    alone, distance = None, None
    if not math.isinf(theta2):
        fixed = StabilityProblem.of(
            FixedLoss(base), sample_weight, Prices(math.inf, theta2, divergence)
        )
        solution = least_cost(fixed.dual, threshold)
        if math.isfinite(solution.bound):
            alone = fixed.realise(solution.parts).fields()["weights"]
    if result.settings["errors"]:
        highest, squared, _ = loss.reach(theta1, slice(0, loss.n_samples))
        right = (base == 0.0) & (highest > 0.0)
        distance = float(np.sqrt(squared[right]).mean()) if right.any() else None
    return replace(result, weights_alone=alone, mean_distance=distance)


def worst_case_risk(
    loss: Loss,
    budget: float,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
    computing: Computing | None = None,
) -> StabilityResult:
    """Return the highest risk of a shift of the sample that costs at most a budget; lower is better.

    The inverse of `stability_criterion`: the risk whose stability is the budget.

    Parameters
    ----------
    loss : Loss
        Loss of each row, before and after its moves; see `stability_criterion`.
    budget : float
        Highest cost of a shift, at least 0; in the units of the prices. Inf gives the highest risk within reach.
    theta1 : float, default 0.4
        Price of data corruption; inf forbids rows to move.
    theta2 : float, default 0.4
        Price of sub-population shift; inf forbids weights to change.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight t: ``t log t - t + 1`` or ``(t - 1)^2``.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each row in the sample, in any scale.
    resampling : Resampling, float or None, default 0.95
        Confidence level of the interval, and groups of rows; see `stability_criterion`.
    computing : Computing, optional
        How to compute; see `stability_criterion`.

    Returns
    -------
    StabilityResult
        The risk, in the unit of the loss, with a certified numerical error, a sampling interval and the shift
        itself. Where ``loss`` knows only some of the points that rows can reach, it is a lower bound.

    Raises
    ------
    TypeError
        If ``loss`` is not a loss object.
    ValueError
        If a number is out of its range, or the weights do not match the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.stability import ZeroOneLoss, stability_criterion, worst_case_risk
    >>> loss = ZeroOneLoss(np.maximum(np.linspace(-0.5, 2.4, 30), 0) / 1.5)
    >>> budget = stability_criterion(loss, 0.5).value
    >>> round(worst_case_risk(loss, budget).value, 6)
    0.5
    """
    budget = check_number(budget, "budget", low=0.0, allow_inf=True)
    prices = Prices(theta1, theta2, divergence)
    with counted_passes("worst-case risk", computing) as on_pass:
        problem = StabilityProblem.of(loss, sample_weight, prices, resampling, computing, on_pass)
        solution = most_risk(problem.dual, budget)
        shift, value = _carried_out(problem, solution, "risk")
        price = 1.0 / solution.dual if solution.dual > 0.0 else 0.0
        return _result(
            solution,
            shift,
            value,
            lambda other: _carried_out(other, most_risk(other.dual, budget), "risk")[1],
            lambda influence: (
                (None, ()) if influence is None else interval_of_risk(shift, value, influence)
            ),
            error_bound=_error_bound(
                solution,
                shift,
                reached=price * (shift.cost - budget),
                certified=min(solution.bound, problem.dual.highest_risk) - value,
                size=value + price * budget,
            ),
            # Along the curve R(r) = budget the risk moves by -influence(R) / R'(r), and R'(r) is the dual.
            slope=-1.0 / solution.dual if solution.has_influence else 0.0,
            kind=_OPPOSITE[loss.kind],
            budget=budget,
        )


def least_shift(
    problem: StabilityProblem, threshold: float, solution: Solution | None = None
) -> StabilityResult:
    """Return the least shift to a threshold; a second threshold builds on the passes of the first.

    With ``solution``, return the result of that one.
    """
    if solution is None:
        solution = least_cost(problem.dual, threshold)
    shift, value = _carried_out(problem, solution, "cost")
    price = solution.dual if math.isfinite(solution.dual) else 0.0

    def interval_at(influence: FloatArray | None) -> tuple[Interval | None, tuple[str, ...]]:
        if influence is not None and math.isinf(solution.dual):  # in the limit the value is a mean
            return interval_of_risk(shift, value, influence)
        if influence is None and solution.status is not ALREADY_AT_RISK:
            return None, ()
        return interval_of_cost(shift, threshold, solution.dual, influence)

    warnings: tuple[str, ...] = ()
    if threshold > 1.0 and problem.whole.may_count_errors and problem.dual.baseline.top <= 1.0:
        warnings = (
            f"The losses are at most 1, and the threshold is {threshold:g}. "
            "Give it as an error rate, not in percent.",
        )
    return _result(
        solution,
        shift,
        value,
        lambda other: _carried_out(other, least_cost(other.dual, threshold), "cost")[1],
        interval_at,
        error_bound=_error_bound(
            solution,
            shift,
            reached=shift.cost - value + price * abs(shift.risk - threshold),
            certified=min(value - solution.bound, value),
            size=value + price * threshold,
        ),
        slope=1.0,
        kind=problem.whole.kind,
        warnings=warnings,
        threshold=threshold,
    )


def _carried_out(
    problem: StabilityProblem, solution: Solution, figure: Literal["cost", "risk"]
) -> tuple[Shift, float]:
    """Return the shift of a solution, and the value: that of the solution, or else this figure of the shift."""
    shift = problem.realise(solution.parts)
    return shift, getattr(shift, figure) if solution.value is None else solution.value


def _result(
    solution: Solution,
    shift: Shift,
    value: float,
    value_at: Callable[[StabilityProblem], float],
    interval_at: Callable[[FloatArray | None], tuple[Interval | None, tuple[str, ...]]],
    *,
    error_bound: float,
    slope: float,
    kind: Kind,
    warnings: tuple[str, ...] = (),
    **question: float,
) -> StabilityResult:
    """Add the sampling error to a solution.

    Parameters
    ----------
    solution, shift, value, error_bound, kind, warnings
        Of the result.
    value_at : callable
        Computes the value of another sample.
    interval_at : callable
        Returns the interval of the value, and warnings, from its influence function.
    slope : float
        Derivative of the value in the least cost.
    **question : float
        The threshold or the budget.
    """
    problem, influence = shift.problem, slope * shift.influence if solution.has_influence else None
    interval: Interval | None = None
    notes: tuple[str, ...] = ()
    if problem.counts_errors:
        if problem.dual.baseline.risk == 0.0:
            influence = None  # a standard error of 0 would be an artefact
        if problem.confidence_level is not None:
            interval, notes = interval_of_error_rate(problem, value_at)
    elif problem.confidence_level is not None:
        interval, notes = interval_at(influence)
    if interval is not None:  # it is known no better than the value
        low, high = min(interval.low, value) - error_bound, max(interval.high, value) + error_bound
        interval = replace(interval, low=max(low, 0.0), high=high)
    return StabilityResult(
        value=value,
        error_bound=error_bound,
        interval=interval,
        status=solution.status,
        settings=shift.problem.settings(**question),
        warnings=(*notes, *warnings),
        kind=kind,
        dual=solution.dual,
        standard_error=None if influence is None else float(np.hypot.reduce(influence)),
        influence=influence,
        **shift.fields(),
    )


def _error_bound(
    solution: Solution, shift: Shift, *, reached: float, certified: float, size: float
) -> float:
    """Return how far the exact value may be from the value.

    Parameters
    ----------
    solution : Solution
        The answer.
    shift : Shift
        Its plan.
    reached : float
        By how much the plan itself is worse than the value: what it misses of its target, at the price of that.
    certified : float
        By how much the exact value may be better, from the dual.
    size : float
        Of the numbers that add up to the value: they carry the rounding errors.
    """
    if solution.value is not None and not solution.computed:  # exact: 0, or inf
        return 0.0 if solution.status.ok else math.inf
    plan = max(reached, 0.0) + (_ROUNDING + shift.imbalance) * size
    return max(plan, certified + _ROUNDING / 16.0 * size)  # two roundings of the dual
