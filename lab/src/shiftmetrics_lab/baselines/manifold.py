"""Precision, recall, density, coverage and rarity: a sample against balls around the rows of a reference."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray
from shiftmetrics._core.blocks import map_blocks, one_blas_thread
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.neighbours import distance_blocks, distance_tiles, nearest_neighbours
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_integer
from shiftmetrics_lab.distances.inputs import check_samples
from shiftmetrics_lab.result import COMPUTED, LabResult

_TIE = 1e-9
"""Relative slack of a radius: a row at exactly that distance is inside, whatever the rounding."""


def manifold_scores(
    features: Any,
    reference: Any,
    *,
    n_neighbours: int = 5,
    align: Align = "labels",
    computing: Computing | None = None,
) -> LabResult:
    """Precision, recall, density, coverage and rarity of a sample against a reference, by nearest neighbours.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        The sample under test, such as generated data: any array of the Python array API, or a table.
    reference : array of shape (n_reference, n_columns)
        The reference, such as real data.
    n_neighbours : int, default 5
        The radius of a row's ball is the distance to its so many nearest rows of its own sample. Papers take 3 for
        precision, recall and rarity, and 5 for density and coverage.
    align : {"labels", "position"}, default "labels"
        Whether the columns of two tables match by name or by position.
    computing : Computing, optional
        Threads.

    Returns
    -------
    LabResult
        Its value is the F score, the harmonic mean of precision and recall. Its ``parts``, higher for a better
        sample:

        - ``precision``: fraction of the sample that lies in the ball of some reference row, in [0, 1]: fidelity;
        - ``recall``: fraction of the reference that lies in the ball of some row of the sample, in [0, 1]: diversity;
        - ``density``: balls of reference rows that a row of the sample lies in, on average, divided by
          ``n_neighbours``: near 1 for equal distributions, and can exceed it;
        - ``coverage``: fraction of the balls of reference rows that hold a row of the sample, in [0, 1];
        - ``rarity`` of shape (n_samples,): radius of the smallest reference ball that holds a row of the sample,
          large in thinly populated regions, infinite for rows outside all balls; ``mean_rarity`` of the rows
          inside, 0 where there are none;
        - ``n_reference``: rows of the reference.

    Raises
    ------
    ValueError
        If a sample has no more rows than ``n_neighbours``, columns differ, or values are not finite.
    TypeError
        If the inputs are not numbers, or come from two array libraries.

    Notes
    -----
    Precision and recall: Kynkaanniemi et al. (arXiv:1904.06991). Density and coverage: Naeem et al.
    (arXiv:2002.09797). Rarity: Han et al. (arXiv:2206.08549). One outlier of the reference has a large ball, which
    raises precision; density is robust to it. Balls are closed, so that the density of a sample against itself is
    ``(n_neighbours + 1) / n_neighbours`` where no distances tie; packages with open balls have 1.

    Examples
    --------
    >>> scores = manifold_scores([[0.0], [0.1], [9.0]], [[0.0], [0.2], [0.3], [5.0]], n_neighbours=1)
    >>> round(scores.parts["precision"], 4), scores.parts["recall"], scores.parts["coverage"]
    (1.0, 1.0, 0.75)
    >>> scores.parts["rarity"].round(2)
    array([0.2, 0.1, 4.7])
    """
    executor = computing_of(computing).executor
    first, second = check_samples(features, reference, align=align)
    n_neighbours = check_integer(n_neighbours, "n_neighbours", low=1)
    for array, name in ((first, "features"), (second, "reference")):
        if int(array.shape[0]) <= n_neighbours:
            expected = f"of more than n_neighbours = {n_neighbours} rows"
            remedy = "Take more rows, or fewer neighbours."
            raise ArgumentValueError(name, expected, f"{array.shape[0]}", remedy)
    radii, reference_radii = (
        _radii(array, n_neighbours, executor) * (1.0 + _TIE) for array in (first, second)
    )
    n, m = int(first.shape[0]), int(second.shape[0])
    balls, rarity = np.zeros(n), np.full(n, math.inf)
    covered, recalled = np.zeros(m, dtype=bool), np.zeros(m, dtype=bool)

    def search(rows: slice) -> tuple[BoolArray, BoolArray]:
        holds, reached = np.zeros(m, dtype=bool), np.zeros(m, dtype=bool)
        for tile, distances in distance_tiles(first, rows, second):
            inside = distances <= reference_radii[tile]
            balls[rows] += inside.sum(axis=1)
            smallest = np.where(inside, reference_radii[tile], math.inf).min(axis=1)
            rarity[rows] = np.minimum(rarity[rows], smallest)
            holds[tile] = inside.any(axis=0)
            reached[tile] = (distances <= radii[rows, None]).any(axis=0)
        return holds, reached

    with one_blas_thread():
        for holds, reached in map_blocks(search, distance_blocks(first), executor=executor):
            covered |= holds
            recalled |= reached
    precision, recall = float((balls > 0).mean()), float(recalled.mean())
    rarity /= 1.0 + _TIE
    inside = rarity[np.isfinite(rarity)]
    density, coverage = float(balls.mean()) / n_neighbours, float(covered.mean())
    return LabResult(
        title="F score of precision and recall",
        higher_is_better=True,
        value=2.0 * precision * recall / (precision + recall) if precision + recall > 0.0 else 0.0,
        error_bound=0.0,
        status=COMPUTED,
        n_samples=n,
        parts={
            "precision": precision,
            "recall": recall,
            "density": density,
            "coverage": coverage,
            "rarity": rarity,
            "mean_rarity": float(inside.mean()) if len(inside) else 0.0,
            "n_reference": m,
        },
        remark=f"Precision {precision:.3f}, recall {recall:.3f}, density {density:.3f}, coverage {coverage:.3f} "
        f"({n_neighbours} nearest neighbours, {n} rows against {m}).",
        settings=settings_of(n_neighbours=n_neighbours, align=align),
    )


def _radii(array: Array, n_neighbours: int, executor: Executor | None) -> FloatArray:
    """Return the distance of each row to its last neighbour in its own sample, of which the first is itself."""
    return nearest_neighbours(array, array, n_neighbours + 1, executor=executor)[0][:, -1]
