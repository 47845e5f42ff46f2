"""Whether two groups of samples are one: modes without a valley between them, and modes that hold two groups.

One eigenvector may show several new classes at once. The members of a mode are parted by 2-means, and cut where the
halves are far apart relative to their widths: where few of them lie between, along the line through both centers.
A gap that the known samples have too, and one between the levels of a category, say nothing of new modes. The centers
of one half of the members are tried on the others, since in many columns any two halves look far apart along the line
through their own centers. This is a heuristic: it was measured on 77 cases of withheld classes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, to_float64
from shiftmetrics.novelty.modes.membership import FoundMode, ModeFunction, thinned
from shiftmetrics.novelty.modes.space import SearchSpace

FAR = 3.2
"""Standard deviations between the centers; two halves of one normal distribution are 2.6 apart."""

VALLEY = 0.4
"""Samples in the middle for each near a center: two halves of one normal distribution have more than one."""

_NO_VALLEY = 0.6
"""As many samples in the middle show two modes to be one: of pairs of withheld classes none came above 0.6."""

_SHARED = 0.75
"""A gap with fewer known samples than this in the middle is one of the known samples too."""

_LEAST_HALF = 10
_LEAST_KNOWN = 0.05
_MEMBERS = 500
_KNOWN = 1500


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
