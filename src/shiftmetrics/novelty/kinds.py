"""Kinds of rows: how strongly a row belongs to one, the calibration of memberships, and which kinds are the same."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.novelty.gram import Gram

MEMBERSHIP = 2.0 / 3.0
"""A row is a member where such rows are twice as frequent in its sample as in the other one."""

TINY = 1e-300

_FAINT = 0.05
"""A row whose strength is below this share of a typical member's is none: among such rows the order is noise."""
_TOUCHING = 0.25
_MEMBERS_COMPARED = 500
_ROWS_COMPARED = 20_000

_STARTS = 4
_SWEEPS = 100
_SMALLEST_ANGLE = 1e-9
_NOTHING = 1e-14


@dataclass(frozen=True, eq=False)
class ModePart:
    """A function g of a row, and what it takes to be a member.

    Attributes
    ----------
    direction : ndarray of shape (rank,)
        g is the product of this with the coordinates of a row.
    scale : float
        The strength of a row is ``max(g, 0)^2 / scale``: about 1 for typical members.
    steps : tuple of ndarray
        Strengths, and the calibrated membership of rows from there on.
    """

    direction: FloatArray
    scale: float
    steps: tuple[FloatArray, FloatArray]

    def strengths(self, values: FloatArray) -> FloatArray:
        """Return the strengths of rows from their values of g."""
        strengths: FloatArray = np.square(np.maximum(values, 0.0)) / self.scale
        return strengths

    def memberships(self, strengths: FloatArray) -> FloatArray:
        """Return calibrated memberships: the share of such rows that are of its own sample, both equally large."""
        starts, shares = self.steps
        return shares[np.maximum(np.searchsorted(starts, strengths, side="right") - 1, 0)]


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of rows: one part, or several that show the same rows.

    Attributes
    ----------
    lost : bool
        Whether the reference has it and the sample lacks it.
    p_value : float
        Of the round that found it.
    width : int
        Position of the width.
    parts : tuple of ModePart
        A row belongs to a kind as it does to the part that it belongs to most.
    """

    lost: bool
    p_value: float
    width: int
    parts: tuple[ModePart, ...]

    @property
    def directions(self) -> FloatArray:
        """Directions of the parts: (rank, n_parts)."""
        return np.stack([part.direction for part in self.parts], axis=1)

    def at(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return strengths and memberships of rows from their values of the functions of the parts."""
        pairs = list(zip(self.parts, values.T, strict=True))
        strengths = [part.strengths(column) for part, column in pairs]
        memberships = [
            part.memberships(side) for (part, _), side in zip(pairs, strengths, strict=True)
        ]
        return np.max(strengths, axis=0), np.max(memberships, axis=0)


@dataclass(frozen=True, eq=False)
class FoundMode:
    """A kind, with the strength and the membership of each row; 0 for rows that a round before has taken."""

    kind: Kind
    strengths: FloatArray
    memberships: FloatArray

    @property
    def members(self) -> BoolArray:
        """Whether each row is a member."""
        members: BoolArray = self.memberships >= MEMBERSHIP
        return members


def members_of(found: list[FoundMode], n_rows: int, *, lost: bool) -> BoolArray:
    """Tell which of all rows are members of any kind of a side."""
    sides = [part.members for part in found if part.kind.lost == lost]
    return np.any(sides, axis=0) if sides else np.zeros(n_rows, bool)


def found_at(kind: Kind, values: FloatArray, taken: BoolArray) -> FoundMode:
    """Return a kind with the rows of these values of its functions, but those that are taken."""
    strengths, memberships = (np.where(taken, 0.0, part) for part in kind.at(values))
    return FoundMode(kind, strengths, memberships)


def calibrated(
    values: FloatArray, direction: FloatArray, weights: FloatArray, own: BoolArray, other: BoolArray
) -> ModePart:
    """Calibrate the membership of rows: it rises with the strength (isotonic regression).

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The function g at each row.
    direction : ndarray of shape (rank,)
        g as a direction.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    own, other : ndarray of shape (n_rows,)
        The rows of the sample that has them in excess, and of the other one.
    """
    from scipy.optimize import isotonic_regression

    squares = np.square(np.maximum(values, 0.0))
    weight = weights[own] * squares[own]
    scale = max(float(weight @ squares[own]) / max(float(weight.sum()), TINY), TINY)
    rows = np.flatnonzero(own | other)
    strengths, of_own = squares[rows] / scale, own[rows]
    share = weights[rows] / np.where(of_own, weights[own].sum(), weights[other].sum())
    order = np.argsort(strengths, kind="stable")
    levels, first = np.unique(
        strengths[order], return_index=True
    )  # equal strengths, equal memberships
    weight = np.add.reduceat(share[order], first)
    mean = np.add.reduceat((share * of_own)[order], first) / weight
    fitted = isotonic_regression(mean, weights=weight).x
    fitted = np.where(levels < _FAINT, np.minimum(fitted, 0.5), fitted)
    starts = np.append(True, np.diff(fitted) > 0.0)
    # A step starts halfway from the strength below, so that rounding does not take a row to another step.
    bounds = 0.5 * (levels + np.append(levels[:1], levels[:-1]))
    return ModePart(direction, scale, (bounds[starts], np.clip(fitted[starts], 0.0, 1.0)))


