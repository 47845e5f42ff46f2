"""Membership in a mode: how strongly a sample belongs to it, and how that becomes a calibrated fraction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics.novelty.score.basis import Function

MEMBERSHIP = 2.0 / 3.0
"""A sample is a member where such samples are twice as frequent on its side as on the other one."""

TINY = 1e-300

_FAINT = 0.05
"""A strength below this fraction of a typical member's is none: among such samples the order is noise."""


@dataclass(frozen=True, eq=False)
class ModePart:
    """A function g of a sample, and what it takes to be a member.

    Attributes
    ----------
    direction : ndarray of shape (rank,)
        g is the product of this with the coordinates of a sample.
    scale : float
        The strength of a sample is ``max(g, 0)^2 / scale``: about 1 for typical members.
    steps : tuple of ndarray
        Strengths, and the calibrated membership from there on.
    """

    direction: FloatArray
    scale: float
    steps: tuple[FloatArray, FloatArray]

    def strengths(self, values: FloatArray) -> FloatArray:
        """Return strengths from values of g."""
        strengths: FloatArray = np.square(np.maximum(values, 0.0)) / self.scale
        return strengths

    def memberships(self, strengths: FloatArray) -> FloatArray:
        """Return calibrated memberships: the fraction of such samples on the mode's side, both equally large."""
        starts, fractions = self.steps
        step = np.searchsorted(starts, strengths, side="right") - 1
        return fractions[np.maximum(step, 0)]


@dataclass(frozen=True, eq=False)
class ModeFunction:
    """What makes a sample a member of a mode: one part, or several that show the same samples.

    Attributes
    ----------
    missing : bool
        Whether the reference has the mode in excess.
    p_value : float
        Of the round that found it.
    width : int
        Number of the width.
    parts : tuple of ModePart
        A sample belongs to a mode as it does to the part that it belongs to most.
    cuts : tuple of (ndarray of shape (rank,), float)
        Where a mode was cut in two: a sample belongs to it only where the product of each direction with its
        coordinates is more than the number.
    """

    missing: bool
    p_value: float
    width: int
    parts: tuple[ModePart, ...]
    cuts: tuple[tuple[FloatArray, float], ...] = ()

    @property
    def function(self) -> Function:
        """The functions g of the parts, then those of the cuts."""
        directions = [part.direction for part in self.parts]
        directions += [direction for direction, _ in self.cuts]
        return self.width, np.stack(directions, axis=1)

    def at(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return strengths and memberships from values of the functions of the parts and cuts."""
        # The columns of the parts come first, then those of the cuts, as `function` has them.
        columns = iter(values.T)
        strengths = []
        memberships = []
        for part in self.parts:
            strengths.append(part.strengths(next(columns)))
            memberships.append(part.memberships(strengths[-1]))
        inside = np.ones(len(values), bool)
        for _, offset in self.cuts:
            inside &= next(columns) > offset
        strongest = np.max(strengths, axis=0) * inside
        return strongest, np.max(memberships, axis=0) * inside

    def found_at(self, values: FloatArray, taken: BoolArray) -> FoundMode:
        """Return the mode with the rows of these values, but those that are taken."""
        strengths, memberships = self.at(values)
        strengths = np.where(taken, 0.0, strengths)
        memberships = np.where(taken, 0.0, memberships)
        return FoundMode(self, strengths, memberships)


@dataclass(frozen=True, eq=False)
class FoundMode:
    """A mode, with the strength and the membership of each row; 0 for rows that a round before has taken."""

    function: ModeFunction
    strengths: FloatArray
    memberships: FloatArray

    @property
    def members(self) -> BoolArray:
        """Whether each row is a member."""
        members: BoolArray = self.memberships >= MEMBERSHIP
        return members


def members_of(found: list[FoundMode], n_rows: int, *, missing: bool) -> BoolArray:
    """Return whether each of all rows is a member of any mode of a side."""
    sides = [part.members for part in found if part.function.missing == missing]
    return np.any(sides, axis=0) if sides else np.zeros(n_rows, bool)


def calibrated(
    values: FloatArray, direction: FloatArray, weights: FloatArray, own: BoolArray, other: BoolArray
) -> ModePart:
    """Calibrate the membership: it rises with the strength (isotonic regression).

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The function g at each row.
    direction : ndarray of shape (rank,)
        g as a direction.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    own, other : ndarray of shape (n_rows,)
        Whether each row is of the sample that has the mode in excess, and of the other one.
    """
    from scipy.optimize import isotonic_regression

    # 1. Strengths: the squared function over its mean among the members, weighted by itself.
    squares = np.square(np.maximum(values, 0.0))
    weight = weights[own] * squares[own]
    total = max(float(weight.sum()), TINY)
    scale = max(float(weight @ squares[own]) / total, TINY)
    rows = np.flatnonzero(own | other)
    strengths = squares[rows] / scale
    of_own = own[rows]
    # 2. The fraction of the mode's side among samples as strong, were both samples equally large.
    sizes = np.where(of_own, weights[own].sum(), weights[other].sum())
    fraction = weights[rows] / sizes
    order = np.argsort(strengths, kind="stable")
    # Equal strengths get equal memberships.
    levels, first = np.unique(strengths[order], return_index=True)
    weight = np.add.reduceat(fraction[order], first)
    mean = np.add.reduceat((fraction * of_own)[order], first) / weight
    # 3. It may only rise with the strength, and says nothing of the faintest.
    fitted = isotonic_regression(mean, weights=weight).x
    fitted = np.where(levels < _FAINT, np.minimum(fitted, 0.5), fitted)
    starts = np.append(True, np.diff(fitted) > 0.0)
    # A step starts halfway from the strength below, so that rounding does not take a row to another step.
    below = np.append(levels[:1], levels[:-1])
    bounds = 0.5 * (levels + below)
    steps = bounds[starts], np.clip(fitted[starts], 0.0, 1.0)
    return ModePart(direction, scale, steps)
