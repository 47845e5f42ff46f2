"""The least change of the population that can be named: a group of at most two conditions that has to grow.

A threshold can be reached by reweighting alone, but the weights of samples are no sentence. So this looks for a
group, such as the samples with age > 34 and duration > 394, whose growth raises the risk to the threshold at the
least cost. The group is searched in one random half of the sample. Its rates, and the permutation test
of whether its losses are higher at all, come from the other half: the search does not flatter them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.result import Interval
from shiftmetrics._core.validation import check_weights
from shiftmetrics.stability.frames import MISSING, frame_of, is_numeric, numbers_of, strings_of
from shiftmetrics.stability.result import StabilityResult
from shiftmetrics.stability.shift import LEAST_NAMED, NO_ROWS, NamedChange

# Permutations of the test.
N_PERMUTATIONS = 999
# Confidence level of the fraction that a group needs, and how many fractions are tried.
RANGE_LEVEL = 0.9
_FRACTIONS = 1001
# Quantiles of a column of numbers at which it is cut.
_CUTS = np.linspace(0.05, 0.95, 19)
# Categories of a column that are tried, the most frequent ones.
_MOST_LEVELS = 20
# Single conditions that are tried with a second one, the best ones.
_BEAM = 8
# The smallest group, as a fraction of either half and as a number of its samples.
_LEAST_FRACTION = 0.02
_LEAST_SAMPLES = 10
# A second condition counts where it lowers the cost to this fraction.
_CLEARLY = 0.8
# Samples in which the group is searched: more do not change which one is found.
_MOST_SEARCHED = 5000


def least_named_change(
    result: StabilityResult,
    table: Any = None,
    *,
    sample_weight: Any = None,
    rng: int = 0,
) -> NamedChange:
    """Return the group of at most two conditions whose growth reaches the threshold at the least cost.

    Parameters
    ----------
    result : StabilityResult
        Of `stability_criterion` or `model_stability`, with its rows.
    table : DataFrame or array of shape (n_samples, n_columns), optional
        Columns that describe the samples, also such as the model does not use; its own confidence may be one of them.
        Default: the rows of the model, where the result has them.
    sample_weight : array_like of shape (n_samples,), optional
        The weights that the result was computed with.
    rng : int, default 0
        Seed of the halves and of the permutations.

    Returns
    -------
    NamedChange
        Its rates are those of held-out samples. ``is_found`` is False where the best group does not pass its
        permutation test at 5 %, or is not shown to reach the threshold. Of fewer than 1,000 samples none is named.

    Raises
    ------
    ValueError
        If the result was stripped of its rows, has a budget in place of a threshold, or the table does not match it.

    Notes
    -----
    The cost of a group with the fraction p and the risk a, where the rest has the risk b, is the relative entropy of
    the fractions (f, 1 - f) to (p, 1 - p), with f = (threshold - b) / (a - b). The search is greedy: the best eight
    single conditions are tried with all second ones. Numbers are cut at 19 quantiles.

    Samples must be exchangeable for the test: of groups of samples, such as the visits of one patient, take one each.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from shiftmetrics.stability import FixedLoss, least_named_change, stability_criterion
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"age": rng.integers(20, 80, 2000), "ward": rng.choice(["A", "B"], 2000)})
    >>> wrong = rng.random(2000) < np.where((table["age"] > 60) & (table["ward"] == "B"), 0.5, 0.05)
    >>> change = least_named_change(stability_criterion(FixedLoss(wrong), 0.3), table)
    >>> print(change.in_words())
    once samples with ward = B and age > 61 grow from 16 % to between 45 % and 59 % (90 %)
    """
    losses = result.plan.base_losses
    if losses is None:
        raise ValueError(NO_ROWS)
    if "threshold" not in result.settings:
        expected = "a result with a threshold"
        raise ArgumentValueError("result", expected, "one with a budget")
    if table is None:
        table = result.places()[0]
    if table is None:
        expected = "the rows, which this result does not know"
        raise ArgumentValueError("table", expected, "none", "Give a table of them.")
    frame = frame_of(table, "table", result.n_samples)
    weights = check_weights(sample_weight, "sample_weight", result.n_samples)
    if weights is None:
        weights = np.ones(result.n_samples)
    return change_of_losses(losses, frame, result.settings["threshold"], weights, rng)


@dataclass(frozen=True)
class Condition:
    """A condition on one column: a number above or up to a cut, or a category."""

    column: Any
    relation: str
    value: Any

    @property
    def name(self) -> str:
        """The condition in words."""
        if self.value == MISSING:
            return f"{self.column} missing"
        shown = self.value if isinstance(self.value, str) else f"{self.value:g}"
        return f"{self.column} {self.relation} {shown}"

    def holds(self, column: Any) -> BoolArray:
        """Return the rows of a column for which it holds."""
        if self.relation == ">":
            return np.asarray(numbers_of(column) > self.value)
        if self.relation == "\N{LESS-THAN OR EQUAL TO}":
            return np.asarray(numbers_of(column) <= self.value)
        if is_numeric(column):
            return np.asarray(np.isnan(numbers_of(column)))
        return np.asarray(strings_of(column) == self.value, dtype=np.bool_)


def change_of_losses(
    losses: FloatArray, frame: Any, threshold: float, weights: FloatArray, rng: int
) -> NamedChange:
    """Search groups in one half of the samples, and return the first that proves itself in the other one."""
    if len(losses) < LEAST_NAMED:
        return _nothing(losses, weights, n_samples=len(losses) // 2)
    generator = np.random.default_rng(rng)
    order = generator.permutation(len(losses))
    searched = order[: len(order) // 2][:_MOST_SEARCHED]
    held_out = order[len(order) // 2 :]
    groups = _least_groups(frame.iloc[searched], losses[searched], weights[searched], threshold)
    losses = losses[held_out]
    weights = weights[held_out]
    changes = [_nothing(losses, weights)]
    for group in groups:
        inside = np.ones(len(held_out), dtype=np.bool_)
        for condition in group:
            inside &= condition.holds(frame[condition.column].iloc[held_out])
        if min(inside.sum(), len(inside) - inside.sum()) >= _LEAST_SAMPLES:
            # As many tests as groups: the p-values are multiplied by their number (Bonferroni).
            p_value = len(groups) * _p_value(inside, losses, weights, generator)
            changes.append(_measured(group, inside, losses, weights, threshold, min(p_value, 1.0)))
    found = [change for change in changes if change.is_found]
    return found[0] if found else changes[-1]


def _nothing(losses: FloatArray, weights: FloatArray, n_samples: int | None = None) -> NamedChange:
    """Return what stands for no group at all."""
    risk = float(np.average(losses, weights=weights))
    return NamedChange(
        conditions=(),
        fraction=1.0,
        needed_fraction=np.inf,
        risk=risk,
        rest_risk=risk,
        p_value=1.0,
        n_samples=len(losses) if n_samples is None else n_samples,
    )


def _measured(
    group: tuple[Condition, ...],
    inside: BoolArray,
    losses: FloatArray,
    weights: FloatArray,
    threshold: float,
    p_value: float,
) -> NamedChange:
    """Return the rates of a group among held-out samples."""
    fraction = float(np.average(inside, weights=weights))
    risk = float(np.average(losses[inside], weights=weights[inside]))
    rest = float(np.average(losses[~inside], weights=weights[~inside]))
    needed = np.inf
    if risk > max(threshold, rest):
        needed = max((threshold - rest) / (risk - rest), fraction)
    return NamedChange(
        conditions=tuple(condition.name for condition in group),
        fraction=fraction,
        needed_fraction=needed,
        risk=risk,
        rest_risk=rest,
        p_value=p_value,
        n_samples=len(losses),
        needed_range=_needed_range(inside, losses, weights, threshold, fraction),
    )


def _needed_range(
    inside: BoolArray, losses: FloatArray, weights: FloatArray, threshold: float, fraction: float
) -> Interval:
    """Return where the fraction lies at which the risk is at the threshold.

    At a fraction f the risk is f a + (1 - f) b, of the risks a inside and b outside, which are independent: those f
    are in the range at which its interval holds the threshold (E. C. Fieller, 1954).
    """
    from scipy.special import ndtri

    sides = [_mean_and_variance(losses[part], weights[part]) for part in (inside, ~inside)]
    (risk, variance), (rest, rest_variance) = sides
    fractions = np.linspace(fraction, 1.0, _FRACTIONS)
    mean = fractions * risk + (1.0 - fractions) * rest - threshold
    error = np.sqrt(fractions**2 * variance + (1.0 - fractions) ** 2 * rest_variance)
    reach = float(ndtri(0.5 + 0.5 * RANGE_LEVEL)) * error
    # From the first fraction at which the upper limit of the risk reaches the threshold, to that from which on the
    # lower one does.
    may = mean + reach >= 0.0
    must = mean - reach >= 0.0
    low = float(fractions[int(np.argmax(may))]) if may.any() else math.inf
    # From the last fraction on at which it is open, the risk is above the threshold.
    is_open = np.flatnonzero(~must)
    high = fraction
    if len(is_open):
        last = int(is_open[-1])
        high = float(fractions[last + 1]) if last + 1 < len(fractions) else math.inf
    return Interval(low=low, high=high, confidence_level=RANGE_LEVEL, method="Fieller")


def _mean_and_variance(losses: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the weighted mean of losses, and its sampling variance with one more sample on either side."""
    total = weights.sum()
    mean = float(weights @ losses / total)
    # A group without a single error has a variance all the same.
    spread = float(weights @ (losses - mean) ** 2 / total)
    effective = float(total**2 / (weights @ weights))
    spread += float(np.ptp(losses)) ** 2 / (effective + 1.0)
    return mean, spread / effective


