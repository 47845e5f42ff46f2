"""What may be said of the modes that were found: new, missing, or only more or less frequent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics.novelty.amounts import (
    effective_size,
    excess_fraction,
    largest_fraction,
    more_than_p_value,
    rarity,
)
from shiftmetrics.novelty.crossfit import RARE
from shiftmetrics.novelty.membership import FoundMode, members_of


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
            rare = rarity(part.strengths, part.members, weights, n_test, missing=missing)
            if missing:
                rare *= times
            if rare <= RARE and (beyond <= alpha or not missing):
                (sides.missing if missing else sides.new).append(part)
            elif beyond <= alpha:
                sides.changed.append(part)
    return sides
