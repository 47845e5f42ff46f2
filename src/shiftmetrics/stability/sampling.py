"""Sampling intervals: normal from the influence function, exact binomial where only the error rate matters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftmetrics._core.confidence import binomial_interval, normal_interval
from shiftmetrics._core.result import Interval
from shiftmetrics.stability.losses.fixed import FixedLoss
from shiftmetrics.stability.problem import Problem


def sampling_error(
    problem: Problem, value: float, standard_error: float | None, value_at: Callable[[Problem], float]
) -> tuple[float | None, Interval | None, tuple[str, ...]]:
    """Return the standard error of a value, its interval, and warnings.

    Parameters
    ----------
    problem : Problem
        The sample.
    value : float
        The least cost, or the highest risk.
    standard_error : float or None
        From the influence function.
    value_at : callable
        Computes the value of another sample.
    """
    counts_errors, level = problem.counts_errors, problem.level
    no_error = counts_errors and problem.dual.baseline.risk == 0.0
    if no_error:
        standard_error = None  # 0 would be an artefact
    if level is None or (standard_error is None and not counts_errors):
        return standard_error, None, ()
    if not counts_errors:
        assert standard_error is not None
        interval = normal_interval(value, standard_error, level, "influence function", least=0.0)
        return standard_error, interval, ()
    interval = _error_rate_interval(problem, level, value_at)
    if not no_error:
        return standard_error, interval, ()
    warning = (
        f"None of the {problem.whole.n_samples} rows is an error and rows may not move, so the sample alone "
        f"cannot be broken; with the error rates that it does not rule out, the value lies in {interval}."
    )
    return None, interval, (warning,)


def _error_rate_interval(problem: Problem, level: float, value_at: Callable[[Problem], float]) -> Interval:
    """Carry the binomial interval of the error rate over to a value, which is monotone in it.

    A 0/1 loss with ``theta1 = inf`` enters through its error rate alone, and two weighted rows have any rate.
    Weighted rows count as their effective number.
    """
    rates = binomial_interval(problem.dual.baseline.risk, effective_samples(problem), level)
    two_rows, prices, computing = FixedLoss([0.0, 1.0]), problem.prices, problem.computing
    samples = [Problem.of(two_rows, [1.0 - rate, rate], prices, computing=computing) for rate in rates]
    edges = [value_at(sample) for sample in samples]
    exact = problem.weights is None and problem.units is None
    method = "exact binomial" if exact else "binomial with the effective sample size"
    return Interval(low=min(edges), high=max(edges), level=level, method=method)


def effective_samples(problem: Problem) -> float:
    """Return the number of independent, equally weighted rows with the same error of the error rate.

    Groups count by the variance of the error rate between them; before any error is seen, by their weights (Kish).
    """
    baseline = problem.dual.baseline
    if problem.units is None:
        return baseline.effective_samples
    rate = baseline.risk
    errors = problem.loss.base(slice(0, problem.loss.n_samples))
    between = problem.unit_sums(errors - rate)
    variance = float(between @ between)
    if variance > 0.0:
        return min(rate * (1.0 - rate) / variance, baseline.effective_samples)
    shares = problem.unit_sums(np.ones_like(errors))
    return float(1.0 / (shares @ shares))
