"""Studies of novelty: its score at several bandwidths and numbers of rows, against permuted labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, to_float64
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_number
from shiftmetrics._core.validation import check_integer, check_number, check_rng, describe
from shiftmetrics.lab.permuted_scores import PermutedScores, permuted_scores
from shiftmetrics.novelty.bandwidth import bandwidth_of, check_distances, choose_bandwidth
from shiftmetrics.novelty.factor import Factor, pivoted_factor
from shiftmetrics.novelty.gram import Gram, rows_at
from shiftmetrics.novelty.inputs import (
    KernelChoice,
    check_eta,
    check_kernel,
    check_samples,
    column_units,
    kernel_of,
)
from shiftmetrics.novelty.kernels import GaussianKernel
from shiftmetrics.views.drawings.kinds import drawing
from shiftmetrics.views.drawings.style import MUTED, TEST, new_axes

N_BANDWIDTHS = 9
"""By default: from a quarter of the bandwidth of the variance rule to four times it."""

SMALLEST, LARGEST, N_SIZES = 25, 500, 6
"""By default: from 25 rows of each sample to 500, or to the smaller sample."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyStudy(Drawn, Record):
    """Novelty at several bandwidths or numbers of rows, each against permuted labels.

    Attributes
    ----------
    over : str
        What changes: "bandwidth" or "size".
    points : ndarray of shape (n_points,)
        The bandwidths, narrowest first, or the rows of each sample, fewest first.
    scores, score_spreads : ndarray of shape (n_points,)
        Mean and standard deviation of the scores of the draws, in nats.
    null_means, null_spreads : ndarray of shape (n_points,)
        Those of permuted labels.
    p_values : ndarray of shape (n_points,)
        Fraction of the permutations that score at least as much, the median of the draws.
    n_significant : ndarray of shape (n_points,)
        Eigenvalues above the largest of permuted labels, the median of the draws.
    mode_counts : ndarray of shape (n_points,)
        Effective number of modes of the sample, ``1 / |C|_F^2``: near the number of rows the bandwidth is too
        narrow, near 1 too wide.
    n_test, n_reference : int
        Most rows of each sample that were used.
    n_resamples : int
        Draws at each point.
    """

    over: str
    points: FloatArray
    scores: FloatArray
    score_spreads: FloatArray
    null_means: FloatArray
    null_spreads: FloatArray
    p_values: FloatArray
    n_significant: IntArray
    mode_counts: FloatArray
    n_test: int
    n_reference: int
    n_resamples: int

    @property
    def excess(self) -> FloatArray:
        """Return the scores minus the means of permuted labels."""
        return self.scores - self.null_means

    def headline(self) -> str:
        """Return how often the sample scores more than relabelled rows, and how many modes stand out."""
        count = len(self.points)
        what = "bandwidths" if self.over == "bandwidth" else "numbers of rows"
        span = f"{format_number(self.points[0])} to {format_number(self.points[-1])}"
        beyond = int((self.excess > 2.0 * self.null_spreads).sum())
        least, most = int(self.n_significant.min()), int(self.n_significant.max())
        modes = str(most) if least == most else f"{least} to {most}"
        return (
            f"At {beyond} of {count} {what} from {span} the score is more than two deviations above that of "
            f"permuted labels; {modes} {'mode stands' if modes == '1' else 'modes stand'} out."
        )

    def to_frame(self) -> Any:
        """Return a DataFrame with a row for each bandwidth or size."""
        import pandas as pd

        return pd.DataFrame(
            {
                self.over: self.points,
                "score": self.scores,
                "score_spread": self.score_spreads,
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
    >>> from shiftmetrics.lab.novelty_studies import bandwidth_sweep
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
            points.append(
                [permuted_scores(factor, n_test, eta, n_permutations, np.random.default_rng(seed))]
            )
            bar.update()
    return _study("bandwidth", widths, points, n_test, n_reference)


def novelty_against_size(
    features: Any,
    reference: Any,
    *,
    sizes: Sequence[int] | None = None,
    eta: float = 1.0,
    kernel: KernelChoice = "gaussian",
    bandwidth: float | Literal["auto"] = "auto",
    n_resamples: int = 5,
    n_permutations: int = 20,
    rng: Any = None,
    progress: bool = True,
) -> NoveltyStudy:
    """Score random parts of both samples of several sizes: how much of a score is there because rows are few.

    Parameters
    ----------
    features, reference, eta, rng, progress
        As for `bandwidth_sweep`.
    sizes : sequence of int, optional
        Rows of each sample. Default: six, from 25 to 500 or to the smaller sample.
    kernel, bandwidth
        As for `kernel_entropic_novelty`; the bandwidth is chosen once, on all rows.
    n_resamples : int, default 5
        Draws at each size.
    n_permutations : int, default 20
        Permutations at each size, over all of its draws.

    Returns
    -------
    NoveltyStudy

    Raises
    ------
    ValueError, TypeError, MemoryError
        As `bandwidth_sweep`, or if a size is larger than a sample.

    Examples
    --------
    Two samples of one distribution: the score is that of permuted labels, whatever the size.

    >>> import numpy as np
    >>> from shiftmetrics.lab.novelty_studies import novelty_against_size
    >>> features, reference = np.random.default_rng(0).normal(size=(2, 200, 10))
    >>> study = novelty_against_size(features, reference, sizes=[25, 100, 200], bandwidth=3.0)
    >>> bool(np.ptp(study.scores) > 0.1), bool((abs(study.excess) < 0.1).all())
    (True, True)
    """
    eta = check_eta(eta)
    kernel = check_kernel(kernel)
    n_resamples = check_integer(n_resamples, "n_resamples", low=1)
    n_permutations = check_integer(n_permutations, "n_permutations", low=1)
    generator = check_rng(0 if rng is None else rng)
    test, base = check_samples(features, reference, kernel)
    n_test, n_reference = int(test.shape[0]), int(base.shape[0])
    listed = _sizes(sizes, min(n_test, n_reference))
    check_distances(2 * int(listed[-1]), copies=8, argument="sizes")
    width, _ = bandwidth_of(bandwidth, kernel, (test, base), (None, None), generator)
    gram = Gram(test, base, kernel_of(kernel, width))
    points = []
    with progress_bar(progress, "novelty against size", len(listed) * n_resamples) as bar:
        for size in listed:
            draws = []
            for draw in range(n_resamples):
                rows = [
                    _draw(n_test, size, generator),
                    n_test + _draw(n_reference, size, generator),
                ]
                factor = _factor(gram.subset(np.concatenate(rows)))
                # As many permutations in each draw, the first ones having one more where they do not divide.
                count = max(
                    1, n_permutations // n_resamples + (draw < n_permutations % n_resamples)
                )
                draws.append(permuted_scores(factor, int(size), eta, count, generator))
                bar.update()
            points.append(draws)
    return _study("size", listed, points, int(listed[-1]), int(listed[-1]))


@drawing(NoveltyStudy, kind="study")
def draw_study(study: Any, ax: Any = None) -> Any:
    """Draw the score at each point against permuted labels, with the number of modes that stand out."""
    ax = new_axes(ax)
    by_size = study.over == "size"
    points, scores, means = study.points, study.scores, study.null_means
    spreads, score_spreads = 2.0 * study.null_spreads, 2.0 * study.score_spreads
    ax.fill_between(points, means - spreads, means + spreads, color=MUTED, alpha=0.3, linewidth=0)
    ax.plot(points, means, color=MUTED, linewidth=1.2, label="permuted labels, ± 2 deviations")
    label = (
        f"score, ± 2 deviations of {study.n_resamples} draws" if study.n_resamples > 1 else "score"
    )
    ax.errorbar(
        points,
        scores,
        score_spreads,
        fmt="o-",
        color=TEST,
        markersize=5,
        elinewidth=1.2,
        label=label,
    )
    for point, score, count in zip(points, scores, study.n_significant, strict=True):
        ax.annotate(
            str(int(count)),
            (point, score),
            (0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
    ax.set_xscale("log")
    ax.set_xticks(points, [f"{int(point):,}" if by_size else f"{point:.2g}" for point in points])
    ax.minorticks_off()
    highest = max(float((scores + score_spreads).max()), float((means + spreads).max()), 1e-9)
    ax.set_ylim(0.0, 1.3 * highest)
    name, short = (
        ("rows of each sample", "the number of rows") if by_size else ("bandwidth", "bandwidth")
    )
    ax.set(xlabel=f"{name} (log scale)", ylabel="novelty in nats")
    ax.set_title(f"Novelty by {short}, and modes that stand out")
    ax.legend(loc="best")
    return ax


def _factor(gram: Gram) -> Factor:
    """Factor the whole kernel matrix."""
    return pivoted_factor(gram, np.ones(gram.n_rows), rtol=0.0, max_rank=gram.n_rows)


def _draw(n_rows: int, size: int, rng: np.random.Generator) -> IntArray:
    """Draw at most ``size`` rows, in their order."""
    return np.arange(n_rows) if n_rows < size else np.sort(rng.choice(n_rows, size, replace=False))


def _study(
    over: str, points: Any, draws: list[list[PermutedScores]], n_test: int, n_reference: int
) -> NoveltyStudy:
    """Gather the draws at each point."""
    scores = np.array([[part.score for part in found] for found in draws])
    nulls = [np.concatenate([part.null for part in found]) for found in draws]
    return NoveltyStudy(
        over=over,
        points=np.asarray(points),
        scores=scores.mean(axis=1),
        score_spreads=_spreads(scores),
        null_means=np.array([null.mean() for null in nulls]),
        null_spreads=_spreads(nulls),
        p_values=np.array([np.median([part.p_value for part in found]) for found in draws]),
        n_significant=np.array(
            [int(np.median([part.n_significant for part in found])) for found in draws]
        ),
        mode_counts=np.array([np.mean([part.mode_count for part in found]) for found in draws]),
        n_test=n_test,
        n_reference=n_reference,
        n_resamples=scores.shape[1],
    )


def _spreads(values: Any) -> FloatArray:
    return np.array([float(np.std(part, ddof=1)) if len(part) > 1 else 0.0 for part in values])


def _sequence(values: Any, argument: str) -> list[Any]:
    if isinstance(values, str) or not np.iterable(values) or not list(values):
        raise ValueError(describe(argument, "a sequence of at least one number", value=values))
    return list(values)


def _sizes(sizes: Sequence[int] | None, most: int) -> IntArray:
    """Return the sizes, fewest rows first."""
    if sizes is None:
        largest = min(LARGEST, most)
        return np.unique(
            np.geomspace(min(SMALLEST, largest), largest, N_SIZES).round().astype(np.int64)
        )
    checked = [
        check_integer(size, f"sizes[{i}]", low=2)
        for i, size in enumerate(_sequence(sizes, "sizes"))
    ]
    if max(checked) > most:
        expected = f"at most the rows of the smaller sample, {most}"
        raise ValueError(
            describe("sizes", expected, max(checked), "Rows are drawn without replacement.")
        )
    return np.unique(np.asarray(checked, dtype=np.int64))
