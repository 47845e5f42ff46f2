"""Parts of the result of novelty: its score, its test, and what changed without being new."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics.novelty.modes.changed_columns import GradualChange, changes_in_words
from shiftmetrics.novelty.modes.changed_correlations import CorrelationChange, correlations_in_words
from shiftmetrics.novelty.modes.mode import Mode
from shiftmetrics.novelty.modes.permutations import near_level


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyScore(Record):
    """What belongs to the kernel entropic novelty, the ``value`` of a result.

    Attributes
    ----------
    total : float
        Sum S of the positive eigenvalues, from 0 to 1: all that is in excess of the reference, noise included.
    eigenvalues : ndarray
        Positive eigenvalues of C_X - eta C_Y, largest first.
    reverse, reverse_error_bound : float or None
        Novelty of the reference against the sample, at eta = 1. At another eta, swap the samples.
    reverse_eigenvalues : ndarray or None
        Positive eigenvalues of C_Y - C_X, at eta = 1.
    eta : float
        Multiplier of the reference.
    kernel : str
        Name of the kernel.
    bandwidth : float or None
        Bandwidth of the Gaussian kernel. Modes are looked for at half of it and twice it too.
    method : str
        The route; ``settings["reason"]`` says why.
    rank : int
        Size of the eigenproblem.
    mode_count, reference_mode_count : float
        Effective number of modes of each sample at this bandwidth, ``1 / |C|_F^2``.
    sizes : tuple of int
        Samples that the score is of, of both sides: fewer than all where all would take too long.
    """

    total: float
    eigenvalues: FloatArray
    reverse: float | None = None
    reverse_error_bound: float | None = None
    reverse_eigenvalues: FloatArray | None = None
    eta: float
    kernel: str
    bandwidth: float | None
    method: str
    rank: int
    mode_count: float
    reference_mode_count: float
    sizes: tuple[int, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyTest(Record):
    """What the permutations say.

    Attributes
    ----------
    p_value, missing_p_value : float
        Fraction of the permutations that show as much that is new, or missing. At eta > 1, on held-out samples, of
        "no mode is more than eta times as frequent".
    n_resamples : int
        Permutations behind them.
    confidence_level : float
        A p-value counts from 1 minus this down.
    sizes : tuple of int
        Samples of both sides.
    dependence : tuple of str
        Why samples may not be independent, so that the p-values would be wrong.
    first_rows : ndarray of int
        Positions of the samples that look most new, for where no mode is clear.
    first_names : tuple of str
        Their names, where the rows of a table have them.
    borne_out : tuple of float
        Of the members of each new mode, the fraction that scores bear out which they had no part in: about how many
        of them are new. Empty at eta > 1.
    """

    p_value: float
    missing_p_value: float
    n_resamples: int
    confidence_level: float
    sizes: tuple[int, int]
    dependence: tuple[str, ...] = ()
    first_rows: IntArray
    first_names: tuple[str, ...] = ()
    borne_out: tuple[float, ...] = ()

    @property
    def smallest_mode(self) -> int:
        """About how many samples a mode needs to be seen at this size.

        That k neighbours are all of the sample, a fraction f of all, has the chance f^k; among N places that happens
        once where k = log N / log(1 / f). Of the tightest modes, far from all else, so many were seen in at least
        half of the trials: 7 of 60 and 60 samples, 11 of 1,000 and 1,000, 4 of 100 against 400.
        """
        n, m = self.sizes
        return math.ceil(math.log(n + m) / math.log((n + m) / n))

    def is_near(self, p_value: float) -> bool:
        """Return whether another seed could turn the verdict of a p-value."""
        return near_level(p_value, self.n_resamples, 1.0 - self.confidence_level)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyChanges(Record):
    """What is different without being new or missing.

    Attributes
    ----------
    modes : tuple of Mode
        Modes of both samples that are more frequent in the test sample, or less (``mode.missing``).
    columns : tuple of GradualChange
        Columns whose median or spread changed, where nothing else did.
    correlations : tuple of CorrelationChange
        Pairs of columns whose correlation changed, where nothing but columns did.
    order_of_dates : tuple of str
        That the reference is later than the sample, by which column.
    """

    modes: tuple[Mode, ...] = ()
    columns: tuple[GradualChange, ...] = ()
    correlations: tuple[CorrelationChange, ...] = ()
    order_of_dates: tuple[str, ...] = ()

    @property
    def are_gradual(self) -> bool:
        """Whether columns and pairs of them changed, and nothing else."""
        return bool(self.columns or self.correlations)

    def in_words(self) -> str:
        """Say how columns and pairs of them changed."""
        parts = []
        if self.columns:
            parts.append(changes_in_words(self.columns))
        if self.correlations:
            parts.append(correlations_in_words(self.correlations))
        return "; ".join(parts)
