"""Models ranked from results of any measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftmetrics._core.result import Result
from shiftmetrics._core.validation import check_number, seed_of
from shiftmetrics.comparison.models import model_names
from shiftmetrics.comparison.ranking import rank_results
from shiftmetrics.comparison.result import ComparisonResult


def compare_results(
    results: Mapping[str, Result], *, confidence_level: float = 0.95, rng: Any = 0
) -> ComparisonResult:
    """Rank models by results of one measure on the same rows, paired by their resamples or by influence functions.

    Parameters
    ----------
    results : mapping of str to Result
        By the name of each model. Either results with ``resampled`` values, such as `posterior_agreement` returns
        with ``resampling``; its seed, groups and number of resamples must be the same for all. Or results with the
        ``influence`` of each row, such as `stability_criterion` and `worst_case_risk` return; threshold, prices,
        ``sample_weight`` and groups must be the same for all.
    confidence_level : float, default 0.95
        Confidence level of the intervals of differences, and of all ranks together.
    rng : int, Generator or None, default 0
        Seed of the resamples behind differences and ranks, where results have influences.

    Returns
    -------
    ComparisonResult

    Raises
    ------
    TypeError
        If ``results`` is not a mapping of results.
    ValueError
        If there are fewer than two, or they come from other measures, rows, resamples or prices, have neither
        resamples nor influences, or a value is infinite. Novelty must be of equal numbers of rows, bandwidth, kernel
        and eta.

    Examples
    --------
    >>> from shiftmetrics import HingeLoss, stability_criterion
    >>> from shiftmetrics.comparison import compare_results
    >>> margins = [0.5, 1.0, 1.5, 2.0, 2.5]
    >>> losses = {"flat": HingeLoss(margins, 0.8), "steep": HingeLoss(margins, 2.0)}
    >>> compare_results({name: stability_criterion(loss, 1.0) for name, loss in losses.items()}).best.name
    'flat'
    """
    model_names(results, "results")
    confidence_level = check_number(
        confidence_level, "confidence_level", low=0.0, high=1.0, open_low=True, open_high=True
    )
    # A measure may set each result against all others, such as risks within one budget.
    listed = list(results.values())
    beside = {}
    for name, result in results.items():
        if isinstance(result, Result):
            beside[name] = result.secondary_metrics_among(listed)
    return rank_results(results, confidence_level, seed_of(rng), secondary_metrics=beside)
