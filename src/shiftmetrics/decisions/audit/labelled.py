"""The accuracy of one model from labels of some samples: exact, at any time, and against a labelled reference."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.confidence import binomial_interval
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import Interval, format_percent
from shiftmetrics.decisions.labelling.anytime import mean_sequence
from shiftmetrics.decisions.labelling.exact import count_interval
from shiftmetrics.decisions.labelling.paired import difference_of_rates
from shiftmetrics.decisions.labelling.plan import LabelPlan
from shiftmetrics.decisions.right_or_wrong import RightOrWrong

OFFERED = (50, 200)
"""Numbers of labels that a plan names, beside the number that its precision takes."""
PLANNED_POINTS = 0.03
"""Half a width of the interval that people are told the price of."""


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

    def is_open(self, points: float) -> bool:
        """Whether the accuracy may be lower than it was by more than so much, and labels may still tell."""
        if self.interval.low == self.interval.high:  # all samples are labelled
            return False
        if self.change_interval is not None:
            return not self.is_worse and self.change_interval.low < -points
        return self.accuracy - self.interval.low > points

    def sentence(self) -> str:
        """Say the accuracy and its change with their intervals."""
        low, high = self.interval.low, self.interval.high
        right = format_percent(self.accuracy)
        text = f"{right} of all {self.n_labelled:,} samples are right"
        if low < high:
            text = (
                f"{right} of {self.n_labelled:,} labelled samples are right "
                f"({format_percent(low)} to {format_percent(high)} of all)"
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
        verb = "is" if self.n_right == 1 else "are"
        text = f"In mode {self.mode + 1}, {self.n_right:,} of {self.n_labelled:,} labelled samples {verb} right"
        if low == high:  # all members are labelled
            return text + "."
        return f"{text} ({format_percent(low)} to {format_percent(high)} of its members)."


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
        The order in which samples were labelled, and whether the interval holds after each of them.
    confidence_level : float, default 0.95
        Of each interval.

    Returns
    -------
    LabelledAccuracy or None
        None where no label counts.
    """
    # 1. Which labels count: random ones, so those of the plan, or all where there is none.
    n = len(current.known)
    is_exact = True
    rows: IntArray = np.flatnonzero(current.known)
    if plan is not None:
        rows, is_exact = _of_plan(current, plan)
    n_right, n_labelled = current.counts(rows)
    if n_labelled == 0:
        return None
    # 2. The accuracy in these very samples: a finite population, sampled without replacement.
    accuracy = n_right / n_labelled
    if is_exact:
        low, high = exact_limits(n, n_labelled, n_right, confidence_level)
        method = "exact"
    else:
        low, high = _anytime_limits(current, rows, n, confidence_level)
        method = "anytime"
    interval = Interval(low=low, high=high, confidence_level=confidence_level, method=method)
    # 3. Its change against the labelled reference, whose own sampling error counts as well.
    reference_accuracy = change = change_interval = None
    hits, n_reference = (0, 0) if reference is None else reference.counts()
    if n_reference:
        reference_accuracy = hits / n_reference
        change = accuracy - reference_accuracy
        own = (accuracy, low, high)
        if n_labelled == n:
            # All labels are known: for samples like these the interval is that of a sample, not a point.
            own = (accuracy, *binomial_interval(n_right / n, n, confidence_level))
        theirs = (
            reference_accuracy,
            *binomial_interval(hits / n_reference, n_reference, confidence_level),
        )
        low_change, high_change = difference_of_rates(own, theirs)
        change_interval = Interval(
            low=low_change,
            high=high_change,
            confidence_level=confidence_level,
            method="exact, MOVER",
        )
    return LabelledAccuracy(
        n_labelled=n_labelled,
        n_right=n_right,
        accuracy=accuracy,
        interval=interval,
        reference_accuracy=reference_accuracy,
        change=change,
        change_interval=change_interval,
        n_unused=int(current.known.sum()) - n_labelled,
    )


def mode_accuracy(
    mode: int, members: IntArray, current: RightOrWrong, confidence_level: float = 0.95
) -> ModeAccuracy | None:
    """Return the accuracy inside a mode; None where no member has a label."""
    n_right, n_labelled = current.counts(members)
    if n_labelled == 0:
        return None
    low, high = exact_limits(len(members), n_labelled, n_right, confidence_level)
    interval = Interval(low=low, high=high, confidence_level=confidence_level, method="exact")
    return ModeAccuracy(mode=mode, n_labelled=n_labelled, n_right=n_right, interval=interval)


