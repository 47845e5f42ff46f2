"""Which modes are one, and which hold two groups of samples.

Modes are merged that show the same samples, or have no valley between them. The other way round, one eigenvector may
show several new classes at once. The members of a mode are parted by 2-means, and cut where the halves are far apart
relative to their widths: where few of them lie between, along the line through both centers. A gap that the known
samples have too, and one between the levels of a category, say nothing of new modes. The centers of one half of the
members are tried on the others, since in many columns any two halves look far apart along the line through their own
centers. This is a heuristic: it was measured on 77 cases of withheld classes.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, to_float64
from shiftmetrics.novelty.modes.membership import FoundMode, ModeFunction
from shiftmetrics.novelty.modes.space import SearchSpace, thinned
from shiftmetrics.novelty.score.gram import Gram

FAR = 3.2
"""Standard deviations between the centers; two halves of one normal distribution are 2.6 apart."""

VALLEY = 0.4
"""Samples in the middle for each near a center: two halves of one normal distribution have more than one."""

_NO_VALLEY = 0.6
"""As many samples in the middle show two modes to be one: of pairs of withheld classes none came above 0.6."""

_SHARED = 0.75
"""A gap with fewer known samples than this in the middle is one of the known samples too."""

_TOUCHING = 0.25
"""Modes are merged where so many members of each have a member of the other as their nearest."""

_MEMBERS_COMPARED = 500
_ROWS_COMPARED = 20_000

_LEAST_HALF = 10
_LEAST_KNOWN = 0.05
_MEMBERS = 500
_KNOWN = 1500


def merged(found: list[FoundMode], space: SearchSpace, own_rows: BoolArray) -> list[ModeFunction]:
    """Put modes together that show the same rows: their members are each other's nearest rows, or have no valley.

    Parameters
    ----------
    found : list of FoundMode
        Modes of one side.
    space : SearchSpace
        Coordinates of the rows.
    own_rows : ndarray of shape (n_rows,)
        The rows of that sample.
    """
    from scipy.sparse.csgraph import connected_components

    functions = [part.function for part in found]
    if len(functions) < 2:
        return functions
    # 1. Each row goes to the mode in which it is strongest.
    none = -1.0
    strengths = np.stack([np.where(part.members, part.strengths, none) for part in found])
    strongest = strengths.argmax(axis=0)
    of_row = np.where(strengths.max(axis=0) > none, strongest, -1)
    # 2. Modes that touch each other, directly or through others, are one.
    touching = touching_fractions(space.gram, of_row, [part.members for part in found], own_rows)
    joined = np.minimum(touching, touching.T) >= _TOUCHING
    # 3. So are modes between which there are no fewer samples than within.
    own = [np.flatnonzero((of_row == place) & own_rows) for place in range(len(found))]
    for first, second in itertools.combinations(range(len(found)), 2):
        joined[first, second] |= are_one(own[first], own[second], space)
    labels = connected_components(joined, directed=False)[1]
    together = []
    for label in dict.fromkeys(labels.tolist()):
        group = np.flatnonzero(labels == label)
        parts = tuple(part for place in group for part in functions[place].parts)
        together.append(replace(functions[group[0]], parts=parts))
    return together


def touching_fractions(
    gram: Gram, of_row: IntArray, members: list[BoolArray], own_rows: BoolArray
) -> FloatArray:
    """Return how many members of one mode have a member of another as the nearest row that is not of their own mode.

    Parameters
    ----------
    gram : Gram
        Similarities of the rows.
    of_row : ndarray of shape (n_rows,)
        The mode that each row is a member of, and has the largest strength in; -1 for none.
    members : list of ndarray of shape (n_rows,)
        The members of each mode.
    own_rows : ndarray of shape (n_rows,)
        The rows of the sample that has them.

    Returns
    -------
    ndarray of shape (n_modes, n_modes)
        Fractions of the members of the row's mode.
    """
    fractions = np.zeros((len(members), len(members)))
    for place in range(len(members)):
        rows = thinned(np.flatnonzero((of_row == place) & own_rows), _MEMBERS_COMPARED)
        others = thinned(np.flatnonzero(of_row != place), _ROWS_COMPARED)
        if not len(rows) or not len(others):
            continue
        own = gram.take(rows)
        similar = gram.kernel(gram.take(others), own)
        # Modes that are far apart have nearest rows too: only those as near as the mode's own rows count.
        typical = np.median(gram.kernel(own, own), axis=0)
        near = similar.max(axis=0) > typical
        nearest = others[similar.argmax(axis=0)]
        fractions[place] = [(flags[nearest] & near).mean() for flags in members]
    return fractions


def parted(found: FoundMode, space: SearchSpace, own_rows: BoolArray) -> list[ModeFunction]:
    """Return the two halves of a mode where they are far apart, else the mode alone.

    Parameters
    ----------
    found : FoundMode
        The mode, with the memberships of all rows.
    space : SearchSpace
        Coordinates of the rows.
    own_rows : ndarray of shape (n_rows,)
        Whether each row is of the sample that has the mode.
    """
    mode = found.function
    rows = thinned(np.flatnonzero(found.members & own_rows), _MEMBERS)
    if len(rows) < 2 * _LEAST_HALF:
        return [mode]
    known_rows = thinned(np.flatnonzero(~own_rows), _KNOWN)
    points = _points(space, np.concatenate([rows, known_rows]))
    # Columns of two values hold categories, whose levels are always far apart.
    ordered = np.sort(points, axis=0)
    n_values = 1 + (np.diff(ordered, axis=0) > 0.0).sum(axis=0)
    points = points[:, n_values > 2]
    known = points[len(rows) :]
    points = points[: len(rows)]
    if not points.shape[1]:
        return [mode]
    # Two halves always exist; the question is whether a valley lies between them.
    second = _two_means(points)
    if min(second.sum(), (~second).sum()) < _LEAST_HALF:
        return [mode]
    if not _is_gap(points[~second], points[second], known):
        return [mode]
    # The cut is a function of the coordinates, so that new points are on one of its sides too.
    coordinates = space.coordinates[mode.width][rows]
    centers = coordinates[~second].mean(axis=0), coordinates[second].mean(axis=0)
    direction = centers[1] - centers[0]
    offset = float(direction @ (centers[0] + centers[1])) / 2.0
    first_half = replace(mode, cuts=(*mode.cuts, (-direction, -offset)))
    second_half = replace(mode, cuts=(*mode.cuts, (direction, offset)))
    return [first_half, second_half]


def _points(space: SearchSpace, rows: IntArray) -> FloatArray:
    """Return rows as points that are the more alike, the nearer they are."""
    points = space.gram.kernel.points(space.gram.take(rows))
    if points is None:
        return space.coordinates[space.middle][rows]
    return to_float64(points)


def _two_means(points: FloatArray) -> BoolArray:
    """Return which points are of the second of two clusters, from a start along the widest direction."""
    from scipy.cluster.vq import ClusterError, kmeans2

    center = points.mean(axis=0)
    widest = np.linalg.svd(points - center, full_matrices=False)[2][0]
    start = np.stack([center - widest, center + widest])
    try:
        labels = kmeans2(points, start, iter=20, minit="matrix", missing="raise")[1]
    except ClusterError:
        # One cluster is empty: there are no two.
        return np.zeros(len(points), bool)
    return np.asarray(labels == 1)


def are_one(first: IntArray, second: IntArray, space: SearchSpace) -> bool:
    """Return whether two groups of rows have no valley between them."""
    if min(len(first), len(second)) < _LEAST_HALF:
        return False
    one = _points(space, thinned(first, _MEMBERS))
    two = _points(space, thinned(second, _MEMBERS))
    ends, middle = _crowds(_on_line(one, two, one)[0])
    return middle >= _NO_VALLEY * ends


def _is_gap(first: FloatArray, second: FloatArray, known: FloatArray) -> bool:
    """Return whether two groups are far apart, with few samples between them, unlike the known samples."""
    places, distance, others = _on_line(first, second, known)
    if distance < FAR:
        return False
    ends, middle = _crowds(places)
    if middle > VALLEY * ends:
        return False
    # Known samples at both ends and few between: their gap, not one of the new samples.
    ends, middle = _crowds(others)
    return ends < _LEAST_KNOWN or middle >= _SHARED * ends


def _on_line(
    first: FloatArray, second: FloatArray, known: FloatArray
) -> tuple[FloatArray, float, FloatArray]:
    """Return places on the line through the centers of two groups, which lie at -1 and 1.

    Returns
    -------
    tuple
        The places of both groups together, the distance of their means in standard deviations, and the places of the
        known samples.
    """
    places: list[list[FloatArray]] = [[], [], []]
    for fold in (0, 1):
        # Centers from every other sample, for the samples between.
        held_first = np.arange(len(first)) % 2 == fold
        held_second = np.arange(len(second)) % 2 == fold
        start = first[~held_first].mean(axis=0)
        line = second[~held_second].mean(axis=0) - start
        length = max(float(line @ line), 1e-300)
        groups = (first[held_first], second[held_second], known)
        for found, group in zip(places, groups, strict=True):
            found.append((group - start) @ line / length)
    one, two, others = (np.concatenate(parts) for parts in places)
    # Held-out samples: where the centers were noise, both groups lie at one place.
    variance = (one.var() + two.var()) / 2.0
    gap = float(two.mean() - one.mean())
    distance = gap / max(float(np.sqrt(variance)), 1e-300)
    # Medians, since a few samples of another class would change the means.
    low = float(np.median(one))
    half = (float(np.median(two)) - low) / 2.0
    half = max(half, 1e-300)
    both = np.concatenate([one, two])
    both = (both - low) / half - 1.0
    others = (others - low) / half - 1.0
    return both, distance, others


def _crowds(places: FloatArray) -> tuple[float, float]:
    """Return the smaller fraction of samples near an end, -1 or 1, and that near the middle."""

    def crowd(place: float) -> float:
        return float((np.abs(places - place) < 1.0 / 3.0).mean())

    return min(crowd(-1.0), crowd(1.0)), crowd(0.0)
