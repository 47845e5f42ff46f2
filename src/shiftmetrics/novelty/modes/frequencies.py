"""How much of a sample is new, and what may be said of the modes that were found: new, missing, or only changed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.confidence import rate_ratio_p_value
from shiftmetrics.novelty.modes.fraction_bound import RARE, fraction_interval
from shiftmetrics.novelty.modes.membership import FoundMode, members_of

_UNSEEN = 0.05
"""Fraction that may be new beside the modes that were found."""

_MOST_NEW = 0.97


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How frequent members are in both samples.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
        Weights of the rows of both samples, those of the test sample first.
    n_test : int
        Rows of the test sample.
    """

    weights: FloatArray
    n_test: int

    @property
    def sides(self) -> tuple[slice, slice]:
        """The rows of the test sample, and those of the reference."""
        return slice(0, self.n_test), slice(self.n_test, None)

    def of(self, members: BoolArray) -> tuple[float, float]:
        """Return the fractions of the test sample and of the reference that are members."""
        test, reference = (
            float(self.weights[side] @ members[side] / self.weights[side].sum())
            for side in self.sides
        )
        return test, reference

    def sizes(self) -> tuple[float, float]:
        """Return how many rows of equal weight would be as uncertain, of both samples."""
        test, reference = (_effective_size(self.weights[side]) for side in self.sides)
        return test, reference

    def excess(self, members: BoolArray, *, missing: bool = False) -> float:
        """Return (a - b) / (1 - b) of the fractions a of a sample and b of the other that are members.

        Were a fraction s of the sample new and all of it members, and were the others like those of the other sample,
        then a = s + (1 - s) b.
        """
        a, b = self._of_own_and_other(members, missing=missing)
        return max(0.0, (a - b) / (1.0 - b)) if b < 1.0 else 0.0

    def rarity(self, mode: FoundMode) -> float:
        """Return how many times as frequent the core of a mode is in the sample that should lack it.

        The core are the members that are at least as strong as the median one of the mode's own side: at its edge a
        mode overlaps with others.
        """
        missing = mode.function.missing
        own = np.zeros(len(self.weights), bool)
        own[self.sides[int(missing)]] = True
        core = mode.members & (mode.strengths >= np.median(mode.strengths[mode.members & own]))
        a, b = self._of_own_and_other(core, missing=missing)
        return b / a if a > 0.0 else 1.0

    def more_than_p_value(self, mode: FoundMode, times: float) -> float:
        """Return the p-value of "members are at most so many times as frequent as in the other sample"."""
        own, other = self._of_own_and_other(mode.members, missing=mode.function.missing)
        size, other_size = self.sizes()
        if mode.function.missing:
            size, other_size = other_size, size
        return rate_ratio_p_value(own * size, other * other_size, size, other_size, times)

    def is_confirmed(self, held_out: BoolArray, alpha: float, *, missing: bool) -> bool:
        """Return whether members by scores that they had no part in show that a fraction is new, or missing."""
        fractions = self._of_own_and_other(held_out, missing=missing)
        sizes = self.sizes()
        if missing:
            sizes = sizes[::-1]
        return fraction_interval(*fractions, *sizes, 1.0 - alpha).low > 0.0

    def _of_own_and_other(self, members: BoolArray, *, missing: bool) -> tuple[float, float]:
        """Return the fractions of the sample that has the members in excess, and of the other one."""
        test, reference = self.of(members)
        return (reference, test) if missing else (test, reference)


@dataclass(frozen=True, eq=False)
class ModeSides:
    """The modes that are new, those that are missing, and those that are only more or less frequent."""

    new: list[FoundMode]
    missing: list[FoundMode]
    changed: list[FoundMode]


def sorted_modes(
    found: list[FoundMode], held_out: list[BoolArray], frequencies: Frequencies, alpha: float
) -> ModeSides:
    """Sort the modes that were found by what may be said of them.

    A mode is new where its core is rare in the reference in absolute terms, and missing the other way round. A piece
    of a mode that only became more frequent may lack samples of the other side by chance, and was found by that
    chance: so held-out samples must show, too, that something is new, or missing.

    Where a fraction s of the sample is new, all that is known is only 1 - s times as frequent as in the reference: a
    mode is less frequent, or missing, beyond the largest plausible s. So with what is more frequent where the
    reference has modes in excess.
    """
    sides = ModeSides([], [], [])
    sizes = frequencies.sizes()
    for missing in (False, True):
        # What the other side has in excess dilutes this one, whether it is named or only counted.
        others = members_of(found, len(held_out[0]), missing=not missing)
        if missing:
            others |= held_out[0]
        excess = frequencies.excess(others, missing=not missing)
        confirmed = frequencies.is_confirmed(held_out[missing], alpha, missing=missing)
        times = 1.0 / (1.0 - largest_fraction(excess, sizes[0] if missing else sizes[1]))
        for mode in found:
            if mode.function.missing != missing:
                continue
            beyond = frequencies.more_than_p_value(mode, times)
            # New or missing: a quarter as frequent at most. Dilution counts against missing.
            rare = frequencies.rarity(mode)
            if missing:
                rare *= times
            if confirmed and rare <= RARE and (beyond <= alpha or not missing):
                (sides.missing if missing else sides.new).append(mode)
            elif beyond <= alpha:
                sides.changed.append(mode)
    return sides


def largest_fraction(fraction: float, n_samples: float) -> float:
    """Return the largest plausible fraction that is new: other modes may be so much rarer and not be missing."""
    # Two standard errors above what was found, and what may be new in no mode.
    error = math.sqrt(fraction * (1.0 - fraction) / n_samples)
    return min(fraction + 2.0 * error + _UNSEEN, _MOST_NEW)


def _effective_size(weights: FloatArray) -> float:
    scaled = weights / weights.max()  # squares of tiny weights are 0
    return float(scaled.sum() ** 2 / (scaled @ scaled))
