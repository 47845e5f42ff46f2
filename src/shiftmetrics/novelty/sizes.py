"""Novelty against the number of rows: how much of a score is there because rows are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_integer, check_rng, describe
from shiftmetrics.novelty.bandwidth import check_distances
from shiftmetrics.novelty.calibration import relabelled
from shiftmetrics.novelty.factor import dense_factor
from shiftmetrics.novelty.inputs import (
    KernelChoice,
    check_eta,
    check_kernel,
    check_samples,
    choose_bandwidth,
    make_gram,
)
from shiftmetrics.novelty.problem import progress_bar
from shiftmetrics.novelty.spectrum import difference

N_SIZES = 6
SMALLEST = 25
LARGEST = 500
"""By default: from 25 rows of each sample to 500, or to the smaller sample."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltySizes(Record):
    """Novelty at several numbers of rows.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Rows of each sample, fewest first.
    scores, score_spreads : ndarray of shape (n_sizes,)
        Mean and standard deviation of the scores of the draws, in nats.
    null_means, null_spreads : ndarray of shape (n_sizes,)
        Those of relabelled rows.
    n_significant : ndarray of shape (n_sizes,)
        Median number of eigenvalues above the largest of relabelled rows.
    bandwidth : float or None
        Bandwidth of the Gaussian kernel, the same at all sizes.
    eta : float
        Multiplier of the reference.
    n_draws : int
        Draws at each size.
    """

    sizes: IntArray
    scores: FloatArray
    score_spreads: FloatArray
    null_means: FloatArray
    null_spreads: FloatArray
    n_significant: IntArray
    bandwidth: float | None
    eta: float
    n_draws: int

    @property
    def excess(self) -> FloatArray:
        """Return the scores minus the means of relabelled rows."""
        return self.scores - self.null_means

    def to_frame(self) -> Any:
        """Return a DataFrame with a row for each size."""
        import pandas as pd

        return pd.DataFrame(
            {
                "size": self.sizes,
                "score": self.scores,
                "score_spread": self.score_spreads,
                "null_mean": self.null_means,
                "null_spread": self.null_spreads,
                "excess": self.excess,
                "n_significant": self.n_significant,
            }
        )


