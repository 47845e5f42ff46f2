"""An accuracy without labels of the rows: how often a model agrees with the vote of the others.

A heuristic. Where a model and the vote of the others differ, one of them is wrong; where they agree, both are right
or both make the same mistake, which no label-free number can see. Labels of other rows say how often common mistakes
happened there, and the estimate assumes that they are as frequent under the shift.

Its error was measured under 263 shifts: 20 tables under 8 of them and none (pools of 3 to 16 models), 9 networks on
pictures under 17 distortions, 5 networks under 4 levels of noise, and 28 networks on CIFAR-10. The accuracy lies
mostly below the estimate, since mistakes are shared, and the further the less the models agree beyond chance. With
limits fitted on one half of the 39 types of tasks and checked on the other, either way, 95 % intervals held 98 and
91 % of the accuracies without labels, and 93 and 97 % with labelled rows. They fail where all models are misled
together: 60 % on pictures whose texture and shape contradict each other.
"""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.comparison.classes import Classes
from shiftmetrics.comparison.criteria import confusion, kappa, vote_of, weighted_vote
from shiftmetrics.comparison.paired import PairedValues
from shiftmetrics.comparison.selection_criteria import SelectionCriterion, widened

SHARED_MISTAKES = (0.16, 0.65)
"""How far the accuracy may lie below the estimate: a constant, and what it grows by as kappa with the vote falls."""

SHARED_MISTAKES_KNOWN = (0.06, 0.8)
"""The same where labelled rows say how often mistakes were shared there."""

ABOVE = 0.1
"""How far it may lie above: the others may be wrong where this model is right."""


def vote_accuracy(classes: Classes) -> SelectionCriterion:
    """Return the estimated accuracy of each model as a function of the weights of the rows."""
    matches = _votes_of_others(classes.before, classes) == classes.shifted
    labelled = classes.labelled
    if labelled is None:
        return lambda weights, others: _mean(matches, classes.weights * weights)
    # P(right) / P(agrees) on the labelled rows: what a match with the vote is worth there, above 1 where the others
    # are worse.
    at_home = _votes_of_others(labelled.predictions, classes) == labelled.predictions
    right = labelled.predictions == classes.labels

    def evaluate(weights: FloatArray, others: FloatArray) -> FloatArray:
        agreed = _mean(matches, classes.weights * weights)
        meaning = _mean(right, others) / np.maximum(_mean(at_home, others), 1e-12)
        return np.minimum(agreed * meaning, 1.0)

    return evaluate


def with_shared_mistakes(paired: PairedValues, classes: Classes) -> PairedValues:
    """Return estimated accuracies with intervals that allow for mistakes that the models share."""
    constant, per_disagreement = SHARED_MISTAKES
    if classes.labelled is not None:
        constant, per_disagreement = SHARED_MISTAKES_KNOWN
    votes = _votes_of_others(classes.before, classes)
    # Agreement beyond chance tells how far models share mistakes: at kappa 1 by the constant alone.
    kappas = []
    for shifted, vote in zip(classes.shifted, votes, strict=True):
        beyond_chance = kappa(confusion(shifted, vote, classes.n_classes, classes.weights))
        kappas.append(max(0.0, beyond_chance))
    below = constant + per_disagreement * (1.0 - np.array(kappas))
    return widened(paired, below, np.full(len(below), ABOVE), "mistakes that models share")


def _votes_of_others(predictions: IntArray, classes: Classes) -> IntArray:
    """Return the weighted vote of all models but one, for each of them."""
    weights = np.ones(predictions.shape[1])
    _, trust = weighted_vote(predictions, classes.n_classes, weights)
    models = range(len(predictions))
    return np.stack(
        [vote_of(predictions, classes.n_classes, trust, without=model) for model in models]
    )


def _mean(hits: BoolArray, weights: FloatArray) -> FloatArray:
    return np.asarray(hits @ weights / weights.sum())
