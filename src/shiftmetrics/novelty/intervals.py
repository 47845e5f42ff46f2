"""Intervals by subsampling: what other samples of the same sizes would have scored.

Novelty of n rows is above that of their distribution, the more so the fewer rows there are. So an interval is for the
expected score of samples of these sizes. Draws are parts of the rows without replacement: in a bootstrap draw a third
of the rows are missing and others stand twice, which changes the many small modes of noise by more than the interval
is wide. A part of b of n rows spreads more than the whole: its deviations are scaled by ``sqrt(b / (n - b))``
(D. Politis and J. Romano, Annals of Statistics 22, 1994, doi:10.1214/aos/1176325770; J. Shao and C. F. J. Wu, Annals
of Statistics 17, 1989, doi:10.1214/aos/1176347263).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.confidence import BiasCorrected
from shiftmetrics._core.resampling import Draws
from shiftmetrics._core.result import Interval
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics.novelty.factor import dense_factor
from shiftmetrics.novelty.null import low_rank_values, score_and_top
from shiftmetrics.novelty.routes import rows_of_weight
from shiftmetrics.novelty.solution import Problem, Solution, progress_bar

_SHARE = 0.75
"""Rows in a draw: half of them would do for sums, but a score of noise modes grows with the rows, and bends."""

_DENSE_ROWS = 300
"""Rows of each sample in a draw whose kernel matrix is factored anew."""

_PRODUCT = 1e8
"""Multiplications of one draw from coordinates of low rank."""


def subsample(
    problem: Problem, solution: Solution, *, level: float, n_draws: int, seed: int
) -> dict[str, Any]:
    """Score parts of the rows that the score is of.

    Parameters
    ----------
    problem, solution : Problem, Solution
        The samples, and their spectrum.
    level : float
        Confidence level.
    n_draws : int
        Draws.
    seed : int
        The same seed draws the same rows, also of other samples of the same sizes.
    """
    part, scored = (problem, solution) if solution.scored is None else solution.scored
    values = low_rank_values(part, scored)
    weights = (part.test_weights, part.reference_weights)
    rows = rows_of_weight(part)
    most = _DENSE_ROWS if values is None else max(_DENSE_ROWS, int(_PRODUCT / max(1, values.shape[1]) ** 2))
    share = min(_SHARE, most / max(map(len, rows)))
    sizes = [min(max(2, round(share * len(side))), max(1, len(side) - 1)) for side in rows]
    draws = [
        _positions(Draws(len(side), n_draws, seed + (0 if part.paired else place), size), side)
        for place, (side, size) in enumerate(zip(rows, sizes, strict=True))
    ]

    def score(place: slice) -> tuple[float, float, float]:
        test, reference = (side[place.start] for side in draws)
        both = np.concatenate([test, reference + part.gram.n_test])
        drawn = values[both] if values is not None else dense_factor(part.gram.subset(both)).values
        shares = [side[own] / side[own].sum() for side, own in zip(weights, (test, reference), strict=True)]
        signed = np.concatenate([shares[0], -part.eta * shares[1]])
        eigenvalues = np.linalg.eigvalsh(drawn.T @ (drawn * signed[:, None]))
        value, top = score_and_top(eigenvalues)
        bar.update()
        return value, float(eigenvalues[eigenvalues > 0.0].sum()), top

    with progress_bar(problem.progress, n_draws, "subsamples") as bar, one_blas_thread():
        places = [slice(i, i + 1) for i in range(n_draws)]
        found = np.array(list(map_blocks(score, places, executor=problem.executor)))
    scale = math.sqrt(sizes[0] / max(len(rows[0]) - sizes[0], 1))
    value, _, positive = scored.score(len(rows[0]))
    exact = np.array([value, float(positive.sum()), float(positive.max(initial=0.0))])
    around = exact + scale * (found - found.mean(axis=0))
    method = f"subsampling, {n_draws} draws of {sizes[0]} and {sizes[1]} rows"
    fields: dict[str, Any] = {"resampled": around[:, 0].copy()}
    limits = {"interval": math.inf, "total_interval": 1.0, "top_interval": 1.0}
    for place, (name, limit) in enumerate(limits.items()):
        ends = BiasCorrected.of(float(exact[place]), around[:, place]).interval(level)
        low, high = (min(max(end, 0.0), limit) for end in ends)
        fields[name] = Interval(low=low, high=high, level=level, method=method)
    return fields


def _positions(draws: Draws, rows: IntArray) -> list[IntArray]:
    """Return the rows of each draw."""
    found: list[list[IntArray]] = [[] for _ in range(draws.n_resamples)]
    for number, block in enumerate(draws.blocks):
        counts = draws.counts(number)
        for draw, count in zip(found, counts, strict=True):
            draw.append(rows[block][count > 0.0])
    return [np.concatenate(parts) for parts in found]
