"""What sets the members of a mode apart from the nearest known mode: a few columns, with their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.neighbours import nearest_neighbours
from shiftmetrics._core.record import Record
from shiftmetrics.tables.encoder import TableEncoder
from shiftmetrics.tables.encoder.parts import values_in_words

MOST_COLUMNS = 6
"""Columns that are kept, the most telling first."""

_CANDIDATES = 20
"""Columns that are tried beside those already chosen, by how well each alone tells."""

_NEIGHBOURS = 10
_SAMPLES_PER_MODE = 50
_MOST_MODES = 15
_RIDGE = 0.01


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnContrast(Record):
    """A column in which the members of a mode differ from the nearest known mode.

    Attributes
    ----------
    name : str
        Of the column.
    inside, outside : float
        Mean of the members, and of the nearest known mode.
    gap : float
        Their difference in standard deviations.
    auc : float
        How well this column and those before it tell both apart: 0.5 not at all, 1 without error.
    text : str
        Both values in words; empty where no value says it, or another feature of the same column does.
    """

    name: str
    inside: float
    outside: float
    gap: float
    auc: float
    text: str = ""


def nearest_known(members: FloatArray, known: FloatArray) -> IntArray:
    """Return which known samples are the mode nearest to the members.

    Known samples are clustered (Ward), and the cluster is taken that holds most of the members' nearest neighbours.

    Parameters
    ----------
    members, known : ndarray of shape (n_rows, n_columns)
        As points.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    # Clusters of some 50 samples, at most 15 of them.
    count = int(np.clip(len(known) // _SAMPLES_PER_MODE, 1, _MOST_MODES))
    labels = np.zeros(len(known), dtype=np.int64)
    if count > 1:
        labels = fcluster(linkage(known, method="ward"), count, criterion="maxclust") - 1
    # Each member votes with its ten nearest known samples.
    nearest = nearest_neighbours(members, known, min(_NEIGHBOURS, len(known)))[1]
    votes = np.bincount(labels[nearest].ravel(), minlength=count)
    return np.flatnonzero(labels == votes.argmax())


def contrasts(
    members: FloatArray, known: FloatArray, names: tuple[str, ...], encoder: TableEncoder | None
) -> tuple[ColumnContrast, ...]:
    """Return the columns that tell members from known samples, each chosen beside those before it.

    Parameters
    ----------
    members, known : ndarray of shape (n_rows, n_columns)
        In the units of the features.
    names : tuple of str
        Of the columns.
    encoder : TableEncoder or None
        What made the columns of a table, which says their values.
    """
    if not (len(members) and len(known)):
        return ()
    both = np.concatenate([members, known])
    labels = np.arange(len(both)) < len(members)
    center = both.mean(axis=0)
    spread = both.std(axis=0)
    varies = np.flatnonzero(spread > 1e-12 * np.abs(both).max(axis=0))
    if not len(varies):
        return ()
    # Constant columns tell nothing, and the others are compared in standard deviations.
    scaled = (both[:, varies] - center[varies]) / spread[varies]
    alone = np.abs(areas_under_roc(scaled, labels) - 0.5)
    candidates = np.argsort(-alone, kind="stable")[:_CANDIDATES]
    chosen: list[int] = []
    found: list[ColumnContrast] = []
    said = set()
    # Greedy: the column that tells most beside those already there, by a linear discriminant.
    while len(chosen) < min(MOST_COLUMNS, len(candidates)):
        left = [int(column) for column in candidates if column not in chosen]
        tried = [_discriminant(scaled[:, [*chosen, one]], labels) for one in left]
        scores = np.stack(tried, axis=1)
        areas = areas_under_roc(scores, labels)
        if np.isnan(areas).any():  # values that overflow part nothing
            break
        best = int(areas.argmax())
        if not chosen:
            # Of columns that part them alone without an error, the one in which they are furthest apart.
            ties = np.flatnonzero(areas >= areas.max() - 1e-12)
            best = int(ties[_separation(scores[:, ties], labels).argmax()])
        chosen.append(left[best])
        column = varies[left[best]]
        inside = float(members[:, column].mean())
        outside = float(known[:, column].mean())
        if encoder is None:
            source, text = names[column], values_in_words(names[column], inside, outside)
        else:
            # Of the features that a column of a table has become, the first says it.
            source, text = encoder.in_words(int(column), inside, outside)
        found.append(
            ColumnContrast(
                name=names[column],
                inside=inside,
                outside=outside,
                gap=(inside - outside) / float(spread[column]),
                auc=float(areas[best]),
                text="" if source in said else text,
            )
        )
        if text:
            said.add(source)
    return tuple(found)


def _discriminant(values: FloatArray, labels: BoolArray) -> FloatArray:
    """Return the projection on which two classes are furthest apart for their spread (Fisher)."""
    gap = values[labels].mean(axis=0) - values[~labels].mean(axis=0)
    within = np.zeros((values.shape[1], values.shape[1]))
    for side in (labels, ~labels):
        centred = values[side] - values[side].mean(axis=0)
        within += centred.T @ centred / len(centred)
    # The ridge, in squared standard deviations, bears columns that repeat each other.
    ridged = within + _RIDGE * np.eye(len(within))
    direction = np.linalg.solve(ridged, gap)
    return np.asarray(values @ direction)


def _separation(values: FloatArray, labels: BoolArray) -> FloatArray:
    """Return the distance of the means of two classes in standard deviations within them, by column."""
    inside = values[labels]
    outside = values[~labels]
    spread = np.sqrt(inside.var(axis=0) + outside.var(axis=0))
    gap = np.abs(inside.mean(axis=0) - outside.mean(axis=0))
    return np.asarray(gap / np.maximum(spread, 1e-300))


def areas_under_roc(values: FloatArray, labels: BoolArray) -> FloatArray:
    """Return for each column of values the chance that a labelled one is larger than another, ties by half."""
    from scipy.stats import rankdata

    # Mann and Whitney: the labelled ones' mean rank, less what it is among themselves, over the number of others.
    n_labelled = int(labels.sum())
    ranks = rankdata(values, axis=0)[labels].mean(axis=0)
    return np.asarray((ranks - (n_labelled + 1) / 2.0) / (len(labels) - n_labelled))
