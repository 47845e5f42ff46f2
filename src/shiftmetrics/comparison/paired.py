"""Results of several models on the same rows: what other samples would have given for all of them together.

Results are paired in one of two ways: by bootstrap resamples of one seed (``resampled``), or by the influence of each
row or group on each value (``influence``), which tells how their errors go together; how far they reach on either
side is what the interval of each value says. Either way what the models have in common row by row cancels in the
differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.confidence import HALF, resampled_interval, resampled_p_value
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.result import Interval, Result
from shiftmetrics.comparison.joint_errors import normal_errors, simultaneous_p_values
from shiftmetrics.comparison.result import ModelDifference

Shared = dict[str, tuple[Any, str]]
"""What must be equal in results, by its name: the value in one of them, and what to do where others differ."""

SHARED_BY_RESAMPLES = {"rng": "seed rng", "n_resamples": "n_resamples", "groups": "groups"}
"""Settings that must be equal for resamples of the same rows, and what they are called."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairedValues:
    """What models are ranked by, and what other samples would have given, the same sample for all of them.

    Attributes
    ----------
    values, bounds : ndarray of shape (n_models,)
        The value of each model, and its numerical error.
    intervals : tuple of Interval
        Of each value; infinite where it is not known.
    resamples : ndarray of shape (n_resamples, n_models)
        Values, those of one sample in each row.
    influence : ndarray of shape (n_units, n_models) or None
        What each row or group adds to each value, where the resamples come from it.
    one_more : ndarray of shape (n_models, n_models) or float
        By how much one more row may change each difference.
    """

    values: FloatArray
    bounds: FloatArray
    intervals: tuple[Interval, ...]
    resamples: FloatArray
    influence: FloatArray | None = None
    one_more: FloatArray | float = 0.0

    @classmethod
    def of(
        cls, results: Sequence[Any], seed: int, confidence_level: float, scale: Any = 1.0
    ) -> PairedValues:
        """Return those of checked results, times ``scale`` for each; ``seed`` is that of the normal resamples."""
        values = np.array([result.value for result in results])
        bounds = np.array([result.error_bound for result in results])
        intervals = tuple(_interval_of(result, confidence_level) for result in results)
        if not _is_resampled(results[0]):
            return cls.of_influences(values, bounds, intervals, _influence_of(results), seed)
        # Times the scale: agreement over its ceiling is ranked by the resamples of agreement.
        factors = np.broadcast_to(np.asarray(scale, dtype=np.float64), len(results))
        one_more = [[_one_more(result, other) for other in results] for result in results]
        # One more row counts by the largest factor of all models, the cautious way.
        scaled = []
        for interval, factor in zip(intervals, factors.tolist(), strict=True):
            scaled.append(replace(interval, low=factor * interval.low, high=factor * interval.high))
        return cls(
            values=factors * values,
            bounds=factors * bounds,
            intervals=tuple(scaled),
            resamples=factors * np.stack([result.resampled for result in results], axis=1),
            one_more=factors.max() * np.array(one_more),
        )

    @classmethod
    def of_influences(
        cls,
        values: FloatArray,
        bounds: FloatArray,
        intervals: tuple[Interval, ...],
        influence: FloatArray,
        seed: int,
    ) -> PairedValues:
        """Return values that nothing was resampled of: errors with the correlation of the influences stand for it."""
        resamples = values + normal_errors(influence, values, intervals, seed)
        return cls(
            values=values,
            bounds=bounds,
            intervals=intervals,
            resamples=resamples,
            influence=influence,
        )

    def standard_errors(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return the standard error of the difference of each pair of models."""
        if self.influence is None:
            with np.errstate(invalid="ignore"):
                differences = self.resamples[:, first] - self.resamples[:, second]
                return np.asarray(differences.std(axis=0))
        # The influence on a difference is the difference of the influences, and its norm the standard error.
        difference = self.influence[:, first] - self.influence[:, second]
        return np.asarray(np.linalg.norm(difference, axis=0))


def _interval_of(result: Any, confidence_level: float) -> Interval:
    """Return the interval of a result: infinite where its error is not known, a point where it has none."""
    if result.interval is not None:
        interval: Interval = result.interval
        return interval
    if getattr(result, "standard_error", None) is None:
        return Interval(low=result.value, high=result.value, confidence_level=confidence_level)
    return Interval(low=-np.inf, high=np.inf, confidence_level=confidence_level, method="not known")


def _influence_of(results: Sequence[Any]) -> FloatArray:
    """Return what each unit adds to each value; values that are known without error have no influence.

    Results of different samples against one reference have an influence of each part: samples are independent of each
    other, so the influence of a result is 0 on the rows of other samples.
    """
    own = [result.influence for result in results]
    if not all(hasattr(result, "reference_influence") for result in results):
        n_units = max([len(part) for part in own if part is not None], default=1)
        columns = [np.zeros(n_units) if part is None else part for part in own]
        return np.stack(columns, axis=1)
    # The rows of all samples one after the other, then those of the reference.
    # [A 0; 0 B; a b]: each sample has rows of its own, and all share those of the reference.
    shared = np.stack([result.reference_influence for result in results], axis=1)
    starts = np.cumsum([0, *map(len, own)])
    influence = np.zeros((starts[-1], len(results)))
    for place, part in enumerate(own):
        influence[starts[place] : starts[place + 1], place] = part
    return np.concatenate([influence, shared])


def paired_differences(
    names: Sequence[str],
    paired: PairedValues,
    pairs: Sequence[tuple[int, int]],
    confidence_level: float,
) -> tuple[ModelDifference, ...]:
    """Return the difference of each pair of models, alone and together with all others."""
    first, second = np.asarray(pairs).T
    # Differences within the numerical error of both values are none.
    floor = paired.bounds[first] + paired.bounds[second]
    gaps = _above(paired.values[first] - paired.values[second], floor)
    with np.errstate(invalid="ignore"):  # inf less inf: nothing is known
        resamples = _above(paired.resamples[:, first] - paired.resamples[:, second], floor)
    known = np.asarray(np.isfinite(resamples).all(axis=0))
    resamples = np.where(known, resamples, 0.0)
    errors = paired.standard_errors(first, second)
    # Together: the largest deviation over all pairs is compared with each difference.
    together, largest = simultaneous_p_values(gaps, resamples, np.where(known, errors, np.inf))
    quantile = float(np.quantile(largest, confidence_level, method="higher"))
    one_more = np.broadcast_to(paired.one_more, (len(names), len(names)))
    method = "studentised maxima over all pairs"
    differences = []
    for p, (i, j) in enumerate(pairs):
        gap = float(gaps[p])
        low = high = np.inf
        p_value = 1.0
        interval = Interval(low=-np.inf, high=np.inf, confidence_level=confidence_level)
        if known[p]:
            interval, p_value = _by_resampling(
                resamples[:, p], float(one_more[i, j]), confidence_level
            )
            # Alone a difference is known no worse than together with the others.
            reach = quantile * float(errors[p])
            low = max(reach, gap - interval.low)
            high = max(reach, interval.high - gap)
        # Resamples cannot resolve the smallest p-values; the bound of Bonferroni holds for all pairs as well.
        adjusted = min(float(together[p]), p_value * len(pairs))
        differences.append(
            ModelDifference(
                first=names[i],
                second=names[j],
                difference=gap,
                standard_error=float(errors[p]),
                interval=interval,
                p_value=p_value,
                p_adjusted=max(p_value, adjusted),
                simultaneous_interval=Interval(
                    low=gap - low,
                    high=gap + high,
                    confidence_level=confidence_level,
                    method=method,
                ),
            )
        )
    return tuple(differences)


def check_comparable(results: Mapping[str, Any]) -> None:
    """Raise a TypeError if one is not a result."""
    for name, result in results.items():
        if not isinstance(result, Result):
            raise ArgumentTypeError(
                f"results[{name!r}]", "a result of a measure", type(result).__name__
            )


def check_paired(results: Mapping[str, Any]) -> list[str]:
    """Check that results are of one measure, of the same rows and settings; return warnings about how far they are.

    Raises
    ------
    ValueError
        If they are of several measures, rows, resamples or prices, or a model has no finite value.
    """
    # Whatever pairs them, results are of one measure and of the same rows, and share what that measure names.
    _check_shared(results, _comparable)
    listed = list(results.values())
    with_influence = all(hasattr(result, "influence") for result in listed)
    warnings: list[str] = []
    if any(map(_is_resampled, listed)) or not with_influence:
        for name, result in results.items():
            if not _is_resampled(result):
                remedy = "Pass resampling."
                got = "a result without resamples"
                raise ArgumentValueError(f"results[{name!r}]", "resampled", got, remedy)
        _check_shared(results, _resampling_of)
    else:
        for name, result in results.items():
            warnings += _check_influence(name, result)
        _check_shared(results, _units_of)
    kinds = {name: getattr(result, "kind", "exact") for name, result in results.items()}
    if set(kinds.values()) != {"exact"}:
        text = ", ".join(f"{name} {kind.replace('_', ' ')}" for name, kind in kinds.items())
        warnings.append(f"Differences are those of bounds where models are not exact: {text}.")
    return warnings


def _comparable(result: Any) -> Shared:
    return {
        "measure": (result.measure, ""),
        **result.comparable,
        "number of rows": (result.n_samples, ""),
    }


def _resampling_of(result: Any) -> Shared:
    options = result.settings.get("resampling") or result.settings
    return {called: (options.get(name), "") for name, called in SHARED_BY_RESAMPLES.items()}


def _units_of(result: Any) -> Shared:
    resampling = result.settings.get("resampling") or {}
    units: Shared = {"groups": (resampling.get("groups"), "")}
    if result.influence is not None:
        units["number of groups"] = (len(result.influence), "")
    return units


def _check_shared(results: Mapping[str, Any], shared: Any) -> None:
    """Refuse results that differ in one of the values that ``shared`` returns, each with its remedy."""
    known = {name: shared(result) for name, result in results.items()}
    named = dict.fromkeys(what for parts in known.values() for what in parts)  # each once, in order
    for what in named:
        values = {name: parts[what] for name, parts in known.items() if what in parts}
        if len({value for value, _ in values.values()}) > 1:
            got = ", ".join(f"{value} for {name!r}" for name, (value, _) in values.items())
            remedy = next(iter(values.values()))[1]
            raise ArgumentValueError("results", f"the {what}", got, remedy, verb="share")


def _check_influence(name: str, result: Any) -> list[str]:
    """Refuse a result that cannot be paired; warn of one whose value is known without error."""
    argument = f"results[{name!r}]"
    if not np.isfinite(result.value):
        got = f"{result.value:g} (status {result.status})"
        raise ArgumentValueError(argument, "of finite value", got, result.status.remedy)
    if result.influence is not None:
        return []
    if getattr(result, "standard_error", None) is not None:
        remedy = "Use the result as it was computed, with its rows."
        expected = "with the influence of each row"
        raise ArgumentValueError(argument, expected, "a result without", remedy)
    return [f"{name}: its sampling error is not known (status {result.status}) and counts as none."]


def _is_resampled(result: Any) -> bool:
    return getattr(result, "resampled", None) is not None


def _above(gaps: FloatArray, floor: FloatArray) -> FloatArray:
    """Return differences with those within the numerical error set to 0."""
    return np.where(np.abs(gaps) > floor, gaps, 0.0)


def _one_more(first: Any, second: Any) -> float:
    """Return the largest difference of two models in any row, as a fraction of their sum over all units.

    A model that errs in no row may yet err in the next one, as far as any model did: so two models that differ in a
    few rows alone are told apart about as well as by the sign test of these rows.
    """
    resampling = first.settings.get("resampling") or {}
    per_sample = getattr(first, "per_sample", None)
    other = getattr(second, "per_sample", None)
    if "n_units" not in resampling or per_sample is None or other is None:
        return 0.0
    return float(np.abs(per_sample - other).max()) / int(resampling["n_units"])


def _by_resampling(
    resamples: FloatArray, one_more: float, confidence_level: float
) -> tuple[Interval, float]:
    """Return the interval of a difference and the p-value of 0, with half a row more against either model."""
    # Half a unit more, with the largest difference that any row has, once against either model.
    more = one_more * np.random.default_rng(0).standard_gamma(HALF, len(resamples))
    low, high = resampled_interval(resamples - more, resamples + more, confidence_level)
    interval = Interval(
        low=low,
        high=high,
        confidence_level=confidence_level,
        method=f"paired bootstrap, {len(resamples)} resamples",
    )
    return interval, resampled_p_value(resamples - more, resamples + more)
