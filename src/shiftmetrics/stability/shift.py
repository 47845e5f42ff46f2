"""What a least shift does: how much changes, and where each sample is afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval, format_percent

# Level of the permutation test of a group.
LEVEL = 0.05
# Samples from which on a group is named: of 400 the fraction that it needs is off by .2 on average, of 1,000 by .13.
LEAST_NAMED = 1000
NO_ROWS = "result must hold its rows, got one without_rows(). Use the result as it was computed."


@dataclass(frozen=True, eq=False, kw_only=True)
class ExcessRisk(Record):
    """How much risk each kind of shift adds; both pairs sum to the risk reached minus the current risk.

    Attributes
    ----------
    corruption, reweighting : float
        Perturbations first, weights after: ``mean(loss after) - mean(loss)`` and what the weights add to it
        (equation 4.4 of arXiv:2405.03198). With the chi-squared divergence a sample may lose all its weight; where
        it then goes, and so this split, is a matter of convention.
    reweighting_first, corruption_after : float
        Weights first, perturbations after: ``mean(W loss) - mean(loss)`` and ``mean(W (loss after - loss))``; never
        ambiguous.
    """

    corruption: float
    reweighting: float
    reweighting_first: float
    corruption_after: float

    def to_frame(self) -> Any:
        """Return both decompositions as a pandas DataFrame: a line for each order, summing to ``total``."""
        import pandas as pd

        total = self.corruption + self.reweighting
        lines = {
            "perturbations first": (self.corruption, self.reweighting, total),
            "weights first": (self.corruption_after, self.reweighting_first, total),
        }
        columns = ["corruption", "reweighting", "total"]
        return pd.DataFrame.from_dict(lines, orient="index", columns=columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class Splits(Record):
    """The second places of samples that are split between two; the first ones are in the arrays of the plan.

    Places with less than 1e-5 of a sample are left out where the risk is smooth: they only correct its last digits.

    Attributes
    ----------
    rows : array of shape (n_splits,)
        Positions of the samples.
    weights : array of shape (n_splits,)
        Part of the weight of each sample in its second place.
    losses, distances : array of shape (n_splits,)
        The loss there, and the distance to it.
    choices : array of shape (n_splits,) or None
        Candidate or piece, for losses that have any.
    """

    rows: IntArray
    weights: FloatArray
    losses: FloatArray
    distances: FloatArray
    choices: IntArray | None = None

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Put the splits of consecutive blocks one after another."""
        columns = {}
        for name, first in vars(parts[0]).items():
            if first is not None:
                columns[name] = np.concatenate([getattr(part, name) for part in parts])
        return cls(**columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class Slopes(Record):
    """Derivatives of the least cost.

    Attributes
    ----------
    threshold : float
        In the risk threshold: the cost of one more unit of risk, which is the dual price.
    theta1, theta2 : float
        In the prices: ``mean(W d)`` and ``mean(phi(W))``. The cost is their sum, each times its price.
    """

    threshold: float
    theta1: float
    theta2: float


@dataclass(frozen=True, eq=False, kw_only=True)
class NamedChange(Record):
    """A group of samples, and how far it has to grow until the risk is at the threshold.

    Attributes
    ----------
    conditions : tuple of str
        What its samples have in common, such as ("age > 34", "duration > 394"); empty where no group was tried.
    fraction : float
        Its current fraction of the samples.
    needed_fraction : float
        The fraction at which the risk is at the threshold, if the risks inside and outside stay as they are; inf
        where the group alone does not have so high a risk.
    risk, rest_risk : float
        Risk inside and outside the group.
    p_value : float
        Of a permutation test that losses inside the group are not higher than outside.
    n_samples : int
        Held-out samples that these numbers come from.
    needed_range : Interval or None
        Where the fraction lies at which the risk is at the threshold, with its confidence level. The upper end is
        inf where the samples do not show that the group has so high a risk.
    """

    conditions: tuple[str, ...]
    fraction: float
    needed_fraction: float
    risk: float
    rest_risk: float
    p_value: float
    n_samples: int
    needed_range: Interval | None = None

    @property
    def is_found(self) -> bool:
        """Whether the group passes its test and is shown to reach the threshold."""
        most = self.needed_fraction
        if self.needed_range is not None:
            most = self.needed_range.high
        return self.p_value <= LEVEL and most <= 1.0

    def in_words(self) -> str:
        """Say which group has to grow to which fraction, or that there is none."""
        if not self.conditions and 2 * self.n_samples < LEAST_NAMED:
            return f"no group is named from fewer than {LEAST_NAMED:,} samples"
        if not self.is_found:
            return "no group of at most two conditions has been shown to reach it by growing"
        group = " and ".join(self.conditions)
        growth = f"{format_percent(self.fraction)} to {format_percent(self.needed_fraction)}"
        if self.needed_range is not None:
            low, high = self.needed_range.low, self.needed_range.high
            growth = f"{format_percent(self.fraction)} to between {format_percent(low)} and {format_percent(high)}"
            growth += f" ({100.0 * self.needed_range.confidence_level:g} %)"
        return f"once samples with {group} grow from {growth}"


@dataclass(frozen=True, eq=False, kw_only=True)
class ShiftPlan(Record):
    """The shifted sample: what changes in it, and where each sample is.

    Attributes
    ----------
    risk : float
        Risk of the shifted sample.
    excess_risk : ExcessRisk
        What corruption and what reweighting each add to the current risk.
    changed_fraction : float
        Fraction of the samples that change (one that is split counts in part, one that loses all weight not at all).
    rms_distance : float
        Root-mean-square distance of the changes, weighted as in the shifted sample; in units of the distances.
    effective_sample_fraction : float
        ``1 / mean(W^2)``: 1 when all samples keep their weight, small when a few carry the risk.
    named_change : NamedChange or None
        The group of samples whose growth alone has the same risk, where the columns of the samples are known.
    weights : array of shape (n_samples,) or None
        Weight of each sample in the shifted one, relative to its sample weight; mean 1. None after
        `StabilityResult.without_rows`, like the next ones.
    base_losses : array of shape (n_samples,) or None
        Loss of each sample before it changes.
    losses, distances : array of shape (n_samples,) or None
        Loss of each sample after it changes, and the distance that it changes by.
    choices : array of shape (n_samples,) or None
        Candidate or piece that each sample takes, for losses that have any.
    splits : Splits or None
        Second places of the samples that are split between two.
    """

    risk: float
    excess_risk: ExcessRisk
    changed_fraction: float
    rms_distance: float
    effective_sample_fraction: float
    named_change: NamedChange | None = None
    weights: FloatArray | None = None
    base_losses: FloatArray | None = None
    losses: FloatArray | None = None
    distances: FloatArray | None = None
    choices: IntArray | None = None
    splits: Splits | None = None

    @property
    def largest_distance(self) -> float | None:
        """The largest distance that a sample changes by, in its first or second place; None without rows."""
        if self.distances is None:
            return None
        # A sample that is split goes farther in its second place.
        largest = float(self.distances.max())
        if self.splits is None:
            return largest
        return max(largest, float(self.splits.distances.max()))

    def without_rows(self) -> Self:
        """Return the plan without its arrays."""
        arrays = ("weights", "base_losses", "losses", "distances", "choices", "splits")
        empty: dict[str, Any] = dict.fromkeys(arrays)
        return replace(self, **empty)

    def places(self) -> dict[str, Any]:
        """Return row, weight, loss, distance (and choice): the first places of all samples, then the second ones.

        Raises
        ------
        ValueError
            If the plan holds no rows.
        """
        if self.weights is None:
            raise ValueError(NO_ROWS)
        weights = np.array(self.weights)
        places: dict[str, Any] = {
            "row": np.arange(len(weights)),
            "weight": weights,
            "loss": self.losses,
            "distance": self.distances,
            "choice": self.choices,
        }
        second = self.splits
        if second is not None:
            # the weight of a sample is that of both its places
            weights[second.rows] -= second.weights
            # The fields of `Splits` stand in the order of these names.
            for name, array in zip(places, vars(second).values(), strict=True):
                if array is not None:
                    places[name] = np.concatenate([places[name], array])
        return {name: array for name, array in places.items() if array is not None}
