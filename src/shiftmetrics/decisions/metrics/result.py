"""The result of comparing two models by a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Result, Status
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.columns_of_rows import with_columns_of_rows
from shiftmetrics.decisions.leading_verdict import LeadingVerdict
from shiftmetrics.decisions.metrics.records import MovingRows
from shiftmetrics.decisions.metrics.words import (
    metric_details,
    metric_findings,
    metric_sentence,
    metric_steps,
)

MEASURED = Status(
    "measured", "The metric of both models is known, with an interval for future rows."
)
TOO_FEW = Status(
    "too_few",
    "There are too few rows of some class, or too few groups, to say anything of future rows.",
    "Add labelled rows.",
    ok=False,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricDiffResult(LeadingVerdict, Drawn, Result):
    """Whether a new model is safe to put in the place of an old one, by a metric.

    Attributes
    ----------
    value : float
        The metric of the new model minus that of the old one: positive is better.
    error_bound : float
        0: in these rows the difference is known.
    interval : Interval or None
        Of the difference at 95 %, for future rows like these; None where there are too few.
    status : Status
        "measured" or "too_few".
    verdict : str
        "SAFE", "WORSE" or "CANNOT TELL" with ``allow``; "BETTER", "WORSE", "SAME" or "CANNOT
        TELL" without.
    allow : float or None
        By how much the metric may be lower.
    metric : str
        Its name.
    old_score, new_score : float
        The metric of both models.
    rarest : int
        Rows of the smallest class that the metric rests on; all rows of a mean.
    n_groups : int or None
        Clusters of rows that depend on each other.
    rows : MovingRows
        Rows whose prediction changes, those that cost the new model most first.
    """

    measure = "diff_metric"
    title = "Old and new metric"
    higher_is_better = True

    verdict: str
    allow: float | None = None
    metric: str
    old_score: float
    new_score: float
    rarest: int
    n_groups: int | None = None
    rows: MovingRows

    @property
    def population(self) -> str:
        """The rows that the verdict speaks of: future ones."""
        return "future"

    @property
    def exit_code(self) -> int:
        """0 where the new model is safe or nothing was asked, 1 where it is worse, 3 where that cannot be told."""
        return verdicts.gate_exit_code(self.verdict, self.allow)

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what must be equal in results to be compared."""
        return {"metric": (self.metric, "Compare results of one metric.")}

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
        return metric_sentence(self)

    @property
    def next_steps(self) -> list[str]:
        """What to do now."""
        return metric_steps(self)

    def notes(self) -> list[str]:
        """Return what else was found, what to do now, and warnings."""
        warnings = [f"Warning: {warning}" for warning in self.warnings]
        return [*metric_findings(self), *self.next_steps, *warnings]

    def details(self) -> list[str]:
        """Return how the interval was made."""
        return metric_details(self)

    def to_frame(self) -> Any:
        """Return the rows whose prediction changes as a pandas DataFrame, those that cost most first.

        Columns of the rows that are no predictions, ids or labels follow; a result read from JSON has none.
        """
        import pandas as pd

        rows = self.rows
        frame = pd.DataFrame({"id": rows.id, "label": rows.label})
        frame["old"] = rows.old
        frame["new"] = rows.new
        frame["effect"] = rows.effect
        return with_columns_of_rows(frame, rows.beside)
