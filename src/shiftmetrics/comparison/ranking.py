"""Ranks of models by any measure, from results whose draws are paired."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import Interval, Result, settings_of
from shiftmetrics._core.validation import check_number, describe, seed_of
from shiftmetrics.comparison.paired import check_paired, paired_differences, paired_draws
from shiftmetrics.comparison.result import COLLAPSED, SEPARATED, TIED, ComparisonResult, RankedModel
from shiftmetrics.stability import worst_case_risk
from shiftmetrics.stability.losses.base import Loss
from shiftmetrics.stability.result import StabilityResult

COLLAPSED_BELOW = 0.5
"""A model has collapsed when it uses fewer than this share of the classes, beyond the first, that it should."""

COMPANIONS = (
    "normalized", "equivalent_error", "disagreement", "effective_classes", "beta",
    "base_risk", "rms_move", "share_moved", "effective_sample_fraction",
    "excess", "p_value", "n_significant",
)  # fmt: skip
"""Figures beside a value in the table, where its measure has them."""


def compare_results(results: Mapping[str, Result], *, level: float = 0.95, rng: Any = 0) -> ComparisonResult:
    """Rank models by results of one measure on the same rows, paired by their draws or by influence functions.

    Parameters
    ----------
    results : mapping of str to Result
        By the name of each model. Either results with ``resampled`` draws, such as `posterior_agreement` returns with
        ``resampling``; its seed, groups and number of draws must be the same for all. Or results with the
        ``influence`` of each row, such as `stability_criterion` and `worst_case_risk` return; threshold, prices,
        ``sample_weight`` and groups must be the same for all.
    level : float, default 0.95
        Confidence level of the intervals of differences, and of all ranks together.
    rng : int, Generator or None, default 0
        Seed of the normal draws behind ranks, where results have influences.

    Returns
    -------
    ComparisonResult

    Raises
    ------
    TypeError
        If ``results`` is not a mapping of results.
    ValueError
        If there are fewer than two, or they come from other measures, rows, draws or prices, have neither draws nor
        influences, or a value is infinite. Novelty must be of equal numbers of rows, bandwidth, kernel and eta.

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
    level = check_number(level, "level", low=0.0, high=1.0, open_low=True, open_high=True)
    companions, settings = {}, {}
    losses: dict[str, Any] = {
        name: getattr(result, "loss", None)
        for name, result in results.items()
        if isinstance(result, StabilityResult) and result.settings.get("sample_weight") is None
    }
    # Results hold no sample weights, and only those of models hold their losses.
    if len(losses) == len(results) and all(isinstance(loss, Loss) for loss in losses.values()):
        settings["budget"] = budget = common_budget(results)
        for name, result in results.items():
            prices = {price: result.settings[price] for price in ("theta1", "theta2", "divergence")}
            companions[name] = {"worst_case_risk": worst_case_risk(losses[name], budget, **prices).value}
    return rank_results(results, level, seed_of(rng), companions=companions, settings=settings)


def common_budget(results: Mapping[str, Any]) -> float:
    """Return the smallest stability above 0, which is what breaks the least stable model; 0 where there is none."""
    return min((result.value for result in results.values() if 0.0 < result.value < math.inf), default=0.0)


def rank_results(
    results: Mapping[str, Any],
    level: float,
    seed: int,
    *,
    companions: Mapping[str, Mapping[str, float]] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ComparisonResult:
    """Rank results, with more ``companions`` of each model and more ``settings`` than the results have."""
    names = model_names(results, "results")
    warnings = check_paired(results)
    sign = 1.0 if results[names[0]].higher_is_better else -1.0
    collapsed = _collapsed(results)
    names.sort(key=lambda name: (collapsed[name], -sign * results[name].value))
    results = {name: results[name] for name in names}
    first = results[names[0]]
    draws, influence = paired_draws(list(results.values()), seed)
    pairs = list(itertools.combinations(range(len(names)), 2))
    differences = paired_differences(results, pairs, draws, influence, level)
    n_fit = sum(not has for has in collapsed.values())
    clear = [sign * pair.difference if pair.p_adjusted <= 1.0 - level else 0.0 for pair in differences]
    ranges = _rank_ranges(len(names), n_fit, pairs, clear)
    best = _best_shares(sign * draws, n_fit)
    models = tuple(
        RankedModel(
            name=name,
            value=result.value,
            interval=result.interval or Interval(low=result.value, high=result.value, level=level),
            rank=position + 1,
            rank_low=ranges[position][0],
            rank_high=ranges[position][1],
            probability_best=float(best[position]),
            collapsed=collapsed[name],
            companions={
                **{what: getattr(result, what) for what in COMPANIONS if hasattr(result, what)},
                **(companions or {}).get(name, {}),
            },
        )
        for position, (name, result) in enumerate(results.items())
    )
    for name, result in results.items():
        warnings += [f"{name}: {warning}" for warning in result.warnings]
    alone = sum(model.rank_low == 1 for model in models) == 1
    return ComparisonResult(
        value=first.value,
        error_bound=max(result.error_bound for result in results.values()),
        interval=models[0].interval,
        status=COLLAPSED if n_fit == 0 else SEPARATED if alone else TIED,
        n_samples=first.n_samples,
        compared=first.title,
        compared_unit=first.unit,
        models=models,
        differences=differences,
        wording=getattr(first, "ranked_as", ComparisonResult.wording),
        settings={**first.settings, **settings_of(level=level, rng=seed, **(settings or {}))},
        warnings=tuple(warnings),
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


def _rank_ranges(
    n_models: int, n_fit: int, pairs: Sequence[tuple[int, int]], clear: Sequence[float]
) -> list[tuple[int, int]]:
    """Return the ranks that no clear difference rules out; collapsed models, the last ones, stay behind.

    A model ranks behind those that are clearly better and before those that are clearly worse (M. Mogstad et al.,
    Review of Economic Studies 91, 2024, doi:10.1093/restud/rdad006). ``clear`` holds the clear differences, 0 where
    there is none.
    """
    better, worse = np.zeros(n_models, dtype=int), np.zeros(n_models, dtype=int)
    for (i, j), gap in zip(pairs, clear, strict=True):
        first_leads = i < n_fit <= j  # fit before collapsed, whatever their values
        if first_leads or gap != 0.0:
            ahead, behind = (i, j) if first_leads or gap > 0.0 else (j, i)
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
    return list(mapping)
