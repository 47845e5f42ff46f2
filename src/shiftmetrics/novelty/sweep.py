"""Novelty at several bandwidths, from one matrix of distances: where something stands out, and where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, to_float64
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_integer, check_number, check_rng, describe
from shiftmetrics.novelty.bandwidth import check_distances, squared_distances, variance_bandwidth
from shiftmetrics.novelty.calibration import N_PERMUTATIONS, NULL_ROWS, relabelled
from shiftmetrics.novelty.factor import dense_factor
from shiftmetrics.novelty.inputs import check_eta, check_samples
from shiftmetrics.novelty.precomputed import PrecomputedGram
from shiftmetrics.novelty.problem import progress_bar
from shiftmetrics.novelty.spectrum import difference
from shiftmetrics.novelty.subsample import draw_both

N_BANDWIDTHS = 9
"""Around that of the variance rule: from a quarter of it to four times it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BandwidthSweep(Record):
    """Novelty at several bandwidths.

    Attributes
    ----------
    bandwidths : ndarray of shape (n_bandwidths,)
        Narrowest first, in units of the features.
    scores, null_means, null_spreads : ndarray of shape (n_bandwidths,)
        Score, and mean and standard deviation of the scores of relabelled rows, in nats.
    p_values : ndarray of shape (n_bandwidths,)
        Share of labellings that score at least as much.
    n_significant : ndarray of shape (n_bandwidths,)
        Eigenvalues above the largest of any relabelling.
    mode_counts : ndarray of shape (n_bandwidths,)
        Effective number of modes of the sample, ``1 / |C|_F^2``: near ``n_test`` the bandwidth is too narrow, near 1
        too wide.
    n_test, n_reference : int
        Rows of each sample that were used.
    """

    bandwidths: FloatArray
    scores: FloatArray
    null_means: FloatArray
    null_spreads: FloatArray
    p_values: FloatArray
    n_significant: IntArray
    mode_counts: FloatArray
    n_test: int
    n_reference: int

    @property
    def excess(self) -> FloatArray:
        """Return the scores minus the means of relabelled rows."""
        return self.scores - self.null_means

    def headline(self) -> str:
        """Say at how many bandwidths the sample scores more than relabelled rows, and how many modes stand out."""
        count = len(self.bandwidths)
        widths = f"{format_number(self.bandwidths[0])} to {format_number(self.bandwidths[-1])}"
        beyond = int((self.excess > 2.0 * self.null_spreads).sum())
        least, most = int(self.n_significant.min()), int(self.n_significant.max())
        modes = str(most) if least == most else f"{least} to {most}"
        return (
            f"At {beyond} of {count} bandwidths from {widths} the score is more than two deviations above that of "
            f"relabelled rows; {modes} {'mode stands' if modes == '1' else 'modes stand'} out."
        )

    def to_frame(self) -> Any:
        """Return a DataFrame with a row for each bandwidth."""
        import pandas as pd

        return pd.DataFrame(
            {
                "bandwidth": self.bandwidths,
                "score": self.scores,
                "null_mean": self.null_means,
                "null_spread": self.null_spreads,
                "excess": self.excess,
                "p_value": self.p_values,
                "n_significant": self.n_significant,
                "mode_count": self.mode_counts,
            }
        )


