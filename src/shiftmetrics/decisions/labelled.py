"""The accuracy of one model from labels of some samples: exact, at any time, and against a labelled reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval
from shiftmetrics.decisions.anytime import mean_sequence
from shiftmetrics.decisions.exact import count_interval
from shiftmetrics.decisions.paired import difference_of_rates
from shiftmetrics.decisions.plan import LabelPlan

HALF_WIDTHS = (0.02, 0.03, 0.05)
"""Half widths for which the number of labels is planned."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledAccuracy(Record):
    """The accuracy of a model in the current sample, from the labels of some of it.

    Attributes
    ----------
    n_labelled, n_right : int
        Labels that count, and right predictions among them.
    accuracy : float
        Fraction of them that is right.
    interval : Interval
        Of the accuracy over all samples: "exact" (hypergeometric) or "anytime" (a betting sequence).
    reference_accuracy : float or None
        Accuracy on the labelled reference.
    change : float or None
        Accuracy minus that of the reference.
    change_interval : Interval or None
        Of the change, for samples like these and a reference like this one.
    n_unused : int
        Labels of samples outside the plan, which do not count: they are no random ones.
    """

    n_labelled: int
    n_right: int
    accuracy: float
    interval: Interval
    reference_accuracy: float | None = None
    change: float | None = None
    change_interval: Interval | None = None
    n_unused: int = 0

    @property
    def is_worse(self) -> bool:
        """Whether the accuracy is shown to be lower than in the reference."""
        return self.change_interval is not None and self.change_interval.high < 0.0

    @property
    def is_better(self) -> bool:
        """Whether it is shown to be higher."""
        return self.change_interval is not None and self.change_interval.low > 0.0

    def sentence(self) -> str:
        """Say the accuracy and its change with their intervals."""
        low, high = self.interval.low, self.interval.high
        text = f"{100 * self.accuracy:.1f} % of all {self.n_labelled} samples are right"
        if low < high:
            text = (
                f"{100 * self.accuracy:.0f} % of {self.n_labelled} labelled samples are right "
                f"({100 * low:.0f} % to {100 * high:.0f} % of all)"
            )
        if self.change_interval is None:
            return text + "."
        return f"{text}, {_change_words(self.change_interval)}."


@dataclass(frozen=True, eq=False, kw_only=True)
class ModeAccuracy(Record):
    """The accuracy of a model inside a new mode, from labels of some of its members.

    Attributes
    ----------
    mode : int
        Which new mode, from 0.
    n_labelled, n_right : int
        Members with a label, and right predictions among them.
    interval : Interval
        Of the accuracy over all members, if the labelled ones are random members.
    """

    mode: int
    n_labelled: int
    n_right: int
    interval: Interval

    def sentence(self) -> str:
        """Say the accuracy with its interval."""
        low, high = self.interval.low, self.interval.high
        text = f"In mode {self.mode + 1}, {self.n_right} of {self.n_labelled} labelled samples are right"
        if low == high:  # all members are labelled
            return text + "."
        return f"{text} ({100 * low:.0f} % to {100 * high:.0f} % of its members)."


@dataclass(frozen=True, eq=False)
class RightOrWrong:
    """Which predictions are right, where that is known.

    Attributes
    ----------
    right : array of bool of shape (n_samples,)
        Whether the prediction is the label; means nothing where the label is not known.
    known : array of bool of shape (n_samples,)
        Whether the label is known.
    """

    right: BoolArray
    known: BoolArray


