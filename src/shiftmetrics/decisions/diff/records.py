"""What a comparison of two models' predictions finds: the changes, what labels say of them, parts and evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval
from shiftmetrics.decisions.labelling.plan import LabelPlan

EFFECTS = {1: "fixed", -1: "broken", 0: "neither", 2: ""}
"""What a change does: the new model alone is right, the old one alone, neither, or nobody knows."""


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
    beside : mapping of str to array
        What the files say of these rows beside the predictions. It stands in no JSON, and is empty after reading one.
    """

    position: IntArray
    id: npt.NDArray[Any]
    old: npt.NDArray[Any]
    new: npt.NDArray[Any]
    old_confidence: FloatArray | None = None
    new_confidence: FloatArray | None = None
    label: npt.NDArray[Any]
    effect: IntArray
    beside: Mapping[str, Any] = field(default_factory=dict, repr=False)


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
        Rows in which several classes have the largest score, so that the first of them is the
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
        "class", or the name of the groups; "group" if that is "class", too.
    name : str
        Which one.
    n_samples, n_changed, n_labelled, fixed, broken : int
        Rows; those whose answer changes; changed rows whose label is used; of these, rows fixed and
        broken; of outputs, rows in which the new model is closer and farther.
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
class ConstantAnswer(Record):
    """What whoever always gives one answer has in these rows, where all of them are labelled.

    Attributes
    ----------
    answers : tuple of str
        The best one; several where they are equally good.
    score : float
        Its accuracy or mean cost.
    """

    answers: tuple[str, ...]
    score: float


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
    constant : ConstantAnswer or None
        What the best constant answer has, where all rows are labelled with classes.
    doubts : tuple of str
        What speaks against the way in which the tables were read: nothing is called safe or better then.
    """

    kappa: float | None = None
    agreement: float | None = None
    flipped: float | None = None
    estimate: float | None = None
    measures: tuple[QualityMeasure, ...] = ()
    constant: ConstantAnswer | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class DiffFigures:
    """What the sentences of a comparison name; its attributes are described at `DiffResult`."""

    value: float
    interval: Interval | None = None
    n_samples: int
    verdict: str
    allow: float | None = None
    metric: str = "accuracy"
    certain: Interval
    changes: PredictionDiff
    labelled: LabelledChanges | None = None
    plan: LabelPlan | None = None
    parts: tuple[PartDifference, ...] = ()
    evidence: DiffEvidence
