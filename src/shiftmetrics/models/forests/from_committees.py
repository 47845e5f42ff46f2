"""Averages and votes of trees: bagging, adaptive boosting and voting of scikit-learn, as a `Forest`.

The classes of imbalanced-learn that are derived from these add samplers to training alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics.models.forests.forest import LEAF, Forest, Link, joined_subsets
from shiftmetrics.models.reading.estimators import last_step, steps_of

Read = Callable[[Any], Forest | None]
"""From a member to its forest."""


def read_committee(model: Any, read: Read) -> Forest | None:
    """Return an average or a vote of trees as a forest, or None where it is not one, or a member is none.

    Parameters
    ----------
    model : object
        A fitted model of scikit-learn, or of imbalanced-learn.
    read : callable
        From a member to its forest.
    """
    from sklearn import ensemble

    if isinstance(model, ensemble.AdaBoostClassifier):
        return _adaptive(model, read)
    if isinstance(model, ensemble.BaggingClassifier | ensemble.BaggingRegressor):
        members = [_of_sampled(member) for member in model.estimators_]
        weights = np.ones(len(members))
        columns = [np.asarray(chosen) for chosen in model.estimators_features_]
        return _averaged(model, members, weights, read, columns)
    if isinstance(model, ensemble.VotingClassifier | ensemble.VotingRegressor):
        weights = np.ones(len(model.estimators_))
        if model.weights is not None:
            # Weights are given for all members; those that were dropped have not been fitted.
            kept = [member != "drop" for _, member in model.estimators]
            weights = np.asarray(model.weights, dtype=np.float64)[kept]
        if getattr(model, "voting", "soft") == "hard":
            return _votes(model, model.estimators_, weights, read)
        return _averaged(model, model.estimators_, weights, read)
    return None


def _of_sampled(member: Any) -> Any:
    """Return the model behind samplers; a pipeline with other steps as it is."""
    if list(steps_of(member)):
        return member
    return last_step(member)


def _averaged(
    model: Any,
    members: Sequence[Any],
    weights: FloatArray,
    read: Read,
    columns: Sequence[IntArray] | None = None,
) -> Forest | None:
    """Read an average of probabilities, or of values."""
    classes = getattr(model, "classes_", None)
    link: Link = "identity"
    n_outputs = 1
    if classes is not None:
        link = "probability"
        n_outputs = len(classes)
    forests = []
    values = []
    base = np.zeros(n_outputs)
    fractions = weights / weights.sum()
    for member, fraction in zip(members, fractions, strict=True):
        forest = read(member)
        if forest is None or forest.link != link:
            return None
        # A member may have seen some of the classes alone, by their numbers.
        place = np.arange(forest.n_outputs)
        if classes is not None:
            place = np.asarray(member.classes_).astype(np.int64)
        wide = np.zeros((len(forest.value), n_outputs))
        wide[:, place] = fraction * forest.factor * forest.value
        base[place] += fraction * forest.base
        forests.append(forest)
        values.append(wide)
    return joined_forests(forests, values, base, link, model.n_features_in_, columns)


def _votes(
    model: Any, members: Sequence[Any], weights: FloatArray, read: Read, others: float = 0.0
) -> Forest | None:
    """Read a vote of single trees: each leaf gives its weight to one class, and ``others`` times it to the rest."""
    classes = model.classes_
    n_classes = len(classes)
    forests = []
    values = []
    for member, weight in zip(members, weights, strict=True):
        forest = read(member)
        if forest is None or forest.link != "probability" or forest.n_trees != 1:
            return None
        # The first of the most frequent classes of a leaf, among those that the tree knows.
        chosen = forest.value.argmax(axis=1)
        own = np.asarray(member.classes_)
        place = np.searchsorted(classes, own)
        if others == 0.0:  # members of a vote learn the numbers of classes
            place = own.astype(np.int64)
        value = np.full((len(chosen), n_classes), others * weight)
        value[np.arange(len(chosen)), place[chosen]] = weight
        forests.append(forest)
        values.append(value)
    # The probabilities of adaptive boosting (SAMME) are the softmax of these sums over the number
    # of rivals.
    base = np.zeros(n_classes)
    slope = 1.0 / max(n_classes - 1, 1)
    return joined_forests(forests, values, base, "softmax", model.n_features_in_, slope=slope)


def _adaptive(model: Any, read: Read) -> Forest | None:
    """Read adaptive boosting: a vote whose losers count against their class."""
    n_classes = len(model.classes_)
    if n_classes < 2 or getattr(model, "algorithm", "SAMME") == "SAMME.R":
        return None
    weights = model.estimator_weights_[: len(model.estimators_)]
    weights = weights / model.estimator_weights_.sum()
    return _votes(model, model.estimators_, weights, read, -1.0 / (n_classes - 1))


def joined_forests(
    forests: Sequence[Forest],
    values: Sequence[FloatArray],
    base: FloatArray,
    link: Link,
    n_features: int,
    columns: Sequence[IntArray] | None = None,
    slope: float = 1.0,
    rounding: float | None = None,
) -> Forest:
    """Put forests one after another, with other values, each on some of the columns.

    Without ``rounding``, their sum is as exact as the least exact of them.
    """
    if rounding is None:
        rounding = max(forest.rounding for forest in forests)
    sizes = np.array([len(forest.feature) for forest in forests])
    first = np.cumsum(sizes) - sizes
    features = []
    for place, forest in enumerate(forests):
        feature = forest.feature
        if columns is not None:
            # Leaves have no column: their mark would be an index from the end of the columns.
            feature = np.where(feature >= 0, columns[place][np.maximum(feature, 0)], LEAF)
        features.append(feature)
    feature = np.concatenate(features)
    offset = np.repeat(first, sizes)
    left = np.concatenate([forest.left for forest in forests]) + offset
    right = np.concatenate([forest.right for forest in forests]) + offset
    roots = [forest.roots + start for forest, start in zip(forests, first, strict=True)]
    subset, left_categories = joined_subsets(forests)
    return Forest(
        feature=feature,
        threshold=np.concatenate([forest.threshold for forest in forests]),
        missing_left=np.concatenate([forest.missing_left for forest in forests]),
        # The offset has moved the marks of leaves, too, so that they are set again.
        left=np.where(feature >= 0, left, LEAF),
        right=np.where(feature >= 0, right, LEAF),
        value=np.concatenate(values),
        roots=np.concatenate(roots),
        base=base,
        link=link,
        n_features=n_features,
        slope=slope,
        rounding=rounding,
        subset=subset,
        left_categories=left_categories,
    )
