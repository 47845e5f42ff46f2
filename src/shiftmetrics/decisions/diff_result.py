"""The result of comparing the predictions of two models: the verdict, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.drawing import Drawn
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval, Result, Status
from shiftmetrics.decisions.diff_words import findings, next_steps, sentence
from shiftmetrics.decisions.plan import LabelPlan

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

EFFECTS = {1: "fixed", -1: "broken", 0: "neither", 2: ""}
"""What a change does: the new model alone is right, the old one alone, neither, or nobody knows."""

# SAFE and BETTER leave with 0; 2 is an error of the program, so that "cannot tell" has the next free code.
EXIT_CODES = {"WORSE": 1, "CANNOT TELL YET": 3}


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangeCount(Record):
    """How often one answer becomes another.

    Attributes
    ----------
    old, new : str
        The answers.
    n : int
        Rows.
    fixed, broken : int
        Of these, rows whose known label is the new answer, and the old one.
    """

    old: str
    new: str
    n: int
    fixed: int
    broken: int


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangedSamples(Record):
    """The rows in which the answer changes, in the order in which to label them.

    Attributes
    ----------
    position : ndarray of shape (n_changed,)
        Place among the compared rows.
    id : ndarray of shape (n_changed,)
        The id, or the place where there are none.
    old, new : ndarray of shape (n_changed,)
        The answers: names of classes, or outputs.
    old_confidence, new_confidence : ndarray of shape (n_changed,) or None
        Probability that each model gives its own answer.
    label : ndarray of shape (n_changed,)
        The known label; empty, or NaN for outputs, where it is not known.
    effect : ndarray of shape (n_changed,)
        1 fixed, -1 broken, 0 neither, 2 not known.
    """

    position: IntArray
    id: npt.NDArray[Any]
    old: npt.NDArray[Any]
    new: npt.NDArray[Any]
    old_confidence: FloatArray | None = None
    new_confidence: FloatArray | None = None
    label: npt.NDArray[Any]
    effect: IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionDiff(Record):
    """The answers that change, without a look at labels.

    Attributes
    ----------
    n_changed : int
        Rows in which the answer changes.
    fraction : float
        Of all rows.
    n_confident : int or None
        Changed rows in which both models give their own answer a probability of at least .9; None
        without probabilities.
    n_tied_old, n_tied_new : int
        Rows in which several classes share the largest score, so that the first of them is the
        answer.
    frequent : tuple of ChangeCount
        The changes from one class to another, the most frequent first; at most ten.
    rows : ChangedSamples
        All of them.
    """

    n_changed: int
    fraction: float
    n_confident: int | None = None
    n_tied_old: int = 0
    n_tied_new: int = 0
    frequent: tuple[ChangeCount, ...] = ()
    rows: ChangedSamples


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledChanges(Record):
    """What the known labels say.

    Attributes
    ----------
    n_labelled : int
        Changed rows whose label is used.
    fixed, broken, neither : int
        Of these, rows in which the new model alone is right, the old one alone, and neither; for
        outputs, rows in which the new model is closer, the old one, and neither.
    old_score, new_score : float or None
        The metric of both models (accuracy, mean cost, mean absolute error), where all rows are
        labelled.
    p_value : float or None
        Of no difference, by McNemar's exact test, where all changed rows are labelled.
    unused : ndarray
        Ids of labelled rows outside the plan, which are not used.
    """

    n_labelled: int
    fixed: int
    broken: int
    neither: int
    old_score: float | None = None
    new_score: float | None = None
    p_value: float | None = None
    unused: npt.NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class PartDifference(Record):
    """The difference in the rows of one class or group.

    Attributes
    ----------
    kind : str
        "class", or the name of the groups.
    name : str
        Which one.
    n_samples, n_changed, n_labelled, fixed, broken : int
        Rows; those whose answer changes; changed rows whose label is used; of these, rows fixed and
        broken.
    interval : Interval or None
        Of the difference, wide enough that those of all parts hold together.
    verdict : str
        "better", "worse", "no clear difference", or "too few to tell".
    """

    kind: str
    name: str
    n_samples: int
    n_changed: int
    n_labelled: int
    fixed: int
    broken: int
    interval: Interval | None
    verdict: str


@dataclass(frozen=True, eq=False, kw_only=True)
class QualityMeasure(Record):
    """One more measure of both models, where all rows are labelled.

    Attributes
    ----------
    name : str
        Such as "log loss".
    old, new : float
        Of both models.
    higher_is_better : bool
    interval : Interval or None
        Of new minus old in future rows, where the measure is a mean over rows.
    """

    name: str
    old: float
    new: float
    higher_is_better: bool
    interval: Interval | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class DiffEvidence(Record):
    """What is worth a look below the verdict.

    Attributes
    ----------
    kappa : float or None
        Cohen's kappa of the answers of both models: 1 where none changes, 0 as for independent
        answers.
    agreement : float or None
        Posterior agreement over its maximum, of models with probabilities.
    flipped : float or None
        Fraction of the answers that a channel of this agreement flips at random.
    estimate : float or None
        Difference of the accuracies if labels were distributed as the mean of both models'
        probabilities says. It is not used by the verdict.
    measures : tuple of QualityMeasure
        Calibration and discrimination before and after; squared errors of outputs.
    """

    kappa: float | None = None
    agreement: float | None = None
    flipped: float | None = None
    estimate: float | None = None
    measures: tuple[QualityMeasure, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class DiffResult(Drawn, Result):
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
        "SAFE", "WORSE" or "CANNOT TELL YET" with ``allow``; "BETTER", "WORSE", "SAME" or "CANNOT
        TELL YET" without.
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

    verdict: str
    allow: float | None = None
    metric: str = "accuracy"
    certain: Interval
    changes: PredictionDiff
    labelled: LabelledChanges | None = None
    plan: LabelPlan | None = None
    parts: tuple[PartDifference, ...] = ()
    evidence: DiffEvidence

    @property
    def exit_code(self) -> int:
        """0 where the new model is safe or nothing was asked, 1 where it is worse, 3 where that cannot be told."""
        if self.allow is None:
            return 0
        return EXIT_CODES.get(self.verdict, 0)

    def status_of(self, field: str) -> Status | None:
        """Return the status that a field depends on: which predictions change is known without a label."""
        if field.startswith(("changes", "certain", "evidence")):
            return None
        return self.status

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what results must share to be compared."""
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

    def headline(self) -> str:
        """Return the verdict and its sentence."""
        return f"{self.verdict}  {self.sentence}"

    def notes(self) -> list[str]:
        """Return what else was found, what to do now, and warnings."""
        sentences = [*findings(self), *self.next_steps]
        sentences.extend(f"Warning: {warning}" for warning in self.warnings)
        return sentences

    def to_frame(self) -> Any:
        """Return the changed rows as a pandas DataFrame, in the order in which to label them.

        Its column ``label`` is to be filled in; ``plan`` says what the order was drawn for, so that
        the table can be given back as ``labels``.
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
        return frame