def merged(found: list[FoundMode], gram: Gram, own_rows: BoolArray) -> list[Kind]:
    """Put kinds together that show the same rows: those whose members have each other as nearest rows.

    Parameters
    ----------
    found : list of FoundMode
        Kinds of one sample.
    gram : Gram
        Similarities of the rows.
    own_rows : ndarray of shape (n_rows,)
        The rows of that sample.
    """
    kinds = [part.kind for part in found]
    if len(kinds) < 2:
        return kinds
    strengths = np.stack([np.where(part.members, part.strengths, -1.0) for part in found])
    of_row = np.where(strengths.max(axis=0) > -1.0, strengths.argmax(axis=0), -1)
    touching = touching_shares(gram, of_row, [part.members for part in found], own_rows)
    labels = _joined(np.minimum(touching, touching.T) >= _TOUCHING)
    return [
        replace(
            kinds[group[0]], parts=tuple(part for place in group for part in kinds[place].parts)
        )
        for group in (np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist()))
    ]


def touching_shares(
    gram: Gram, of_row: IntArray, members: list[BoolArray], own_rows: BoolArray
) -> FloatArray:
    """Return how many members of one kind have a member of another as the nearest row that is not of their own kind.

    Parameters
    ----------
    gram : Gram
        Similarities of the rows.
    of_row : ndarray of shape (n_rows,)
        The kind that each row is a member of, and has the largest strength in; -1 for none.
    members : list of ndarray of shape (n_rows,)
        The members of each kind.
    own_rows : ndarray of shape (n_rows,)
        The rows of the sample that has them.

    Returns
    -------
    ndarray of shape (n_kinds, n_kinds)
        Shares of the members of the row's kind.
    """
    shares = np.zeros((len(members), len(members)))
    for place in range(len(members)):
        rows = _thinned(np.flatnonzero((of_row == place) & own_rows), _MEMBERS_COMPARED)
        others = _thinned(np.flatnonzero(of_row != place), _ROWS_COMPARED)
        if not len(rows) or not len(others):
            continue
        own = gram.take(rows)
        similar = gram.between(others, own)
        # Kinds that are far apart have nearest rows too: only those as near as the kind's own rows count.
        near = similar.max(axis=0) > np.median(gram.between(rows, own), axis=0)
        nearest = others[similar.argmax(axis=0)]
        shares[place] = [(flags[nearest] & near).mean() for flags in members]
    return shares


def _joined(touching: BoolArray) -> IntArray:
    """Return a label for each kind: the same for all that are connected."""
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(touching, directed=False)[1], dtype=np.int64)


def _thinned(rows: IntArray, most: int) -> IntArray:
    return rows[:: len(rows) // most + 1]


def varimax(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the rotation that makes the squared columns of ``values @ rotation`` vary most over the rows.

    Parameters
    ----------
    values : ndarray of shape (n_rows, k)
        Functions at rows.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, summing to 1.

    Returns
    -------
    ndarray of shape (k, k)
        An orthogonal matrix: the best of several starts, the first of which is no rotation. Columns stand in no
        particular order.

    Notes
    -----
    Kaiser, "The varimax criterion for analytic rotation in factor analysis", Psychometrika 1958.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat(np.eye(2), 5, axis=0)
    >>> mixed = rows @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> np.sort(np.abs(mixed @ varimax(mixed, np.full(10, 0.1))).max(axis=1)).round(6)
    array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1.])
    """
    size = values.shape[1]
    if size < 2:
        return np.eye(size)
    # Other starts guard against stationary points: that they are drawn changes no result but a poor one.
    rng = np.random.default_rng(0)
    starts = [
        np.eye(size),
        *(np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(_STARTS - 1)),
    ]
    found = [_ascend(values, weights, start) for start in starts]
    return max(found, key=lambda pair: pair[0])[1]


def _ascend(
    values: FloatArray, weights: FloatArray, rotation: FloatArray
) -> tuple[float, FloatArray]:
    """Turn two columns at a time by their best angle, until none is left; return the criterion and the rotation.

    Each angle is exact (Kaiser 1958), so the criterion never falls. Turning all columns at once by the polar factor
    of the gradient can swing between two rotations of equal criterion and never arrive.
    """
    rotation, rotated = rotation.copy(), values @ rotation
    for _ in range(_SWEEPS):
        largest = 0.0
        for pair in itertools.combinations(range(rotation.shape[1]), 2):
            first, second = rotated[:, pair[0]], rotated[:, pair[1]]
            real, imaginary = first * first - second * second, 2.0 * first * second
            mean_real, mean_imaginary = weights @ real, weights @ imaginary
            sine = 2.0 * (weights @ (real * imaginary) - mean_real * mean_imaginary)
            cosine = (
                weights @ (real * real - imaginary * imaginary) - mean_real**2 + mean_imaginary**2
            )
            if math.hypot(sine, cosine) <= _NOTHING * float(
                weights @ (real * real + imaginary * imaginary)
            ):
                continue  # every angle is as good
            angle = math.atan2(sine, cosine) / 4.0
            largest = max(largest, abs(angle))
            turn = np.array(
                [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
            )
            rotated[:, pair] = rotated[:, pair] @ turn
            rotation[:, pair] = rotation[:, pair] @ turn
        if largest <= _SMALLEST_ANGLE:
            break
    squares = rotated * rotated
    means = weights @ squares
    return float((weights @ (squares * squares)).sum() - (means * means).sum()), rotation
