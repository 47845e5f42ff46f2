"""OT stability and its inverse: the least cost to reach a risk, and the highest risk within a cost."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics._core.result import Interval, Status
from shiftmetrics._core.validation import check_number
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses.base import Kind, Loss
from shiftmetrics.stability.problem import Prices, RealisedPlan, StabilityProblem, counted_passes
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.stability.sampling import (
    interval_of_cost,
    interval_of_error_rate,
    interval_of_risk,
)
from shiftmetrics.stability.solution import DualSolution, least_cost, most_risk
from shiftmetrics.stability.status import ALREADY_AT_RISK, CONVERGED, IMPRECISE

_ROUNDING = 32.0 * float(np.finfo(np.float64).eps)
# Relative distance of a plan from its target that rounding may leave.
_REACHED = 1e-3
_OPPOSITE: dict[Kind, Kind] = {
    "exact": "exact",
    "upper_bound": "lower_bound",
    "lower_bound": "upper_bound",
}


MORE_ERRORS = 0.1
"""How much higher an error rate is at the threshold, where none is given."""


def stability_criterion(
    loss: Loss,
    threshold: float | None = None,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
    computing: Computing | None = None,
) -> StabilityResult:
    r"""Return the least cost of a shift of the sample that raises its risk to a threshold; higher is better.

    Each sample may change, at a cost of ``theta1`` times its squared distance d, and its weight W may change, at a
    cost of ``theta2`` times a divergence of the weights from 1:

    .. math:: R(r) = \min\{\theta_1 E[W d^2] + \theta_2 E[\varphi(W)] : E[W \ell] \ge r,\ E[W] = 1\}

    Parameters
    ----------
    loss : Loss
        Loss of each sample, before and after it changes: `FixedLoss`, `ZeroOneLoss`, `HingeLoss`, `LogisticLoss`,
        `SquaredLoss`, `PiecewiseLinearLoss` or `CandidateLoss`. The first two accept out-of-core data of Dask: only
        sums leave the workers, and one number of each sample for the standard error; the result then has no rows. The
        others read such data into memory.
    threshold : float, optional
        The risk (mean loss) that counts as broken, r; at least 0. Default: an error rate 10 points above the current
        one, where losses are 0 and 1.
    theta1 : float, default 0.4
        Price of data corruption; inf forbids samples to change.
    theta2 : float, default 0.4
        Price of sub-population shift; inf forbids weights to change. The defaults keep 1/theta1 + 1/theta2 = 5.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight t: ``t log t - t + 1`` or ``(t - 1)^2``.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each sample, in any scale; they replace 1/n throughout. The standard error is that of
        survey weights (a sandwich).
    resampling : Resampling, float or None, default 0.95
        Confidence level of the interval; None for none. A `Resampling` may also hold ``groups`` of samples that
        belong together, such as the visits of one patient: the interval is then that of a sample of groups.
    computing : Computing, optional
        How to compute: ``rtol``, the relative primal-dual gap at which to stop, by default 1e-10; ``max_iter``, most
        evaluations of the dual, by default 200; ``memory_limit``, the most bytes for out-of-core data and for what
        each sample does, by default none; threads and progress.

    Returns
    -------
    StabilityResult
        The value, a certified numerical error, a sampling interval, and the shift itself. ``status`` says if the
        threshold is reached already (value 0) or out of reach (value inf).

    Raises
    ------
    TypeError
        If ``loss`` is not a loss object.
    ValueError
        If a number is out of its range, such as a threshold above 1 where losses are 0 and 1, or the weights do
        not match the samples.

    See Also
    --------
    worst_case_risk : The inverse: the highest risk within a cost.

    Notes
    -----
    The dual is one concave function of the price h of a unit of risk. Its maximum is bracketed and both ends are
    mixed, so that the shift has the risk ``threshold`` exactly; ``value`` is the cost of that shift, and
    ``error_bound`` its distance from the dual bound, plus rounding. A threshold that is the current risk, or the
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
    The error rate reaches 50 % (currently 20 %) if 24 % of the samples change by at most 0.54 in units of ...
    """
    if threshold is not None:
        threshold = check_number(threshold, "threshold", low=0.0)
    prices = Prices(theta1, theta2, divergence)
    with counted_passes("stability", computing) as on_pass:
        problem = StabilityProblem.of(loss, sample_weight, prices, resampling, computing, on_pass)
        if threshold is None:
            threshold = _clearly_worse(problem)
        return least_shift(problem, threshold)


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
        Loss of each sample, before and after it changes; see `stability_criterion`.
    budget : float
        Highest cost of a shift, at least 0; in the units of the prices. Inf gives the highest risk within reach.
    theta1 : float, default 0.4
        Price of data corruption; inf forbids samples to change.
    theta2 : float, default 0.4
        Price of sub-population shift; inf forbids weights to change.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight t: ``t log t - t + 1`` or ``(t - 1)^2``.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each sample, in any scale.
    resampling : Resampling, float or None, default 0.95
        Confidence level of the interval, and groups of samples; see `stability_criterion`.
    computing : Computing, optional
        How to compute; see `stability_criterion`.

    Returns
    -------
    StabilityResult
        The risk, in the unit of the loss, with a certified numerical error, a sampling interval and the shift
        itself. Where ``loss`` knows only some of the points that samples can reach, it is a lower bound.

    Raises
    ------
    TypeError
        If ``loss`` is not a loss object.
    ValueError
        If a number is out of its range, or the weights do not match the samples.

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
        return worst_shift(problem, budget)


def least_shift(
    problem: StabilityProblem, threshold: float, solution: DualSolution | None = None
) -> StabilityResult:
    """Return the least shift to a threshold; a second threshold builds on the passes of the first.

    With ``solution``, return the result of that one.
    """
    _check_error_rate(problem, threshold)
    if solution is None:
        solution = least_cost(problem.dual, threshold)
    plan = problem.realise(solution.parts)
    value = plan.cost if solution.value is None else solution.value
    # By how much does the plan miss the dual bound, and its own target at the price of that?
    price = solution.dual if math.isfinite(solution.dual) else 0.0
    error_bound = _error_bound(
        solution,
        plan,
        reached=plan.cost - value + price * abs(plan.risk - threshold),
        # No cost is negative, so the exact value lies below this one by no more than itself.
        certified=min(value - solution.bound, value),
        size=value + price * threshold,
    )
    influence = plan.influence if solution.has_influence else None
    interval: Interval | None = None
    warnings: tuple[str, ...] = ()
    if problem.counts_errors:
        # The error rate alone matters, and its interval is exact.
        influence = _of_errors(problem, influence)
        interval, warnings = interval_of_error_rate(
            problem, lambda sample: least_shift(sample, threshold).value
        )
    elif influence is not None and math.isinf(solution.dual):
        # In the limit the value is a mean.
        interval, warnings = interval_of_risk(plan, value, influence)
    elif influence is not None or solution.status is ALREADY_AT_RISK:
        interval, warnings = interval_of_cost(plan, threshold, solution.dual, influence)
    return StabilityResult(
        value=value,
        error_bound=error_bound,
        interval=_widened(interval, value, error_bound),
        kind=problem.whole.kind,
        settings=problem.settings(threshold=threshold),
        warnings=warnings,
        status=_ended(solution, plan.risk, threshold),
        **_described(solution, plan, influence),
    )


def _clearly_worse(problem: StabilityProblem) -> float:
    """Return the threshold where none is given: more errors than now, by a number that needs no explanation."""
    if not _has_error_rate(problem):
        expected = "given for losses other than 0 and 1"
        raise ArgumentValueError("threshold", expected, "None")
    return min(problem.dual.baseline.risk + MORE_ERRORS, 1.0)


def _has_error_rate(problem: StabilityProblem) -> bool:
    """Return True if the losses are 0 and 1, and the risk is a rate."""
    baseline = problem.dual.baseline
    binary = problem.whole.may_count_errors and baseline.not_binary == 0.0
    return binary and baseline.top <= 1.0


def _check_error_rate(problem: StabilityProblem, threshold: float) -> None:
    """Refuse a threshold above 1 for losses of 0 and 1: 40 for 40 % is a common slip."""
    if threshold > 1.0 and _has_error_rate(problem):
        remedy = "Write a percentage as a fraction: 0.2 for 20 %."
        raise ArgumentValueError("threshold", "an error rate from 0 to 1", f"{threshold:g}", remedy)


def worst_shift(problem: StabilityProblem, budget: float) -> StabilityResult:
    """Return the worst shift within a budget."""
    solution = most_risk(problem.dual, budget)
    plan = problem.realise(solution.parts)
    value = plan.risk if solution.value is None else solution.value
    # What a unit of cost buys turns what the plan misses of the budget into a risk.
    price = 1.0 / solution.dual if solution.dual > 0.0 else 0.0
    spent = price * budget if price > 0.0 else 0.0
    error_bound = _error_bound(
        solution,
        plan,
        reached=price * plan.cost - spent,
        # Two upper bounds of the risk: that of the dual, and the highest one that any plan reaches.
        certified=min(solution.bound, problem.dual.highest_risk) - value,
        size=value + spent,
    )
    influence = None
    if solution.has_influence:
        # Along the curve R(r) = budget the risk changes by -influence(R) / R'(r), and R'(r) is the dual.
        influence = -price * plan.influence
    interval: Interval | None = None
    warnings: tuple[str, ...] = ()
    if problem.counts_errors:
        influence = _of_errors(problem, influence)
        interval, warnings = interval_of_error_rate(
            problem, lambda sample: worst_shift(sample, budget).value
        )
    elif influence is not None:
        interval, warnings = interval_of_risk(plan, value, influence)
    return StabilityResult(
        value=value,
        error_bound=error_bound,
        interval=_widened(interval, value, error_bound),
        kind=_OPPOSITE[problem.whole.kind],
        settings=problem.settings(budget=budget),
        warnings=warnings,
        status=_ended(solution, plan.cost, budget),
        **_described(solution, plan, influence),
    )


def _ended(solution: DualSolution, reached: float, target: float) -> Status:
    """Return how a solution ended: one that converged has to be a plan that reaches its target, too."""
    if solution.status is CONVERGED and not math.isclose(reached, target, rel_tol=_REACHED):
        return IMPRECISE
    return solution.status


def _of_errors(problem: StabilityProblem, influence: FloatArray | None) -> FloatArray | None:
    """Return the influence, or None where no error was seen: a standard error of 0 would be an artefact."""
    if problem.dual.baseline.risk == 0.0:
        return None
    return influence


def _widened(interval: Interval | None, value: float, error_bound: float) -> Interval | None:
    """Return an interval that holds the value, which is known no better than to its numerical error."""
    if interval is None:
        return None
    low = min(interval.low, value) - error_bound
    high = max(interval.high, value) + error_bound
    return replace(interval, low=max(low, 0.0), high=high)


def _described(
    solution: DualSolution, plan: RealisedPlan, influence: FloatArray | None
) -> dict[str, Any]:
    """Return the fields that both results have."""
    standard_error = None
    if influence is not None:
        standard_error = float(np.hypot.reduce(influence))
    return {
        "n_samples": plan.problem.whole.n_samples,
        "base_risk": plan.sums.mean("base_loss"),
        "plan": plan.record(),
        "slopes": plan.slopes(solution.dual),
        "standard_error": standard_error,
        "influence": influence,
        "n_passes": plan.problem.dual.n_passes,
    }


def _error_bound(
    solution: DualSolution, plan: RealisedPlan, *, reached: float, certified: float, size: float
) -> float:
    """Return how far the exact value may be from the value.

    Parameters
    ----------
    solution : DualSolution
        The answer.
    plan : RealisedPlan
        Its plan.
    reached : float
        By how much the plan itself is worse than the value: what it misses of its target, at the price of that.
    certified : float
        By how much the exact value may be better, from the dual.
    size : float
        Of the numbers that add up to the value: they carry the rounding errors.
    """
    if solution.value is not None and not solution.computed:
        # The value is 0 or inf, exactly.
        return 0.0 if solution.status.ok else math.inf
    of_plan = max(reached, 0.0) + (_ROUNDING + plan.imbalance) * size
    of_dual = certified + _ROUNDING / 16.0 * size  # two roundings
    return max(of_plan, of_dual)
