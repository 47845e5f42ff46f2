"""Ranks of models by any measure, from results whose resamples are paired."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import normal_interval
from shiftmetrics._core.result import Result, settings_of
from shiftmetrics._core.validation import check_number, seed_of
from shiftmetrics.agreement.result import has_collapsed
from shiftmetrics.comparison.models import model_names
from shiftmetrics.comparison.paired import PairedValues, check_paired, paired_differences
from shiftmetrics.comparison.result import COLLAPSED, SEPARATED, TIED, ComparisonResult, RankedModel
from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.stability import worst_case_risk
from shiftmetrics.stability.losses.base import Loss
from shiftmetrics.stability.result import StabilityResult


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedShare(Result):
    """The share of one sample that is new, with the influence of each row on it: the score is not monotone in it.

    Attributes
    ----------
    influence : ndarray of shape (n_rows,)
        Of the rows of all samples that are compared, one after the other, and of the reference.
    novelty, p_value, share_low : float
        The score in nats, the p-value of anything new, and the lower bound of the share.
    shared : dict
        What results must share to be compared.
    """

    measure = "novelty.share"
    title = "Share that is new"
    higher_is_better = True
    ranked_as = ("samples", "most novel", "more novel")

    influence: FloatArray
    novelty: float
    p_value: float
    share_low: float
    shared: dict[str, tuple[Any, str]]

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what results must share to be compared."""
        return self.shared

    @property
    def secondary_metrics(self) -> dict[str, Any]:
        """Return figures that a comparison shows beside the share."""
        return {"p_value": self.p_value, "share_low": self.share_low, "novelty": self.novelty}


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
    secondary_metrics, settings = {}, {}
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
            secondary_metrics[name] = {
                "worst_case_risk": worst_case_risk(losses[name], budget, **prices).value
            }
    return rank_results(
        results, confidence_level, seed_of(rng), secondary_metrics=secondary_metrics, settings=settings
    )


def common_budget(results: Mapping[str, Any]) -> float:
    """Return the smallest stability above 0, which is what breaks the least stable model; 0 where there is none."""
    return min((result.value for result in results.values() if 0.0 < result.value < math.inf), default=0.0)


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
    if all(isinstance(result, NoveltyResult) for result in results.values()):
        results = ranked_shares(results, confidence_level)
    warnings = check_paired(results)
    first = results[names[0]]
    return rank_models(
        names,
        PairedValues.of(list(results.values()), seed, confidence_level),
        confidence_level,
        collapsed=collapsed_models([getattr(result, "shares", None) for result in results.values()]),
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
        n_samples=first.n_samples,
        settings={
            **first.settings,
            **settings_of(confidence_level=confidence_level, rng=seed, **(settings or {})),
        },
        warnings=(
            *warnings,
            *(f"{name}: {warning}" for name, result in results.items() for warning in result.warnings),
        ),
    )


def ranked_shares(results: Mapping[str, Any], confidence_level: float) -> dict[str, RankedShare]:
    """Return the shares of results that are all of novelty, paired by the rows of their common reference.

    The share (a - b) / (1 - b) moves with each row that is a member or not; samples are independent.
    """
    sizes = [result.n_samples for result in results.values()]
    starts, found = np.cumsum([0, *sizes]), {}
    n_reference = max(result.n_reference for result in results.values())
    for place, (name, result) in enumerate(results.items()):
        influence = np.zeros(starts[-1] + n_reference)
        members, others = _members(result)
        # Influence of a row on (a - b) / (1 - b): the derivative by a times (member - a) / n, that by b likewise.
        a = members.mean()
        b = others.mean()
        if result.share > 0.0:
            influence[starts[place] : starts[place + 1]] = (members - a) / (1.0 - b) / len(members)
            influence[starts[-1] :][: len(others)] = -(1.0 - a) / (1.0 - b) ** 2 * (others - b) / len(others)
        error = float(np.linalg.norm(influence))
        found[name] = RankedShare(
            value=result.share,
            error_bound=0.0,
            interval=normal_interval(result.share, error, confidence_level, "influence of rows", least=0.0),
            status=result.status,
            n_samples=result.n_samples,
            settings=result.settings,
            warnings=result.warnings,
            influence=influence,
            novelty=result.value,
            p_value=result.p_value,
            share_low=result.share_interval.low,
            shared=result.comparable,
        )
    return found


def _members(result: NoveltyResult) -> tuple[FloatArray, FloatArray]:
    """Return 1.0 for the rows of the sample, and of the reference, that are members of any mode."""
    sides = np.zeros(result.n_samples), np.zeros(result.n_reference)
    for mode in result.modes:
        sides[0][mode.members()] = 1.0
        sides[1][mode.members(of="reference")] = 1.0
    return sides


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
    order = sorted(range(len(names)), key=lambda m: (behind[m], -sign * paired.values[m]))
    n_fit = len(names) - sum(behind)
    differences = paired_differences(names, paired, list(itertools.combinations(order, 2)), confidence_level)
    clear = [
        sign * pair.difference if pair.p_adjusted <= 1.0 - confidence_level else 0.0 for pair in differences
    ]
    # Only differences that hold together with all others, at the confidence level, limit ranks.
    ranges = _rank_ranges(len(names), n_fit, clear)
    best = _best_shares(sign * paired.resamples[:, order], n_fit)
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
    alone = sum(model.rank_low == 1 for model in models) == 1
    return ComparisonResult(
        value=models[0].value,
        error_bound=float(paired.bounds.max()),
        interval=models[0].interval,
        status=COLLAPSED if all(collapsed) else SEPARATED if alone else TIED,
        models=models,
        differences=differences,
        **fields,
    )


def collapsed_models(shares: Sequence[Any], labels: Any = None) -> list[bool]:
    """Tell which models hardly leave one class, against what labels say, or all models on average.

    ``shares`` holds how often each model predicts each class, None where that is not known.
    """
    known = [part for part in shares if part is not None]
    alike = len({len(part) for part in known}) == 1
    expected = np.mean(known, axis=0) if alike else None
    expected = expected if labels is None else np.bincount(labels) / len(labels)
    return [part is not None and has_collapsed(part, expected) for part in shares]


def _rank_ranges(n_models: int, n_fit: int, clear: Sequence[float]) -> list[tuple[int, int]]:
    """Return the ranks that no clear difference rules out; collapsed models, the last ones, stay behind.

    A model ranks behind those that are clearly better and before those that are clearly worse (M. Mogstad et al.,
    Review of Economic Studies 91, 2024, doi:10.1093/restud/rdad006). ``clear`` holds the clear differences of all
    pairs, 0 where there is none.
    """
    better = np.zeros(n_models, dtype=int)
    worse = np.zeros(n_models, dtype=int)
    for (i, j), gap in zip(itertools.combinations(range(n_models), 2), clear, strict=True):
        first_leads = i < n_fit <= j  # fit before collapsed, whatever their values
        if first_leads or gap != 0.0:
            ahead, behind = (i, j) if first_leads or gap > 0.0 else (j, i)
            better[behind] += 1
            worse[ahead] += 1
    return [(int(1 + better[i]), int(n_models - worse[i])) for i in range(n_models)]


def _best_shares(resamples: FloatArray, n_fit: int) -> FloatArray:
    """Return how often each model is best, ties divided; collapsed ones, the last, never are."""
    n_fit = n_fit or resamples.shape[1]
    fit = resamples[:, :n_fit]
    # A resample counts once, in equal parts for all that are best in it.
    top = fit == fit.max(axis=1, keepdims=True)
    shares = np.zeros(resamples.shape[1])
    shares[:n_fit] = (top / top.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares
