"""What is new in each of several samples against each other, in one table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, to_float64
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.options import Computing, check_computing, progress_bar
from shiftmetrics._core.result import Result, Status, settings_of
from shiftmetrics._core.tables import align_tables
from shiftmetrics._core.validation import check_integer, check_matrix, check_rng, describe
from shiftmetrics.novelty.bandwidth import choose_bandwidth
from shiftmetrics.novelty.entropic import kernel_entropic_novelty
from shiftmetrics.novelty.gram import rows_at
from shiftmetrics.novelty.inputs import NoveltyResampling, column_units, novelty_resampling_of, units_warning

DEFAULT_ROWS = 1000

COMPLETE = Status("complete", "Every pair was compared.")


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyTable(Drawn, Result):
    """What is new in each of k samples against each other.

    Attributes
    ----------
    value : float
        Largest mean share of a sample that is new against the others.
    names : tuple of str
        Names of the samples.
    bandwidth : float
        Of all pairs.
    shares, share_lows : ndarray of shape (k, k)
        Share of the row's sample that is new against the column's, and its lower bound.
    p_values : ndarray of shape (k, k)
        Share of the relabellings that show as much.
    scores : ndarray of shape (k, k)
        Kernel entropic novelty of the row's sample against the column's, in nats.
    n_rows : int
        Rows drawn of each sample: the same for all, since scores depend on it.
    """

    measure: ClassVar[str] = "novelty.table"
    title: ClassVar[str] = "Pairwise novelty"
    unit: ClassVar[str] = ""
    higher_is_better: ClassVar[bool] = True

    status: Status
    names: tuple[str, ...]
    bandwidth: float
    shares: FloatArray
    share_lows: FloatArray
    p_values: FloatArray
    scores: FloatArray
    n_rows: int

    @property
    def row_means(self) -> FloatArray:
        """Mean share of each sample that is new against the others, of shape (k,): what the ranks are of."""
        means: FloatArray = self.shares.sum(axis=1) / (len(self.names) - 1)
        return means

    def pairs(self) -> Any:
        """Return a DataFrame of the share of rows that is new against columns, with both means."""
        import pandas as pd

        apart = np.where(np.eye(len(self.names), dtype=bool), np.nan, self.shares)
        frame = pd.DataFrame(apart, index=pd.Index(self.names), columns=pd.Index(self.names))
        frame["mean"] = frame.mean(axis=1)
        frame.loc["mean"] = frame.mean().where(frame.columns != "mean")
        return frame

    def to_frame(self) -> Any:
        """Return a tidy DataFrame: a row for each pair. Rank 1 has the most that is new; ties get the better rank."""
        import pandas as pd

        i, j = np.nonzero(~np.eye(len(self.names), dtype=bool))
        names = np.array(self.names, dtype=object)
        columns = {
            "sample": names[i], "reference": names[j], "share": self.shares[i, j],
            "share_low": self.share_lows[i, j], "p_value": self.p_values[i, j], "novelty": self.scores[i, j],
            "rank": pd.Series(-self.row_means).rank(method="min").to_numpy(np.int64)[i],
        }  # fmt: skip
        return pd.DataFrame(columns)

    def headline(self) -> str:
        """Return one sentence with the ranking."""
        order = np.argsort(-self.row_means, kind="stable")
        ranking = ", ".join(f"{self.names[i]} ({100.0 * self.row_means[i]:.2g} %)" for i in order)
        return f"Most that is new first, mean share against the others: {ranking}."

    def notes(self) -> list[str]:
        """Return how many pairs differ, and the sentences of every result."""
        found, count = int((self.shares > 0.0).sum()), len(self.names) * (len(self.names) - 1)
        what = f"{found} of {count} comparisons show something new, each of {self.n_rows} rows with as many."
        return [what, *super().notes()]


def novelty_table(
    samples: Mapping[str, Any],
    *,
    bandwidth: float | None = None,
    n_rows: int | None = None,
    resampling: NoveltyResampling | float | None = None,
    computing: Computing | None = None,
) -> NoveltyTable:
    """Find what is new in each of several samples against each other, and rank them by its share.

    Parameters
    ----------
    samples : mapping of str to array or DataFrame of shape (n_samples, n_columns)
        The samples by name, at least two.
    bandwidth : float, optional
        Bandwidth of the Gaussian kernel. Default: that of `choose_bandwidth` on the drawn rows of all samples; where
        columns differ in units, each is divided by its spread in all samples together, and a warning says so.
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
        If there are fewer than two samples, a sample is too small, columns differ, or an option is out of range.
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
    arrays = _checked(samples)
    names, sizes = tuple(arrays), tuple(int(array.shape[0]) for array in arrays.values())
    smallest = min(sizes)
    size = min(DEFAULT_ROWS, smallest) if n_rows is None else check_integer(n_rows, "n_rows", low=2)
    if size > smallest:
        expected = f"at most the rows of the smallest sample, {smallest}"
        raise ValueError(describe("n_rows", expected, size, "Scores need equal sizes."))
    computing = check_computing(computing)
    options = novelty_resampling_of(resampling)
    generator = check_rng(0 if options.rng is None else options.rng)
    drawn = [rows_at(array, np.sort(generator.permutation(len(array))[:size])) for array in arrays.values()]
    differing = column_units(drawn)
    width, units = bandwidth, None
    if width is None:
        units = differing
        drawn = drawn if units is None else [to_float64(rows) / units for rows in drawn]
        width = choose_bandwidth(np.concatenate([to_float64(rows) for rows in drawn])).value
    shape = (len(names), len(names))
    shares, lows, scores, p_values = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.ones(shape)
    ordered = list(itertools.permutations(range(len(names)), 2))
    with progress_bar(computing.progress, "novelty table", len(ordered)) as bar:
        for i, j in ordered:
            found = kernel_entropic_novelty(
                drawn[i], drawn[j], bandwidth=width, resampling=options,
                computing=replace(computing, progress=False),
            )  # fmt: skip
            shares[i, j], lows[i, j] = found.share, found.share_interval.low
            p_values[i, j], scores[i, j] = found.p_value, found.value
            bar.update()
    return NoveltyTable(
        value=float(shares.sum(axis=1).max()) / (len(names) - 1),
        error_bound=0.0,
        status=COMPLETE,
        n_samples=sum(sizes),
        names=names,
        bandwidth=float(width),
        shares=shares,
        share_lows=lows,
        p_values=p_values,
        scores=scores,
        n_rows=size,
        settings=settings_of(
            bandwidth="auto" if bandwidth is None else "given",
            column_units=None if units is None else units.tolist(),
            n_rows=n_rows,
            resampling=options.settings(),
        ),
        warnings=units_warning(differing, divided=units is not None),
    )


def _checked(samples: Any) -> dict[str, Array]:
    """Return samples by name as finite arrays with the same columns."""
    if not isinstance(samples, Mapping) or len(samples) < 2:
        got = f"{len(samples)}" if isinstance(samples, Mapping) else type(samples).__name__
        raise ValueError(describe("samples", "a mapping from names to at least two samples", got))
    arrays: dict[str, Array] = {}
    first_name, first = next(iter(samples.items()))
    for name, sample in samples.items():
        arguments = f"samples[{first_name!r}]", f"samples[{name!r}]"
        _, rows = align_tables(first, sample, *arguments, rows=False, option=None)
        arrays[str(name)] = check_matrix(rows, arguments[1], min_rows=2)
    columns = {name: int(array.shape[1]) for name, array in arrays.items()}
    if len(set(columns.values())) > 1:
        raise ValueError(describe("samples", "of as many columns each", f"{columns}"))
    return arrays
