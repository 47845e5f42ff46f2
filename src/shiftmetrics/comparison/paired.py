"""Results of several models on the same rows: what other samples would have given for all of them together.

Results are paired in one of two ways: by bootstrap draws of one seed (``resampled``), or by the influence of each
row or group on each value (``influence``), which makes the values jointly normal. Either way what the models have in
common row by row cancels in the differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import BiasCorrected, simultaneous_p_values
from shiftmetrics._core.result import Interval, Result
from shiftmetrics._core.validation import describe
from shiftmetrics.comparison.result import ModelDifference

NORMAL_DRAWS = 10_000
"""Draws behind what has no closed form: maxima over correlated differences, and which model is the best."""
_MOST_GAPS = 1 << 24  # numbers held at a time

_BY_DRAWS = ("rng", "n_draws", "n_resamples", "groups")
_BY_INFLUENCE = (
    "threshold",
    "budget",
    "fraction",
    "theta1",
    "theta2",
    "divergence",
    "sample_weight",
    "groups",
)


@dataclass(frozen=True)
class PairedResults:
    """Values of models on the same rows, in one order.

    Attributes
    ----------
    values, errors : ndarray of shape (n_models,)
        The measure of each model and its numerical error.
    draws : ndarray of shape (n_draws, n_models)
        Values that other samples would have given, the same sample in each draw.
    influence : ndarray of shape (n_units, n_models) or None
        What each row or group adds to each value, where the draws are normal ones from it.
    """

    values: FloatArray
    errors: FloatArray
    draws: FloatArray
    influence: FloatArray | None = None
    drawn_by: str = "bootstrap"
    """How draws were made, where there are any."""

    @classmethod
    def of(cls, results: Sequence[Any], seed: int) -> Self:
        """Pair checked results; ``seed`` is that of the normal draws."""
        values = np.asarray([result.value for result in results], dtype=np.float64)
        errors = np.asarray([result.error_bound for result in results], dtype=np.float64)
        if _has_draws(results[0]):
            draws = np.stack([result.resampled for result in results], axis=1)
            subsampled = "subsampling" in (results[0].interval.method if results[0].interval else "")
            return cls(values, errors, draws, drawn_by="subsampling" if subsampled else "bootstrap")
        n_units = next((len(result.influence) for result in results if result.influence is not None), 1)
        influence = np.stack(
            [np.zeros(n_units) if result.influence is None else result.influence for result in results],
            axis=1,
        )
        n_pairs = max(1, len(results) * (len(results) - 1) // 2)
        n_draws = min(NORMAL_DRAWS, max(1000, _MOST_GAPS // n_pairs))
        scales, axes = np.linalg.eigh(influence.T @ influence)
        normal = np.random.default_rng(seed).standard_normal((n_draws, len(results)))
        draws = values + (normal * np.sqrt(np.maximum(scales, 0.0))) @ axes.T
        return cls(values, errors, draws, influence)

    def differences(
        self, names: Sequence[str], pairs: Sequence[tuple[int, int]], level: float
    ) -> tuple[ModelDifference, ...]:
        """Return the difference of each pair of models, alone and together with all others."""
        first, second = (np.asarray([pair[side] for pair in pairs]) for side in (0, 1))
        floor = self.errors[first] + self.errors[second]
        gaps = _above(self.values[first] - self.values[second], floor)
        gap_draws = self.draws[:, first] - self.draws[:, second]
        if self.influence is None:
            gap_draws = _above(gap_draws, floor)
            standard_errors = gap_draws.std(axis=0)
        else:
            standard_errors = np.linalg.norm(self.influence[:, first] - self.influence[:, second], axis=0)
        together = simultaneous_p_values(gaps, gap_draws)
        reach = _simultaneous_quantile(gap_draws, level) * standard_errors
        found = []
        for p, (i, j) in enumerate(pairs):
            gap, error = float(gaps[p]), float(standard_errors[p])
            if self.influence is None:
                interval, p_value = _by_draws(gap, gap_draws[:, p], level, self.drawn_by)
                adjusted = max(p_value, float(together[p]))
            else:
                interval, p_value = _by_normal(gap, error, level)
                # Draws cannot tell p-values below 1 / n_draws; the bound of Bonferroni can.
                adjusted = max(p_value, min(float(together[p]), p_value * len(pairs)))
            found.append(
                ModelDifference(
                    first=names[i],
                    second=names[j],
                    difference=gap,
                    interval=interval,
                    p_value=p_value,
                    p_adjusted=adjusted,
                    standard_error=error,
                    simultaneous_interval=Interval(
                        low=gap - float(reach[p]),
                        high=gap + float(reach[p]),
                        level=level,
                        method="studentised maxima over all pairs",
                    ),
                )
            )
        return tuple(found)


def check_paired(results: Mapping[str, Any]) -> list[str]:
    """Check that results come from the same question about the same rows; return warnings about how far they do.

    Raises
    ------
    TypeError
        If one is not a result.
    ValueError
        If they are of several measures, rows, draws or prices, or a model has no finite value.
    """
    for name, result in results.items():
        if not isinstance(result, Result):
            raise TypeError(describe(f"results[{name!r}]", "a result of a measure", type(result).__name__))
    _check_comparable(results)
    listed = list(results.values())
    by_draws = any(_has_draws(result) for result in listed) or not all(
        hasattr(result, "influence") for result in listed
    )
    keys = _BY_DRAWS if by_draws else _BY_INFLUENCE
    warnings: list[str] = []
    for name, result in results.items():
        if not by_draws:
            warnings += _check_influence(name, result)
        elif not _has_draws(result):
            remedy = "Pass resampling."
            raise ValueError(describe(f"results[{name!r}]", "resampled", "a result without draws", remedy))
    shared = [
        (result.measure, result.n_samples, *(_setting(result, key) for key in keys)) for result in listed
    ]
    names = ("measure", "number of rows", *("seed rng" if key == "rng" else key for key in keys))
    for what, parts in zip(names, zip(*shared, strict=True), strict=True):
        if len(set(parts)) > 1:
            raise ValueError(
                f"results must share the {what}, got {', '.join(map(str, dict.fromkeys(parts)))}."
            )
    units = {len(result.influence) for result in listed if getattr(result, "influence", None) is not None}
    if not by_draws and len(units) > 1:
        raise ValueError(
            f"results must share the groups, got {' and '.join(map(str, sorted(units)))} of them."
        )
    kinds = {name: getattr(result, "kind", "exact") for name, result in results.items()}
    if set(kinds.values()) != {"exact"}:
        said = ", ".join(f"{name} {kind.replace('_', ' ')}" for name, kind in kinds.items())
        warnings.append(f"Differences are those of bounds where models are not exact: {said}.")
    return warnings


def _check_comparable(results: Mapping[str, Any]) -> None:
    """Refuse results that differ in what their measure says must be equal, with its remedy."""
    named = {name: getattr(result, "comparable", {}) for name, result in results.items()}
    if len({result.measure for result in results.values()}) > 1:
        return  # said elsewhere
    for what in next(iter(named.values())):
        found = {name: parts[what][0] for name, parts in named.items()}
        if len(set(found.values())) > 1:
            said = ", ".join(f"{value} for {name!r}" for name, value in found.items())
            remedy = next(iter(named.values()))[what][1]
            raise ValueError(f"results must share the {what}, got {said}. {remedy}")


def _setting(result: Result, key: str) -> Any:
    """Return an argument of the call that gave a result, or an option of its resampling."""
    resampling = result.settings.get("resampling")
    options = resampling if isinstance(resampling, Mapping) else {}
    return options.get(key, result.settings.get(key))


def _check_influence(name: str, result: Any) -> list[str]:
    """Refuse a result that cannot be paired; warn of one that is known to be fixed."""
    argument = f"results[{name!r}]"
    if not np.isfinite(result.value):
        remedy = "Choose a lower threshold, or let rows move and be reweighted (finite theta1 and theta2)."
        raise ValueError(
            describe(argument, "of finite value", f"{result.value:g} (status {result.status})", remedy)
        )
    if result.influence is not None:
        return []
    if getattr(result, "standard_error", None) is not None:
        remedy = "Use the result as it was computed."
        raise ValueError(describe(argument, "with the influence of each row", "a result without", remedy))
    return [f"{name}: its sampling error is not known (status {result.status}) and counts as none."]


def _setting(result: Any, name: str) -> Any:
    """Return an argument of the call behind a result; that of how it was resampled, too."""
    resampling = result.settings.get("resampling")
    return result.settings.get(name, resampling.get(name) if isinstance(resampling, Mapping) else None)


def _has_draws(result: Any) -> bool:
    return getattr(result, "resampled", None) is not None


def _above(gaps: FloatArray, floor: FloatArray) -> FloatArray:
    """Return differences with those within the numerical error set to 0: they tell nothing."""
    return np.where(np.abs(gaps) > floor, gaps, 0.0)


def _by_draws(gap: float, draws: FloatArray, level: float, drawn_by: str) -> tuple[Interval, float]:
    reading = BiasCorrected.of(gap, draws)
    low, high = reading.interval(level)
    method = f"paired bias-corrected {drawn_by}, {len(draws)} draws"
    return Interval(low=low, high=high, level=level, method=method), reading.p_value()


def _by_normal(gap: float, standard_error: float, level: float) -> tuple[Interval, float]:
    from scipy.special import ndtr, ndtri

    half = float(ndtri(0.5 + 0.5 * level)) * standard_error
    interval = Interval(low=gap - half, high=gap + half, level=level, method="paired influence functions")
    if standard_error == 0.0:
        return interval, 1.0 if gap == 0.0 else 0.0
    return interval, float(2.0 * ndtr(-abs(gap) / standard_error))


def _simultaneous_quantile(draws: FloatArray, level: float) -> float:
    """Return how many standard errors the largest deviation of any difference stays within, at a level."""
    errors = draws.std(axis=0)
    scaled = np.abs(draws - draws.mean(axis=0)) / np.where(errors > 0.0, errors, np.inf)
    return float(np.quantile(scaled.max(axis=1), level))
