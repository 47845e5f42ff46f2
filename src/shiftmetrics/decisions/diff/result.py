"""The result of comparing the predictions of two models: the verdict, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.result import Result, Status
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.columns_of_rows import with_columns_of_rows
from shiftmetrics.decisions.diff.part_words import (
    constant_sentence,
    evidence_sentences,
    part_sentences,
)
from shiftmetrics.decisions.diff.records import EFFECTS, DiffFigures
from shiftmetrics.decisions.diff.words import findings, next_steps, sentence
from shiftmetrics.decisions.labelling.paired import FUTURE
from shiftmetrics.decisions.leading_verdict import LeadingVerdict

UNCHANGED = Status("unchanged", "No answer changes.")
UNLABELLED = Status(
    "unlabelled",
    "No label is known: the difference is bounded, not measured.",
    "Label the rows of the plan, in order.",
    ok=False,
)
BOUNDED = Status(
    "bounded",
    "Labels without a plan may not be of rows chosen at random: they say what is certain, and no more.",
    "Label the rows of a plan, in order.",
    ok=False,
)
SAMPLED = Status("sampled", "The difference is estimated from the labelled rows of a plan.")
LABELLED = Status("labelled", "The labels of all changed rows are known.")


@dataclass(frozen=True, eq=False, kw_only=True)
class DiffResult(LeadingVerdict, Drawn, DiffFigures, Result):
    """Whether a new model is safe to put in the place of an old one.

    Attributes
    ----------
    value : float
        How much better the new model is: accuracy of the new minus that of the old one; of costs
        and absolute errors, the old mean minus the new one. Without labels the middle of what is
        possible.
    error_bound : float
        What is certain: in these rows the difference lies within ``value +- error_bound``, whatever
        the labels that are not known.
    interval : Interval or None
        Of the difference at 95 %. ``method`` "exact" and "anytime" are for these rows, from the
        labels of a plan; "future rows" is for rows like these, where all labels are known. None
        without labels.
    status : Status
        What is known: "unchanged", "unlabelled", "bounded", "sampled" or "labelled".
    verdict : str
        "SAFE", "WORSE" or "CANNOT TELL" with ``allow``; "BETTER", "WORSE", "SAME" or "CANNOT
        TELL" without.
    allow : float or None
        By how much the new model may be worse.
    metric : str
        "accuracy", "mean cost" or "mean absolute error".
    certain : Interval
        Of the difference in these rows, for certain.
    changes : PredictionDiff
        The answers that change.
    labelled : LabelledChanges or None
        What the known labels say.
    plan : LabelPlan or None
        Which rows to label; None where nothing is left to label.
    parts : tuple of PartDifference
        The difference by class and by group.
    evidence : DiffEvidence
        Kappa, posterior agreement, calibration.
    """

    measure = "diff"
    title = "Old and new predictions"
    higher_is_better = True

    @property
    def population(self) -> str:
        """The rows that the verdict speaks of: "these", or "future" rows like them."""
        is_future = self.interval is not None and self.interval.method == FUTURE
        return "future" if is_future else "these"

    @property
    def exit_code(self) -> int:
        """0 where the new model is safe or nothing was asked, 1 where it is worse, 3 where that cannot be told."""
        return verdicts.gate_exit_code(self.verdict, self.allow)

    def status_of(self, field: str) -> Status | None:
        """Return the status that a field depends on: which predictions change is known without a label."""
        if field.startswith(("changes", "certain", "evidence")):
            return None
        return self.status

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what must be equal in results to be compared."""
        return {"metric": (self.metric, "Compare results of one metric.")}

    @property
    def secondary_metrics(self) -> dict[str, Any]:
        """Return figures beside the difference."""
        return {
            "changed": self.changes.fraction,
            "exit_code": self.exit_code,
            "kappa": self.evidence.kappa,
        }

    @property
    def sentence(self) -> str:
        """What the verdict says, in one sentence with the figures that it rests on."""
        return sentence(self)

    @property
    def next_steps(self) -> list[str]:
        """What to do now, in at most three sentences."""
        return next_steps(self)

    def notes(self) -> list[str]:
        """Return what else was found, what to do now, and warnings."""
        sentences = findings(self)
        constant = constant_sentence(self)
        if constant is not None:
            sentences.append(constant)
        sentences += [*part_sentences(self), *evidence_sentences(self), *self.next_steps]
        sentences.extend(f"Warning: {warning}" for warning in self.warnings)
        return sentences

    def to_frame(self) -> Any:
        """Return the changed rows as a pandas DataFrame, in the order in which to label them.

        Its column ``label`` is to be filled in; ``plan`` says what the order was made for, so that
        the table can be given back as ``labels``. Columns of the rows that are no predictions, ids or labels follow,
        as the files hold them; a result that was read from JSON has none.
        """
        import pandas as pd

        rows = self.changes.rows
        frame = pd.DataFrame({"order": np.arange(1, len(rows.id) + 1), "id": rows.id})
        frame["label"] = rows.label
        frame["old"] = rows.old
        frame["new"] = rows.new
        for side in ("old", "new"):
            confidence = getattr(rows, f"{side}_confidence")
            if confidence is not None:
                frame[f"{side}_confidence"] = confidence
        frame["effect"] = [EFFECTS[effect] for effect in rows.effect.tolist()]
        frame["reason"] = (
            "the answers differ" if self.metric != "mean absolute error" else "the outputs differ"
        )
        if self.plan is not None:
            frame["probability"] = self.plan.probability
            frame["plan"] = self.plan.text
        return with_columns_of_rows(frame, rows.beside)
