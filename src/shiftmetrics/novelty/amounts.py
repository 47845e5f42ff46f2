"""How much of a sample is new, and what may be said of the modes that were found: new, missing, or only changed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.confidence import rate_ratio_p_value
from shiftmetrics.novelty.crossfit import RARE
from shiftmetrics.novelty.membership import FoundMode, members_of

_UNSEEN = 0.05
"""Fraction that may be new beside the modes that were found."""

_MOST_NEW = 0.97


@dataclass(frozen=True, eq=False)
class ModeSides:
    """The modes that are new, those that are missing, and those that are only more or less frequent."""

    new: list[FoundMode]
    missing: list[FoundMode]
    changed: list[FoundMode]


def sorted_modes(
    found: list[FoundMode], held_out: BoolArray, weights: FloatArray, n_test: int, alpha: float
) -> ModeSides:
    """Sort the modes that were found by what may be said of them.

    A mode is new where its core is rare in the reference in absolute terms, and missing the other way round. But
    where
    a fraction s of the sample is new, all that is known is only 1 - s times as frequent as in the reference: a mode
    is
    less frequent, or missing, beyond the largest plausible s. So with what is more frequent where the reference has
    modes in excess.
    """
    sides = ModeSides([], [], [])
    everything = np.ones(len(weights), bool)
    for missing in (False, True):
        # What the other side has in excess dilutes this one.
        # All that the other side has in excess, whether it is named or only counted.
        others = members_of(found, len(weights), missing=not missing)
        if missing:
            others |= held_out
        size = effective_size(weights[:n_test] if missing else weights[n_test:])
        excess = excess_fraction(others, weights, n_test, missing=not missing)
        times = 1.0 / (1.0 - largest_fraction(excess, size))
        for part in found:
            if part.function.missing != missing:
                continue
            beyond = more_than_p_value(
                part.members, weights, everything, n_test, times, missing=missing
            )
            # New or missing: a quarter as frequent at most. Dilution counts against missing.
            rare = rarity(part.strengths, part.members, weights, n_test, missing=missing)
            if missing:
                rare *= times
            if rare <= RARE and (beyond <= alpha or not missing):
                (sides.missing if missing else sides.new).append(part)
            elif beyond <= alpha:
                sides.changed.append(part)
    return sides


def excess_fraction(
    members: BoolArray, weights: FloatArray, n_test: int, *, missing: bool = False
) -> float:
    """Return (a - b) / (1 - b) of the fractions a of a sample and b of the other that are members.

    Were a fraction s of the sample new and all of it members, and were the others like those of the other sample,
    then
    a = s + (1 - s) b.
    """
    a, b = member_fractions(members, weights, n_test)
    if missing:
        a, b = b, a
    return max(0.0, (a - b) / (1.0 - b)) if b < 1.0 else 0.0


def rarity(
    strengths: FloatArray, members: BoolArray, weights: FloatArray, n_test: int, *, missing: bool
) -> float:
    """Return how many times as frequent the core of a mode is in the sample that should lack it: 0 for a new mode.

    The core are the members that are at least as strong as the median one: at its edge a mode overlaps with others.
    """
    # Half of the members of the mode's own side are at least as strong as the median one.
    own = members.copy()
    own[n_test:] = False
    if missing:
        own = members & ~own
    core = members & (strengths >= np.median(strengths[own]))
    a, b = member_fractions(core, weights, n_test)
    if missing:
        a, b = b, a
    return b / a if a > 0.0 else 1.0


def more_than_p_value(
    members: BoolArray,
    weights: FloatArray,
    rows: BoolArray,
    n_test: int,
    times: float,
    *,
    missing: bool,
) -> float:
    """Return the p-value of "at most so many times as frequent", from rows that had no part in finding the mode."""
    counts = []
    sizes = []
    for side in (slice(0, n_test), slice(n_test, None)):
        weight = weights[side][rows[side]]
        sizes.append(effective_size(weight))
        fraction = float(weight @ members[side][rows[side]] / weight.sum())
        counts.append(fraction * sizes[-1])
    own, other = (1, 0) if missing else (0, 1)
    return rate_ratio_p_value(counts[own], counts[other], sizes[own], sizes[other], times)


def member_fractions(members: BoolArray, weights: FloatArray, n_test: int) -> tuple[float, float]:
    """Return the fractions of the test sample and of the reference that are members."""
    test = weights[:n_test]
    reference = weights[n_test:]
    of_test = float(test @ members[:n_test] / test.sum())
    of_reference = float(reference @ members[n_test:] / reference.sum())
    return of_test, of_reference


def effective_size(weights: FloatArray) -> float:
    """Return how many samples of equal weight would be as uncertain."""
    scaled = weights / weights.max()  # squares of tiny weights are 0
    return float(scaled.sum() ** 2 / (scaled @ scaled))


def largest_fraction(fraction: float, n_samples: float) -> float:
    """Return the largest plausible fraction that is new: other modes may be so much rarer and not be missing."""
    error = math.sqrt(fraction * (1.0 - fraction) / n_samples)
    return min(fraction + 2.0 * error + _UNSEEN, _MOST_NEW)