def exact_limits(
    n_samples: int, n_labelled: int, n_right: int, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Return the limits of the fraction of all samples that is right, from a random part of them."""
    low, high = count_interval(n_samples, n_labelled, n_right, confidence_level)
    return low / n_samples, high / n_samples


def expected_half_width(n_samples: int, n_labels: int, accuracy: float) -> float:
    """Return half the width of the exact interval that so many labels give, at an expected accuracy."""
    low, high = exact_limits(n_samples, n_labels, round(accuracy * n_labels))
    return 0.5 * (high - low)


def labels_for_accuracy(n_samples: int, accuracy: float, half_width: float) -> int:
    """Return how many labels give an exact interval of about this half width, at an expected accuracy.

    Examples
    --------
    >>> labels_for_accuracy(2000, 0.8, 0.031)
    501
    """
    # The width falls with the number of labels: bisection. In an infinite population .96 / h^2 labels are enough.
    low = 1
    high = min(n_samples, math.ceil(2.0 / half_width**2))
    while low < high:
        n = (low + high) // 2
        if expected_half_width(n_samples, n, accuracy) <= half_width:
            high = n
        else:
            low = n + 1
    return low


def label_offer(n_samples: int, accuracy: float, n_labels: int | None = None) -> str:
    """Say before anybody labels how well a number of labels tells the accuracy, and what more of them would give.

    Parameters
    ----------
    n_samples : int
        All samples.
    accuracy : float
        The expected one.
    n_labels : int, optional
        What is planned. Default: a few.

    Examples
    --------
    >>> label_offer(10_000, 0.8)
    'Label 50 samples chosen at random to know the accuracy to about 12 points; 200 tell it to 6, 666 to 3.'
    """
    enough = labels_for_accuracy(n_samples, accuracy, PLANNED_POINTS)
    first = min(OFFERED[0], enough) if n_labels is None else n_labels
    if first >= n_samples:
        return f"Label all {n_samples:,} samples to know the accuracy in them without error."
    more = [n for n in dict.fromkeys((*OFFERED[1:], enough)) if first < n <= enough]
    points = [100 * expected_half_width(n_samples, n, accuracy) for n in (first, *more)]
    text = f"Label {first:,} samples chosen at random to know the accuracy to about {points[0]:.0f} points"
    offers = ", ".join(
        f"{n:,}{'' if place else ' tell it'} to {points[1 + place]:.0f}"
        for place, n in enumerate(more)
    )
    return f"{text}; {offers}." if offers else f"{text}."


def _of_plan(current: RightOrWrong, plan: LabelPlan) -> tuple[IntArray, bool]:
    """Return the rows of the plan that count, and whether their interval is exact.

    An exact interval is given once, when the plan is complete; before, the one that allows for looking is.
    """
    known = current.known[plan.order]
    if plan.mode == "exact" and known[: plan.n_labels].all():
        return plan.rows, True
    # Labels count up to the last one in the order of the plan.
    places = np.flatnonzero(known)
    last = int(places[-1]) + 1 if len(places) else 0
    return plan.order[:last], False


def _anytime_limits(
    current: RightOrWrong, rows: IntArray, n: int, confidence_level: float
) -> tuple[float, float]:
    """Return the limits of the accuracy that hold after every label together."""
    # A gap in the order may be right or wrong: leaving out what was hard to label would flatter the model.
    lowest = current.right[rows].astype(np.float64)
    highest = lowest + ~current.known[rows]
    low, high = mean_sequence(lowest, highest, n, confidence_level)
    return float(low[-1]), float(high[-1])


def _change_words(interval: Interval) -> str:
    """Say a change of accuracy in points."""
    low, high = 100 * interval.low, 100 * interval.high
    if high < 0.0:
        return f"{-high:.1f} to {-low:.1f} points below the reference"
    if low > 0.0:
        return f"{low:.1f} to {high:.1f} points above the reference"
    return f"between {-low:.1f} points below the reference and {high:.1f} above"
