"""The difference of mean scores with its interval: one task or the mean over tasks, with clusters of questions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.result import Interval
from shiftmetrics.decisions.labelling.paired import FUTURE, future_interval
from shiftmetrics.decisions.labelling.paired_mean import (
    PairedMean,
    mean_with_one_more,
    paired_mean_interval,
)

REPEATS = "repeats"
"""Method of an interval for these questions, from several answers to each."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreGains:
    """How much each question gains, and what the interval of the mean needs.

    Attributes
    ----------
    gains : ndarray of shape (n_questions,)
        Positive where the new model is better.
    tasks : ndarray of int of shape (n_questions,)
        Number of the task of each question, from 0, without gaps.
    groups : ndarray of int or None
        Number of the cluster of each question.
    reach : float
        The largest gain that a question may have.
    are_signs : bool
        Whether each gain is -1, 0 or 1 by one answer of either model.
    """

    gains: FloatArray
    tasks: IntArray
    groups: IntArray | None
    reach: float
    are_signs: bool

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return int(self.tasks.max()) + 1

    def of_task(self, task: int) -> tuple[FloatArray, IntArray | None]:
        """Return gains and clusters of one task."""
        rows = self.tasks == task
        return self.gains[rows], None if self.groups is None else self.groups[rows]


def mean_of_tasks(values: FloatArray, tasks: IntArray) -> float:
    """Return the mean over tasks of the means of their questions; of one task, the mean."""
    sizes = np.bincount(tasks)
    return float(np.mean(np.bincount(tasks, weights=values) / sizes))


def score_interval(found: ScoreGains, level: float) -> Interval:
    """Return the interval of the difference for future questions.

    Of 0 and 1 without clusters, that of McNemar's test. Else one more question on either side; tasks
    are fixed, so that their errors add up as those of independent means.
    """
    if found.n_tasks == 1:
        return task_interval(found, 0, level)
    means = []
    certain = 0.0
    center = 0.0
    for task in range(found.n_tasks):
        gains, groups = found.of_task(task)
        mean = mean_with_one_more(gains, found.reach, clusters=groups)
        if mean.freedom < 1.0:
            # of a task of one cluster nothing is known but its limits
            certain += found.reach
            continue
        means.append(mean)
        center += mean.mean
    center /= found.n_tasks
    half = certain / found.n_tasks
    if means:
        half += _joined(means).half_width(level) / found.n_tasks
    return Interval(
        low=max(center - half, -found.reach),
        high=min(center + half, found.reach),
        confidence_level=level,
        method=FUTURE,
    )


def _joined(means: list[PairedMean]) -> PairedMean:
    """Return the sum of independent means, with the degrees of freedom of Welch and Satterthwaite."""
    variance = math.fsum(mean.error**2 for mean in means)
    spread = math.fsum(mean.error**4 / mean.freedom for mean in means)
    return PairedMean(mean=0.0, error=math.sqrt(variance), freedom=variance**2 / spread)


def task_interval(found: ScoreGains, task: int, level: float) -> Interval:
    """Return the interval of the difference in one task."""
    gains, groups = found.of_task(task)
    return interval_of_gains(found, gains, groups, level)


def interval_of_gains(
    found: ScoreGains, gains: FloatArray, groups: IntArray | None, level: float
) -> Interval:
    """Return the interval of the mean of some of the gains."""
    if found.are_signs and groups is None:
        fixed = int((gains > 0.0).sum())
        broken = int((gains < 0.0).sum())
        return future_interval(fixed, broken, len(gains), level)
    return paired_mean_interval(gains, found.reach, level, clusters=groups)


def repeated_interval(
    found: ScoreGains, variances: FloatArray, n_runs: FloatArray, level: float
) -> Interval:
    """Return the interval of the difference on these questions, each answered several times by both models.

    The error is that of the answers alone: the sum over questions of (s_old^2 + s_new^2) / K, over n^2, with the
    degrees of freedom of Welch and Satterthwaite.

    Parameters
    ----------
    found : ScoreGains
        What each question gains on average.
    variances : ndarray of shape (n_questions, 2)
        Of the mean of each question under both models: s^2 / K.
    n_runs : ndarray of shape (n_questions, 2)
        Answers K, at least 2.
    level : float
        Confidence level.
    """
    sizes = np.bincount(found.tasks)
    weights = 1.0 / (len(sizes) * sizes[found.tasks])
    parts = weights[:, None] ** 2 * variances
    variance = math.fsum(parts.ravel())
    value = mean_of_tasks(found.gains, found.tasks)
    half = 0.0
    if variance > 0.0:
        freedom = variance**2 / math.fsum((parts**2 / (n_runs - 1.0)).ravel())
        half = PairedMean(mean=value, error=math.sqrt(variance), freedom=freedom).half_width(level)
    return Interval(
        low=max(value - half, -found.reach),
        high=min(value + half, found.reach),
        confidence_level=level,
        method=REPEATS,
    )


def plain_variance(found: ScoreGains) -> float:
    """Return the variance of the difference from the questions alone, without one more on either side."""
    total = 0.0
    for task in range(found.n_tasks):
        gains, groups = found.of_task(task)
        n = len(gains)
        errors = gains - gains.mean()
        if groups is not None:
            errors = np.bincount(groups, weights=errors)
        total += float((errors**2).sum()) / n**2
    return total / found.n_tasks**2
