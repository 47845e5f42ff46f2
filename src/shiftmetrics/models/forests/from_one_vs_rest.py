"""One forest against the rest for each class, as one `Forest`: the highest of their scores decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.forests.from_committees import Read, joined_forests
from shiftmetrics.models.reading.estimators import is_of_xgboost

_LEAST_RESOLUTION = 1e-3
"""Logits that differ by less may have tied probabilities. Where more is needed, trees say too little."""


def read_one_vs_rest(model: Any, read: Read) -> Forest | None:
    """Return a `OneVsRestClassifier` of trees as a forest with an output for each class.

    None where a member is none, where rows have several labels, or where probabilities are so near to 0 or 1 that
    their rounding decides.

    Parameters
    ----------
    model : object
        A fitted `sklearn.multiclass.OneVsRestClassifier`.
    read : callable
        From a member to its forest.
    """
    if model.multilabel_:
        return None
    members = model.estimators_
    forests = []
    for member in members:
        forest = read(member)
        # A sparse step would hide cells of XGBoost, whose probabilities have 32 bits, too.
        if forest is None or forest.n_outputs != 2 or is_of_xgboost(member):
            return None
        forests.append(forest)
    n_features = forests[0].n_features
    if len(members) == 1:
        return forests[0]
    n_classes = len(members)
    values = []
    base = np.zeros(n_classes)
    for number, (member, forest) in enumerate(zip(members, forests, strict=True)):
        wide = np.zeros((len(forest.value), n_classes))
        wide[:, number] = forest.factor * _score(forest, forest.value)
        base[number] = _score(forest, forest.base[None])[0]
        # Probabilities rise with the logit that is compared here, unless the slopes differ.
        if forest.link != forests[0].link or forest.slope != forests[0].slope:
            return None
        if hasattr(member, "decision_function") != hasattr(members[0], "decision_function"):
            return None
        values.append(wide)
    joined = joined_forests(forests, values, base, "softmax", n_features)
    if forests[0].link == "probability" or hasattr(members[0], "decision_function"):
        return joined
    return with_ties_of_sigmoids(joined, forests[0].slope)


def _score(forest: Forest, value: FloatArray) -> FloatArray:
    """Return what values add to the score of the class: its probability, or its logit."""
    if forest.link == "probability":
        return value[:, 1]
    return np.asarray(value[:, 1] - value[:, 0])


def with_ties_of_sigmoids(forest: Forest, slope: float = 1.0) -> Forest | None:
    """Return a forest whose sums are compared as ``1 / (1 + exp(-slope * sum))``, which ties where it is near 1.

    Near to 1 a probability of rounding error e cannot tell logits apart that differ by less than
    ``e exp(slope * sum)``. None where that is more than a thousandth.
    """
    highest = np.maximum.reduceat(forest.value, np.sort(forest.roots)).sum(axis=0)
    logit = slope * float((forest.base + forest.factor * highest).max())
    resolution = forest.rounding * np.exp(np.clip(logit, 0.0, 600.0))
    if resolution > _LEAST_RESOLUTION:
        return None
    # The tolerance of a forest is eight times its rounding, times a total of at least 1.
    return replace(forest, rounding=resolution)
