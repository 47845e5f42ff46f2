"""What each row adds to a metric of the old and of the new model, and how far a row that was not seen may move it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.decisions.metrics.answers import AnswerSide, reach_of_answers
from shiftmetrics.decisions.metrics.names import TOP, NamedMetric
from shiftmetrics.decisions.metrics.ranking import (
    effects_of_one_against_rest,
    effects_of_pairs,
    effects_on_area,
    effects_on_average_precision,
    reach_of_areas,
)
from shiftmetrics.decisions.metrics.sums import (
    RowEffects,
    effects_of_sums,
    explained_brier_score,
    explained_log_loss,
    mean_score,
)

LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
"""Probability that a log loss counts for a class that a model excludes, as in scikit-learn."""


OF_LOSSES = {
    "neg_log_loss": "neg_log_loss",
    "neg_brier_score": "neg_brier_score",
    "d2_log_loss_score": "neg_log_loss",
    "d2_brier_score": "neg_brier_score",
}
"""Metrics that are made of losses, and the scorer of these."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassInputs:
    """True classes, answers, and, where there are some, probabilities: classes are numbers from 0."""

    labels: IntArray
    old: IntArray
    new: IntArray
    n_classes: int
    old_probabilities: FloatArray | None = None
    new_probabilities: FloatArray | None = None
    positive: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricEffects:
    """A metric of both models, row by row.

    Attributes
    ----------
    old, new : RowEffects
        The metric of each, and what each row adds to it.
    reach : float
        By how much a single row may move the difference, times n: that of one more row on either side.
    rarest : int
        Rows of the smallest class that the metric rests on; all rows of a mean.
    unit : {"row", "query"}
        What each effect is of.
    """

    old: RowEffects
    new: RowEffects
    reach: float
    rarest: int
    unit: Literal["row", "query"] = "row"

    @property
    def difference(self) -> float:
        """New minus old."""
        return self.new.score - self.old.score

    @property
    def moved(self) -> FloatArray:
        """By how much each row moves the difference, times n - 1."""
        return self.new.effects - self.old.effects


def effects_on_answers(metric: NamedMetric, inputs: ClassInputs) -> MetricEffects:
    """Return the effects on a metric of answers: the reach is that of one more row which changes to or from right."""
    labels, old, new = inputs.labels, inputs.old, inputs.new
    n_classes = inputs.n_classes
    if metric.is_binary:
        labels, old, new = (
            np.asarray(codes == inputs.positive, dtype=np.int64) for codes in (labels, old, new)
        )
        n_classes = 2
    sides = [AnswerSide(metric.name, labels, answers, n_classes) for answers in (old, new)]
    counts = np.bincount(labels, minlength=n_classes)
    there = counts > 0
    rarest = int(counts[1]) if metric.is_binary else int(counts[there].min())
    return MetricEffects(
        old=sides[0].effects(),
        new=sides[1].effects(),
        reach=reach_of_answers(sides[0], sides[1], np.flatnonzero(there)),
        rarest=rarest,
    )


def effects_on_probabilities(metric: NamedMetric, inputs: ClassInputs) -> MetricEffects:
    """Return the effects on a metric of probabilities.

    The reach of an area is that of a row which passes all rows of other classes, and of a Brier score its range. A
    log loss has no limit: its reach is the range of the losses of either model, and at least that of a wrong row of
    median confidence. That none costs more is an assumption.
    """
    assert inputs.old_probabilities is not None
    assert inputs.new_probabilities is not None
    both = (inputs.old_probabilities, inputs.new_probabilities)
    labels = inputs.labels
    if metric.name in OF_LOSSES:
        return _effects_on_losses(metric, labels, both)
    if metric.name == TOP:
        old, new = (effects_on_mean(_is_among(labels, part, metric.n_top)) for part in both)
        return MetricEffects(old=old, new=new, reach=1.0, rarest=len(labels))
    if metric.is_binary:
        assert inputs.positive is not None
        of_positive = (both[0][:, inputs.positive], both[1][:, inputs.positive])
        return _effects_on_one_area(metric, labels == inputs.positive, of_positive)
    return _effects_on_areas(metric, inputs, both)


def _effects_on_one_area(
    metric: NamedMetric, positive: BoolArray, both: tuple[FloatArray, FloatArray]
) -> MetricEffects:
    """Return the effects on the area, or the average precision, of one class by its probabilities."""
    effects_of = effects_on_area if metric.name == "roc_auc" else effects_on_average_precision
    old, new = (effects_of(part, positive) for part in both)
    rarest = min(int(positive.sum()), int((~positive).sum()))
    reach = (len(positive) - 1.0) / max(rarest - 1.0, 1.0)
    if metric.name == "average_precision":
        reach = max(reach, range_of_effects(old, new))
    return MetricEffects(old=old, new=new, reach=reach, rarest=rarest)


