"""Ranks of models by any measure, from results whose draws are paired."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import BiasCorrected, simultaneous_p_values
from shiftmetrics._core.result import Interval, Result, settings_of
from shiftmetrics._core.validation import check_number, describe
from shiftmetrics.comparison.result import ComparisonResult, ComparisonStatus, ModelDifference, RankedModel

COLLAPSED_BELOW = 0.5
"""A model has collapsed when it uses fewer than this share of the classes, beyond the first, that it should."""

COMPANIONS = (
    "normalized",
    "equivalent_error",
    "disagreement",
    "effective_classes",
    "beta",
    "base_risk",
    "rms_move",
)
"""Figures that stand beside a value in the table, where its measure has them."""


def compare_results(results: Mapping[str, Result], *, confidence_level: float = 0.95) -> ComparisonResult:
    """Rank models by results of one measure on the same rows, resampled with one seed.

    Parameters
    ----------
    results : mapping of str to Result
        By the name of each model: results with ``resampled`` draws, such as `posterior_agreement` returns when it is
        asked for an interval; ``rng``, ``groups`` and ``n_resamples`` must be the same for all.
    confidence_level : float, default 0.95
        Of the intervals of differences, and of all ranks together.

    Returns
    -------
    ComparisonResult

    Raises
    ------
    TypeError
        If ``results`` is not a mapping of results.
    ValueError
        If there are fewer than two, or they come from other measures, rows or draws, or have none.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics import posterior_agreement
    >>> from shiftmetrics.comparison import compare_results
    >>> rng = np.random.default_rng(0)
    >>> clean, noise = 3.0 * rng.normal(size=(2, 500, 5))
    >>> options = {"confidence_level": 0.9, "rng": 0}
    >>> compare_results({
    ...     "calm": posterior_agreement(clean + 0.2 * noise, clean, **options),
    ...     "upset": posterior_agreement(clean + noise, clean, **options),
    ... }).best.name
    'calm'
    """
    level = check_number(
        confidence_level, "confidence_level", low=0.0, high=1.0, open_low=True, open_high=True
    )
    names = model_names(results, "results")
    _check_paired(results)
    sign = 1.0 if results[names[0]].higher_is_better else -1.0
    collapsed = _collapsed(results)
    names.sort(key=lambda name: (collapsed[name], -sign * results[name].value))
    listed: list[Any] = [results[name] for name in names]
    values = np.asarray([result.value for result in listed])
    draws = np.stack([result.resampled for result in listed], axis=1)
    pairs = list(itertools.combinations(range(len(names)), 2))
    first, second = (np.asarray([pair[side] for pair in pairs]) for side in (0, 1))
    errors = np.asarray([result.error_bound for result in listed])
    floor = errors[first] + errors[second]
    gaps = _above(values[first] - values[second], floor)
    gap_draws = _above(draws[:, first] - draws[:, second], floor)
    adjusted = simultaneous_p_values(gaps, gap_draws)
    differences = tuple(
        _difference(names[i], names[j], float(gaps[p]), gap_draws[:, p], float(adjusted[p]), level)
        for p, (i, j) in enumerate(pairs)
    )
    n_fit = sum(not fallen for fallen in collapsed.values())
    ranges = _rank_ranges(len(names), n_fit, pairs, sign * gaps, adjusted <= 1.0 - level)
    best = _best_shares(sign * draws, n_fit)
    models = tuple(
        RankedModel(
            name=name,
            value=result.value,
            interval=result.interval,
            rank=position + 1,
            rank_low=ranges[position][0],
            rank_high=ranges[position][1],
            probability_best=float(best[position]),
            collapsed=collapsed[name],
            companions={what: getattr(result, what) for what in COMPANIONS if hasattr(result, what)},
        )
        for position, (name, result) in enumerate(zip(names, listed, strict=True))
    )
    clear = sum(model.rank_low == 1 for model in models) == 1
    status = ComparisonStatus.separated if clear else ComparisonStatus.tied
    return ComparisonResult(
        value=models[0].value,
        error_bound=max(result.error_bound for result in listed),
        interval=models[0].interval,
        status=ComparisonStatus.collapsed if n_fit == 0 else status,
        n_samples=listed[0].n_samples,
        compared=listed[0].title,
        compared_unit=listed[0].unit,
        models=models,
        differences=differences,
        settings={**listed[0].settings, **settings_of(confidence_level=level)},
        warnings=tuple(
            f"{name}: {warning}"
            for name, result in zip(names, listed, strict=True)
            for warning in result.warnings
        ),
    )


def has_collapsed(effective_classes: float, expected_classes: float) -> bool:
    """Tell whether a model uses so few of the classes expected of it that its agreement says nothing."""
    return effective_classes - 1.0 < COLLAPSED_BELOW * (expected_classes - 1.0)


def _collapsed(results: Mapping[str, Result]) -> dict[str, bool]:
    """Tell which models use few of the classes that others use; all, where all are constant."""
    used = {name: getattr(result, "effective_classes", None) for name, result in results.items()}
    most = max((count for count in used.values() if count is not None), default=1.0)
    constant = 1.0 + 1e-9
    return {
        name: count is not None and (count < constant or has_collapsed(count, most))
        for name, count in used.items()
    }


def _above(gaps: FloatArray, floor: FloatArray) -> FloatArray:
    """Return differences with those within the numerical error set to 0: they tell nothing."""
    return np.where(np.abs(gaps) > floor, gaps, 0.0)


def _difference(
    first: str, second: str, gap: float, draws: FloatArray, adjusted: float, level: float
) -> ModelDifference:
    reading = BiasCorrected.of(gap, draws)
    low, high = reading.interval(level)
    method = f"paired bias-corrected bootstrap, {len(draws)} draws"
    p_value = reading.p_value()
    return ModelDifference(
        first=first,
        second=second,
        difference=gap,
        interval=Interval(low=low, high=high, level=level, method=method),
        p_value=p_value,
        p_adjusted=max(p_value, adjusted),
    )


def _rank_ranges(
    n_models: int, n_fit: int, pairs: Sequence[tuple[int, int]], gaps: FloatArray, clear: Any
) -> list[tuple[int, int]]:
    """Return the ranks that no clear difference rules out; collapsed models, the last ones, stay behind.

    A model ranks behind those that are clearly better and before those that are clearly worse (M. Mogstad et al.,
    Review of Economic Studies 91, 2024, doi:10.1093/restud/rdad006).
    """
    better, worse = np.zeros(n_models, dtype=int), np.zeros(n_models, dtype=int)
    for (i, j), gap, told in zip(pairs, gaps, clear, strict=True):
        if i < n_fit <= j:  # fit before collapsed, whatever their values
            told, gap = True, 1.0
        if told:
            ahead, behind = (i, j) if gap > 0.0 else (j, i)
            better[behind] += 1
            worse[ahead] += 1
    return [(int(1 + better[i]), int(n_models - worse[i])) for i in range(n_models)]


def _best_shares(draws: FloatArray, n_fit: int) -> FloatArray:
    """Return the share of draws in which each model is best, ties divided; collapsed ones, the last, never are."""
    n_fit = n_fit or draws.shape[1]
    fit = draws[:, :n_fit]
    top = fit == fit.max(axis=1, keepdims=True)
    shares = np.zeros(draws.shape[1])
    shares[:n_fit] = (top / top.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def model_names(mapping: Any, argument: str) -> list[str]:
    """Return the names of at least two models."""
    if not isinstance(mapping, Mapping):
        raise TypeError(describe(argument, "a mapping from the names of models", type(mapping).__name__))
    if len(mapping) < 2:
        raise ValueError(describe(argument, "of at least two models", len(mapping)))
    for name in mapping:
        if not isinstance(name, str):
            raise TypeError(describe(argument, "a mapping whose keys are texts", repr(name)))
    return [str(name) for name in mapping]


def _check_paired(results: Mapping[str, Any]) -> None:
    for name, result in results.items():
        if not isinstance(result, Result):
            raise TypeError(describe(f"results[{name!r}]", "a result of a measure", type(result).__name__))
        if getattr(result, "resampled", None) is None:
            raise ValueError(
                describe(
                    f"results[{name!r}]", "resampled", "a result without draws", "Pass confidence_level."
                )
            )
    shared = [
        (
            result.measure,
            result.n_samples,
            *(result.settings.get(key) for key in ("rng", "n_resamples", "groups")),
        )
        for result in results.values()
    ]
    for what, parts in zip(
        ("measure", "number of rows", "seed rng", "n_resamples", "groups"),
        zip(*shared, strict=True),
        strict=True,
    ):
        if len(set(parts)) > 1:
            raise ValueError(
                f"results must share the {what}, got {', '.join(map(str, dict.fromkeys(parts)))}."
            )
