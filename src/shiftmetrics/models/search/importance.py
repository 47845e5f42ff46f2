"""The exact mean of permutation importance: the risk when a feature's values are sampled without regard to the rest.

A permutation gives each sample the value of another one. The mean over all permutations needs none of them: it is the
mean loss over all pairs of a sample and a value, ``mean_ij loss(x_i with the value of x_j)``. Where there are target
samples, the values are theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.confidence import skewed_errors
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics._core.result import Interval
from shiftmetrics.stability.criterion import worst_case_risk
from shiftmetrics.stability.losses import FixedLoss

RADIUS = 0.02
"""How far the distribution of the values may shift in the worst case: its relative entropy, in nats.

The fractions of values then change by about a fifth. In `benchmarks/decisions.py stability` larger radii predict less
well what another domain does, and 0 no better.
"""
_ROWS_AT_ONCE = 1 << 14
"""Rows that a model predicts in one call."""
_MOST_PREDICTIONS = 1 << 17
"""Predictions for each feature: of more pairs than that, quantiles stand for the values."""
_FEWEST_VALUES = 32


class Draws(NamedTuple):
    """The samples that are averaged, and those whose values replace theirs.

    Attributes
    ----------
    weights : array of shape (n_parts, n_samples)
        Weights of the samples in each part of the sample, which sum to 1.
    codes : array of shape (n_draws, n_features)
        The coded samples whose values are used: those of the problem, or the target samples.
    fractions : array of shape (n_draws,)
        Their weights, which sum to 1.
    are_target : bool
        Whether they are target samples.
    """

    weights: FloatArray
    codes: FloatArray
    fractions: FloatArray
    are_target: bool = False


class ValueRisks(NamedTuple):
    """The risk when all samples take the same value of a feature, for each of its values.

    Attributes
    ----------
    fractions : array of shape (n_values,)
        How often each value occurs.
    risks : array of shape (n_parts, n_values)
        The risk of each part of the sample at each value.
    expected : array of shape (n_samples,)
        The loss of each sample, on average over the values.
    value_of : int array of shape (n_draws,)
        Which of the values each of these samples has.
    """

    fractions: FloatArray
    risks: FloatArray
    expected: FloatArray
    value_of: IntArray

    def average(self, part: int = 0) -> float:
        """Return the risk of a part on average over all permutations of the values."""
        return float(self.risks[part] @ self.fractions)

    def worst(self, part: int = 0) -> float:
        """Return the highest risk of a part when the distribution of the values shifts by at most `RADIUS`."""
        held = self.fractions > 0.0
        # Nothing but the weights of the values may change.
        result = worst_case_risk(
            FixedLoss(self.risks[part][held]),
            RADIUS,
            theta1=math.inf,
            theta2=1.0,
            sample_weight=self.fractions[held],
            resampling=None,
            computing=Computing(progress=False),
        )
        return result.value


def value_risks_of(
    losses_at: Callable[[FloatArray, IntArray], FloatArray],
    codes: FloatArray,
    columns: IntArray,
    draws: Draws,
) -> ValueRisks:
    """Ask a model for the losses at the values that some columns take together.

    Parameters
    ----------
    losses_at : callable
        From coded points, and the samples that they are of, to losses.
    codes : array of shape (n_samples, n_features)
        The coded samples.
    columns : array of int
        Positions of the columns.
    draws : Draws
        The samples that are averaged, and those whose values replace theirs.
    """
    n_samples = len(codes)
    values, fractions, value_of = values_of_draws(draws, columns, n_samples)
    risks = np.empty((len(draws.weights), len(values)))
    expected = np.zeros(n_samples)
    # A call of a model has its cost whatever the number of rows: several values share one.
    at_once = max(1, _ROWS_AT_ONCE // n_samples)
    everyone = np.arange(n_samples)
    for start in range(0, len(values), at_once):
        part = values[start : start + at_once]
        points = np.tile(codes, (len(part), 1))
        points[:, columns] = np.repeat(part, n_samples, axis=0)
        losses = losses_at(points, np.tile(everyone, len(part))).reshape(len(part), n_samples)
        risks[:, start : start + at_once] = draws.weights @ losses.T
        expected += fractions[start : start + at_once] @ losses
    return ValueRisks(fractions, risks, expected, value_of)


def values_of_draws(
    draws: Draws, columns: IntArray, n_samples: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the values, of shape (n_values, n_columns), how often each occurs, and which one each sample has."""
    held = draws.codes[:, columns]
    if len(columns) == 1:  # of one column this takes a fifth of the time
        values, value_of = np.unique(held[:, 0], return_inverse=True)
        values = values[:, None]
    else:
        values, value_of = np.unique(held, axis=0, return_inverse=True)
    value_of = value_of.ravel()
    most = max(_FEWEST_VALUES, _MOST_PREDICTIONS // n_samples)
    if len(values) > most:
        # Too many: the middle one of as many equal parts of the samples stands for each part.
        order = np.argsort(value_of, kind="stable")
        if len(columns) > 1:  # several columns have no order
            order = np.random.default_rng(0).permutation(len(value_of))
        reached = np.cumsum(draws.fractions[order])
        middle = reached - 0.5 * draws.fractions[order]
        part_of = (middle / reached[-1] * most).astype(np.int64)
        part_of = np.minimum(part_of, most - 1)
        ends = np.searchsorted(part_of, np.arange(most), side="right")
        starts = np.searchsorted(part_of, np.arange(most), side="left")
        halfway = np.minimum((starts + ends) // 2, len(order) - 1)
        values = held[order[halfway]]
        value_of = np.empty(len(order), dtype=np.int64)
        value_of[order] = part_of
    fractions = np.bincount(value_of, draws.fractions, minlength=len(values))
    # Values that no sample has would be divided by 0.
    kept = fractions > 0.0
    place = np.cumsum(kept) - 1
    value_of = np.maximum(place[value_of], 0)
    return values[kept], fractions[kept].astype(np.float64), value_of


def importance_interval(
    risks: ValueRisks,
    base_losses: FloatArray,
    draws: Draws,
    resampling: Resampling | None,
) -> Interval | None:
    """Return the sampling interval of a permutation importance; None where none is asked for, or one group is all.

    The importance is a mean over pairs, so that a sample adds to it twice: by its own loss, and by its value. Its
    influence is the sum of both, each as a difference from the mean; target samples add by their values alone.
    """
    if resampling is None:
        return None
    weights = draws.weights[0]
    # The influence of the fraction of each sample on a mean over pairs, by its two roles.
    average = risks.average()
    importance = average - float(weights @ base_losses)
    own = weights * (risks.expected - base_losses - importance)
    drawn = draws.fractions * (risks.risks[0][risks.value_of] - average)
    if draws.are_target:
        influence = np.concatenate([_by_group(own, resampling.groups), drawn])
    else:
        influence = _by_group(own + drawn, resampling.groups)
    if len(influence) < 2:
        return None
    below, above = skewed_errors(influence, len(influence), resampling.confidence_level)
    return Interval(
        low=importance - below,
        high=importance + above,
        confidence_level=resampling.confidence_level,
        method="influence function",
    )


def _by_group(influence: FloatArray, groups: Any) -> FloatArray:
    """Return the influence of groups of samples that belong together."""
    if groups is None:
        return influence
    _, group_of = np.unique(groups, return_inverse=True)
    return np.asarray(np.bincount(group_of.ravel(), influence))