def _effects_on_areas(
    metric: NamedMetric, inputs: ClassInputs, both: tuple[FloatArray, FloatArray]
) -> MetricEffects:
    """Return the effects on the mean area of several classes, against the rest or one against another."""
    labels = inputs.labels
    counts = np.bincount(labels, minlength=inputs.n_classes)
    if not counts.min():
        return _undefined(len(labels))
    of_areas = effects_of_pairs if "_ovo" in metric.name else effects_of_one_against_rest
    is_weighted = metric.name.endswith("_weighted")
    old, new = (of_areas(part, labels, is_weighted=is_weighted) for part in both)
    return MetricEffects(
        old=old, new=new, reach=reach_of_areas(metric.name, counts), rarest=int(counts.min())
    )


def _effects_on_losses(
    metric: NamedMetric, labels: IntArray, both: tuple[FloatArray, FloatArray]
) -> MetricEffects:
    """Return the effects on a log loss or Brier score, or on how much less it is than that of the labels' rates."""
    n_classes = both[0].shape[1]
    losses = [_row_losses(OF_LOSSES[metric.name], labels, part) for part in both]
    # The range of a Brier score, which is halved for two classes.
    reach = 1.0 if n_classes == 2 else 2.0
    if OF_LOSSES[metric.name] == "neg_log_loss":
        reach = max(
            float(np.ptp(np.concatenate(losses))),
            *(_loss_when_wrong(labels, part) for part in both),
        )
    if metric.name == OF_LOSSES[metric.name]:
        old, new = (effects_on_mean(-loss) for loss in losses)
        return MetricEffects(old=old, new=new, reach=reach, rarest=len(labels))
    of_sums = explained_brier_score
    if metric.name == "d2_log_loss_score":
        of_sums = explained_log_loss
    rows = np.arange(len(labels))
    one_hot = np.eye(n_classes)[labels]
    old, new = (effects_of_sums(of_sums, np.column_stack([loss, one_hot]), rows) for loss in losses)
    counts = one_hot.sum(axis=0)
    # a loss of 1 in each row, against that of the rates of the labels
    unit = 1.0 - float(of_sums(np.append(len(labels), counts)[None])[0])
    reach = max(reach * unit, range_of_effects(old, new))
    return MetricEffects(old=old, new=new, reach=reach, rarest=int(counts[counts > 0].min()))


def _is_among(labels: IntArray, probabilities: FloatArray, n_top: int) -> FloatArray:
    """Return 1 where the label is among the likeliest classes; of equal ones the later, as in scikit-learn."""
    order = np.argsort(probabilities, axis=1, kind="stable")[:, ::-1]
    return np.asarray((order[:, :n_top] == labels[:, None]).any(axis=1), dtype=np.float64)


def _undefined(n: int) -> MetricEffects:
    """Return the effects where a class has no row: the area of that class does not exist."""
    side = RowEffects(score=float("nan"), effects=np.zeros(n))
    return MetricEffects(old=side, new=side, reach=0.0, rarest=0)


def _loss_when_wrong(labels: IntArray, probabilities: FloatArray) -> float:
    """Return the median over rows of the log loss that a row would have if its label were another one."""
    others = 1.0 - probabilities[np.arange(len(labels)), labels]
    return float(np.median(-np.log(np.clip(others, LEAST_PROBABILITY, 1.0))))


def _row_losses(name: str, labels: IntArray, probabilities: FloatArray) -> FloatArray:
    """Return the loss of each row: a Brier score is halved for two classes, as in scikit-learn."""
    of_labels = probabilities[np.arange(len(labels)), labels]
    if name == "neg_log_loss":
        return np.asarray(-np.log(np.clip(of_labels, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)))
    # sum_k (p_k - y_k)^2 = sum_k p_k^2 - 2 p_y + 1
    squared = (probabilities**2).sum(axis=1) - 2.0 * of_labels + 1.0
    if probabilities.shape[1] == 2:
        squared = 0.5 * squared
    return np.asarray(squared)


def effects_on_mean(values: FloatArray) -> RowEffects:
    """Return the effects on the mean of a score of each row."""
    features = np.stack([np.ones(len(values)), values], axis=1)
    return effects_of_sums(mean_score, features, np.arange(len(values)))


def range_of_effects(old: RowEffects, new: RowEffects) -> float:
    """Return the range of the effects on either model: a row may move from end to end."""
    return float(np.ptp(np.concatenate([old.effects, new.effects])))
