"""The result of comparing two models by the scores of the same questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Result, Status
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.labelling.paired import FUTURE
from shiftmetrics.decisions.leading_verdict import LeadingVerdict
from shiftmetrics.decisions.scores.records import (
    ChangedQuestions,
    RerunNoise,
    ScoreCounts,
    TaskScore,
)
from shiftmetrics.decisions.scores.words import (
    score_details,
    score_findings,
    score_sentence,
    score_steps,
)

SCORED = Status("scored", "Both models have a score of each question.")
INCOMPLETE = Status("incomplete", "Some samples failed: their questions are left out.")


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreDiffResult(LeadingVerdict, Drawn, Result):
    """Whether a new model is safe to put in the place of an old one, by scores of the same questions.

    Attributes
    ----------
    value : float
        How much better the new model is: its mean score minus that of the old one, or the other way round
        where less is better. Over several tasks, the mean of their differences.
    error_bound : float
        In these questions the difference lies within ``value +- error_bound``, whatever the failed samples would
        have scored.
    interval : Interval
        Of the difference at 95 %, for future questions; for these ones a point, or what repeats
        leave open.
    status : Status
        "scored", or "incomplete" where samples failed.
    n_samples : int
        Questions with a score of both models.
    verdict : str
        "SAFE", "WORSE" or "CANNOT TELL" with ``allow``; "BETTER", "WORSE", "SAME" or "CANNOT TELL" without.
    allow : float or None
        By how much the new model may be worse.
    metric : str
        Name of the score.
    counts : ScoreCounts
        Questions, runs, failures, and how many questions would decide.
    old_score, new_score : float
        Mean scores of both models.
    parts : tuple of TaskScore
        The difference in each task, where there are several, and in each group, unless these are many.
    noise : RerunNoise or None
        Whether more answers change than by running the old model again.
    questions : ChangedQuestions
        Those whose score changes, the worst first.
    """

    measure = "diff_scores"
    title = "Old and new scores"
    higher_is_better = True

    verdict: str
    allow: float | None = None
    metric: str
    counts: ScoreCounts
    old_score: float
    new_score: float
    parts: tuple[TaskScore, ...] = ()
    noise: RerunNoise | None = None
    questions: ChangedQuestions

    @property
    def population(self) -> str:
        """The questions that the verdict speaks of: "these", or "future" ones like them."""
        assert self.interval is not None
        return "future" if self.interval.method == FUTURE else "these"

    @property
    def tasks(self) -> tuple[TaskScore, ...]:
        """The tasks, where there are several."""
        return tuple(part for part in self.parts if part.kind == "task")

    @property
    def above(self) -> tuple[str, ...]:  # type: ignore[override]
        """Runs that were stopped, and settings that differ, stand above the verdict."""
        return tuple(self.settings.get("above", ()))

    @property
    def exit_code(self) -> int:
        """0 where the new model is safe or nothing was asked, 1 where it is worse, 3 where that cannot be told."""
        return verdicts.gate_exit_code(self.verdict, self.allow)

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what must be equal in results to be compared."""
        return {"metric": (self.metric, "Compare results of one score.")}

    @property
    def secondary_metrics(self) -> dict[str, Any]:
        """Return figures beside the difference."""
        return {
            "old_score": self.old_score,
            "new_score": self.new_score,
            "exit_code": self.exit_code,
        }

    @property
    def sentence(self) -> str:
        """What the verdict says, in one sentence with the figures that it rests on."""
        return score_sentence(self)

    @property
    def next_steps(self) -> list[str]:
        """What to do now."""
        return score_steps(self)

    def notes(self) -> list[str]:
        """Return what else was found, and what to do now."""
        return [*score_findings(self), *self.next_steps]

    def details(self) -> list[str]:
        """Return how the interval was made."""
        return score_details(self)

    def to_frame(self) -> Any:
        """Return the questions whose score changes as a pandas DataFrame, the worst first."""
        import pandas as pd

        rows = self.questions
        frame = pd.DataFrame({"task": rows.task, "id": rows.id})
        frame["old"] = rows.old
        frame["new"] = rows.new
        frame["change"] = rows.change
        if not any(rows.task):
            del frame["task"]
        return frame
