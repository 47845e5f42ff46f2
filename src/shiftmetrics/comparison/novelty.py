"""Samples ranked by their novelty against one reference: as many rows of each, one bandwidth, intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import to_float64
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.result import Result
from shiftmetrics._core.validation import check_integer, describe, seed_of
from shiftmetrics.comparison.ranking import model_names, rank_results
from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.novelty import NoveltyResampling, choose_bandwidth, kernel_entropic_novelty
from shiftmetrics.novelty.gram import rows_at
from shiftmetrics.novelty.inputs import check_samples
from shiftmetrics.novelty.options import novelty_resampling_of


def compare_novelty(
    samples: Mapping[str, Any],
    reference: Any,
    *,
    n_rows: int | None = None,
    kernel: Literal["gaussian", "cosine"] = "gaussian",
    bandwidth: float | Literal["auto"] = "auto",
    resampling: NoveltyResampling | float = 0.95,
    computing: Computing | None = None,
    **options: Any,
) -> ComparisonResult:
    """Rank samples by their novelty against one reference, with intervals and paired differences.

    Parameters
    ----------
    samples : mapping of str to array or DataFrame of shape (n_samples, n_columns)
        At least two samples, by name, such as what several generators drew.
    reference : array or DataFrame of shape (n_reference, n_columns)
        The common reference.
    n_rows : int, optional
        Rows to draw from each sample: scores grow with the rows, so all have as many. Default: those of the smallest.
    kernel : {"gaussian", "cosine"}, default "gaussian"
        Similarity of two rows.
    bandwidth : float or "auto", default "auto"
        Of the Gaussian kernel, one for all; "auto" is `choose_bandwidth` of all rows together.
    resampling : NoveltyResampling or float, default 0.95
        Level of the intervals, and of all ranks together, with the same rows of the reference in each draw for all
        samples. Its ``rng`` draws rows and subsamples; by default a fresh seed, which the settings keep.
    computing : Computing, optional
        As for `kernel_entropic_novelty`.
    **options
        As for `kernel_entropic_novelty`, such as ``eta``.

    Returns
    -------
    ComparisonResult
        `to_frame` gives the table of samples with the excess over relabelled rows, its p-value and the number of
        significant modes; `differences_frame` that of the pairs. Higher is more novel.

    Raises
    ------
    TypeError
        If ``samples`` is not a mapping, or holds no numbers.
    ValueError
        If there are fewer than two samples, one has fewer than ``n_rows`` rows, or an argument of
        `kernel_entropic_novelty` is bad.

    See Also
    --------
    compare_results : The same from results at hand; it refuses those of unequal numbers of rows.
    shiftmetrics.novelty.novelty_table : Each sample against each other.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.comparison import compare_novelty
    >>> from shiftmetrics.novelty import NoveltyResampling
    >>> rng = np.random.default_rng(0)
    >>> reference, same, new = rng.normal(size=(3, 150, 2))
    >>> new[:50] += 6.0
    >>> new[50:100] -= 6.0
    >>> samples = {"same": same[:120], "new": new}
    >>> resampling = NoveltyResampling(level=0.95, rng=0)
    >>> comparison = compare_novelty(samples, reference, bandwidth=2.0, resampling=resampling)
    >>> comparison.best.name, comparison.n_samples, comparison.differences[0].p_value < 0.05
    ('new', 120, True)
    """
    from tqdm.auto import tqdm

    names = model_names(samples, "samples")
    chosen = novelty_resampling_of(resampling)
    seed, level = seed_of(chosen.rng), 0.95 if chosen.level is None else chosen.level
    chosen = replace(chosen, rng=seed, level=level)
    arrays = {}
    for name in names:
        try:
            arrays[name], base = check_samples(samples[name], reference, kernel)
        except (TypeError, ValueError) as error:
            raise type(error)(f"Sample {name!r}: {error}") from error
    smallest = min(int(array.shape[0]) for array in arrays.values())
    size = smallest if n_rows is None else check_integer(n_rows, "n_rows", low=2)
    if size > smallest:
        expected = f"at most the rows of the smallest sample, {smallest}"
        raise ValueError(describe("n_rows", expected, size, "Scores need equal sizes."))
    generator = np.random.default_rng(seed)
    drawn = {
        name: rows_at(array, np.sort(generator.choice(int(array.shape[0]), size, replace=False)))
        for name, array in arrays.items()
    }
    width: Any = bandwidth
    if kernel == "gaussian" and bandwidth == "auto":
        pooled = np.concatenate([to_float64(array) for array in drawn.values()])
        width = choose_bandwidth(pooled, to_float64(base), rng=0).value
    progress = computing_of(computing, rtol=None, memory_limit=None).progress
    results: dict[str, Result] = {
        name: kernel_entropic_novelty(
            drawn[name],
            base,
            kernel=kernel,
            bandwidth=width,
            resampling=chosen,
            computing=computing,
            **options,
        )
        for name in tqdm(names, desc="samples", delay=2.0, disable=not progress, leave=False)
    }
    return rank_results(results, level, seed, settings={"n_rows": size, "bandwidth": width})
