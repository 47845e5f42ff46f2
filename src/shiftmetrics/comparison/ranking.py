"""Ranks of models by any measure, from results whose resamples are paired."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import settings_of
from shiftmetrics.comparison.models import model_names
from shiftmetrics.comparison.paired import (
    PairedValues,
    check_comparable,
    check_paired,
    paired_differences,
)
from shiftmetrics.comparison.result import COLLAPSED, SEPARATED, TIED, ComparisonResult, RankedModel

COLLAPSED_BELOW = 0.25
"""A model has collapsed when it leaves its most frequent class less than this fraction as often as expected.

Measured, this finds constant models and none of those that are of use."""


def rank_results(
    results: Mapping[str, Any],
    confidence_level: float,
    seed: int,
    *,
    secondary_metrics: Mapping[str, Mapping[str, float]] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ComparisonResult:
    """Rank checked results, with more secondary metrics of each model and more settings than the results have."""
    names = model_names(results, "results")
    check_comparable(results)
    # A measure says what of it is ranked, and brings resampled values or an influence.
    results = {name: result.ranked(confidence_level) for name, result in results.items()}
    warnings = check_paired(results)
    first = results[names[0]]
    # Secondary metrics are those of the measure, then those that the comparison adds.
    return rank_models(
        names,
        PairedValues.of(list(results.values()), seed, confidence_level),
        confidence_level,
        collapsed=collapsed_models(
            [getattr(result, "class_fractions", None) for result in results.values()]
        ),
        secondary_metrics=[
            {
                **result.secondary_metrics,
                **(secondary_metrics or {}).get(name, {}),
            }
            for name, result in results.items()
        ],
        compared=first.title,
        compared_unit=first.unit,
        higher_is_better=first.higher_is_better,
        wording=getattr(first, "ranked_as", ComparisonResult.wording),
        basis=getattr(first, "ranked_for", ""),
        n_samples=first.n_samples,
        settings={
            **first.settings,
            **settings_of(confidence_level=confidence_level, rng=seed, **(settings or {})),
        },
        warnings=(
            *warnings,
            *(
                f"{name}: {warning}"
                for name, result in results.items()
                for warning in result.warnings
            ),
        ),
    )


def rank_models(
    names: Sequence[str],
    paired: PairedValues,
    confidence_level: float,
    *,
    collapsed: Sequence[bool],
    secondary_metrics: Sequence[Mapping[str, float]],
    collapsed_last: bool = True,
    higher_is_better: bool = True,
    **fields: Any,
) -> ComparisonResult:
    """Rank models by their values; ``fields`` are more of the result's.

    Models that have collapsed come last, unless the value itself says what their predictions are worth.
    """
    # Collapsed models come last; all others by their values.
    sign = 1.0 if higher_is_better else -1.0
    behind = [has and collapsed_last for has in collapsed]
    # Pairs are taken in this order, so that the first of each is the one that ranks before the other.
    order = sorted(range(len(names)), key=lambda m: (behind[m], -sign * paired.values[m]))
    n_fit = len(names) - sum(behind)
    differences = paired_differences(
        names, paired, list(itertools.combinations(order, 2)), confidence_level
    )
    clear = [
        sign * pair.difference if pair.p_adjusted <= 1.0 - confidence_level else 0.0
        for pair in differences
    ]
    # Only differences that hold together with all others, at the confidence level, limit ranks.
    ranges = _rank_ranges(len(names), n_fit, clear)
    best = _best_fractions(sign * paired.resamples[:, order], n_fit)
    models = tuple(
        RankedModel(
            name=names[m],
            value=float(paired.values[m]),
            interval=paired.intervals[m],
            rank=place + 1,
            rank_low=ranges[place][0],
            rank_high=ranges[place][1],
            probability_best=float(best[place]),
            collapsed=collapsed[m],
            secondary_metrics=dict(secondary_metrics[m]),
        )
        for place, m in enumerate(order)
    )
    # The best is clear where no other model may be of rank 1.
    contenders = [model for model in models if model.rank_low == 1]
    status = SEPARATED if len(contenders) == 1 else TIED
    if all(collapsed):
        status = COLLAPSED
    return ComparisonResult(
        value=models[0].value,
        error_bound=float(paired.bounds.max()),
        interval=models[0].interval,
        status=status,
        models=models,
        differences=differences,
        **fields,
    )


def collapsed_models(
    class_fractions: Sequence[Any], expected: FloatArray | None = None
) -> list[bool]:
    """Return which models predict (almost) a single class: constant ones, or by what is ``expected``.

    ``class_fractions`` holds how often each model predicts each class, None where that is not known; ``expected`` how
    often each class occurs by labels, or by the vote of the models.
    """
    return [part is not None and has_collapsed(part, expected) for part in class_fractions]


def _rank_ranges(n_models: int, n_fit: int, clear: Sequence[float]) -> list[tuple[int, int]]:
    """Return the ranks that no clear difference rules out; collapsed models, the last ones, stay behind.

    A model ranks behind those that are clearly better and before those that are clearly worse (M. Mogstad et al.,
    Review of Economic Studies 91, 2024, doi:10.1093/restud/rdad006). ``clear`` holds the clear differences of all
    pairs, 0 where there is none.
    """
    # How many models each is clearly behind, and clearly before.
    better = np.zeros(n_models, dtype=int)
    worse = np.zeros(n_models, dtype=int)
    for (i, j), gap in zip(itertools.combinations(range(n_models), 2), clear, strict=True):
        first_leads = i < n_fit <= j  # fit before collapsed, whatever their values
        if first_leads or gap > 0.0:
            worse[i] += 1
            better[j] += 1
        elif gap < 0.0:
            worse[j] += 1
            better[i] += 1
    return [(int(1 + better[i]), int(n_models - worse[i])) for i in range(n_models)]


def _best_fractions(resamples: FloatArray, n_fit: int) -> FloatArray:
    """Return how often each model is best, ties divided; collapsed ones, the last, never are."""
    n_fit = n_fit or resamples.shape[1]
    fit = resamples[:, :n_fit]
    # A resample counts once, in equal parts for all that are best in it.
    top = fit == fit.max(axis=1, keepdims=True)
    fractions = np.zeros(resamples.shape[1])
    fractions[:n_fit] = (top / top.sum(axis=1, keepdims=True)).mean(axis=0)
    return fractions


def has_collapsed(class_fractions: FloatArray, expected: FloatArray | None = None) -> bool:
    """Return True if a model predicts (almost) a single class: the agreement of its predictions says nothing.

    Parameters
    ----------
    class_fractions : ndarray of shape (n_classes,)
        How often a model predicts each class.
    expected : ndarray of shape (n_classes,), optional
        How often each class occurs, or is predicted by other models on average. Without it only a constant model has
        collapsed: classes may be as rare as the model says.

    Returns
    -------
    bool
        True if it predicts classes other than its most frequent one less than a quarter as often as expected, or
        never.
    """
    # How often the model predicts another class than its most frequent one.
    left = 1.0 - float(class_fractions.max())
    if left < 1e-9:
        return True
    if expected is None:
        return False
    return left < COLLAPSED_BELOW * (1.0 - float(expected.max()))
