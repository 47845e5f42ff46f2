"""What each row gains when the new model replaces the old one: known where it has a label, bounded where not.

A row of unchanged answer gains nothing. Where the answer changes, the accuracy of the row rises by
1, falls by 1, or stays; a cost changes by at most the cost of an error; and an absolute error by at
most the change of the output. So without any label the difference of the means is bounded, for
certain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentTypeError
from shiftmetrics._core.result import Interval
from shiftmetrics._core.sums import exact_sum
from shiftmetrics._core.validation import check_keys, check_number
from shiftmetrics.decisions.diff.compared import ComparedRows
from shiftmetrics.decisions.labelling.anytime import (
    mean_sequence,
    planned_bets,
    weighted_sequence,
)
from shiftmetrics.decisions.labelling.exact import Outcomes, difference_interval
from shiftmetrics.decisions.labelling.paired import future_interval
from shiftmetrics.decisions.labelling.paired_mean import interval_of_moments
from shiftmetrics.decisions.labelling.plan import LabelPlan
from shiftmetrics.decisions.predictions.pairs import ClassPair, OutputPair

LEVEL = 0.95
"""Confidence level of all intervals of a comparison."""

GONE_THROUGH = 0.9
"""Fraction of the planned labels from which on the plan counts as finished, and the rest as missing."""


@dataclass(frozen=True, kw_only=True)
class Gains:
    """The gain of each row that is held: of classes the changed ones, since all others gain nothing.

    Attributes
    ----------
    n_samples : int
        All rows.
    positions : ndarray of shape (n_held,)
        Places of the held rows among all rows.
    known : ndarray of shape (n_held,)
        Whether the gain is known: by a label, or because the output does not change.
    low, high : ndarray of shape (n_held,)
        Least and largest possible gain: both are the gain itself where it is known.
    least, most : float
        Limits of the gain of every row that changes, without any label: -1 and 1 for accuracy.
    scale : float
        Mean of the largest gains of the rows that change, without any label: 1 for accuracy.
    candidates : ndarray of int
        Held rows that a plan samples from: those that change.
    are_signs : bool
        Whether each gain is -1, 0 or 1, so that exact intervals exist.
    two_classes : bool
        Whether one of the two models is right in each changed row.
    weights : ndarray of shape (n_classes,)
        Cost of an error on a row of each class: 1 for accuracy.
    sizes : ndarray of shape (n_candidates,) or None
        Largest gain or loss of each candidate, without any label, where they differ: rows are sampled in proportion
        to it. None for accuracy.
    reach : float
        The largest gain or loss that a future row is taken to have: 1 for accuracy, the largest cost,
        or the largest absolute error that either model makes on a known row.
    """

    n_samples: int
    positions: IntArray
    known: BoolArray
    low: FloatArray
    high: FloatArray
    least: float
    most: float
    scale: float
    candidates: IntArray
    are_signs: bool
    two_classes: bool
    weights: FloatArray
    sizes: FloatArray | None = None
    reach: float

    @property
    def certain(self) -> Interval:
        """Limits of the mean gain, whatever the labels that are not known."""
        return _certain(self.low, self.high, self.n_samples)

    def certain_in(self, members: BoolArray, n: int) -> Interval:
        """Return the limits of the mean gain in n rows, of which some are held, whatever the unknown labels."""
        return _certain(self.low[members], self.high[members], n)

    def held(self, positions: IntArray) -> IntArray:
        """Return where rows of a plan stand among those that are held."""
        return np.searchsorted(self.positions, positions)

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


def gains_of_classes(compared: ComparedRows, costs: Mapping[Any, float] | None) -> Gains:
    """Return the gains of accuracy, or of the mean cost of errors, of the rows whose answer changes."""
    pair = compared.pair
    assert isinstance(pair, ClassPair)
    weights = _class_costs(pair, costs)
    # While the label is not known it may be the new answer, or the old one, or neither.
    losses = weights[pair.old_codes]
    wins = weights[pair.new_codes]
    # Where it is known, the row gains by the new answer, or loses by the old one, or neither.
    rows = pair.rows.known
    truth = pair.labels[rows]
    gain = (pair.new_codes[rows] == truth).astype(np.float64)
    gain -= pair.old_codes[rows] == truth
    are_signs = bool((weights == 1.0).all())
    sizes = np.maximum(losses, wins)
    low = -losses
    low[rows] = weights[truth] * gain
    high = wins.copy()
    high[rows] = low[rows]
    return Gains(
        n_samples=compared.n_samples,
        positions=compared.positions,
        known=rows,
        low=low,
        high=high,
        least=-float(losses.max(initial=0.0)),
        most=float(wins.max(initial=0.0)),
        scale=_scale(sizes),
        candidates=np.arange(len(rows)),
        are_signs=are_signs,
        two_classes=len(pair.classes) == 2,
        weights=weights,
        sizes=None if are_signs else sizes,
        reach=float(weights.max()),
    )


def gains_of_outputs(compared: ComparedRows) -> Gains:
    """Return the gains of the absolute error: what it falls by."""
    pair = compared.pair
    assert isinstance(pair, OutputPair)
    # |y - old| - |y - new| lies between -|new - old| and |new - old|, whatever y is.
    reach = np.abs(pair.new_outputs - pair.old_outputs)
    gain = np.abs(pair.labels - pair.old_outputs) - np.abs(pair.labels - pair.new_outputs)
    largest = float(reach[pair.changed].max(initial=0.0))
    errors = np.abs(pair.labels[:, None] - np.stack([pair.old_outputs, pair.new_outputs], axis=1))
    return Gains(
        n_samples=compared.n_samples,
        positions=compared.positions,
        known=pair.rows.known | (reach == 0.0),
        low=np.where(pair.rows.known, gain, -reach),
        high=np.where(pair.rows.known, gain, reach),
        least=-largest,
        most=largest,
        scale=_scale(reach[pair.changed]),
        candidates=np.flatnonzero(pair.changed),
        are_signs=False,
        two_classes=False,
        weights=np.ones(1),
        sizes=reach[pair.changed],
        reach=float(errors[pair.rows.known].max(initial=0.0)),
    )


def _scale(largest: FloatArray) -> float:
    """Return the mean of the largest gains: what an interval from rows sampled in proportion to them is wide by."""
    return float(np.mean(largest)) if len(largest) else 1.0


def _certain(low: FloatArray, high: FloatArray, n: int) -> Interval:
    """Return limits of a mean over n rows from those of the held ones; sums are exact, and no zero is negative."""
    return Interval(
        low=exact_sum(low) / n + 0.0,
        high=exact_sum(high) / n + 0.0,
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
        raise ArgumentTypeError("costs", "a mapping of class to cost", value=costs)
    names = pair.classes.tolist()
    check_keys([str(name) for name in costs], "costs", names, "a mapping of known classes")
    for name, cost in costs.items():
        weights[names.index(str(name))] = check_number(cost, f"costs[{name!r}]", low=0.0)
    return weights


def future_difference(
    gains: Gains,
    members: BoolArray | None = None,
    n: int | None = None,
    confidence_level: float = LEVEL,
) -> Interval:
    """Return the interval of the mean gain of future rows, or of those of one part, where all gains are known.

    ``members`` are the held rows of the part, ``n`` are all of its rows.
    """
    known = gains.low if members is None else gains.low[members]
    n = gains.n_samples if n is None else n
    if not gains.are_signs:
        # Rows that are not held gain nothing.
        mean = exact_sum(known) / n
        squares = exact_sum((known - mean) ** 2) + (n - len(known)) * mean**2
        return interval_of_moments(n, mean, squares, gains.reach, confidence_level)
    fixed, broken = int((known > 0.0).sum()), int((known < 0.0).sum())
    return future_interval(fixed, broken, n, confidence_level)


def sampled_difference(gains: Gains, plan: LabelPlan) -> tuple[float, Interval, IntArray]:
    """Return the estimate and the interval of the mean gain of these rows, from the labels of a plan.

    An exact interval is given once, when the planned rows are labelled; rows without a label count
    as the worst case. Before that it is an anytime one, from the rows up to the last labelled one. Of
    costs and outputs the first is a betting sequence as well, with bets for that number of labels.

    Returns
    -------
    value : float
        The mean gain, estimated.
    interval : Interval
    rows : ndarray of int
        The held rows whose labels are used.
    """
    order = gains.held(plan.order)
    labelled = gains.known[order]
    if labelled.all():
        certain = gains.certain
        value = 0.5 * (certain.low + certain.high)
        point = dataclasses.replace(certain, confidence_level=LEVEL, method="exact")
        return value, point, order
    # A row that nobody can label must not hold up the answer: from nine tenths on, gaps count as the worst case.
    is_finished = labelled[: plan.n_labels].mean() >= GONE_THROUGH
    if plan.sizes is not None:
        method = "exact" if plan.mode == "exact" and is_finished else "anytime"
        n_drawn = plan.n_labels if method == "exact" else len(_looked_at(gains, plan))
        return _estimate_by_size(gains, plan, n_drawn, method)
    if plan.mode == "exact" and gains.are_signs and is_finished:
        method = "exact"
        drawn = order[: plan.n_labels]
        seen = gains.outcomes(drawn)
        low, high = difference_interval(
            plan.n_population, seen, LEVEL, two_classes=gains.two_classes
        )
        limits = float(low), float(high)
    else:
        method = "anytime"
        drawn = _looked_at(gains, plan)
        limits = _anytime_limits(gains, drawn)
    used = drawn[gains.known[drawn]]
    return _estimate(gains, limits, method, used)


def _estimate_by_size(
    gains: Gains, plan: LabelPlan, n_drawn: int, method: str
) -> tuple[float, Interval, IntArray]:
    """Return estimate and interval from the first rows of a plan that sampled them in proportion to their sizes."""
    assert plan.sizes is not None
    # Rows that nothing is at stake in come last, and gain nothing.
    n_drawn = min(n_drawn, int(np.count_nonzero(plan.sizes)))
    drawn = gains.held(plan.order[:n_drawn])
    sizes = plan.sizes[:n_drawn]
    known = gains.known[drawn]
    total = float(plan.sizes.sum())
    # What a row gains over the most it could, from -1 to 1, as a value between 0 and 1.
    lowest = 0.5 * (np.clip(gains.low[drawn] / sizes, -1.0, 1.0) + 1.0)
    highest = 0.5 * (np.clip(gains.high[drawn] / sizes, -1.0, 1.0) + 1.0)
    limits = -total, total
    if n_drawn:
        bets = None
        if method == "exact":
            bets = planned_bets(lowest, known, n_drawn, LEVEL)
        low, high = weighted_sequence(lowest, highest, sizes, total, LEVEL, bets=bets)
        limits = total * (2.0 * float(low[-1]) - 1.0), total * (2.0 * float(high[-1]) - 1.0)
    used = drawn[known]
    return _within_certain(gains, limits, method, used, _sum_by_size(gains, plan, n_drawn))


def _sum_by_size(gains: Gains, plan: LabelPlan, n_drawn: int) -> float:
    """Return the estimate of the sum of the gains of all candidates: that of D. Raj (JASA 51, 1956).

    After each draw, what was seen before and the gain of the row over its probability are together an unbiased
    estimate; their mean is taken. Rows without a label count as if they gained nothing.
    """
    assert plan.sizes is not None
    if not n_drawn:
        return 0.0
    drawn = gains.held(plan.order[:n_drawn])
    gained = np.where(gains.known[drawn], gains.low[drawn], 0.0)
    sizes = plan.sizes[:n_drawn]
    before = np.cumsum(gained) - gained
    left = float(plan.sizes.sum()) - (np.cumsum(sizes) - sizes)
    return float(np.mean(before + gained / sizes * left))


def _looked_at(gains: Gains, plan: LabelPlan) -> IntArray:
    """Return the rows of the plan up to the last labelled one; an exact plan ends with its number of labels."""
    order = gains.held(plan.order if plan.mode == "anytime" else plan.rows)
    places = np.flatnonzero(gains.known[order])
    n_looked_at = int(places[-1]) + 1 if len(places) else 0
    return order[:n_looked_at]


def _anytime_limits(gains: Gains, drawn: IntArray) -> tuple[float, float]:
    """Return limits of the sum of the gains of all candidates, from the first of them in the order of the plan."""
    n = len(gains.candidates)
    # Accuracy: any row may win or lose 1. Costs and outputs: what the most extreme row could, before any label.
    least = -1.0 if gains.are_signs else gains.least
    most = 1.0 if gains.are_signs else gains.most
    width = most - least
    if not len(drawn) or width == 0.0:
        return n * least, n * most
    # The sequence is that of a mean between 0 and 1; the limits of a gain hold without any label.
    lowest = (gains.low[drawn] - least) / width
    highest = (gains.high[drawn] - least) / width
    low, high = mean_sequence(lowest, highest, n, LEVEL)
    return n * (least + width * float(low[-1])), n * (least + width * float(high[-1]))


def _estimate(
    gains: Gains, limits: tuple[float, float], method: str, used: IntArray
) -> tuple[float, Interval, IntArray]:
    """Return estimate and interval of the mean gain from limits of the sum over the candidates."""
    # The labelled candidates are a simple random sample, so that their mean stands for all of them.
    mean = float(gains.low[used].mean()) if len(used) else 0.0
    return _within_certain(gains, limits, method, used, mean * len(gains.candidates))


def _within_certain(
    gains: Gains, limits: tuple[float, float], method: str, used: IntArray, estimate: float
) -> tuple[float, Interval, IntArray]:
    """Return estimate and interval of the mean gain from those of the sum over the candidates."""
    n = gains.n_samples
    # Outputs that change by less than the tolerance are no candidates, and yet not known.
    others = np.ones(len(gains.known), dtype=bool)
    others[gains.candidates] = False
    rest_low = float(gains.low[others].sum())
    rest_high = float(gains.high[others].sum())
    # The interval never reaches beyond what is certain.
    certain = gains.certain
    low = max((limits[0] + rest_low) / n, certain.low)
    high = min((limits[1] + rest_high) / n, certain.high)
    interval = Interval(low=low, high=high, confidence_level=LEVEL, method=method)
    value = (estimate + 0.5 * (rest_low + rest_high)) / n
    return min(max(value, low), high), interval, used
