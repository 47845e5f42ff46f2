"""Modes that hold two groups of samples far apart: they are cut in two.

One eigenvector may show several new classes at once. The members of a mode are parted by 2-means, and cut where the
halves are far apart relative to their widths: where few of them lie between, along the line through both centers.
A gap that the known samples have too, such as that between two levels of a category, says nothing of new modes.
The centers of one half of the members are tried on the others, since in many columns any two halves look far apart
along the line through their own centers. This is a heuristic: it was measured on 77 cases of withheld classes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, to_float64
from shiftmetrics.novelty.membership import FoundMode, ModeFunction, thinned
from shiftmetrics.novelty.space import SearchSpace

FAR = 3.2
"""Standard deviations between the centers; two halves of one normal distribution are 2.6 apart."""

VALLEY = 0.5
"""Samples in the middle for each near a center: two halves of one normal distribution have more than one."""

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
    points = _points(space, rows)
    second = _two_means(points)
    if min(second.sum(), (~second).sum()) < _LEAST_HALF:
        return [mode]
    known = _points(space, thinned(np.flatnonzero(~own_rows), _KNOWN))
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
    from scipy.cluster.vq import kmeans2

    center = points.mean(axis=0)
    widest = np.linalg.svd(points - center, full_matrices=False)[2][0]
    start = np.stack([center - widest, center + widest])
    return np.asarray(kmeans2(points, start, iter=20, minit="matrix", missing="warn")[1] == 1)


def _is_gap(first: FloatArray, second: FloatArray, known: FloatArray) -> bool:
    """Return whether two groups are far apart, with few samples between them, unlike the known samples."""
    places: list[list[FloatArray]] = [[], [], []]
    for fold in (0, 1):
        # Centers from every other sample, for the samples between.
        held = [np.arange(len(group)) % 2 == fold for group in (first, second)]
        start = first[~held[0]].mean(axis=0)
        line = second[~held[1]].mean(axis=0) - start
        length = max(float(line @ line), 1e-300)
        for place, group in enumerate((first[held[0]], second[held[1]], known)):
            places[place].append((group - start) @ line / length)
    one, two, others = (np.concatenate(parts) for parts in places)
    # In units in which the groups lie at -1 and 1.
    low, high = float(np.median(one)), float(np.median(two))
    spread = float(np.sqrt((one.var() + two.var()) / 2.0))
    if two.mean() - one.mean() < FAR * spread:
        return False
    ends, middle = _crowds(np.concatenate([one, two]), low, high)
    if middle > VALLEY * ends:
        return False
    ends, middle = _crowds(others, low, high)
    return ends < _LEAST_KNOWN or middle >= _SHARED * ends


def _crowds(places: FloatArray, low: float, high: float) -> tuple[float, float]:
    """Return the smaller fraction of samples near an end of the line, and that near its middle."""
    near = (high - low) / 6.0
    counts = [float((np.abs(places - end) < near).mean()) for end in (low, high)]
    middle = float((np.abs(places - (low + high) / 2.0) < near).mean())
    return min(counts), middle
