"""A metric of one's own: any function of true values and predictions, by the jackknife."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics.decisions.metrics.effects import MetricEffects
from shiftmetrics.decisions.metrics.sums import RowEffects

MOST_CALLS = 1000
"""Calls of the function for each model: of more rows, so many blocks are left out in turn."""

MOST_ADDED = 400
"""Pairs of a label and an answer that are tried as one row more."""

OwnMetric = Callable[[Any, Any], float]


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnInputs:
    """What the function gets: true values and predictions of both models, one row for each sample.

    Attributes
    ----------
    labels, old, new : ndarray
    clusters : ndarray of int or None
        Rows that are left out together.
    are_answers : bool
        Whether predictions are classes.
    """

    labels: npt.NDArray[Any]
    old: npt.NDArray[Any]
    new: npt.NDArray[Any]
    clusters: IntArray | None
    are_answers: bool


def effects_on_own_metric(
    metric: OwnMetric, inputs: OwnInputs
) -> tuple[MetricEffects, IntArray | None]:
    """Return the effects on a function of one's own, and the clusters that were left out.

    Each row is left out in turn, or each cluster; where these are more than a thousand, blocks of them, drawn at
    random with a fixed seed. Then all rows of a block get the mean effect of the block.
    """
    n = len(inputs.labels)
    clusters = inputs.clusters
    units = np.arange(n) if clusters is None else clusters
    n_units = int(units.max()) + 1
    if n_units > MOST_CALLS:
        blocks = np.arange(n_units) % MOST_CALLS
        np.random.default_rng(0).shuffle(blocks)
        units = blocks[units]
        # Rows of a block share one effect, so that each block counts as one observation.
        clusters = units
    old, new = (
        _jackknife(metric, inputs.labels, predictions, units)
        for predictions in (inputs.old, inputs.new)
    )
    if inputs.are_answers:
        reach = _reach_of_answers(metric, inputs, old.score, new.score)
    else:
        # Numbers have no largest error: the range of the effects that were seen stands for it.
        reach = float(np.ptp(np.concatenate([old.effects, new.effects])))
    # The function may rest on one class, as recall does, and does not say on which.
    rarest = n
    if inputs.are_answers:
        rarest = int(np.unique(inputs.labels, return_counts=True)[1].min())
    return MetricEffects(old=old, new=new, reach=reach, rarest=rarest), clusters


def _jackknife(metric: OwnMetric, labels: Any, predictions: Any, units: IntArray) -> RowEffects:
    n = len(labels)
    score = value_of(metric, labels, predictions)
    sizes = np.bincount(units)
    effects = np.zeros(len(sizes))
    for unit in np.flatnonzero(sizes):
        kept = units != unit
        if not kept.any():
            continue
        without = value_of(metric, labels[kept], predictions[kept])
        # (n - c) (M - M without c rows) is what these rows add, c times the mean effect of one of them.
        effects[unit] = (n - sizes[unit]) / sizes[unit] * (score - without)
    return RowEffects(score=score, effects=effects[units])


def _reach_of_answers(
    metric: OwnMetric, inputs: OwnInputs, old_score: float, new_score: float
) -> float:
    """Return the largest effect of one more row that becomes right or wrong."""
    n = len(inputs.labels)
    truths = np.unique(inputs.labels)
    answers = np.unique(np.concatenate([inputs.labels, inputs.old, inputs.new]))
    cells = [(truth, other) for truth in truths for other in answers if truth != other]
    if len(cells) > MOST_ADDED:
        # Each pair calls the function on all rows; the largest effect may be one that is skipped.
        places = np.linspace(0, len(cells) - 1, MOST_ADDED).astype(np.int64)
        cells = [cells[place] for place in places]
    rises: dict[tuple[str, Any, Any], float] = {}

    def rise(side: str, truth: Any, answer: Any) -> float:
        key = (side, truth, answer)
        if key not in rises:
            predictions, score = (
                (inputs.old, old_score) if side == "old" else (inputs.new, new_score)
            )
            more = value_of(metric, np.append(inputs.labels, truth), np.append(predictions, answer))
            rises[key] = (n + 1.0) * (more - score)
        return rises[key]

    reach = 0.0
    for truth, other in cells:
        fixed = rise("new", truth, truth) - rise("old", truth, other)
        broken = rise("new", truth, other) - rise("old", truth, truth)
        reach = max(reach, abs(fixed), abs(broken))
    return reach


def value_of(metric: OwnMetric, labels: Any, predictions: Any) -> float:
    """Return what the function gives for some rows.

    Raises
    ------
    TypeError, ValueError
        If it is no number, or fails.
    """
    try:
        value = metric(labels, predictions)
    except Exception as error:
        got = f"{type(error).__name__}: {error} on {len(labels)} rows"
        remedy = "It is called with true values and predictions, and with some rows left out."
        raise ArgumentValueError("metric", "a function of any rows", got, remedy) from error
    if isinstance(value, str) or np.ndim(value) or value is None:
        raise ArgumentTypeError("metric", "a function that returns one number", value=value)
    number = float(value)
    if not np.isfinite(number):
        got = f"{number} on {len(labels)} rows"
        raise ArgumentValueError("metric", "a function that returns a finite number", got)
    return number


def typed_names(names: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return names of classes as integers or floats where all of them are numbers."""
    words = [str(name) for name in names.tolist()]
    for kind in (int, float):
        try:
            values = [kind(word) for word in words]
        except ValueError:
            continue
        return np.array(values)
    return np.array(words)