def _p_value(
    inside: BoolArray, losses: FloatArray, weights: FloatArray, generator: np.random.Generator
) -> float:
    """Return how often a group of random samples has as high a risk above the rest as this one."""
    tested = slice(0, _MOST_SEARCHED)
    groups = np.tile(inside[tested], (N_PERMUTATIONS + 1, 1))
    groups[1:] = generator.permuted(groups[1:], axis=1)
    masses = groups @ weights[tested]
    sums = groups @ (weights * losses)[tested]
    total = weights[tested].sum()
    rest = (weights * losses)[tested].sum() - sums
    gaps = sums / masses - rest / (total - masses)
    # The group itself counts as one of them. Sums in another order differ by rounding.
    slack = 1e-12 * np.abs(gaps[0])
    return float(np.mean(gaps >= gaps[0] - slack))


def _least_groups(
    frame: Any, losses: FloatArray, weights: FloatArray, threshold: float
) -> list[tuple[Condition, ...]]:
    """Return the group of two conditions and that of one whose growth costs the least, the better one first."""
    columns = {name: _conditions(name, frame[name]) for name in frame.columns}
    everyone = np.ones((1, len(losses)), dtype=np.bool_)
    singles = _costs(frame, columns, everyone, losses, weights, threshold)
    if not singles:
        return []
    singles.sort(key=lambda single: -single.gain)
    beam = [single.condition for single in singles[:_BEAM]]
    first = np.stack([condition.holds(frame[condition.column]) for condition in beam])
    pairs = _costs(frame, columns, first, losses, weights, threshold)
    groups: list[tuple[Condition, ...]] = []
    best = min(singles, key=lambda single: single.cost)
    pairs = [pair for pair in pairs if beam[pair.within].column != pair.condition.column]
    pair = min(pairs, key=lambda pair: pair.cost, default=best)
    # A second condition fits the searched half a little better in any case.
    if pair.cost < _CLEARLY * best.cost:
        groups.append((beam[pair.within], pair.condition))
    if np.isfinite(best.cost):
        groups.append((best.condition,))
    return groups


