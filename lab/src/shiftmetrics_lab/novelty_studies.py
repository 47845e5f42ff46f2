"""The score of novelty at several bandwidths, against permuted labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, to_float64
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number
from shiftmetrics._core.validation import check_integer, check_number, check_rng
from shiftmetrics.novelty.bandwidth import check_distances, choose_bandwidth
from shiftmetrics.novelty.inputs import check_eta, check_samples, column_units
from shiftmetrics.novelty.score.factor import Factor, pivoted_factor
from shiftmetrics.novelty.score.gram import Gram, rows_at
from shiftmetrics.novelty.score.kernels import GaussianKernel
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import MUTED, TEST, mark, new_axes
from shiftmetrics_lab.permuted_scores import permuted_scores

N_BANDWIDTHS = 9
"""By default: from a quarter of the bandwidth of the variance rule to four times it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyStudy(Drawn, Record):
    """Novelty at several bandwidths, each against permuted labels.

    Attributes
    ----------
    points : ndarray of shape (n_points,)
        The bandwidths, narrowest first.
    scores : ndarray of shape (n_points,)
        In nats.
    null_means, null_spreads : ndarray of shape (n_points,)
        Mean and standard deviation of the scores of permuted labels.
    p_values : ndarray of shape (n_points,)
        Fraction of the permutations that score at least as much.
    n_significant : ndarray of shape (n_points,)
        Eigenvalues above the largest of permuted labels.
    mode_counts : ndarray of shape (n_points,)
        Effective number of modes of the sample, ``1 / |C|_F^2``: near the number of rows the bandwidth is too
        narrow, near 1 too wide.
    n_test, n_reference : int
        Rows of each sample that were used.
    """

    points: FloatArray
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
        """Return the scores minus the means of permuted labels."""
        return self.scores - self.null_means

    def headline(self) -> str:
        """Return how often the sample scores more than permuted labels, and how many modes stand out."""
        count = len(self.points)
        span = f"{format_number(self.points[0])} to {format_number(self.points[-1])}"
        beyond = int((self.excess > 2.0 * self.null_spreads).sum())
        least = int(self.n_significant.min())
        most = int(self.n_significant.max())
        modes = str(most) if least == most else f"{least} to {most}"
        return (
            f"At {beyond} of {count} bandwidths from {span} the score is more than two deviations above that of "
            f"permuted labels; {modes} {'mode stands' if modes == '1' else 'modes stand'} out."
        )

    def to_frame(self) -> Any:
        """Return a DataFrame with a row for each bandwidth."""
        import pandas as pd

        return pd.DataFrame(
            {
                "bandwidth": self.points,
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
    max_rows: int = 500,
    n_permutations: int = 20,
    rng: Any = None,
    progress: bool = True,
) -> NoveltyStudy:
    """Score novelty at several bandwidths of the Gaussian kernel.

    Parameters
    ----------
    features, reference : array or DataFrame of shape (n_rows, n_columns)
        The sample under test, and the reference.
    bandwidths : sequence of float, optional
        Bandwidths. Default: nine, from a quarter to four times that of `choose_bandwidth`; then, where columns differ
        in units, each is divided by its spread.
    eta : float, default 1.0
        How many times as frequent as in the reference counts as new; at least 1.
    max_rows : int, default 500
        Rows drawn from each sample, all of which are compared with each other.
    n_permutations : int, default 20
        Permutations at each bandwidth.
    rng : int or Generator, optional
        Draws rows and labels. Default: a fixed seed.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds.

    Returns
    -------
    NoveltyStudy

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the samples are not as `kernel_entropic_novelty` takes them.
    MemoryError
        If ``max_rows`` rows of each sample need more than half of the memory that is free.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.novelty_studies import bandwidth_sweep
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
    parts = [
        to_float64(rows_at(sample, _draw(int(sample.shape[0]), max_rows, generator)))
        for sample in check_samples(features, reference, "gaussian")
    ]
    n_test, n_reference = len(parts[0]), len(parts[1])
    rows = np.concatenate(parts)
    units = column_units(parts) if bandwidths is None else None
    rows = rows if units is None else rows / units
    check_distances(len(rows), copies=8)
    given: Any = bandwidths
    if given is None:
        given = choose_bandwidth(rows).value * np.geomspace(0.25, 4.0, N_BANDWIDTHS)
    widths = sorted(
        check_number(width, f"bandwidths[{i}]", low=0.0, open_low=True)
        for i, width in enumerate(_sequence(given, "bandwidths"))
    )
    seed = int(generator.integers(2**63))
    points = []
    with progress_bar(progress, "bandwidth sweep", len(widths)) as bar:
        for width in widths:
            factor = _factor(Gram(rows[:n_test], rows[n_test:], GaussianKernel(width)))
            # The same labels at each bandwidth: what differs is the bandwidth.
            labels = np.random.default_rng(seed)
            points.append(permuted_scores(factor, n_test, eta, n_permutations, labels))
            bar.update()
    return NoveltyStudy(
        points=np.asarray(widths),
        scores=np.array([point.score for point in points]),
        null_means=np.array([point.null.mean() for point in points]),
        null_spreads=np.array([_spread(point.null) for point in points]),
        p_values=np.array([point.p_value for point in points]),
        n_significant=np.array([point.n_significant for point in points]),
        mode_counts=np.array([point.mode_count for point in points]),
        n_test=n_test,
        n_reference=n_reference,
    )


@drawing(NoveltyStudy, kind="study")
def draw_study(study: Any, ax: Any = None) -> Any:
    """Draw the score at each bandwidth against permuted labels, with the number of modes that stand out."""
    ax = new_axes(ax)
    points = study.points
    low = study.null_means - 2.0 * study.null_spreads
    high = study.null_means + 2.0 * study.null_spreads
    ax.fill_between(points, low, high, color=MUTED, alpha=0.3, linewidth=0)
    label = "permuted labels, ± 2 deviations"
    ax.plot(points, study.null_means, color=MUTED, linewidth=1.2, label=label)
    ax.plot(points, study.scores, "o-", color=TEST, markersize=5, label="score")
    for point, score, count in zip(points, study.scores, study.n_significant, strict=True):
        mark(ax, str(count), (point, score), shift=(0, 7), ha="center")
    ax.set_xscale("log")
    ax.set_xticks(points, [f"{point:.2g}" for point in points])
    ax.minorticks_off()
    highest = max(float(study.scores.max()), float(high.max()), 1e-9)
    ax.set(
        ylim=(0.0, 1.3 * highest),
        xlabel="bandwidth (log scale)",
        ylabel="novelty in nats",
        title="Novelty by bandwidth, and modes that stand out",
    )
    ax.legend(loc="best")
    return ax


def _factor(gram: Gram) -> Factor:
    """Factor the whole kernel matrix."""
    return pivoted_factor(gram, np.ones(gram.n_rows), rtol=0.0, max_rank=gram.n_rows)


def _draw(n_rows: int, size: int, rng: np.random.Generator) -> IntArray:
    """Draw at most ``size`` rows, in their order."""
    return np.arange(n_rows) if n_rows < size else np.sort(rng.choice(n_rows, size, replace=False))


def _spread(values: FloatArray) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _sequence(values: Any, argument: str) -> list[Any]:
    if isinstance(values, str) or not np.iterable(values) or not list(values):
        raise ArgumentValueError(argument, "a sequence of at least one number", value=values)
    return list(values)