def bandwidth_sweep(
    features: Any,
    reference: Any,
    *,
    bandwidths: Sequence[float] | None = None,
    eta: float = 1.0,
    max_rows: int = NULL_ROWS,
    n_permutations: int = N_PERMUTATIONS,
    align: Align = "labels",
    rng: Any = None,
    progress: bool = True,
) -> BandwidthSweep:
    """Score novelty at several bandwidths of the Gaussian kernel, each against relabelled rows.

    Parameters
    ----------
    features : array or DataFrame of shape (n_samples, n_columns)
        The sample under test.
    reference : array or DataFrame of shape (n_reference, n_columns)
        The reference.
    bandwidths : sequence of float, optional
        Bandwidths. Default: nine, from a quarter to four times that of `variance_bandwidth`.
    eta : float, default 1.0
        How many times as frequent as in the reference counts as new; at least 1.
    max_rows : int, default 500
        Rows drawn from each sample, all of which are compared with each other.
    n_permutations : int, default 20
        Relabellings at each bandwidth.
    align : {"labels", "position"}, default "labels"
        Whether the columns of two tables match by name or by position.
    rng : int or Generator, optional
        Draws rows and labels. Default: a fixed seed.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds.

    Returns
    -------
    BandwidthSweep

    Raises
    ------
    ValueError
        If an argument is out of range, or the samples are not as `kernel_entropic_novelty` takes them.
    TypeError
        If the data are not numbers.
    MemoryError
        If ``max_rows`` rows of each sample need more than half of the memory that is free.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> known, new = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    >>> new[:30] += 6.0
    >>> bandwidth_sweep(new, known, bandwidths=[1.0, 2.0, 100.0]).n_significant
    array([1, 1, 1])
    """
    eta = check_eta(eta)
    max_rows = check_integer(max_rows, "max_rows", low=2)
    n_permutations = check_integer(n_permutations, "n_permutations", low=1)
    generator = check_rng(0 if rng is None else rng)
    test, base = check_samples(features, reference, "gaussian", align)
    rows, test_weights, reference_weights = draw_both(
        np.full(int(test.shape[0]), 1.0), np.full(int(base.shape[0]), 1.0), max_rows, generator
    )
    n_test = len(test_weights)
    check_distances(len(rows), copies=8)
    part = np.concatenate(
        [to_float64(test)[rows[:n_test]], to_float64(base)[rows[n_test:] - int(test.shape[0])]]
    )
    widths = _widths(bandwidths, part)
    squares, unit = squared_distances(part)
    weights, seed = np.ones(len(part)), int(generator.integers(2**63))
    columns: list[tuple[float, ...]] = []
    with progress_bar(progress, len(widths), "bandwidth sweep") as bar:
        for width in widths:
            with np.errstate(under="ignore", over="ignore"):
                similarities = np.exp(-0.5 * (squares / (width / unit) / (width / unit)))
            factor = dense_factor(PrecomputedGram(similarities[:n_test], similarities[n_test:]))
            # The same labels at each bandwidth: what differs is the bandwidth.
            null = relabelled(
                factor.values,
                weights,
                n_test,
                eta,
                n_permutations=n_permutations,
                reverse=False,
                rng=np.random.default_rng(seed),
            ).gained
            matrix, counts = difference(factor, n_test, test_weights, reference_weights, eta)
            significant = null.significant(np.linalg.eigvalsh(matrix).astype(np.float64, copy=False))
            columns.append((null.observed, null.mean, null.spread, null.p_value, significant, counts[0]))
            bar.update()
    scores, means, spreads, p_values, n_significant, mode_counts = np.array(columns, dtype=np.float64).T
    return BandwidthSweep(
        bandwidths=widths,
        scores=scores,
        null_means=means,
        null_spreads=spreads,
        p_values=p_values,
        n_significant=n_significant.astype(np.int64),
        mode_counts=mode_counts,
        n_test=n_test,
        n_reference=len(part) - n_test,
    )


def _widths(bandwidths: Sequence[float] | None, rows: FloatArray) -> FloatArray:
    """Return the bandwidths, narrowest first."""
    if bandwidths is None:
        return variance_bandwidth(rows).value * np.geomspace(0.25, 4.0, N_BANDWIDTHS)
    if isinstance(bandwidths, str) or not np.iterable(bandwidths) or not len(bandwidths):
        raise ValueError(describe("bandwidths", "a sequence of at least one number", repr(bandwidths)))
    checked = [
        check_number(width, f"bandwidths[{i}]", low=0.0, open_low=True) for i, width in enumerate(bandwidths)
    ]
    return np.array(sorted(checked))