def labelled_accuracy(
    current: RightOrWrong,
    reference: RightOrWrong | None,
    plan: LabelPlan | None,
    confidence_level: float = 0.95,
) -> LabelledAccuracy | None:
    """Return the accuracy from labels: those of a plan in its order, or all that there are where there is no plan.

    Without a plan the labelled samples are taken as a random part of all; whoever chose them otherwise has another
    question answered.

    Parameters
    ----------
    current, reference : RightOrWrong
        Both samples; the reference may be None.
    plan : LabelPlan or None
        The order in which samples were labelled, and whether the interval may be looked at after each.
    confidence_level : float, default 0.95
        Of each interval.

    Returns
    -------
    LabelledAccuracy or None
        None where no label counts.
    """
    n = len(current.known)
    if plan is None:
        rows: IntArray = np.flatnonzero(current.known)
        missing: BoolArray = np.zeros(len(rows), dtype=bool)
        anytime = False
    else:
        rows, missing, anytime = _of_plan(current, plan)
    labelled = rows[~missing]
    if not len(labelled):
        return None
    n_right = int(current.right[labelled].sum())
    if anytime:
        interval = _anytime(current, rows, missing, n, confidence_level)
    else:
        low, high = count_interval(
            n, len(rows), n_right, confidence_level, missing=int(missing.sum())
        )
        interval = Interval(
            low=low / n, high=high / n, confidence_level=confidence_level, method="exact"
        )
    accuracy = n_right / len(labelled)
    reference_accuracy = change = change_interval = None
    if reference is not None and reference.known.any():
        hits = int(reference.right[reference.known].sum())
        n_reference = int(reference.known.sum())
        reference_accuracy = hits / n_reference
        change = accuracy - reference_accuracy
        own = (accuracy, interval.low, interval.high)
        if len(labelled) == n:
            # All labels are known: for samples like these the interval is that of a sample, not a point.
            own = (accuracy, *clopper_pearson(n_right, n, confidence_level))
        theirs = (reference_accuracy, *clopper_pearson(hits, n_reference, confidence_level))
        low_change, high_change = difference_of_rates(own, theirs)
        change_interval = Interval(
            low=low_change,
            high=high_change,
            confidence_level=confidence_level,
            method="exact, MOVER",
        )
    return LabelledAccuracy(
        n_labelled=len(labelled),
        n_right=n_right,
        accuracy=accuracy,
        interval=interval,
        reference_accuracy=reference_accuracy,
        change=change,
        change_interval=change_interval,
        n_unused=int(current.known.sum()) - len(labelled),
    )


def mode_accuracy(
    mode: int, members: IntArray, current: RightOrWrong, confidence_level: float = 0.95
) -> ModeAccuracy | None:
    """Return the accuracy inside a mode; None where no member has a label."""
    labelled = members[current.known[members]]
    if not len(labelled):
        return None
    n_right = int(current.right[labelled].sum())
    n = len(members)
    low, high = count_interval(n, len(labelled), n_right, confidence_level)
    interval = Interval(
        low=low / n, high=high / n, confidence_level=confidence_level, method="exact"
    )
    return ModeAccuracy(mode=mode, n_labelled=len(labelled), n_right=n_right, interval=interval)


def clopper_pearson(hits: int, n: int, confidence_level: float = 0.95) -> tuple[float, float]:
    """Return the exact limits of a rate (C. Clopper, E. Pearson, Biometrika 26, 1934)."""
    from scipy.stats import beta

    tail = 0.5 * (1.0 - confidence_level)
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1.0 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def labels_for_accuracy(
    n_samples: int, accuracy: float, half_width: float, confidence_level: float = 0.95
) -> int:
    """Return how many labels give an exact interval of about this half width, at an expected accuracy.

    Examples
    --------
    >>> labels_for_accuracy(2000, 0.8, 0.03)
    525
    """
    low, high = 1, n_samples
    while low < high:
        n = (low + high) // 2
        limits = count_interval(n_samples, n, round(accuracy * n), confidence_level)
        if 0.5 * (limits[1] - limits[0]) / n_samples <= half_width:
            high = n
        else:
            low = n + 1
    return low


def _of_plan(current: RightOrWrong, plan: LabelPlan) -> tuple[IntArray, BoolArray, bool]:
    """Return the rows of the plan that count, which of them have no label, and whether the interval is anytime.

    An exact interval is given once, when the plan is complete; before, the one that allows for looking is.
    """
    known = current.known[plan.order]
    planned = known[: plan.n_labels]
    if plan.mode == "exact" and planned.all():
        rows = plan.rows
        return rows, np.zeros(len(rows), dtype=bool), False
    # Labels count up to the last one in the order of the plan; gaps before it may be right or wrong.
    last = int(np.flatnonzero(known)[-1]) + 1 if known.any() else 0
    rows = plan.order[:last]
    return rows, ~known[:last], True


def _anytime(
    current: RightOrWrong, rows: IntArray, missing: BoolArray, n: int, confidence_level: float
) -> Interval:
    """Return the limits of the accuracy that hold after every label together."""
    right = current.right[rows].astype(np.float64)
    lowest: FloatArray = np.where(missing, 0.0, right)
    highest: FloatArray = np.where(missing, 1.0, right)
    low, high = mean_sequence(lowest, highest, n, confidence_level)
    return Interval(
        low=float(low[-1]),
        high=float(high[-1]),
        confidence_level=confidence_level,
        method="anytime",
    )


def _change_words(interval: Interval) -> str:
    """Say a change of accuracy in points."""
    low, high = 100 * interval.low, 100 * interval.high
    if high < 0.0:
        return f"{-high:.1f} to {-low:.1f} points below the reference"
    if low > 0.0:
        return f"{low:.1f} to {high:.1f} points above the reference"
    return f"between {-low:.1f} points below the reference and {high:.1f} above"
