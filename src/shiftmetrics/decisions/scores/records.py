"""What a comparison of scores finds: counts, tasks, the noise of a rerun, and the questions whose score changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreCounts(Record):
    """How many questions, runs and failures there are.

    Attributes
    ----------
    n_groups : int or None
        Clusters of questions that belong together; None without groups.
    runs_old, runs_new : int
        Answers to a question, at most.
    better, worse : int
        Questions whose mean score rises and falls, by what is better.
    failed_old, failed_new : int
        Samples without a score.
    left_out : int
        Questions in both that lack a score of either model: they are left out of value and interval.
    decide : int or None
        About how many questions would decide on what is allowed.
    is_binary : bool
        Whether each score is 0 or 1.
    low, high : float
        The range of the score.
    """

    n_groups: int | None
    runs_old: int
    runs_new: int
    better: int
    worse: int
    failed_old: int
    failed_new: int
    left_out: int
    decide: int | None
    is_binary: bool
    low: float
    high: float


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskScore(Record):
    """The difference in one task, or in one group of questions.

    Attributes
    ----------
    name : str
        The task or the group.
    n_questions : int
    old, new : float
        Mean scores.
    interval : Interval
        Of the difference, wide enough that those of all tasks hold together; positive is better.
    verdict : str
        "better", "worse" or "no clear difference".
    kind : str
        "task" or "group".
    """

    name: str
    n_questions: int
    old: float
    new: float
    interval: Interval
    verdict: str
    kind: str = "task"


@dataclass(frozen=True, eq=False, kw_only=True)
class RerunNoise(Record):
    """Whether more answers change than running the old model again would change.

    Attributes
    ----------
    method : str
        "repeats" of both models, or "again": a second run of the old one.
    p_value : float
        Of no more change than by running again.
    changed_new, changed_again : int or None
        Questions whose score changes with the new model, and with the old one again; None for repeats.
    """

    method: str
    p_value: float
    changed_new: int | None = None
    changed_again: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangedQuestions(Record):
    """The questions whose score changes, the worst first.

    Attributes
    ----------
    id, task : ndarray of shape (n_changed,)
        Which question, of which task.
    old, new : ndarray of shape (n_changed,)
        Mean scores of both models.
    change : ndarray of shape (n_changed,)
        How much better the new model is: negative where it fell.
    """

    id: npt.NDArray[Any]
    task: npt.NDArray[Any]
    old: FloatArray
    new: FloatArray
    change: FloatArray
