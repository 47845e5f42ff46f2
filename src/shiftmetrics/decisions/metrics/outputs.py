"""What each row adds to a metric of a regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions.metrics.effects import (
    MetricEffects,
    effects_on_mean,
    range_of_effects,
)
from shiftmetrics.decisions.metrics.names import NamedMetric
from shiftmetrics.decisions.metrics.sums import (
    RowEffects,
    coefficient_of_determination,
    effects_of_sums,
    explained_error,
    explained_variance,
    minus_root_mean,
)

LOGARITHMIC = ("neg_mean_squared_log_error", "neg_root_mean_squared_log_error")


@dataclass(frozen=True, eq=False, kw_only=True)
class OutputInputs:
    """True values and outputs."""

    labels: FloatArray
    old: FloatArray
    new: FloatArray


def effects_on_outputs(metric: NamedMetric, inputs: OutputInputs) -> MetricEffects:
    """Return the effects on a metric of a regression: the reach is the range of the effects on either model.

    Raises
    ------
    ValueError
        If the metric is not defined for a value.
    """
    check_defined(metric.name, inputs)
    old, new = (_effects(metric, inputs.labels, side) for side in (inputs.old, inputs.new))
    return MetricEffects(
        old=old, new=new, reach=range_of_effects(old, new), rarest=len(inputs.labels)
    )


def check_defined(name: str, inputs: OutputInputs) -> None:
    """Check that a metric is defined for all values.

    Raises
    ------
    ValueError
        If it is not: logarithms and deviances take no negative values, and per cent of 0 are none.
    """
    sides = {"labels": inputs.labels, "old": inputs.old, "new": inputs.new}
    for argument, values in sides.items():
        is_label = argument == "labels"
        wrong: BoolArray = np.zeros(len(values), dtype=bool)
        expected = ""
        # scikit-learn divides by a tiny number there, so that one such row decides the mean.
        if name == "neg_mean_absolute_percentage_error" and is_label:
            wrong = values == 0.0
            expected = "other than 0"
        elif name in LOGARITHMIC:
            wrong = values <= -1.0
            expected = "greater than -1"
        elif name == "neg_mean_poisson_deviance" and is_label:
            # The deviance has the term y log(y / m): true counts may be 0, predicted means not.
            wrong = values < 0.0
            expected = "at least 0"
        elif name in ("neg_mean_poisson_deviance", "neg_mean_gamma_deviance"):
            wrong = values <= 0.0
            expected = "greater than 0"
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            got = f"{values[row]:g} in row {row}, and {int(wrong.sum()):,} such rows"
            remedy = "Of any values there are neg_mean_absolute_error and others."
            raise ArgumentValueError(argument, f"{expected} for {name}", got, remedy)


def _effects(metric: NamedMetric, labels: FloatArray, outputs: FloatArray) -> RowEffects:
    """Return the effects on the metric of one model."""
    n = len(labels)
    rows = np.arange(n)
    ones = np.ones(n)
    errors = labels - outputs
    if metric.name in ("r2", "explained_variance"):
        # Centred, so that sums of squares about the mean lose few digits.
        centred = labels - labels.mean()
        features = np.stack([ones, errors**2, centred, centred**2], axis=1)
        if metric.name == "r2":
            return effects_of_sums(coefficient_of_determination, features, rows)
        features = np.insert(features, 1, errors, axis=1)
        return effects_of_sums(explained_variance, features, rows)
    if metric.name == "d2_absolute_error_score":
        # The median costs least, so that a row more or less, which hardly moves it, does not count there.
        features = np.stack([np.abs(errors), np.abs(labels - np.median(labels))], axis=1)
        return effects_of_sums(explained_error, features, rows)
    losses = _losses(metric, labels, outputs)
    if "root" in metric.name:
        return effects_of_sums(minus_root_mean, np.stack([ones, losses], axis=1), rows)
    return effects_on_mean(-losses)


def _losses(metric: NamedMetric, labels: FloatArray, outputs: FloatArray) -> FloatArray:
    """Return the loss of each row, in the scale of the mean."""
    errors = labels - outputs
    if metric.name == "neg_mean_absolute_error":
        return np.abs(errors)
    if metric.name in ("neg_mean_squared_error", "neg_root_mean_squared_error"):
        return np.asarray(errors**2)
    if metric.name in LOGARITHMIC:
        return np.asarray((np.log1p(labels) - np.log1p(outputs)) ** 2)
    if metric.name == "neg_mean_absolute_percentage_error":
        return np.asarray(np.abs(errors / labels))
    if metric.name == "neg_mean_poisson_deviance":
        # 2 (y log(y / m) - (y - m)), of which the first term is 0 at y = 0
        logs = np.log(np.divide(labels, outputs, out=np.ones_like(errors), where=labels > 0.0))
        return np.asarray(2.0 * (labels * logs - errors))
    if metric.name == "neg_mean_gamma_deviance":
        # 2 (log(m / y) + y / m - 1)
        return np.asarray(2.0 * (np.log(outputs / labels) + labels / outputs - 1.0))
    # The pinball loss of the quantile q: q e where the value is above the output, else (q - 1) e.
    return np.maximum(metric.quantile * errors, (metric.quantile - 1.0) * errors)