@dataclass(frozen=True)
class Tried:
    """A condition that was tried within one of several groups: its cost, and what a tree would gain by it."""

    condition: Condition
    within: int
    cost: float
    gain: float


def _costs(
    frame: Any,
    columns: Mapping[Any, list[Condition]],
    groups: BoolArray,
    losses: FloatArray,
    weights: FloatArray,
    threshold: float,
) -> list[Tried]:
    """Try all conditions within all groups, column by column."""
    total = weights.sum()
    total_loss = weights @ losses
    least = max(_LEAST_FRACTION * total, _LEAST_SAMPLES * total / len(losses))
    mass = (groups * weights).T
    loss = (groups * (weights * losses)).T
    tried = []
    for name, conditions in columns.items():
        if not conditions:
            continue
        holds = np.stack([condition.holds(frame[name]) for condition in conditions])
        inside = holds @ mass
        # Inside and outside, for each condition and each group.
        usable = (inside >= least) & (total - inside >= least)
        # Conditions that hold for too few or too many get a harmless number, and no cost below.
        inside = np.where(usable, inside, 0.5 * total)
        sums = holds @ loss
        fraction = inside / total
        risk = sums / inside
        rest = (total_loss - sums) / (total - inside)
        # The root of the variance between both sides, by which a regression tree chooses its cuts: it ranks single
        # conditions even where none of them reaches the threshold alone.
        gain = np.where(usable, (risk - rest) * np.sqrt(fraction * (1.0 - fraction)), -np.inf)
        cost = np.where(usable, _cost(fraction, risk, rest, threshold), np.inf)
        for row, column in np.argwhere(usable & (gain > 0.0)):
            place = (row, column)
            tried.append(
                Tried(conditions[row], int(column), float(cost[place]), float(gain[place]))
            )
    return tried


