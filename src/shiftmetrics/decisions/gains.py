"""What each row gains when the new model replaces the old one: known where it has a label, bounded where not.

A row of unchanged answer gains nothing. Where the answer changes, the accuracy of the row rises by
1, falls by 1, or stays; a cost changes by at most the cost of an error; and an absolute error by at
most the change of the output. So without any label the difference of the means is bounded, for
certain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.result import Interval
from shiftmetrics._core.validation import check_keys, check_number, describe
from shiftmetrics.decisions.anytime import mean_sequence
from shiftmetrics.decisions.exact import Outcomes, difference_interval
from shiftmetrics.decisions.paired import future_interval, mean_interval
from shiftmetrics.decisions.pairs import ClassPair, OutputPair
from shiftmetrics.decisions.plan import LabelPlan

LEVEL = 0.95
"""Confidence level of all intervals of a comparison."""

GONE_THROUGH = 0.9
"""Fraction of the planned labels from which on the plan counts as finished, and the rest as missing."""


@dataclass(frozen=True, kw_only=True)
class Gains:
    """The gain of each row.

    Attributes
    ----------
    known : ndarray of shape (n_samples,)
        Whether the gain is known: by a label, or because the answer does not change.
    low, high : ndarray of shape (n_samples,)
        Least and largest possible gain: both are the gain itself where it is known.
    bound : Interval
        Limits of the mean gain that hold without any label.
    scale : float
        Root mean square of the largest gains of the rows that change, without any label: 1 for accuracy.
    candidates : ndarray of int
        Rows that a plan draws from: those that change.
    are_signs : bool
        Whether each gain is -1, 0 or 1, so that exact intervals exist.
    two_classes : bool
        Whether one of the two models is right in each changed row.
    weights : ndarray of shape (n_classes,)
        Cost of an error on a row of each class: 1 for accuracy.
    """

    known: BoolArray
    low: FloatArray
    high: FloatArray
    bound: Interval
    scale: float
    candidates: IntArray
    are_signs: bool
    two_classes: bool
    weights: FloatArray

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.known)

    @property
    def certain(self) -> Interval:
        """Limits of the mean gain, whatever the labels that are not known."""
        return _certain(self.low, self.high)

    def outcomes(self, rows: IntArray) -> Outcomes:
        """Return how many of some rows are fixed, broken, neither, or not known."""
        known = self.known[rows]
        values = self.low[rows][known]
        return Outcomes(
            fixed=int((values > 0.0).sum()),
            broken=int((values < 0.0).sum()),
            neither=int((values == 0.0).sum()),
            missing=int((~known).sum()),
        )


def gains_of_classes(pair: ClassPair, costs: Mapping[Any, float] | None) -> Gains:
    """Return the gains of accuracy, or of the mean cost of errors."""
    weights = _class_costs(pair, costs)
    changed = pair.changed
    labelled = pair.rows.known
    # The label is not known: it may be the new answer, or the old one, or neither.
    low = np.where(changed, -weights[pair.old_codes], 0.0)
    high = np.where(changed, weights[pair.new_codes], 0.0)
    bound = _certain(low, high)
    scale = _scale(np.maximum(-low, high)[changed])
    rows = changed & labelled
    truth = pair.labels[rows]
    right = (pair.new_codes[rows] == truth).astype(np.float64)
    right -= pair.old_codes[rows] == truth
    low[rows] = weights[truth] * right
    high[rows] = low[rows]
    return Gains(
        known=~changed | labelled,
        low=low,
        high=high,
        bound=bound,
        scale=scale,
        candidates=np.flatnonzero(changed),
        are_signs=bool((weights == 1.0).all()),
        two_classes=len(pair.classes) == 2,
        weights=weights,
    )


def gains_of_outputs(pair: OutputPair) -> Gains:
    """Return the gains of the absolute error: what it falls by."""
    # ||y - old| - |y - new|| <= |new - old|
    reach = np.abs(pair.new_outputs - pair.old_outputs)
    known = pair.rows.known | (reach == 0.0)
    gain = np.abs(pair.labels - pair.old_outputs) - np.abs(pair.labels - pair.new_outputs)
    return Gains(
        known=known,
        low=np.where(pair.rows.known, gain, -reach),
        high=np.where(pair.rows.known, gain, reach),
        bound=_certain(-reach, reach),
        scale=_scale(reach[pair.changed]),
        candidates=np.flatnonzero(pair.changed),
        are_signs=False,
        two_classes=False,
        weights=np.ones(1),
    )


def _scale(largest: FloatArray) -> float:
    """Return the root mean square of the largest gains."""
    return float(np.sqrt(np.mean(largest**2))) if len(largest) else 1.0


def _certain(low: FloatArray, high: FloatArray) -> Interval:
    """Return limits of a mean from those of each row; sums are exact, and no zero is negative."""
    return Interval(
        low=math.fsum(low) / len(low) + 0.0,
        high=math.fsum(high) / len(high) + 0.0,
        confidence_level=1.0,
        method="certain",
    )


def _class_costs(pair: ClassPair, costs: Mapping[Any, float] | None) -> FloatArray:
    """Return the cost of an error on a row of each class.

    Raises
    ------
    ValueError
        If a cost is negative, or of no class.
    """
    weights = np.ones(len(pair.classes))
    if costs is None:
        return weights
    if not isinstance(costs, Mapping):
        raise TypeError(describe("costs", "a mapping of class to cost", value=costs))
    names = pair.classes.tolist()
    check_keys([str(name) for name in costs], "costs", names, "a mapping of known classes")
    for name, cost in costs.items():
        weights[names.index(str(name))] = check_number(cost, f"costs[{name!r}]", low=0.0)
    return weights


def future_difference(gains: Gains) -> Interval:
    """Return the interval of the mean gain of future rows, where all gains are known."""
    if not gains.are_signs:
        return mean_interval(gains.low, LEVEL)
    seen = gains.outcomes(gains.candidates)
    return future_interval(seen.fixed, seen.broken, gains.n_samples, LEVEL)


def sampled_difference(gains: Gains, plan: LabelPlan) -> tuple[float, Interval, IntArray]:
    """Return the estimate and the interval of the mean gain of these rows, from the labels of a plan.

    An exact interval is given once, when the planned rows are labelled; rows without a label count
    as the worst case. Before that, and for costs and outputs, it is an anytime one, from the rows
    up to the last labelled one.

    Returns
    -------
    value : float
        The mean gain, estimated.
    interval : Interval
    rows : ndarray of int
        The labelled rows that are used.
    """
    order = plan.order
    labelled = gains.known[order]
    if labelled.all():
        value = gains.certain.low
        if not gains.are_signs and gains.certain.high > gains.certain.low:
            value = 0.5 * (gains.certain.low + gains.certain.high)
        point = Interval(
            low=gains.certain.low, high=gains.certain.high, confidence_level=LEVEL, method="exact"
        )
        return value, point, order
    planned = labelled[: plan.n_labels]
    is_exact = plan.mode == "exact" and gains.are_signs
    if is_exact and planned.mean() >= GONE_THROUGH:
        drawn = plan.rows
        limits: tuple[float, float] = difference_interval(
            plan.n_population, gains.outcomes(drawn), LEVEL, two_classes=gains.two_classes
        )
        method = "exact"
    else:
        reach = len(labelled) if plan.mode == "anytime" else plan.n_labels
        last = int(np.flatnonzero(labelled[:reach])[-1]) + 1 if labelled[:reach].any() else 0
        drawn = order[:last]
        limits = _anytime_limits(gains, drawn)
        method = "anytime"
    used = drawn[gains.known[drawn]]
    return _interval_of(gains, *limits, method, used)


def _anytime_limits(gains: Gains, drawn: IntArray) -> tuple[float, float]:
    """Return limits of the sum of the gains of all candidates, from the first of them in the order of the plan."""
    rows = gains.candidates
    least = float(gains.low[rows].min())
    most = float(gains.high[rows].max())
    if gains.are_signs:
        least, most = -1.0, 1.0
    width = most - least
    if not len(drawn) or width == 0.0:
        return len(rows) * least, len(rows) * most
    low, high = mean_sequence(
        (gains.low[drawn] - least) / width, (gains.high[drawn] - least) / width, len(rows), LEVEL
    )
    return len(rows) * (least + width * float(low[-1])), len(rows) * (
        least + width * float(high[-1])
    )


def _interval_of(
    gains: Gains, low: float, high: float, method: str, used: IntArray
) -> tuple[float, Interval, IntArray]:
    """Return estimate and interval of the mean gain from limits of the sum over the candidates."""
    n = gains.n_samples
    others = np.ones(n, dtype=bool)
    others[gains.candidates] = False
    rest_low = float(gains.low[others].sum())
    rest_high = float(gains.high[others].sum())
    # What is certain is never widened.
    certain = gains.certain
    interval = Interval(
        low=max((low + rest_low) / n, certain.low),
        high=min((high + rest_high) / n, certain.high),
        confidence_level=LEVEL,
        method=method,
    )
    mean = float(gains.low[used].mean()) if len(used) else 0.0
    value = (mean * len(gains.candidates) + 0.5 * (rest_low + rest_high)) / n
    return min(max(value, interval.low), interval.high), interval, used
