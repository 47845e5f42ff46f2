"""Samples ranked by the fraction that is new."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import to_float64
from shiftmetrics._core.exceptions import ArgumentTypeError
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics._core.validation import check_number, seed_of
from shiftmetrics.comparison.models import measure_each, model_names
from shiftmetrics.comparison.ranking import rank_results
from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.novelty import NoveltyResampling, choose_bandwidth, kernel_entropic_novelty
from shiftmetrics.novelty.inputs import (
    check_kernel,
    check_samples,
    column_units,
    units_warning,
)
from shiftmetrics.novelty.options import novelty_resampling_of
from shiftmetrics.novelty.score.gram import rows_at
from shiftmetrics.novelty.score.kernels import DEFAULT_KERNEL, KernelName, kernel_of

Criterion = Callable[[Any, Any], Any]
"""From a sample and the reference to a number, or to a result with a value."""


def compare_novelty(
    samples: Mapping[str, Any],
    reference: Any,
    *,
    eta: float = 1.0,
    kernel: KernelName = DEFAULT_KERNEL,
    bandwidth: float | Literal["auto"] = "auto",
    method: Any = "auto",
    criteria: Mapping[str, Criterion] | None = None,
    resampling: NoveltyResampling | Resampling | float = 0.95,
    computing: Computing | None = None,
) -> ComparisonResult:
    """Rank samples by the fraction that is new against one reference, with intervals and paired differences.

    Parameters
    ----------
    samples : mapping of str to array or DataFrame of shape (n_samples, n_columns)
        At least two samples, by name, such as the samples of several generators. Scores grow with the number of
        rows, so as many rows are taken at random from each as the smallest has.
    reference : array or DataFrame of shape (n_reference, n_columns)
        The common reference.
    eta : float, default 1.0
        How many times as frequent as in the reference counts as new.
    kernel : {"gaussian", "cosine"}, default "gaussian"
        Similarity of two rows.
    bandwidth : float or "auto", default "auto"
        Of the Gaussian kernel, one for all; "auto" is `choose_bandwidth` of all rows together. Then, where columns
        differ in units, each is divided by its spread in all rows together, and a warning says so.
    method : str, default "auto"
        As for `kernel_entropic_novelty`.
    criteria : mapping of str to callable, optional
        Other scores to set beside the fraction that is new, by name: ``score(sample, reference)`` returns a number,
        as the functions of `shiftmetrics_lab.baselines` can. They see the same rows and do not change the ranking.
    resampling : NoveltyResampling, Resampling or float, default 0.95
        Permutations, their level, which is that of the intervals and of all ranks together too, and the seed.
    computing : Computing, optional
        As for `kernel_entropic_novelty`.

    Returns
    -------
    ComparisonResult
        `to_frame` gives the table of samples with the fraction that is new, its interval and p-value;
        `differences_frame` that of the pairs.

    Raises
    ------
    TypeError
        If ``samples`` is not a mapping or holds no numbers, or a criterion is not a function.
    ValueError
        If there are fewer than two samples, or an argument of `kernel_entropic_novelty` is bad.

    See Also
    --------
    compare_results : The same from results; it refuses those of unequal numbers of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics.comparison import compare_novelty
    >>> rng = np.random.default_rng(0)
    >>> reference, same, new = rng.normal(size=(3, 150, 2))
    >>> new[:50] += 6.0
    >>> new[50:100] -= 6.0
    >>> samples = {"same": same[:120], "new": new}
    >>> comparison = compare_novelty(samples, reference, bandwidth=2.0)
    >>> comparison.best.name, round(comparison.value, 1), comparison.differences[0].p_value < 0.05
    ('new', 0.6, True)
    """
    names = model_names(samples, "samples")
    check_kernel(kernel)
    chosen = novelty_resampling_of(resampling)
    confidence_level = chosen.confidence_level
    seed = seed_of(0 if chosen.rng is None else chosen.rng)
    chosen = replace(chosen, rng=seed)
    checked = measure_each(
        names, lambda name, _: check_samples(samples[name], reference, kernel), computing, "Sample"
    )
    # Scores grow with the number of rows: each sample is reduced at random to the size of the smallest.
    arrays = {name: array for name, (array, _) in checked.items()}
    base = checked[names[0]][1]
    size = min(int(array.shape[0]) for array in arrays.values())
    generator = np.random.default_rng(seed)
    for name, array in arrays.items():
        rows = np.sort(generator.choice(int(array.shape[0]), size, replace=False))
        arrays[name] = rows_at(array, rows)
    # One bandwidth and one set of units for all, or the values would not compare.
    width: Any = bandwidth
    units = None
    if kernel_of(kernel).chooses_bandwidth and bandwidth == "auto":
        units = column_units([*arrays.values(), base])
        if units is not None:
            arrays = {name: to_float64(array) / units for name, array in arrays.items()}
            base = to_float64(base) / units
        pooled = np.concatenate([to_float64(array) for array in arrays.values()])
        width = choose_bandwidth(pooled, to_float64(base), rng=0).value

    # Every sample against the same reference, with the same permutations.
    def measure(name: str, computing: Computing) -> Any:
        return kernel_entropic_novelty(
            arrays[name], base, eta=eta, kernel=kernel, bandwidth=width, method=method,
            resampling=chosen, computing=computing,
        )  # fmt: skip

    results = measure_each(names, measure, computing, "Sample")
    # Scores of the field stand beside the value, and do not change the ranking.
    settings = {
        "n_rows": size,
        "bandwidth": width,
        "column_units": None if units is None else units.tolist(),
    }
    beside = _scores_by(criteria, arrays, base)
    ranked = rank_results(
        results, confidence_level, seed, secondary_metrics=beside, settings=settings
    )
    return replace(ranked, warnings=units_warning(units, divided=True) + ranked.warnings)


def _scores_by(
    criteria: Mapping[str, Criterion] | None, samples: Mapping[str, Any], reference: Any
) -> dict[str, dict[str, float]]:
    """Return the score of each sample by each criterion."""
    scores: dict[str, dict[str, float]] = {name: {} for name in samples}
    for criterion, score in (criteria or {}).items():
        if not callable(score):
            expected = "a function of a sample and the reference"
            raise ArgumentTypeError(f"criteria[{criterion!r}]", expected, value=score)
        for name, sample in samples.items():
            value = float(score(to_float64(sample), to_float64(reference)))
            scores[name][criterion] = check_number(value, f"criteria[{criterion!r}]")
    return scores
