"""Sampling intervals of stability from influence functions; exact binomial where the error rate alone matters.

The stability is biased upwards and far from normal near the current risk, where it is about a square. The worst-case
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
from shiftmetrics.stability.passes import AtDual
from shiftmetrics.stability.plan import PlanPart
from shiftmetrics.stability.problem import RealisedPlan, StabilityProblem

METHOD = "inverted worst-case risk"
# Skewness of the influence over the root of the number n of samples: above, fewer than about two equal ones carry it.
MOST_SKEWED = 0.7
# That skewness times the fourth root of n, and index of the tail of the influence: where the first is above and the
# second below, the tail is so heavy that the samples say too little of it. Skewness alone is no reason, because the
# interval corrects it: at n = 100 it covers 94 to 96 % up to a skewness of 0.8. Measured at n = 100, 300, 1,000 and
# 3,000: of samples with light tails, such as log losses of a boosting model (10 populations), 17, 9, 7 and 5 % are
# refused, and 94 to 95 % of the intervals of 95 % cover; of samples with the tail of squared errors of prices
# (4 populations) 9, 9, 4 and 2 % get an interval that does not cover; without this rule 19, 24, 25 and 17 % would.
MOST_TAIL = 1.7
LEAST_TAIL_INDEX = 3.5
# Largest influences that show the tail: fewer than the equal ones of rare errors.
_IN_TAIL = 10
# Effective samples of the shifted sample below which intervals cover too seldom: 53 % of 55 below 30, 92 % from there
# to 45.
LEAST_SAMPLES = 30.0
# The price is multiplied or divided by 4 at a time, until the end is passed.
_STEP = math.log(4.0)
_MOST_STEPS = 60
_PRECISION = 1e-3  # of the dual price; the cost there is stationary in it


# An interval, or None, and warnings: why there is none.
IntervalFound = tuple[Interval | None, tuple[str, ...]]


def interval_of_risk(plan: RealisedPlan, value: float, influence: FloatArray) -> IntervalFound:
    """Return the interval of a worst-case risk from its influence function."""
    problem = plan.problem
    if problem.confidence_level is None:
        return None, ()
    refused = _refused(plan, influence)
    if refused:
        return None, refused
    below, above = skewed_errors(influence, problem.n_units, problem.confidence_level)
    interval = Interval(
        low=max(value - below, 0.0),
        high=value + above,
        confidence_level=problem.confidence_level,
        method="influence function",
    )
    return interval, ()


def interval_of_cost(
    plan: RealisedPlan, threshold: float, dual: float, influence: FloatArray | None
) -> IntervalFound:
    """Return the interval of the least cost of a threshold.

    Parameters
    ----------
    plan : RealisedPlan
        The plan of the solution.
    threshold : float
        The risk.
    dual : float
        The dual price of the solution; 0 where the sample is at risk already.
    influence : ndarray or None
        Of each sample, or group of samples, on the least cost; None where the cost is 0.
    """
    problem = plan.problem
    if problem.confidence_level is None:
        return None, ()
    refused = _refused(plan, np.zeros(1) if influence is None else influence)
    if refused:
        return None, refused
    low = _end(problem, threshold, dual, 0)
    high = _end(problem, threshold, dual, 1)
    interval = Interval(
        low=low,
        high=max(low, high),
        confidence_level=problem.confidence_level,
        method=METHOD,
    )
    return interval, ()


def _refused(plan: RealisedPlan, influence: FloatArray) -> tuple[str, ...]:
    """Say why there is no interval, where the worst case rests on a few samples or its tail is heavy."""
    n_units = plan.problem.n_units
    spread = float(np.hypot.reduce(influence))
    skewness = 0.0
    if spread > 0.0:
        # The sum of these cubes is the skewness over the root of the number of samples.
        skewness = abs(float(np.sum((influence / spread) ** 3)))
    # A shift towards few samples is known no better than a mean of these few.
    samples = n_units * plan.effective_sample_fraction
    remedy = "Take more samples, or a lower threshold or budget."
    if skewness > MOST_SKEWED:
        found = (
            f"a few samples carry it (the skewness of their influence is {skewness:.2g}, "
            f"above {MOST_SKEWED:g})"
        )
    elif samples < LEAST_SAMPLES:
        found = f"it rests on {samples:.3g} effective samples, below {LEAST_SAMPLES:g}"
    elif skewness * n_units**0.25 > MOST_TAIL and tail_index(influence) < LEAST_TAIL_INDEX:
        found = "the tail of the losses is so heavy that other samples have much higher ones"
        remedy = (
            "Take a bounded loss, or the logarithm of the values, or a lower threshold or budget."
        )
    else:
        return ()
    return (f"No sampling interval of the worst case: {found}. {remedy}",)


def tail_index(influence: FloatArray) -> float:
    """Return the exponent with which the largest influences fall off (Hill's estimator); inf where they are equal.

    Where it is below 2 their variance is infinite, and no standard error means anything.
    """
    largest = np.sort(np.abs(influence))[-_IN_TAIL - 1 :]
    if largest[0] <= 0.0:
        return math.inf
    excess = float(np.mean(np.log(largest[1:] / largest[0])))
    return 1.0 / excess if excess > 0.0 else math.inf


def _end(problem: StabilityProblem, threshold: float, start: float, side: int) -> float:
    """Return the least cost of the threshold less (side 0) or plus (side 1) the error of the risk there.

    The end is where the risk of a dual price is the threshold with the error at that price. It is bracketed by
    steps on a logarithmic scale of the price, from that of the solution on.
    """
    dual = problem.dual
    upper = dual.upper
    known: dict[float, float] = {}

    def price_at(place: float) -> float:
        """Return a dual price: the exponential of ``place``, or a logistic function of it below the largest price."""
        if math.isinf(upper):
            return math.exp(place)
        return min(upper / (1.0 + math.exp(-place)), math.nextafter(upper, 0.0))

    def target(place: float) -> float:
        """Return the threshold with the sampling error at a dual price."""
        if place not in known:
            price = price_at(place)
            part = PlanPart(AtDual(price, dual.theta1), dual.moment(price))
            influence = -problem.influence(problem.row_influence((part,))) / price
            below, above = skewed_errors(
                influence, problem.n_units, problem.confidence_level or 0.95
            )
            # The error upwards of the risk is what the threshold may be too low by.
            known[place] = threshold - above if side == 0 else threshold + below
        return known[place]

    def missing(place: float) -> float:
        return dual.moment(price_at(place)).risk - target(place)

    first = min(1.0, 0.5 * upper)
    if 0.0 < start < upper and math.isfinite(start):
        first = start
    place = math.log(first)
    if not math.isinf(upper):
        place = -math.log(upper / first - 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        # Walk towards the target until it is passed, then refine.
        step = _STEP if missing(place) < 0.0 else -_STEP
        for _ in range(_MOST_STEPS):
            risk = dual.moment(price_at(place)).risk
            # No shift reaches the target: the end is infinite.
            if step > 0.0 and not target(place) <= dual.highest_risk:
                return math.inf
            if step < 0.0 and risk - dual.baseline.risk <= 1e-3 * abs(risk - target(place)):
                # The current risk may be the threshold.
                return 0.0
            if (missing(place + step) >= 0.0) == (step > 0.0):
                break
            place += step
        else:
            return math.inf if step > 0.0 else 0.0
        place = _crossing(missing, place, place + step)
        price = price_at(place)
        # g(h) = h r - conjugate(h) at the price whose risk is the target: the least cost of the target.
        return max(price * target(place) - dual.moment(price).conjugate, 0.0)


def _crossing(function: Callable[[float], float], first: float, last: float) -> float:
    """Return where a function changes its sign, which may be a jump.

    Regula falsi, halving the value of an end that stays (Illinois); every third step halves the bracket, because at a
    jump the others only creep towards it.
    """
    ends = [first, last]
    values = [function(first), function(last)]
    for step in range(_MOST_STEPS):
        if abs(ends[1] - ends[0]) <= _PRECISION:
            break
        middle = 0.5 * (ends[0] + ends[1])
        gap = values[1] - values[0]
        if step % 3 != 2 and math.isfinite(gap) and gap != 0.0:
            middle = ends[1] - values[1] * (ends[1] - ends[0]) / gap
            if abs(middle - ends[1]) < 0.5 * _PRECISION:
                # A little farther, so that the root is enclosed.
                middle = ends[1] + math.copysign(0.5 * _PRECISION, ends[0] - ends[1])
        value = function(middle)
        if value == 0.0:
            return middle
        # The new point replaces the last one where both have one sign, else the last one becomes the first.
        if (value > 0.0) == (values[1] > 0.0):
            values[0] *= 0.5
        else:
            ends[0] = ends[1]
            values[0] = values[1]
        ends[1] = middle
        values[1] = value
    return ends[1]


def interval_of_error_rate(
    problem: StabilityProblem, value_of: Callable[[StabilityProblem], float]
) -> IntervalFound:
    """Carry the binomial interval of the error rate over to a value, which is monotone in it.

    A 0/1 loss with ``theta1 = inf`` enters through its error rate alone, and two weighted samples have any rate.
    Weighted samples count as their effective number.
    """
    if problem.confidence_level is None:
        return None, ()
    baseline = problem.dual.baseline
    rates = binomial_interval(baseline.risk, effective_samples(problem), problem.confidence_level)
    # The value of a sample of two, of which one is an error, weighted to each end of the interval of the rate.
    edges = []
    for rate in rates:
        sample = StabilityProblem.of(
            FixedLoss([0.0, 1.0]),
            [1.0 - rate, rate],
            problem.prices,
            computing=problem.computing,
        )
        # The value is monotone in the rate, so the ends of its interval are the values at the ends of that of the
        # rate.
        edges.append(value_of(sample))
    method = "exact binomial"
    if problem.weights is not None or problem.units is not None:
        method = "binomial with the effective sample size"
    interval = Interval(
        low=min(edges),
        high=max(edges),
        confidence_level=problem.confidence_level,
        method=method,
    )
    if baseline.risk > 0.0:
        return interval, ()
    warning = (
        f"None of the {problem.whole.n_samples} samples is an error and samples may not change, so the sample alone "
        f"cannot be broken; with the error rates that it does not rule out, the value lies in {interval}."
    )
    return interval, (warning,)


def effective_samples(problem: StabilityProblem) -> float:
    """Return the number of independent, equally weighted samples with the same error of the error rate.

    Groups count by the variance of the error rate between them; before any error is seen, by their weights (Kish).
    """
    baseline = problem.dual.baseline
    if problem.units is None:
        return baseline.effective_samples
    rate = baseline.risk
    errors = problem.loss.base(slice(0, problem.loss.n_samples))
    # What each group adds to the error of the rate: the sum of squares is the variance of the rate.
    between = problem.unit_sums(errors - rate)
    variance = float(between @ between)
    if variance > 0.0:
        return min(rate * (1.0 - rate) / variance, baseline.effective_samples)
    return problem.n_units
