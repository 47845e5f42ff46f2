"""OT stability and its inverse: the least cost to reach a risk, and the highest risk within a cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

import numpy as np

from shiftmetrics._core.result import settings_of
from shiftmetrics._core.validation import check_number
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import Kind, Loss
from shiftmetrics.stability.options import Options
from shiftmetrics.stability.problem import Problem, Shift
from shiftmetrics.stability.result import StabilityResult, StabilityStatus, WorstCaseRisk, WorstCaseStatus
from shiftmetrics.stability.sampling import Sampling
from shiftmetrics.stability.solve import Solution, least_cost, most_risk

_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
_OPPOSITE: dict[Kind, Kind] = {"exact": "exact", "upper_bound": "lower_bound", "lower_bound": "upper_bound"}


def stability_criterion(
    loss: Loss,
    threshold: float,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    groups: Any = None,
    rtol: float = 1e-10,
    max_iter: int = 200,
    initial_dual: float | None = None,
    level: float = 0.95,
    keep_rows: bool = True,
    executor: Executor | None = None,
    progress: bool = True,
) -> StabilityResult:
    r"""Return the least cost of a shift of the sample that raises its risk to a threshold; higher is better.

    Each row may move, at ``theta1`` times its squared distance d, and change its weight W, at ``theta2`` times a
    divergence of the weights from 1:

    .. math:: R(r) = \min\{\theta_1 E[W d^2] + \theta_2 E[\varphi(W)] : E[W \ell] \ge r,\ E[W] = 1\}

    Parameters
    ----------
    loss : Loss
        What the model loses on each row, where it stands and where it may move: `FixedLoss`, `ZeroOneLoss`,
        `HingeLoss`, `LogisticLoss`, `SquaredLoss`, `PiecewiseLinearLoss` or `CandidateLoss`.
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
    groups : array_like of shape (n_samples,), optional
        Labels of rows that belong together, such as the visits of one patient: the interval is then that of a
        sample of groups.
    rtol : float, default 1e-10
        Relative primal-dual gap at which to stop.
    max_iter : int, default 200
        Most evaluations of the dual; about ten are usual.
    initial_dual : float, optional
        First guess of ``result.dual``, for instance from a similar problem.
    level : float, default 0.95
        Confidence level of the interval.
    keep_rows : bool, default True
        Whether the result holds the weight and the move of each row.
    executor : concurrent.futures.Executor, optional
        Where blocks of rows are mapped. Default: a thread for each CPU.
    progress : bool, default True
        Whether to show a progress bar, over the passes, for work of more than two seconds.

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
    ``error_bound`` its distance from the dual bound, plus rounding.

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
    Stability 0.01265 ...
    """
    threshold = check_number(threshold, "threshold", low=0.0)
    options = Options(
        theta1=theta1, theta2=theta2, divergence=divergence, rtol=rtol, max_iter=max_iter,
        initial_dual=initial_dual, level=level, keep_rows=keep_rows, executor=executor, progress=progress,
        groups=groups,
    )  # fmt: skip

    with pass_counter(progress, "stability") as on_pass:
        problem = Problem.of(loss, sample_weight, options, on_pass)
        settings = settings_with(loss, options, sample_weight, threshold=threshold)
        return least_shift(problem, threshold, settings)


def least_shift(
    problem: Problem, threshold: float, settings: dict[str, Any], solution: Solution | None = None
) -> StabilityResult:
    """Answer `stability_criterion` for a checked problem; a second threshold builds on the passes of the first.

    With ``solution``, return the result of one that is known already.
    """

    def solve(problem: Problem, solution: Solution | None = None) -> tuple[Solution, Shift, float]:
        if solution is None:
            solution = least_cost(problem.dual, threshold, problem.options)
        shift = problem.realise(solution.parts)
        return solution, shift, shift.cost if solution.value is None else solution.value

    solution, shift, value = solve(problem, solution)
    assert isinstance(solution.status, StabilityStatus)
    standard_error = shift.standard_error if solution.has_influence else None
    sampling = Sampling.of(problem, value, standard_error, lambda other: solve(other)[2])
    warnings = list(sampling.warnings)
    if threshold > 1.0 and problem.whole.may_count_errors and problem.dual.baseline.top <= 1.0:
        warnings.append(
            f"The losses are at most 1, and the threshold is {threshold:g}. "
            "Give it as an error rate, not in percent."
        )
    return StabilityResult(
        value=value,
        error_bound=_error_bound(
            solution,
            max(value - solution.bound, shift.cost - value),
            (solution.dual * threshold if math.isfinite(solution.dual) else 0.0) + value,
            shift,
        ),
        interval=sampling.interval,
        status=solution.status,
        settings=settings,
        warnings=tuple(warnings),
        kind=problem.whole.kind,
        dual=solution.dual,
        standard_error=sampling.standard_error,
        influence=None if sampling.standard_error is None else shift.influence,
        **shift.fields(),
    )


def worst_case_risk(
    loss: Loss,
    budget: float,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    groups: Any = None,
    rtol: float = 1e-10,
    max_iter: int = 200,
    initial_dual: float | None = None,
    level: float = 0.95,
    keep_rows: bool = True,
    executor: Executor | None = None,
    progress: bool = True,
) -> WorstCaseRisk:
    """Return the highest risk of a shift of the sample that costs at most a budget; lower is better.

    The inverse of `stability_criterion`: the risk whose stability is the budget.

    Parameters
    ----------
    loss : Loss
        What the model loses on each row, where it stands and where it may move; see `stability_criterion`.
    budget : float
        Highest cost of a shift, at least 0; in the units of the prices.
    theta1 : float, default 0.4
        Price of data corruption; inf forbids rows to move.
    theta2 : float, default 0.4
        Price of sub-population shift; inf forbids weights to change.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight t: ``t log t - t + 1`` or ``(t - 1)^2``.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each row in the sample, in any scale.
    groups : array_like of shape (n_samples,), optional
        Labels of rows that belong together; see `stability_criterion`.
    rtol : float, default 1e-10
        Relative primal-dual gap at which to stop.
    max_iter : int, default 200
        Most evaluations of the dual.
    initial_dual : float, optional
        First guess of ``result.dual``.
    level : float, default 0.95
        Confidence level of the interval.
    keep_rows : bool, default True
        Whether the result holds the weight and the move of each row.
    executor : concurrent.futures.Executor, optional
        Where blocks of rows are mapped. Default: a thread for each CPU.
    progress : bool, default True
        Whether to show a progress bar, over the passes, for work of more than two seconds.

    Returns
    -------
    WorstCaseRisk
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
    budget = check_number(budget, "budget", low=0.0)
    options = Options(
        theta1=theta1, theta2=theta2, divergence=divergence, rtol=rtol, max_iter=max_iter,
        initial_dual=initial_dual, level=level, keep_rows=keep_rows, executor=executor, progress=progress,
        groups=groups,
    )  # fmt: skip

    def solve(problem: Problem) -> tuple[Solution, Shift, float]:
        solution = most_risk(problem.dual, budget, options)
        shift = problem.realise(solution.parts)
        return solution, shift, shift.risk if solution.value is None else solution.value

    with pass_counter(progress, "worst-case risk") as on_pass:
        problem = Problem.of(loss, sample_weight, options, on_pass)
        solution, shift, value = solve(problem)
    assert isinstance(solution.status, WorstCaseStatus)
    # Along the curve R(r) = budget the risk moves by -influence(R) / R'(r), and R'(r) is the dual.
    standard_error = shift.standard_error / solution.dual if solution.has_influence else None
    sampling = Sampling.of(problem, value, standard_error, lambda other: solve(other)[2])
    influence = shift.influence
    return WorstCaseRisk(
        value=value,
        error_bound=_error_bound(solution, solution.bound - value, value, shift),
        interval=sampling.interval,
        status=solution.status,
        settings=settings_with(loss, options, sample_weight, budget=budget),
        warnings=sampling.warnings,
        kind=_OPPOSITE[loss.kind],
        dual=solution.dual,
        standard_error=sampling.standard_error,
        influence=None
        if sampling.standard_error is None or influence is None
        else -influence / solution.dual,
        **shift.fields(),
    )


def _error_bound(solution: Solution, gap: float, scale: float, shift: Shift) -> float:
    """Add rounding, of numbers as large as ``scale``, to a primal-dual gap."""
    if solution.value is not None and not solution.computed:  # known without computing: 0, or inf
        return 0.0 if solution.status.ok else math.inf
    theta2 = shift.problem.options.theta2
    rounding = _ROUNDING * ((0.0 if math.isinf(theta2) else theta2) + (0.0 if math.isinf(scale) else scale))
    return max(gap, 0.0) + rounding + shift.imbalance * (0.0 if math.isinf(scale) else scale)


def settings_with(loss: Loss, options: Options, sample_weight: Any, **asked: Any) -> dict[str, Any]:
    """Return what a result should record of a call."""
    return settings_of(
        **loss.describe(),
        **asked,
        **options.settings(),
        sample_weight=None if sample_weight is None else "given",
    )


@contextmanager
def pass_counter(progress: bool, name: str) -> Iterator[Callable[[], object] | None]:
    """Count passes over the data on a progress bar."""
    if not progress:
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(desc=name, unit=" passes", delay=2.0, leave=False) as bar:
        yield bar.update
