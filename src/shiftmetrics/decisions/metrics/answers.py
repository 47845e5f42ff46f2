"""The answers of one model as rows of margins, and how far one more row may move a metric of two models."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.decisions.metrics.sums import (
    Features,
    MarginRows,
    OfSums,
    RowEffects,
    added_effects,
    effects_of_sums,
    grade_features,
    margins_metric,
    quadratic_kappa,
)

_MOST_CLASSES = 200
"""Classes of which all pairs of a label and an answer are tried."""

_EXTREMES = 4
"""Classes at either end of a count from which the search among more pairs starts."""


class AnswerSide:
    """The answers of one model, over the classes that occur in its labels or answers, as scikit-learn takes them."""

    def __init__(self, name: str, labels: IntArray, answers: IntArray, n_classes: int) -> None:
        self.is_graded = name == "quadratic_kappa"
        occurring = np.zeros(n_classes, dtype=bool)
        occurring[labels] = True
        occurring[answers] = True
        if n_classes == 2 or self.is_graded:
            occurring[:] = True
        self.classes = np.flatnonzero(occurring)
        # Numbers among these classes; -1 for the others.
        self.places = np.full(n_classes, -1)
        self.places[self.classes] = np.arange(len(self.classes))
        n_kept = len(self.classes)
        of_sums = quadratic_kappa if self.is_graded else margins_metric(name, n_kept)
        assert of_sums is not None
        self.of_sums: OfSums = of_sums
        cells = self.places[labels] * n_kept + self.places[answers]
        distinct, self.kinds = np.unique(cells, return_inverse=True)
        self.kinds = self.kinds.ravel()
        self.features = self._features(distinct // n_kept, distinct % n_kept)

    def _features(self, labels: IntArray, answers: IntArray) -> Features:
        if self.is_graded:
            return grade_features(labels.astype(np.float64), answers.astype(np.float64))
        return MarginRows(labels, answers, len(self.classes))

    def extreme_classes(self) -> IntArray:
        """Return the classes of the smallest and largest counts, of which a row moves a metric most or least."""
        assert isinstance(self.features, MarginRows)
        counts = np.bincount(self.kinds, minlength=len(self.features)).astype(np.float64)
        hits, labels, answers = self.features.total(counts).reshape(3, -1)
        found = []
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = (hits / labels, hits / answers, hits / (labels + answers))
        for values in (hits, labels, answers, labels + answers, *ratios):
            order = np.argsort(values, kind="stable")
            found += [order[:_EXTREMES], order[-_EXTREMES:]]
        return np.unique(self.classes[np.concatenate(found)])

    def effects(self) -> RowEffects:
        """Return the metric and what each row adds to it."""
        return effects_of_sums(self.of_sums, self.features, self.kinds)

    def added(self, labels: IntArray, answers: IntArray) -> FloatArray:
        """Return the effect of one more row of a label and an answer; 0 where a class does not occur."""
        labels = self.places[labels]
        answers = self.places[answers]
        effects = np.zeros(len(labels))
        known = (labels >= 0) & (answers >= 0)
        more = self._features(labels[known], answers[known])
        effects[known] = added_effects(self.of_sums, self.features, self.kinds, more)
        return effects


def reach_of_answers(old: AnswerSide, new: AnswerSide, labels: IntArray) -> float:
    """Return the largest effect of a row that becomes right or wrong, over all labels and answers that occur.

    Of many classes the pairs of extreme ones are tried, and from the best of them the label and the answer are
    changed in turn as long as that goes further. Where a label and an answer move a metric each for itself, as they
    do a mean over classes, that ends at the furthest pair of all.
    """
    answers = np.union1d(old.classes, new.classes)
    if len(answers) <= _MOST_CLASSES or old.is_graded:
        return float(np.abs(_moves(old, new, *_pairs(labels, answers))).max(initial=0.0))
    extreme = np.union1d(old.extreme_classes(), new.extreme_classes())
    truth, other = _pairs(np.intersect1d(labels, extreme), extreme)
    moves = _moves(old, new, truth, other)
    reach = 0.0
    # Four directions: a row that becomes right, or wrong, and raises or lowers the difference.
    for kind, sign in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)):
        best = int(np.argmax(sign * moves[kind]))
        pair = truth[best], other[best]
        value = sign * moves[kind][best]
        while True:
            found = value
            for tried in (
                _pairs(labels, np.array([pair[1]])),
                _pairs(np.array([pair[0]]), answers),
            ):
                values = sign * _moves(old, new, *tried)[kind]
                if values.max(initial=-np.inf) > found:
                    place = int(np.argmax(values))
                    found = values[place]
                    pair = tried[0][place], tried[1][place]
            if found <= value:
                break
            value = found
        reach = max(reach, float(value))
    return reach


def _pairs(labels: IntArray, answers: IntArray) -> tuple[IntArray, IntArray]:
    """Return all labels and wrong answers to them."""
    truth = np.repeat(labels, len(answers))
    other = np.tile(answers, len(labels))
    is_wrong: BoolArray = truth != other
    return truth[is_wrong], other[is_wrong]


def _moves(old: AnswerSide, new: AnswerSide, truth: IntArray, other: IntArray) -> FloatArray:
    """Return by how much the difference moves with a row that becomes right, and with one that becomes wrong."""
    fixed = new.added(truth, truth) - old.added(truth, other)
    broken = new.added(truth, other) - old.added(truth, truth)
    return np.stack([fixed, broken])
