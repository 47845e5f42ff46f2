"""Intervals by subsampling: what other samples of the same sizes would have scored.

Novelty of n rows is above that of their distribution, the more so the fewer rows there are. So an interval is for the
expected score of samples of these sizes. Draws are parts of the rows without replacement: in a bootstrap draw a third
of the rows are missing and others stand twice, which changes the many small modes that noise is made of by more than
what an interval is to tell. A part of b of n rows spreads more than the whole: its deviations are scaled by
``sqrt(b / (n - b))`` (D. Politis and J. Romano, Annals of Statistics 22, 1994, doi:10.1214/aos/1176325770; J. Shao
and C. F. J. Wu, Annals of Statistics 17, 1989, doi:10.1214/aos/1176347263).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.confidence import BiasCorrected
from shiftmetrics._core.resampling import Subsampling
from shiftmetrics._core.result import Interval
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics.novelty.calibration import low_rank_rows, score_and_top
from shiftmetrics.novelty.factor import dense_factor
from shiftmetrics.novelty.problem import Problem, Solution, progress_bar
from shiftmetrics.novelty.subsample import pairs_of

N_RESAMPLES = 200

_SHARE = 0.75
"""Rows in a draw: half of them would do for sums, but a score of noise modes grows with the rows, and bends."""

_DENSE_ROWS = 300
"""Rows of each sample in a draw whose kernel matrix is factored anew."""

_PRODUCT = 1e8
"""Multiplications of one draw from a factor of low rank."""


@dataclass(frozen=True, eq=False)
class Resampled:
    """Draws of the score, of the sum of the positive eigenvalues and of the largest, around those of the sample."""

    scores: FloatArray
    totals: FloatArray
    tops: FloatArray
    sizes: tuple[int, int]

    own: FloatArray
    """The score, the sum and the largest eigenvalue of the sample."""

    def intervals(self, level: float) -> tuple[Interval, Interval, Interval]:
        """Return the intervals of all three."""
        method = f"subsampling, {len(self.scores)} draws of {self.sizes[0]} and {self.sizes[1]} rows"
        found = []
        for draws, value, most in zip(
            (self.scores, self.totals, self.tops), self.own, (math.inf, 1.0, 1.0), strict=True
        ):
            low, high = (
                min(max(end, 0.0), most) for end in BiasCorrected.of(float(value), draws).interval(level)
            )
            found.append(Interval(low=low, high=high, level=level, method=method))
        return found[0], found[1], found[2]


def resample(problem: Problem, solution: Solution, *, n_resamples: int, seed: int) -> Resampled:
    """Score parts of the rows that the score is of.

    Parameters
    ----------
    problem, solution : Problem, Solution
        The samples, and their spectrum.
    n_resamples : int
        Draws.
    seed : int
        The same seed draws the same rows, also of other samples of the same sizes.
    """
    part, scored = (problem, solution) if solution.scored is None else solution.scored
    kept = low_rank_rows(part, scored)
    weights = (part.test_weights, part.reference_weights)
    rows = [np.flatnonzero(side) for side in weights]
    if part.paired:
        rows = [pairs_of(*weights)] * 2
    most = _DENSE_ROWS if kept is None else max(_DENSE_ROWS, int(_PRODUCT / max(1, kept[0].shape[1]) ** 2))
    sizes = _sizes(len(rows[0]), len(rows[1]), most)
    draws = [
        _positions(Subsampling(len(side), n_resamples, seed + (0 if part.paired else place), size), side)
        for place, (side, size) in enumerate(zip(rows, sizes, strict=True))
    ]
    n_test, eta = part.gram.n_test, part.eta

    def score(place: slice) -> tuple[float, float, float]:
        test, reference = (side[place.start] for side in draws)
        both = np.concatenate([test, reference + n_test])
        values = kept[0][both] if kept is not None else dense_factor(part.gram.subset(both)).values
        shares = [side[own] / side[own].sum() for side, own in zip(weights, (test, reference), strict=True)]
        signed = np.concatenate([shares[0], -eta * shares[1]])
        eigenvalues = np.linalg.eigvalsh(values.T @ (values * signed[:, None]))
        value, top = score_and_top(eigenvalues)
        bar.update()
        return value, float(eigenvalues[eigenvalues > 0.0].sum()), top

    with progress_bar(problem.progress, n_resamples, "subsamples") as bar, one_blas_thread():
        places = [slice(i, i + 1) for i in range(n_resamples)]
        found = np.array(list(map_blocks(score, places, executor=problem.executor)))
    scale = math.sqrt(sizes[0] / max(len(rows[0]) - sizes[0], 1))
    own_score, _, positive = scored.score(len(rows[0]))
    own = np.array([own_score, float(positive.sum()), float(positive.max(initial=0.0))])
    around = own + scale * (found - found.mean(axis=0))
    return Resampled(around[:, 0].copy(), around[:, 1].copy(), around[:, 2].copy(), sizes, own)


def _sizes(n_test: int, n_reference: int, most: int) -> tuple[int, int]:
    """Return the rows of each sample in a draw: one share of both."""
    share = min(_SHARE, most / max(n_test, n_reference))
    test, reference = (min(max(2, round(share * n)), max(1, n - 1)) for n in (n_test, n_reference))
    return test, reference


def _positions(draws: Subsampling, rows: IntArray) -> list[IntArray]:
    """Return the rows of each draw."""
    found: list[list[IntArray]] = [[] for _ in range(draws.n_resamples)]
    for number, block in enumerate(draws.blocks):
        counts = draws.counts(number)
        for draw, count in zip(found, counts, strict=True):
            draw.append(rows[block][count > 0.0])
    return [np.concatenate(parts) for parts in found]
