"""Sampling intervals of stability, from the influence of each row; exact binomial where only the error rate matters.

The stability is biased upwards and far from normal near the risk as it is, where it is about a square. The worst-case
risk of a budget is its inverse and about normal: so its interval is inverted. The ends are the least costs of the
threshold less and plus the sampling error of the worst-case risk there.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import binomial_interval, skewed_errors
from shiftmetrics._core.result import Interval
from shiftmetrics.stability.losses.fixed import FixedLoss
from shiftmetrics.stability.plan import AtDual, PlanPart
from shiftmetrics.stability.problem import Shift, StabilityProblem

METHOD = "inverted worst-case risk"
MOST_SKEWED = 0.5
"""Skewness of the influence over the root of the number of rows, above which too few of them show the tail."""
LEAST_ROWS = 45.0
"""Effective rows of the shifted sample below which intervals cover too seldom."""
_STEP = math.log(4.0)
_MOST_STEPS = 60
_PRECISION = 1e-3  # of the dual price; the cost there is stationary in it


def interval_of_risk(
    shift: Shift, value: float, influence: FloatArray
) -> tuple[Interval | None, tuple[str, ...]]:
    """Return the interval of a worst-case risk from its influence function, or a warning that there is none."""
    problem, refused = shift.problem, _refused(shift, influence)
    if refused:
        return None, refused
    assert problem.confidence_level is not None
    below, above = skewed_errors(influence, problem.n_units, problem.confidence_level)
    low = max(value - below, 0.0)
    return Interval(
        low=low,
        high=value + above,
        confidence_level=problem.confidence_level,
        method="influence function",
    ), ()


def interval_of_cost(
    shift: Shift, threshold: float, dual: float, influence: FloatArray | None
) -> tuple[Interval | None, tuple[str, ...]]:
    """Return the interval of the least cost of a threshold, or a warning that there is none.

    Parameters
    ----------
    shift : Shift
        The plan of the solution.
    threshold : float
        The risk.
    dual : float
        The dual price of the solution; 0 where the sample is at risk already.
    influence : ndarray or None
        Of each row, or group of rows, on the least cost; None where the cost is 0.
    """
    problem = shift.problem
    refused = _refused(shift, np.zeros(1) if influence is None else influence)
    if refused:
        return None, refused
    assert problem.confidence_level is not None
    low, high = (_end(problem, threshold, dual, side) for side in (0, 1))
    return Interval(
        low=low, high=max(low, high), confidence_level=problem.confidence_level, method=METHOD
    ), ()


def _refused(shift: Shift, influence: FloatArray) -> tuple[str, ...]:
    """Say why there is no interval, where the worst case rests on a few rows."""
    spread = float(np.hypot.reduce(influence))
    skewness = abs(float(np.sum((influence / spread) ** 3))) if spread > 0.0 else 0.0
    rows = shift.problem.n_units * shift.effective_sample_fraction
    if skewness <= MOST_SKEWED and rows >= LEAST_ROWS:
        return ()
    found = f"it rests on {rows:.3g} effective rows, below {LEAST_ROWS:g}"
    if skewness > MOST_SKEWED:
        found = f"a few rows carry it (the skewness of their influence is {skewness:.2g}, above {MOST_SKEWED:g})"
    return (
        f"No sampling interval of the worst case: {found}. Take more rows, or a lower threshold or budget.",
    )


def _end(problem: StabilityProblem, threshold: float, start: float, side: int) -> float:
    """Return the least cost of the threshold less (side 0) or plus (side 1) the error of the risk there."""
    from scipy.optimize import brentq

    dual, confidence_level, n_units, known = (
        problem.dual,
        problem.confidence_level or 0.95,
        problem.n_units,
        {},
    )

    def target(price: float) -> float:
        """Return the threshold with the sampling error at a dual price."""
        if price not in known:
            moment = dual.moment(price)
            of_rows = problem.row_influence((PlanPart(AtDual(price, dual.theta1), moment),))
            errors = skewed_errors(-problem.influence(of_rows) / price, n_units, confidence_level)
            # the error upwards of the risk is what the threshold may be too low by
            known[price] = threshold - errors[1] if side == 0 else threshold + errors[0]
        return known[price]

    def missing(price: float) -> float:
        return dual.moment(price).risk - target(price)

    def between(place: float) -> float:
        """Return a dual price: on a logarithmic scale, below the largest one."""
        if math.isinf(dual.upper):
            return math.exp(place)
        return min(dual.upper / (1.0 + math.exp(-place)), math.nextafter(dual.upper, 0.0))

    first = (
        start if 0.0 < start < dual.upper and math.isfinite(start) else min(1.0, 0.5 * dual.upper)
    )
    place = math.log(first) if math.isinf(dual.upper) else -math.log(dual.upper / first - 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        step = _STEP if missing(between(place)) < 0.0 else -_STEP
        for _ in range(_MOST_STEPS):
            risk = dual.moment(between(place)).risk
            if step > 0.0 and not target(between(place)) <= dual.highest_risk:
                return math.inf
            if step < 0.0 and risk - dual.baseline.risk <= 1e-3 * abs(
                risk - target(between(place))
            ):
                return 0.0  # the risk as it is may be the threshold
            if (missing(between(place + step)) >= 0.0) == (step > 0.0):
                break
            place += step
        else:
            return math.inf if step > 0.0 else 0.0
        ends = sorted((place, place + step))
        place = brentq(lambda place: missing(between(place)), *ends, xtol=_PRECISION, rtol=1e-6)
        price = between(place)
        return max(price * target(price) - dual.moment(price).conjugate, 0.0)


def interval_of_error_rate(
    problem: StabilityProblem, value_at: Callable[[StabilityProblem], float]
) -> tuple[Interval | None, tuple[str, ...]]:
    """Carry the binomial interval of the error rate over to a value, which is monotone in it.

    A 0/1 loss with ``theta1 = inf`` enters through its error rate alone, and two weighted rows have any rate.
    Weighted rows count as their effective number.
    """
    assert problem.confidence_level is not None
    rates = binomial_interval(
        problem.dual.baseline.risk, effective_samples(problem), problem.confidence_level
    )
    two_rows, prices, computing = FixedLoss([0.0, 1.0]), problem.prices, problem.computing
    samples = [
        StabilityProblem.of(two_rows, [1.0 - rate, rate], prices, computing=computing)
        for rate in rates
    ]
    edges = [value_at(sample) for sample in samples]
    exact = problem.weights is None and problem.units is None
    method = "exact binomial" if exact else "binomial with the effective sample size"
    interval = Interval(
        low=min(edges), high=max(edges), confidence_level=problem.confidence_level, method=method
    )
    if problem.dual.baseline.risk > 0.0:
        return interval, ()
    warning = (
        f"None of the {problem.whole.n_samples} rows is an error and rows may not move, so the sample alone "
        f"cannot be broken; with the error rates that it does not rule out, the value lies in {interval}."
    )
    return interval, (warning,)


def effective_samples(problem: StabilityProblem) -> float:
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
    return problem.n_units
