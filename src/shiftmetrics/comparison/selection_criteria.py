"""Selection criteria: a number for each model from the resampled rows, and intervals from many resamples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.confidence import ResamplingUnits, resampled_interval
from shiftmetrics._core.options import Resampling, progress_bar
from shiftmetrics._core.result import Interval
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.comparison.classes import Classes
from shiftmetrics.comparison.criteria import (
    SCORES,
    accuracy_and_f1,
    chained_confusion,
    confusion,
    weighted_vote,
)
from shiftmetrics.comparison.joint_errors import weights_of_resample
from shiftmetrics.comparison.paired import PairedValues

VOTE, OVER_CEILING, AGREEMENT = LABEL_FREE = ("vote", "agreement_over_ceiling", "agreement")

SelectionCriterion = Callable[[FloatArray, FloatArray], FloatArray]
"""Maps weights of the pairs, and of the labelled rows, to a number for each model."""


def choose_criterion(criterion: str, n_models: int, *, labels: bool, other_rows: bool) -> str:
    """Return the criterion that follows from what is known, or the one named if that is enough for it."""
    if criterion == "auto":
        if labels:
            criterion = "accuracy_and_f1"
        elif n_models > 2:
            criterion = VOTE
        else:
            criterion = OVER_CEILING
    if other_rows:
        check_choice(criterion, "criterion", (*LABEL_FREE, *SCORES))
    if not labels and (other_rows or criterion not in LABEL_FREE):
        remedy = f"Without labels there are {', '.join(LABEL_FREE)}."
        raise ValueError(
            describe("labels", f"given for the criterion {criterion!r}", "None", remedy)
        )
    if criterion == VOTE and n_models < 3:
        expected = "another one than 'vote' for fewer than three models"
        raise ValueError(describe("criterion", expected, value=criterion))
    return criterion


def selection_criterion(
    criterion: str, classes: Classes, pairs: Sequence[ScorePairs]
) -> SelectionCriterion:
    """Return a criterion other than agreement."""
    if criterion not in (VOTE, *SCORES):
        return _by_scorer(criterion, classes, pairs)
    n_classes = classes.n_classes
    score = SCORES.get(criterion, accuracy_and_f1)
    known = classes.labelled
    chained = criterion != VOTE and known is not None
    # What shifted predictions are set against: the vote, own predictions before the shift, or labels.
    if criterion == VOTE:
        vote, _ = weighted_vote(classes.before, n_classes, classes.weights)
        targets = [vote] * len(classes.shifted)
    elif chained:
        targets = list(classes.before)
    else:
        targets = [classes.labels] * len(classes.shifted)

    def evaluate(weights: FloatArray, others: FloatArray) -> FloatArray:
        weights = classes.weights * weights
        values = []
        for model, (target, shifted) in enumerate(zip(targets, classes.shifted, strict=True)):
            found = confusion(target, shifted, n_classes, weights)
            if chained:
                # What a prediction means, from the labelled rows, times where the shift takes it.
                meaning = confusion(classes.labels, known[model], n_classes, others)
                found = chained_confusion(meaning, found)
            values.append(score(found))
        return np.array(values)

    return evaluate


def _by_scorer(name: str, classes: Classes, pairs: Sequence[ScorePairs]) -> SelectionCriterion:
    """Return the criterion of a scorer of scikit-learn."""
    from sklearn.metrics import get_scorer

    from shiftmetrics.comparison.scorers import KnownScores

    scorer = get_scorer(name)
    estimators = []
    for part, columns in zip(pairs, classes.columns, strict=True):
        scores = to_float64(part.block(slice(0, part.n_samples))[0]).copy()
        estimators.append(
            KnownScores(scores, columns if part.classes is None else columns[part.classes])
        )
    # The "inputs" of the scorer are row numbers, by which the classifier looks its scores up.
    rows = np.arange(len(classes.weights))

    def evaluate(weights: FloatArray, others: FloatArray) -> FloatArray:
        weights = classes.weights * weights
        return np.array(
            [scorer(model, rows, classes.labels, sample_weight=weights) for model in estimators]
        )

    return evaluate


def resampled_values(
    criteria: Mapping[str, SelectionCriterion],
    classes: Classes,
    resampling: Resampling,
    *,
    progress: bool,
) -> dict[str, PairedValues]:
    """Evaluate criteria on the sample and on its resamples, the same for all models: the Bayesian bootstrap.

    The labelled rows are a sample of their own: they are resampled independently of the pairs. As for agreement,
    the ends of intervals have one more row against the value or for it, so that those of a fraction are those of
    Clopper and Pearson.
    """
    n_labelled = 0 if classes.labelled is None else classes.labelled.shape[1]
    units = ResamplingUnits.of(resampling.groups, len(classes.weights))
    of_units = units.sums(classes.weights)
    # Kish's effective number of units.
    n_effective = float(of_units.sum() ** 2 / (of_units**2).sum())
    one_more = 1.0 / (min(n_effective, n_labelled) if n_labelled else n_effective)
    resampled: dict[str, list[FloatArray]] = {name: [] for name in criteria}
    for number in progress_bar(progress, "resample", over=range(resampling.n_resamples)):
        # The same weights for all criteria: what they have in common cancels in differences.
        weights, others = weights_of_resample(resampling.rng, number, units, n_labelled)
        for name, evaluate in criteria.items():
            resampled[name].append(evaluate(weights, others))
    # The sample itself: all weights are equal.
    ones = np.ones(len(classes.weights)), np.ones(n_labelled)
    return {
        name: _paired(
            evaluate(*ones),
            np.asarray(resampled[name]),
            one_more if name in (VOTE, *SCORES) else 0.0,
            resampling,
        )
        for name, evaluate in criteria.items()
    }


def _paired(
    values: FloatArray, resamples: FloatArray, one_more: float, resampling: Resampling
) -> PairedValues:
    """Return the values with their intervals; ``one_more`` is what one more row may add to a fraction."""
    if not (np.isfinite(resamples).all() and np.isfinite(values).all()):
        raise ValueError(describe("criterion", "defined by the rows and their labels", "no number"))
    more = one_more * np.random.default_rng(
        [resampling.rng, resampling.n_resamples]
    ).standard_exponential(len(resamples))
    intervals = []
    for value, column in zip(values.tolist(), resamples.T, strict=True):
        low, high = resampled_interval(column - more, column + more, resampling.confidence_level)
        if one_more > 0.0:
            low = max(low, 0.0)
            high = min(high, 1.0)
        method = f"{len(resamples)} resamples of the rows"
        if one_more > 0.0:
            method += " with one more"
        intervals.append(
            Interval(
                low=min(low, value),
                high=max(high, value),
                confidence_level=resampling.confidence_level,
                method=method,
            )
        )
    return PairedValues(
        values=values,
        bounds=np.full(len(values), 1e-12),  # rounding: what is equal by counts is equal
        intervals=tuple(intervals),
        resamples=resamples,
        one_more=np.full(
            (len(values), len(values)), 2.0 * one_more
        ),  # for one model and against the other
    )
