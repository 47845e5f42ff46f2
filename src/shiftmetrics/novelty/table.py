"""Novelty between several samples in one table, with ranks and their intervals over random draws of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, take_rows, to_float64
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.memory import check_memory, check_memory_limit
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.result import Result, format_number, settings_of
from shiftmetrics._core.status import Status
from shiftmetrics._core.validation import check_integer, check_rng, describe
from shiftmetrics.novelty.pairwise import check_bandwidths, check_named_samples, score_pairs
from shiftmetrics.novelty.solution import progress_bar

LEVEL = 0.9
DEFAULT_ROWS = 500


COMPLETE = Status("complete", "Every pair was scored at every setting, by the dense route.")


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyTable(Drawn, Result):
    """Pairwise novelty of k samples, over F feature sets and B bandwidths each.

    Attributes
    ----------
    value : float
        Mean Kendall correlation between the rankings of any two settings, from -1 to 1: how far the ranking is
        independent of bandwidth and features. 1 where there is one setting.
    names : tuple of str
        Names of the samples.
    feature_sets : tuple of str
        Names of the feature sets.
    bandwidths : ndarray of shape (F, B)
        Bandwidths, in units of the features.
    scores : ndarray of shape (F, B, k, k)
        Novelty of the row's sample against the column's, in nats: the mean over draws of ``n_rows`` rows each.
    null : ndarray of shape (F, B, k, k)
        Mean score of the relabelled rows of the pair.
    draws : ndarray of shape (n_draws, F, B, k, k)
        The scores of each draw.
    rank_low, rank_high : ndarray of shape (F, B, k)
        Between these the rank of a sample lies in 90 % of the draws; 1 is the most novel.
    kendall : ndarray of shape (F * B, F * B)
        Kendall correlation of the rankings of any two settings, bandwidths of the first feature set first.
    drawn_rows : int
        Rows of each sample in a draw: the same for all, since the score depends on it.
    n_rows : tuple of int
        Rows of each sample that were there to draw from.
    top_modes : ndarray of shape (F, B, k, k, n_exemplars) or None
        Rows of the row's sample that show the top mode of each pair, and -1 where there is none.
    """

    measure: ClassVar[str] = "novelty.table"
    title: ClassVar[str] = "Pairwise novelty"
    unit: ClassVar[str] = "mean rank correlation"
    higher_is_better: ClassVar[bool] = True

    status: Status
    names: tuple[str, ...]
    feature_sets: tuple[str, ...]
    bandwidths: FloatArray
    scores: FloatArray
    null: FloatArray
    draws: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    kendall: FloatArray
    drawn_rows: int
    n_rows: tuple[int, ...]
    top_modes: IntArray | None = None

    @property
    def excess(self) -> FloatArray:
        """Scores minus their null, of shape (F, B, k, k)."""
        return self.scores - self.null

    @property
    def row_means(self) -> FloatArray:
        """Mean excess of each sample against all others, of shape (F, B, k): what the ranks are of."""
        means: FloatArray = self.excess.sum(axis=-1) / (len(self.names) - 1)
        return means

    @property
    def column_means(self) -> FloatArray:
        """Mean excess of all others against each sample, of shape (F, B, k): what it misses."""
        means: FloatArray = self.excess.sum(axis=-2) / (len(self.names) - 1)
        return means

    @property
    def ranks(self) -> IntArray:
        """Rank of each sample at each setting, of shape (F, B, k); 1 is the most novel."""
        return _ranks(self.row_means)

    def pairs(self, *, feature_set: str | None = None, bandwidth: int = 0) -> Any:
        """Return one setting as a DataFrame: excess of rows over columns, with both means.

        Parameters
        ----------
        feature_set : str, optional
            Name of the feature set. Default: the first.
        bandwidth : int, default 0
            Position of the bandwidth.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ValueError
            If there is no such setting.
        """
        import pandas as pd

        feature_set = self.feature_sets[0] if feature_set is None else feature_set
        if feature_set not in self.feature_sets:
            expected = f"one of {', '.join(self.feature_sets)}"
            raise ValueError(describe("feature_set", expected, repr(feature_set)))
        count = self.bandwidths.shape[1]
        bandwidth = check_integer(bandwidth, "bandwidth", low=0, high=count - 1)
        f = self.feature_sets.index(feature_set)
        values = self.excess[f, bandwidth].copy()
        np.fill_diagonal(values, np.nan)
        frame = pd.DataFrame(values, index=pd.Index(self.names), columns=pd.Index(self.names))
        frame["mean"] = self.row_means[f, bandwidth]
        frame.loc["mean"] = [*self.column_means[f, bandwidth], np.nan]
        return frame

    def to_frame(self) -> Any:
        """Return a tidy DataFrame: a row for each setting and sample, with means, rank and its interval."""
        import pandas as pd

        rows = [
            {
                "features": feature_set,
                "bandwidth": self.bandwidths[f, b],
                "sample": name,
                "novelty": self.row_means[f, b, i],
                "missing": self.column_means[f, b, i],
                "rank": int(self.ranks[f, b, i]),
                "rank_low": int(self.rank_low[f, b, i]),
                "rank_high": int(self.rank_high[f, b, i]),
            }
            for f, feature_set in enumerate(self.feature_sets)
            for b in range(self.bandwidths.shape[1])
            for i, name in enumerate(self.names)
        ]
        return pd.DataFrame(rows)

    def headline(self) -> str:
        """Return one sentence with the ranking over all settings."""
        means = self.row_means.mean(axis=(0, 1))
        order = np.argsort(-means)
        ranking = ", ".join(f"{self.names[i]} ({format_number(float(means[i]))})" for i in order)
        return f"{self.title}, most novel first, mean excess over the null in nats: {ranking}."

    def notes(self) -> list[str]:
        """Return how the rankings agree, which ranks are certain, and the sentences of every result."""
        sets, widths = self.bandwidths.shape
        text = f"feature sets: {sets}, bandwidths of each: {widths}"
        if sets * widths > 1:
            text += f"; the rankings agree with a mean Kendall correlation of {format_number(self.value)}"
        width = int((self.rank_high - self.rank_low).max())
        spread = "all ranks are the same in 90 % of the draws"
        if width:
            spread = f"a rank moves by up to {width} within 90 % of the {len(self.draws)} draws"
        rows = f"each score compares {self.drawn_rows} rows with as many"
        return [f"{text}; {spread}; {rows}.", *super().notes()]


def novelty_table(
    samples: Mapping[str, Any],
    *,
    bandwidths: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    n_rows: int | None = None,
    n_draws: int = 10,
    n_permutations: int = 5,
    n_exemplars: int = 0,
    rng: Any = None,
    computing: Computing | None = None,
) -> NoveltyTable:
    """Measure the novelty of each of several samples against each other, and rank them.

    Scores depend on the number of rows and are above 0 for samples of one distribution. So every score compares
    ``n_rows`` rows of one sample with as many of the other, drawn without replacement, and the mean score of
    relabelled rows is subtracted. Ranks come with the interval over draws, and with their agreement over bandwidths
    and features.

    Parameters
    ----------
    samples : mapping of str to array of shape (n_samples, n_columns)
        The samples by name, at least two; or a mapping of str to mappings from names of feature sets to arrays, which
        hold the same observations in the same order.
    bandwidths : sequence of float, or mapping of str to such, optional
        Bandwidths of the Gaussian kernel, as many for each feature set. Default: that of `choose_bandwidth` on the
        drawn rows of all samples, and the same divided and multiplied by the root of 2.
    n_rows : int, optional
        Rows of a draw. Default: half of the smallest sample, so that draws differ as samples do, but at most 500.
    n_draws : int, default 10
        Draws, for the intervals.
    n_permutations : int, default 5
        Relabellings of each pair, in the first draw, for the null; 0 for none.
    n_exemplars : int, default 0
        Rows to keep of the top mode of each pair, in the first draw; 0 for none.
    rng : int or Generator, optional
        Draws rows and labels. Default: a fixed seed, so that equal data give equal tables.
    computing : Computing, optional
        The memory_limit, and whether to show progress.

    Returns
    -------
    NoveltyTable

    Raises
    ------
    ValueError
        If there are fewer than two samples, feature sets differ between samples, a sample is too small, or an option
        is out of range.
    TypeError
        If features are not numbers.

    See Also
    --------
    kernel_entropic_novelty : One pair, with its modes.

    Notes
    -----
    Tables 1 and 3 to 5 of Zhang, Li and Farnia (arXiv:2402.17287), which rank generative models by the row means.

    Examples
    --------
    The third sample holds a cluster that the others lack:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> old, same, new = (rng.normal(scale=0.1, size=(60, 2)) for _ in range(3))
    >>> new[:30] += 5.0
    >>> table = novelty_table({"old": old, "same": same, "new": new}, bandwidths=[0.5], rng=0)
    >>> table.names[int(table.ranks[0, 0].argmin())], table.drawn_rows
    ('new', 30)
    """
    n_draws = check_integer(n_draws, "n_draws", low=1)
    n_permutations = check_integer(n_permutations, "n_permutations", low=0)
    n_exemplars = check_integer(n_exemplars, "n_exemplars", low=0)
    features, sizes = check_named_samples(samples)
    names, sets = tuple(samples), tuple(features)
    smallest = min(sizes)
    size = min(DEFAULT_ROWS, max(2, smallest // 2))
    if n_rows is not None:
        size = check_integer(n_rows, "n_rows", low=2)
    if size > smallest:
        expected = f"at most the rows of the smallest sample, {smallest}"
        raise ValueError(describe("n_rows", expected, size, "Scores need equal sizes."))
    computing = computing_of(computing, memory_limit=None)
    limit = check_memory_limit(computing.memory_limit)
    check_memory(64 * size**2 * 8, limit, f"n_rows={size}", "Draw fewer rows.")
    generator = check_rng(0 if rng is None else rng)
    positions = [[generator.permutation(count)[:size] for count in sizes] for _ in range(n_draws)]
    widths = check_bandwidths(bandwidths, features, positions[0])
    shape = (*widths.shape, len(names), len(names))
    draws, null = np.zeros((n_draws, *shape)), np.zeros(shape)
    top_modes = np.full((*shape, n_exemplars), -1)
    with progress_bar(computing.progress, n_draws * widths.size, "novelty table") as bar:
        for draw, rows_of in enumerate(positions):
            first = draw == 0
            for f, arrays in enumerate(features.values()):
                taken = [
                    to_float64(take_rows(array, rows)) for array, rows in zip(arrays, rows_of, strict=True)
                ]
                for b, width in enumerate(widths[f]):
                    scores, means, top = score_pairs(
                        taken,
                        float(width),
                        n_permutations=n_permutations if first else 0,
                        n_exemplars=n_exemplars if first else 0,
                        rng=generator,
                    )
                    draws[draw, f, b] = scores
                    if first:
                        null[f, b] = means
                        for i, rows in enumerate(rows_of):
                            top_modes[f, b, i] = np.where(top[i] >= 0, rows[top[i]], -1)
                    bar.update()
    ranks = _ranks((draws - null).sum(axis=-1))
    kendall = _kendall((draws.mean(axis=0) - null).sum(axis=-1).reshape(-1, len(names)))
    others = kendall[~np.eye(len(kendall), dtype=bool)]
    return NoveltyTable(
        value=float(others.mean()) if len(others) else 1.0,
        error_bound=0.0,
        status=COMPLETE,
        n_samples=sum(sizes),
        names=names,
        feature_sets=sets,
        bandwidths=widths,
        scores=draws.mean(axis=0),
        null=null,
        draws=draws,
        rank_low=np.quantile(ranks, (1 - LEVEL) / 2, axis=0, method="lower").astype(np.int64),
        rank_high=np.quantile(ranks, (1 + LEVEL) / 2, axis=0, method="higher").astype(np.int64),
        kendall=kendall,
        drawn_rows=size,
        n_rows=sizes,
        top_modes=top_modes if n_exemplars else None,
        settings=settings_of(
            bandwidths="auto" if bandwidths is None else "given",
            n_rows=n_rows,
            n_draws=n_draws,
            n_permutations=n_permutations,
            n_exemplars=n_exemplars,
            rng=0 if rng is None else rng,
        ),
    )


def _ranks(novelty: FloatArray) -> IntArray:
    """Return ranks along the last axis, 1 for the largest; ties get the better rank."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-novelty, method="min", axis=-1), dtype=np.int64)


def _kendall(novelty: FloatArray) -> FloatArray:
    """Return the Kendall correlation (tau-b) of any two rows, 0 where a row is constant."""
    import pandas as pd

    matrix = pd.DataFrame(novelty.T).corr(method="kendall").fillna(0.0).to_numpy(dtype=np.float64, copy=True)
    np.fill_diagonal(matrix, 1.0)
    return matrix
