"""What is new in each of several samples against each other, in one table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, namespace
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.options import Computing
from shiftmetrics._core.result import Result, settings_of
from shiftmetrics._core.status import Status
from shiftmetrics._core.validation import check_integer, check_number, check_rng, describe
from shiftmetrics.novelty.bandwidth import choose_bandwidth
from shiftmetrics.novelty.entropic import kernel_entropic_novelty
from shiftmetrics.novelty.gram import rows_at
from shiftmetrics.novelty.named_samples import check_named_samples
from shiftmetrics.novelty.options import NoveltyResampling, novelty_resampling_of
from shiftmetrics.novelty.solution import progress_bar

DEFAULT_ROWS = 1000


COMPLETE = Status("complete", "Every pair was compared in every feature set.")


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyTable(Drawn, Result):
    """What is new in each of k samples against each other, in F feature sets.

    Attributes
    ----------
    value : float
        Mean Kendall correlation between the rankings of any two feature sets, from -1 to 1. 1 where there is one.
    names : tuple of str
        Names of the samples.
    feature_sets : tuple of str
        Names of the feature sets.
    bandwidths : ndarray of shape (F,)
        Bandwidth of all pairs in a feature set.
    shares, share_lows : ndarray of shape (F, k, k)
        Share of the row's sample that is new against the column's, and its lower bound.
    p_values : ndarray of shape (F, k, k)
        Share of the relabellings that show as much.
    scores : ndarray of shape (F, k, k)
        Kernel entropic novelty of the row's sample against the column's, in nats.
    drawn_rows : int
        Rows of each sample: the same for all, since scores depend on it.
    n_rows : tuple of int
        Rows of each sample that were there to draw from.
    """

    measure: ClassVar[str] = "novelty.table"
    title: ClassVar[str] = "Pairwise novelty"
    unit: ClassVar[str] = "mean rank correlation"
    higher_is_better: ClassVar[bool] = True

    status: Status
    names: tuple[str, ...]
    feature_sets: tuple[str, ...]
    bandwidths: FloatArray
    shares: FloatArray
    share_lows: FloatArray
    p_values: FloatArray
    scores: FloatArray
    drawn_rows: int
    n_rows: tuple[int, ...]

    @property
    def row_means(self) -> FloatArray:
        """Mean share of each sample that is new against the others, of shape (F, k): what the ranks are of."""
        means: FloatArray = self.shares.sum(axis=-1) / (len(self.names) - 1)
        return means

    @property
    def column_means(self) -> FloatArray:
        """Mean share of the others that is new against each sample, of shape (F, k): what it misses."""
        means: FloatArray = self.shares.sum(axis=-2) / (len(self.names) - 1)
        return means

    @property
    def ranks(self) -> IntArray:
        """Rank of each sample in each feature set, of shape (F, k); 1 has the most that is new."""
        return _ranks(self.row_means)

    def pairs(self, *, feature_set: str | None = None) -> Any:
        """Return one feature set as a DataFrame: the share of rows that is new against columns, with both means.

        Parameters
        ----------
        feature_set : str, optional
            Name of the feature set. Default: the first.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ValueError
            If there is no such feature set.
        """
        import pandas as pd

        feature_set = self.feature_sets[0] if feature_set is None else feature_set
        if feature_set not in self.feature_sets:
            expected = f"one of {', '.join(self.feature_sets)}"
            raise ValueError(describe("feature_set", expected, repr(feature_set)))
        f = self.feature_sets.index(feature_set)
        values = self.shares[f].copy()
        np.fill_diagonal(values, np.nan)
        frame = pd.DataFrame(values, index=pd.Index(self.names), columns=pd.Index(self.names))
        frame["mean"] = self.row_means[f]
        frame.loc["mean"] = [*self.column_means[f], np.nan]
        return frame

    def to_frame(self) -> Any:
        """Return a tidy DataFrame: a row for each feature set and pair."""
        import pandas as pd

        rows = [
            {
                "features": feature_set,
                "sample": self.names[i],
                "reference": self.names[j],
                "share": self.shares[f, i, j],
                "share_low": self.share_lows[f, i, j],
                "p_value": self.p_values[f, i, j],
                "novelty": self.scores[f, i, j],
                "rank": int(self.ranks[f, i]),
            }
            for f, feature_set in enumerate(self.feature_sets)
            for i, j in itertools.permutations(range(len(self.names)), 2)
        ]
        return pd.DataFrame(rows)

    def headline(self) -> str:
        """Return one sentence with the ranking over all feature sets."""
        means = self.row_means.mean(axis=0)
        order = np.argsort(-means, kind="stable")
        ranking = ", ".join(f"{self.names[i]} ({100.0 * means[i]:.2g} %)" for i in order)
        return f"Most that is new first, mean share against the others: {ranking}."

    def notes(self) -> list[str]:
        """Return how the rankings agree, and the sentences of every result."""
        count = len(self.names) * (len(self.names) - 1)
        found = int((self.shares > 0.0).sum())
        sentences = [
            f"{found} of {count * len(self.feature_sets)} comparisons show something new, each of {self.drawn_rows} "
            "rows with as many."
        ]
        if len(self.feature_sets) > 1:
            sentences.append(f"The rankings of the feature sets agree to {self.value:.2g} (Kendall).")
        return [*sentences, *super().notes()]


def novelty_table(
    samples: Mapping[str, Any],
    *,
    bandwidth: float | Mapping[str, float] | None = None,
    n_rows: int | None = None,
    resampling: NoveltyResampling | float | None = None,
    computing: Computing | None = None,
) -> NoveltyTable:
    """Find what is new in each of several samples against each other, and rank them by its share.

    Parameters
    ----------
    samples : mapping of str to array of shape (n_samples, n_columns)
        The samples by name, at least two; or a mapping of str to mappings from names of feature sets to arrays, which
        hold the same observations in the same order.
    bandwidth : float, or mapping of str to float, optional
        Bandwidth of the Gaussian kernel, of each feature set. Default: that of `choose_bandwidth` on the drawn rows
        of all samples.
    n_rows : int, optional
        Rows to draw from each sample. Default: those of the smallest, at most 1,000.
    resampling : NoveltyResampling or float, optional
        As for `kernel_entropic_novelty`.
    computing : Computing, optional
        As for `kernel_entropic_novelty`.

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
    Tables 1 and 3 to 5 of Zhang, Li and Farnia (arXiv:2402.17287) rank generative models by the means of scores,
    which are not monotone in the share of a new kind; they stand beside the shares here.

    Examples
    --------
    The third sample holds a cluster that the others lack:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> old, same, new = (rng.normal(scale=0.1, size=(60, 2)) for _ in range(3))
    >>> new[:30] += 5.0
    >>> table = novelty_table({"old": old, "same": same, "new": new}, bandwidth=0.5)
    >>> table.pairs().round(1).to_dict()["old"]
    {'old': nan, 'same': 0.0, 'new': 0.5, 'mean': 0.2}
    """
    features, sizes = check_named_samples(samples)
    names, sets = tuple(samples), tuple(features)
    smallest = min(sizes)
    size = min(DEFAULT_ROWS, smallest) if n_rows is None else check_integer(n_rows, "n_rows", low=2)
    if size > smallest:
        expected = f"at most the rows of the smallest sample, {smallest}"
        raise ValueError(describe("n_rows", expected, size, "Scores need equal sizes."))
    computing = Computing() if computing is None else computing
    options = novelty_resampling_of(resampling)
    generator = check_rng(0 if options.rng is None else options.rng)
    positions = [np.sort(generator.permutation(count)[:size]) for count in sizes]
    drawn = {
        name: [rows_at(array, rows) for array, rows in zip(arrays, positions, strict=True)]
        for name, arrays in features.items()
    }
    widths = _bandwidths(bandwidth, drawn)
    shape = (len(sets), len(names), len(names))
    shares, lows, scores, p_values = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.ones(shape)
    ordered = list(itertools.permutations(range(len(names)), 2))
    with progress_bar(computing.progress, len(sets) * len(ordered), "novelty table") as bar:
        for f, arrays in enumerate(drawn.values()):
            for i, j in ordered:
                found = kernel_entropic_novelty(
                    arrays[i], arrays[j], bandwidth=float(widths[f]), resampling=options,
                    computing=replace(computing, progress=False),
                )  # fmt: skip
                shares[f, i, j], lows[f, i, j] = found.share, found.share_interval.low
                p_values[f, i, j], scores[f, i, j] = found.p_value, found.value
                bar.update()
    kendall = _kendall(shares.sum(axis=-1))
    return NoveltyTable(
        value=kendall,
        error_bound=0.0,
        status=COMPLETE,
        n_samples=sum(sizes),
        names=names,
        feature_sets=sets,
        bandwidths=widths,
        shares=shares,
        share_lows=lows,
        p_values=p_values,
        scores=scores,
        drawn_rows=size,
        n_rows=sizes,
        settings=settings_of(
            bandwidth="auto" if bandwidth is None else "given", n_rows=n_rows, resampling=options.settings()
        ),
    )


def _bandwidths(given: Any, drawn: Mapping[str, list[Any]]) -> FloatArray:
    """Return the bandwidth of each feature set."""
    if given is None:
        pooled = [namespace(*arrays).concat(arrays) for arrays in drawn.values()]
        return np.array([choose_bandwidth(rows).value for rows in pooled])
    by_set = given if isinstance(given, Mapping) else dict.fromkeys(drawn, given)
    if set(by_set) != set(drawn):
        raise ValueError(describe("bandwidth", f"given for {', '.join(drawn)}", ", ".join(by_set) or "none"))
    return np.array(
        [check_number(by_set[name], f"bandwidth[{name!r}]", low=0.0, open_low=True) for name in drawn]
    )


def _ranks(novelty: FloatArray) -> IntArray:
    """Return ranks along the last axis, 1 for the largest; ties get the better rank."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-novelty, method="min", axis=-1), dtype=np.int64)


def _kendall(novelty: FloatArray) -> float:
    """Return the mean Kendall correlation (tau-b) of any two rows: 1 for one row, 0 where a row is constant."""
    import pandas as pd

    if len(novelty) < 2:
        return 1.0
    matrix = pd.DataFrame(novelty.T).corr(method="kendall").fillna(0.0).to_numpy(dtype=np.float64)
    return float(matrix[~np.eye(len(matrix), dtype=bool)].mean())