def novelty_against_size(
    features: Any,
    reference: Any,
    *,
    sizes: Sequence[int] | None = None,
    eta: float = 1.0,
    kernel: KernelChoice = "gaussian",
    bandwidth: float | Literal["auto", "median"] = "auto",
    n_draws: int = 5,
    n_permutations: int = 20,
    align: Align = "labels",
    rng: Any = None,
    progress: bool = True,
) -> NoveltySizes:
    """Score random parts of both samples of several sizes, each against relabelled rows.

    Parameters
    ----------
    features : array or DataFrame of shape (n_samples, n_columns)
        The sample under test.
    reference : array or DataFrame of shape (n_reference, n_columns)
        The reference.
    sizes : sequence of int, optional
        Rows of each sample. Default: six, from 25 to 500 or to the smaller sample.
    eta : float, default 1.0
        How many times as frequent as in the reference counts as new; at least 1.
    kernel : {"gaussian", "cosine", "precomputed"} or callable, default "gaussian"
        As for `kernel_entropic_novelty`.
    bandwidth : float, "auto" or "median", default "auto"
        Of the Gaussian kernel, chosen once, on all rows.
    n_draws : int, default 5
        Draws at each size.
    n_permutations : int, default 20
        Relabellings at each size, over all of its draws.
    align : {"labels", "position"}, default "labels"
        Whether the columns of two tables match by name or by position.
    rng : int or Generator, optional
        Draws rows and labels. Default: a fixed seed.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds.

    Returns
    -------
    NoveltySizes

    Raises
    ------
    ValueError
        If an argument is out of range, a size is larger than a sample, or the samples are not as
        `kernel_entropic_novelty` takes them.
    TypeError
        If the data are not numbers.
    MemoryError
        If the largest of ``sizes`` needs more than half of the memory that is free.

    See Also
    --------
    shiftmetrics.views.plot : Draws it.

    Examples
    --------
    Two samples of one distribution: the score is that of relabelled rows, whatever the size.

    >>> import numpy as np
    >>> features, reference = np.random.default_rng(0).normal(size=(2, 200, 10))
    >>> found = novelty_against_size(features, reference, sizes=[25, 100, 200], bandwidth=3.0)
    >>> bool(np.ptp(found.scores) > 0.1), bool((abs(found.excess) < 0.1).all())
    (True, True)
    """
    eta = check_eta(eta)
    kernel = check_kernel(kernel)
    n_draws = check_integer(n_draws, "n_draws", low=1)
    n_permutations = check_integer(n_permutations, "n_permutations", low=1)
    generator = check_rng(0 if rng is None else rng)
    test, base = check_samples(features, reference, kernel, align)
    n_test, n_reference = int(test.shape[0]), int(base.shape[0])
    listed = _sizes(sizes, min(n_test, n_reference))
    check_distances(2 * int(listed[-1]), copies=8, argument="sizes")
    width, _ = choose_bandwidth(bandwidth, kernel, test, base, rng=generator)
    gram = make_gram(test, base, kernel, width)
    rows: list[tuple[float, ...]] = []
    with progress_bar(progress, len(listed) * n_draws, "novelty against size") as bar:
        for size in listed:
            found: list[float] = []
            null: list[float] = []
            significant: list[int] = []
            for draw in range(n_draws):
                part = np.concatenate(
                    [
                        np.sort(generator.choice(n_test, size, replace=False)),
                        n_test + np.sort(generator.choice(n_reference, size, replace=False)),
                    ]
                )
                factor = dense_factor(gram.subset(part))
                # As many relabellings in each draw, the first ones having one more where they do not divide.
                count = max(1, n_permutations // n_draws + (draw < n_permutations % n_draws))
                gained = relabelled(
                    factor.values,
                    np.ones(len(part)),
                    size,
                    eta,
                    n_permutations=count,
                    reverse=False,
                    rng=generator,
                ).gained
                shares = np.full(size, 1.0 / size)
                matrix, _ = difference(factor, size, shares, shares, eta)
                significant.append(gained.significant(np.asarray(np.linalg.eigvalsh(matrix))))
                found.append(gained.observed)
                null.extend(gained.scores)
                bar.update()
            spread = float(np.std(found, ddof=1)) if n_draws > 1 else 0.0
            null_spread = float(np.std(null, ddof=1)) if len(null) > 1 else 0.0
            middle = float(np.median(significant))
            rows.append((float(np.mean(found)), spread, float(np.mean(null)), null_spread, middle))
    scores, spreads, means, null_spreads, n_significant = np.array(rows).T
    return NoveltySizes(
        sizes=listed,
        scores=scores,
        score_spreads=spreads,
        null_means=means,
        null_spreads=null_spreads,
        n_significant=n_significant.astype(np.int64),
        bandwidth=width,
        eta=eta,
        n_draws=n_draws,
    )


def _sizes(sizes: Sequence[int] | None, most: int) -> IntArray:
    """Return the sizes, fewest rows first."""
    if sizes is None:
        largest = min(LARGEST, most)
        return np.unique(np.geomspace(min(SMALLEST, largest), largest, N_SIZES).round().astype(np.int64))
    if isinstance(sizes, str) or not np.iterable(sizes) or not len(sizes):
        raise ValueError(describe("sizes", "a sequence of at least one number", repr(sizes)))
    checked = [check_integer(size, f"sizes[{i}]", low=2) for i, size in enumerate(sizes)]
    if max(checked) > most:
        remedy = "Rows are drawn without replacement."
        raise ValueError(
            describe("sizes", f"at most the rows of the smaller sample, {most}", max(checked), remedy)
        )
    return np.unique(np.asarray(checked, dtype=np.int64))
