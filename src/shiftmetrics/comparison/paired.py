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

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.confidence import HALF, resampled_interval, resampled_p_value
from shiftmetrics._core.result import Interval, Result
from shiftmetrics._core.validation import describe
from shiftmetrics.comparison.joint_errors import in_errors, normal_errors, simultaneous_p_values
from shiftmetrics.comparison.result import ModelDifference

SHARED_BY_RESAMPLES = ("rng", "n_resamples", "groups")
SHARED_BY_INFLUENCE = (
    "threshold",
    "budget",
    "theta1",
    "theta2",
    "divergence",
    "sample_weight",
    "groups",
)
"""Settings that must be the same for all results."""


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
    one_more : ndarray of shape (n_models, n_models)
        By how much one more row may change each difference.
    """

    values: FloatArray
    bounds: FloatArray
    intervals: tuple[Interval, ...]
    resamples: FloatArray
    one_more: FloatArray
    influence: FloatArray | None = None

    @classmethod
    def of(
        cls, results: Sequence[Any], seed: int, confidence_level: float, scale: Any = 1.0
    ) -> PairedValues:
        """Return those of checked results, times ``scale`` for each; ``seed`` is that of the normal resamples."""
        factors = np.broadcast_to(np.asarray(scale, dtype=np.float64), len(results))
        values = np.array([result.value for result in results])
        bounds = np.array([result.error_bound for result in results])
        known = [_interval_of(result, confidence_level) for result in results]
        influence = None
        if _is_resampled(results[0]):
            resamples = np.stack([result.resampled for result in results], axis=1)
        else:
            # Nothing was resampled: normal errors with the correlation of the influences stand for resamples.
            influence = _influence_of(results)
            resamples = values + normal_errors(influence, values, known, seed)
        return cls(
            values=factors * values,
            bounds=factors * bounds,
            intervals=tuple(
                replace(interval, low=interval.low * factor, high=interval.high * factor)
                for interval, factor in zip(known, factors.tolist(), strict=True)
            ),
            resamples=factors * resamples,
            one_more=factors.max()
            * np.array([[_one_more(r, other) for other in results] for r in results]),
            influence=influence,
        )


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
    if all(hasattr(result, "reference_influence") for result in results):
        return _against_one_reference(results)
    known = [result.influence for result in results if result.influence is not None]
    n_units = len(known[0]) if known else 1
    influence = np.zeros((n_units, len(results)))
    for place, result in enumerate(results):
        if result.influence is not None:
            influence[:, place] = result.influence
    return influence


def _against_one_reference(results: Sequence[Any]) -> FloatArray:
    """Return influences over the rows of all samples one after the other, then over those of the reference."""
    own = [result.influence for result in results]
    shared = [result.reference_influence for result in results]
    starts = np.cumsum([0, *map(len, own)])
    influence = np.zeros((starts[-1] + max(map(len, shared)), len(results)))
    for place in range(len(results)):
        influence[starts[place] : starts[place + 1], place] = own[place]
        influence[starts[-1] : starts[-1] + len(shared[place]), place] = shared[place]
    return influence


def paired_differences(
    names: Sequence[str],
    paired: PairedValues,
    pairs: Sequence[tuple[int, int]],
    confidence_level: float,
) -> tuple[ModelDifference, ...]:
    """Return the difference of each pair of models, alone and together with all others."""
    from scipy.special import ndtr, ndtri

    normal = float(ndtri(0.5 + 0.5 * confidence_level))
    first, second = np.asarray(pairs).T
    # Differences within the numerical error of both values are none.
    floor = paired.bounds[first] + paired.bounds[second]
    gaps = _above(paired.values[first] - paired.values[second], floor)
    influence = paired.influence
    with np.errstate(invalid="ignore"):  # inf less inf: nothing is known
        resamples = paired.resamples[:, first] - paired.resamples[:, second]
    if influence is None:
        resamples = _above(resamples, floor)
        errors = resamples.std(axis=0)
        down = errors
        up = errors
        sides = None
    else:
        # The influence on a difference is the difference of the influences, and its norm is the standard error.
        errors = np.linalg.norm(influence[:, first] - influence[:, second], axis=0)
        down, up = _sides(resamples, gaps, confidence_level)
        sides = (down, up)
    # Together: the largest deviation over all pairs is compared with each difference.
    together, largest = simultaneous_p_values(gaps, resamples, sides)
    quantile = float(np.quantile(largest, confidence_level, method="higher"))
    # Alone: a normal difference, in standard errors of the side on which 0 lies.
    alone = 2.0 * ndtr(-in_errors(gaps, down, up))
    method = "studentised maxima over all pairs"
    differences = []
    for p, (i, j) in enumerate(pairs):
        gap = float(gaps[p])
        adjusted = float(together[p])
        below = float(down[p])
        above = float(up[p])
        if influence is None:
            one_more = float(paired.one_more[i, j])
            interval, p_value = _by_resampling(resamples[:, p], one_more, confidence_level)
        else:
            interval = Interval(
                low=gap - normal * below,
                high=gap + normal * above,
                confidence_level=confidence_level,
                method="paired intervals",
            )
            p_value = float(alone[p])
            # Resamples cannot resolve p-values below 1 / n_resamples; the bound of Bonferroni can.
            adjusted = min(adjusted, p_value * len(pairs))
        # Alone a difference is known no worse than together with the others.
        low = -np.inf
        if below < np.inf:
            low = min(gap - quantile * below, interval.low)
        high = np.inf
        if above < np.inf:
            high = max(gap + quantile * above, interval.high)
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
                    low=low, high=high, confidence_level=confidence_level, method=method
                ),
            )
        )
    return tuple(differences)


def _sides(
    resamples: FloatArray, gaps: FloatArray, confidence_level: float
) -> tuple[FloatArray, FloatArray]:
    """Return how far each difference reaches down and up, in standard errors of that side; inf where not known."""
    from scipy.special import ndtri

    # The quantiles of the resampled differences, in units of the normal quantile: standard errors of either side.
    tail = 0.5 - 0.5 * confidence_level
    quantile = float(ndtri(0.5 + 0.5 * confidence_level))
    unknown = np.isnan(resamples).any(axis=0)
    low, high = np.quantile(
        np.where(unknown, 0.0, resamples), (tail, 1.0 - tail), axis=0, method="nearest"
    )
    down = np.maximum(gaps - low, 0.0) / quantile
    up = np.maximum(high - gaps, 0.0) / quantile
    return np.where(unknown, np.inf, down), np.where(unknown, np.inf, up)


def check_results(results: Mapping[str, Any]) -> None:
    """Raise a TypeError if one is not a result."""
    for name, result in results.items():
        if not isinstance(result, Result):
            raise TypeError(
                describe(f"results[{name!r}]", "a result of a measure", type(result).__name__)
            )


def check_paired(results: Mapping[str, Any]) -> list[str]:
    """Check that results are of one measure, of the same rows and settings; return warnings about how far they are.

    Raises
    ------
    ValueError
        If they are of several measures, rows, resamples or prices, or a model has no finite value.
    """
    # Whatever pairs them, results are of one measure, and share what that measure names.
    _check_shared(results, lambda result: {"measure": (result.measure, ""), **result.comparable})
    listed = list(results.values())
    with_influence = all(hasattr(result, "influence") for result in listed)
    by_resampling = any(map(_is_resampled, listed)) or not with_influence
    warnings: list[str] = []
    for name, result in results.items():
        if not by_resampling:
            warnings += _check_influence(name, result)
        elif not _is_resampled(result):
            remedy = "Pass resampling."
            raise ValueError(
                describe(f"results[{name!r}]", "resampled", "a result without resamples", remedy)
            )
    # Resamples are paired where seed and groups are the same, influences where prices and weights are.
    keys = SHARED_BY_RESAMPLES if by_resampling else SHARED_BY_INFLUENCE

    def shared(result: Any) -> dict[str, tuple[Any, str]]:
        options = dict(result.settings)
        resampling = options.get("resampling")
        if isinstance(resampling, Mapping):
            options.update(resampling)
        known: dict[str, tuple[Any, str]] = {"number of rows": (result.n_samples, "")}
        for key in keys:
            called = "seed rng" if key == "rng" else key
            known[called] = (options.get(key), "")
        if not by_resampling and result.influence is not None:
            known["number of groups"] = (len(result.influence), "")
        return known

    _check_shared(results, shared)
    kinds = {name: getattr(result, "kind", "exact") for name, result in results.items()}
    if set(kinds.values()) != {"exact"}:
        text = ", ".join(f"{name} {kind.replace('_', ' ')}" for name, kind in kinds.items())
        warnings.append(f"Differences are those of bounds where models are not exact: {text}.")
    return warnings


def _check_shared(results: Mapping[str, Any], shared: Any) -> None:
    """Refuse results that differ in one of the values that ``shared`` returns, each with its remedy."""
    known = {name: shared(result) for name, result in results.items()}
    named = dict.fromkeys(what for parts in known.values() for what in parts)  # each once, in order
    for what in named:
        values = {name: parts[what] for name, parts in known.items() if what in parts}
        if len({value for value, _ in values.values()}) > 1:
            got = ", ".join(f"{value} for {name!r}" for name, (value, _) in values.items())
            remedy = next(iter(values.values()))[1]
            raise ValueError(f"results must share the {what}, got {got}. {remedy}".rstrip())


def _check_influence(name: str, result: Any) -> list[str]:
    """Refuse a result that cannot be paired; warn of one whose value is known without error."""
    argument = f"results[{name!r}]"
    if not np.isfinite(result.value):
        remedy = "Choose a lower threshold, or let samples change and be reweighted (finite theta1 and theta2)."
        raise ValueError(
            describe(
                argument, "of finite value", f"{result.value:g} (status {result.status})", remedy
            )
        )
    if result.influence is not None:
        return []
    if getattr(result, "standard_error", None) is not None:
        remedy = "Use the result as it was computed, with its rows."
        raise ValueError(
            describe(argument, "with the influence of each row", "a result without", remedy)
        )
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
