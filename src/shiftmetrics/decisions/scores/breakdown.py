"""What stands beside the verdict on scores: tasks, questions that changed, and how many questions would decide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.diff.words import NORMAL, TAIL, rounded
from shiftmetrics.decisions.scores.intervals import (
    ScoreGains,
    interval_of_gains,
    plain_variance,
)
from shiftmetrics.decisions.scores.questions import ScorePair
from shiftmetrics.decisions.scores.records import ChangedQuestions, TaskScore

LEVEL = 0.95
"""Confidence level of all intervals of scores."""

MOST_GROUPS = 50
"""Groups with an interval each; more of them are clusters, and not what somebody asks about one by one."""

NEAR = 0.25
"""Distance from what is allowed, as a part of it, below which no number of questions is named."""

ROUNDING = 1e-12
"""Rounding error of a mean of scores."""


def questions_that_decide(gains: ScoreGains, allow: float, value: float) -> int | None:
    """Return for how many questions the half width is what is allowed, with scores that vary as these do.

    n = (1.96 / allow)^2 v, where v is the variance of the difference times their number: that of 0 and 1 is
    changed - d^2. Where the difference itself lies near the limit, no such number decides.
    """
    if abs(value + allow) < NEAR * allow:
        return None
    n = len(gains.gains)
    needed = n * plain_variance(gains) * (NORMAL / allow) ** 2
    if gains.n_tasks == 1:
        # Where hardly anything changes, what was not seen widens the interval.
        needed = max(needed, math.log(TAIL) / math.log1p(-min(allow / gains.reach, 0.5)))
    # What these questions did not decide, no fewer will.
    return rounded(max(needed, 1.1 * n))


def part_scores(
    pair: ScorePair, gains: ScoreGains, kept: Any, old: FloatArray, new: FloatArray
) -> tuple[TaskScore, ...]:
    """Return the difference in each task where there are several, and in each group unless these are many.

    The intervals hold together. That of a group is for more questions of this group.
    """
    names = pair.tasks[kept]
    members: list[tuple[str, str, Any]] = []
    if gains.n_tasks > 1:
        for task in range(gains.n_tasks):
            rows = gains.tasks == task
            members.append(("task", str(names[rows][0]), rows))
    if gains.groups is not None:
        found = np.unique(gains.groups)
        if 1 < len(found) <= MOST_GROUPS:
            members += [("group", pair.group_names[code], gains.groups == code) for code in found]
    # By Bonferroni the intervals of all parts hold together.
    level = 1.0 - (1.0 - LEVEL) / max(len(members), 1)
    parts = []
    for kind, name, rows in members:
        groups = None
        if kind == "task" and gains.groups is not None:
            groups = gains.groups[rows]
        interval = interval_of_gains(gains, gains.gains[rows], groups, level)
        verdict = verdicts.NO_CLEAR_DIFFERENCE
        if interval.low > 0.0:
            verdict = verdicts.PART_IS_BETTER
        elif interval.high < 0.0:
            verdict = verdicts.PART_IS_WORSE
        part = TaskScore(
            name=name,
            n_questions=int(rows.sum()),
            old=float(old[rows].mean()),
            new=float(new[rows].mean()),
            interval=interval,
            verdict=verdict,
            kind=kind,
        )
        parts.append(part)
    return tuple(parts)


def changed_questions(
    pair: ScorePair, gains: ScoreGains, kept: Any, old: FloatArray, new: FloatArray
) -> ChangedQuestions:
    """Return the questions whose score changes, the worst first."""
    order = np.argsort(gains.gains, kind="stable")
    order = order[np.abs(gains.gains[order]) > ROUNDING]
    return ChangedQuestions(
        id=pair.ids[kept][order],
        task=pair.tasks[kept][order],
        old=old[order],
        new=new[order],
        change=gains.gains[order],
    )