def _cost(fraction: FloatArray, risk: FloatArray, rest: FloatArray, threshold: float) -> FloatArray:
    """Return the relative entropy of growing groups until the risk is at the threshold; inf where it never is."""
    reaches = risk > np.maximum(rest, threshold)
    gap = np.where(reaches, risk - rest, 1.0)
    # At the fraction f the risk is f risk + (1 - f) rest: solved for the threshold. A group never has to shrink.
    needed = np.where(reaches, (threshold - rest) / gap, 0.5)
    needed = np.clip(np.maximum(needed, fraction), 1e-12, 1.0 - 1e-12)
    grown = needed * np.log(needed / fraction)
    shrunk = (1.0 - needed) * np.log((1.0 - needed) / (1.0 - fraction))
    return np.where(reaches, grown + shrunk, np.inf)


def _conditions(name: Any, column: Any) -> list[Condition]:
    """Return the conditions on a column: both sides of its cuts, or its most frequent categories."""
    conditions = []
    if is_numeric(column):
        numbers = numbers_of(column)
        known = numbers[np.isfinite(numbers)]
        if len(known):
            # Cuts that a person can read; the group is what the printed number says.
            quantiles = np.quantile(known, _CUTS, method="lower")
            for cut in sorted({float(f"{quantile:.3g}") for quantile in quantiles}):
                conditions.append(Condition(name, ">", cut))
                conditions.append(Condition(name, "\N{LESS-THAN OR EQUAL TO}", cut))
        if len(known) < len(numbers):
            conditions.append(Condition(name, "is", MISSING))
        return conditions
    levels, counts = np.unique(strings_of(column).astype(str), return_counts=True)
    frequent = levels[np.argsort(-counts, kind="stable")][:_MOST_LEVELS]
    return [Condition(name, "=", str(level)) for level in frequent]
