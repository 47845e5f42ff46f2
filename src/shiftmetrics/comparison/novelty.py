"""Samples ranked by their novelty against one reference: as many rows of each, one bandwidth, intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import to_float64
from shiftmetrics._core.result import Result
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_integer, check_number, describe, seed_of
from shiftmetrics.comparison.ranking import model_names, rank_results
from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.novelty import kernel_entropic_novelty, variance_bandwidth
from shiftmetrics.novelty.gram import rows_at
from shiftmetrics.novelty.inputs import check_samples
from shiftmetrics.novelty.intervals import N_RESAMPLES


def compare_novelty(
    samples: Mapping[str, Any],
    reference: Any,
    *,
    n_rows: int | None = None,
    kernel: Literal["gaussian", "cosine"] = "gaussian",
    bandwidth: float | Literal["auto"] = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    align: Align = "labels",
    rng: Any = None,
    progress: bool = True,
    **options: Any,
) -> ComparisonResult:
    """Rank samples by their novelty against one reference, with intervals and paired differences.

    Parameters
    ----------
    samples : mapping of str to array or DataFrame of shape (n_samples, n_columns)
        At least two samples, by name, such as what several generators drew.
    reference : array or DataFrame of shape (n_reference, n_columns)
        What all are set against.
    n_rows : int, optional
        Rows to draw from each sample: scores grow with the rows, so all have as many. Default: those of the smallest.
    kernel : {"gaussian", "cosine"}, default "gaussian"
        Similarity of two rows.
    bandwidth : float or "auto", default "auto"
        Of the Gaussian kernel, one for all; "auto" is `variance_bandwidth` of all rows together.
    confidence_level : float, default 0.95
        Of the intervals, and of all ranks together.
    n_resamples : int, default 200
        Subsamples for the intervals, with the same rows of the reference for all samples.
    align : {"labels", "position"}, default "labels"
        Whether columns of tables match by name or by position.
    rng : int or Generator, optional
        Draws rows and subsamples. Default: a fresh seed, which the settings keep.
    progress : bool, default True
        Whether to show progress bars for work of more than two seconds.
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
    >>> rng = np.random.default_rng(0)
    >>> reference, same, new = rng.normal(size=(3, 150, 2))
    >>> new[:50] += 6.0
    >>> new[50:100] -= 6.0
    >>> comparison = compare_novelty({"same": same[:120], "new": new}, reference, bandwidth=2.0, rng=0)
    >>> comparison.best.name, comparison.n_samples, comparison.differences[0].p_value < 0.05
    ('new', 120, True)
    """
    from tqdm.auto import tqdm

    names = model_names(samples, "samples")
    level = check_number(
        confidence_level, "confidence_level", low=0.0, high=1.0, open_low=True, open_high=True
    )
    seed = seed_of(rng)
    arrays = {}
    for name in names:
        try:
            arrays[name], base = check_samples(samples[name], reference, kernel, align)
        except (TypeError, ValueError) as error:
            raise type(error)(f"Sample {name!r}: {error}") from error
    smallest = min(int(array.shape[0]) for array in arrays.values())
    size = smallest if n_rows is None else check_integer(n_rows, "n_rows", low=2)
    if size > smallest:
        found = f"at most the rows of the smallest sample, {smallest}"
        raise ValueError(describe("n_rows", found, size, "Scores need equal sizes."))
    generator = np.random.default_rng(seed)
    drawn = {
        name: rows_at(array, np.sort(generator.choice(int(array.shape[0]), size, replace=False)))
        for name, array in arrays.items()
    }
    width: Any = bandwidth
    if kernel == "gaussian" and bandwidth == "auto":
        pooled = np.concatenate([to_float64(array) for array in drawn.values()])
        width = variance_bandwidth(pooled, to_float64(base), rng=0).value
    results: dict[str, Result] = {
        name: kernel_entropic_novelty(
            drawn[name],
            base,
            kernel=kernel,
            bandwidth=width,
            confidence_level=level,
            n_resamples=n_resamples,
            rng=seed,
            progress=progress,
            **options,
        )
        for name in tqdm(names, desc="samples", delay=2.0, disable=not progress, leave=False)
    }
    return rank_results(results, level, seed, settings={"n_rows": size, "bandwidth": width})
