"""Selection criteria: a number for each model from the resampled rows, and intervals from many resamples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from shiftmetrics._core.arrays import FloatArray, IntArray, to_float64
from shiftmetrics._core.confidence import ResamplingUnits, resampled_interval
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import Resampling, progress_bar
from shiftmetrics._core.result import Interval
from shiftmetrics._core.validation import check_choice
from shiftmetrics.agreement.scores import ScorePairs
from shiftmetrics.comparison.classes import THIRDS, Classes, LabelledPredictions
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
SOURCE_ACCURACY = "source_accuracy"
"""Accuracy on the labelled rows, before any shift."""

VOTE_AND_SOURCE = "vote_and_source_accuracy"
"""Mean of the match with the vote and the accuracy on the labelled rows, each over its spread among the models.

Its order is that of the sum of z-scores. Without pairs it loses less than either alone: on 20 tasks, each as it is
and under 8 shifts, in 1,440 pools of 4 to 16 models, .021 of the accuracy, the vote .023, the labelled rows .034."""

ESTIMATED_ACCURACY = "estimated_accuracy"
"""Accuracy after the shift as the vote of the other models estimates it; shown beside a criterion."""

TRANSFER_ERROR = (0.03, 0.1, 1.0)
"""Error of a chained estimate that more rows do not lessen: a constant, and what it grows by with the fraction of
predictions that change, and with how far the predictions on the labelled rows are from those on the pairs.

A heuristic: with it, 95 % intervals held 95 % of the accuracies on 20 tasks under 8 shifts (72 % by sampling alone).
They fail where the population changes so that predictions mean something else but are as frequent as before."""

NORMAL_QUANTILE = 1.959963984540054
"""Of 97.5 %."""

_FRACTIONS = (VOTE, SOURCE_ACCURACY, VOTE_AND_SOURCE, ESTIMATED_ACCURACY, *SCORES)
"""Criteria that are fractions of rows, or means of them."""

SelectionCriterion = Callable[[FloatArray, FloatArray], FloatArray]
"""Maps weights of the pairs, and of the labelled rows, to a number for each model."""


def choose_criterion(
    criterion: str, n_models: int, *, labels: bool, other_rows: bool, paired: bool = True
) -> str:
    """Return the criterion that follows from what is known, or the one named if that is enough for it.

    Without ``paired`` there are no scores of the same rows before the shift: what it changes cannot be seen.
    """
    if criterion == "auto":
        if labels and (paired or not other_rows):
            criterion = "accuracy_and_f1"
        elif n_models > 2:
            criterion = VOTE_AND_SOURCE if labels and not paired else VOTE
        elif labels:
            criterion = SOURCE_ACCURACY
        else:
            criterion = OVER_CEILING
    if other_rows:
        known = (*LABEL_FREE, SOURCE_ACCURACY, VOTE_AND_SOURCE, *SCORES)
        check_choice(criterion, "criterion", known)
    # Agreement, and estimates from labelled rows, rest on what the shift changes in the same rows.
    needs_pairs = criterion in (OVER_CEILING, AGREEMENT) or (other_rows and criterion in SCORES)
    if needs_pairs and not paired:
        remedy = (
            "Both samples are the same rows, or the one before the shift is missing: compare three models by "
            f"{VOTE!r}, or label some rows."
        )
        expected = f"scores of the same rows before the shift for the criterion {criterion!r}"
        raise ArgumentValueError("reference_scores", expected, "none", remedy)
    if not labels and (other_rows or criterion not in LABEL_FREE):
        remedy = f"Without labels there are {', '.join(LABEL_FREE)}."
        raise ArgumentValueError("labels", f"given for the criterion {criterion!r}", "None", remedy)
    if criterion in (VOTE, VOTE_AND_SOURCE) and n_models < 3:
        expected = f"another one than {criterion!r} for fewer than three models"
        raise ArgumentValueError("criterion", expected, value=criterion)
    return criterion


def selection_criterion(
    criterion: str, classes: Classes, pairs: Sequence[ScorePairs], *, from_kappas: bool = False
) -> SelectionCriterion:
    """Return a criterion other than agreement; ``from_kappas`` starts the vote from mean kappas."""
    if criterion == SOURCE_ACCURACY:
        assert classes.labelled is not None
        right = classes.labelled.predictions == classes.labels
        return lambda weights, others: np.asarray(right @ others / others.sum())
    if criterion == VOTE_AND_SOURCE:
        return _vote_and_source(classes, pairs)
    if criterion not in (VOTE, *SCORES):
        return _by_scorer(criterion, classes, pairs)
    if criterion in SCORES and classes.labelled is not None:
        return _chained(SCORES[criterion], classes, classes.labelled)
    # What shifted predictions are set against: the vote, or labels.
    target = classes.labels
    if criterion == VOTE:
        target, _ = weighted_vote(
            classes.before, classes.n_classes, classes.weights, from_kappas=from_kappas
        )
    score = SCORES.get(criterion, accuracy_and_f1)

    def evaluate(weights: FloatArray, others: FloatArray) -> FloatArray:
        weights = classes.weights * weights
        found = (confusion(target, part, classes.n_classes, weights) for part in classes.shifted)
        return np.array([score(part) for part in found])

    return evaluate


def _vote_and_source(classes: Classes, pairs: Sequence[ScorePairs]) -> SelectionCriterion:
    """Return the mean of the match with the vote and the accuracy on the labelled rows, by their spreads."""
    assert classes.labelled is not None
    parts = [selection_criterion(name, classes, pairs) for name in (VOTE, SOURCE_ACCURACY)]
    # Spreads of the sample itself: resamples change values, not how they are weighed.
    ones = np.ones(len(classes.weights)), np.ones(classes.labelled.predictions.shape[1])
    spreads = np.array([part(*ones).std() for part in parts])
    # What is equal for all models tells none of them apart.
    shares = np.where(spreads > 0.0, 1.0 / np.maximum(spreads, 1e-12), 0.0)
    if not shares.any():
        shares = np.ones(2)
    shares = shares / shares.sum()

    def evaluate(weights: FloatArray, others: FloatArray) -> FloatArray:
        values = np.stack([part(weights, others) for part in parts])
        return np.asarray(shares @ values)

    return evaluate


def _chained(
    score: Callable[[FloatArray], float], classes: Classes, labelled: LabelledPredictions
) -> SelectionCriterion:
    """Return a score of the estimated confusion after the shift."""
    n_classes = classes.n_classes
    n_states = THIRDS * n_classes

    def evaluate(weights: FloatArray, others: FloatArray) -> FloatArray:
        weights = classes.weights * weights
        values = []
        for model, shifted in enumerate(classes.shifted):
            # What a state means, from the labelled rows, times what the shift changes it to.
            meaning = confusion(
                classes.labels, labelled.states[model], (n_classes, n_states), others
            )
            transitions = confusion(
                labelled.pair_states[model], shifted, (n_states, n_classes), weights
            )
            values.append(score(chained_confusion(meaning, transitions)))
        return np.array(values)

    return evaluate


def _by_scorer(name: str, classes: Classes, pairs: Sequence[ScorePairs]) -> SelectionCriterion:
    """Return the criterion of a scorer of scikit-learn."""
    from shiftmetrics.comparison.scorers import (
        KnownScores,
        asked_scorer,
        resampled_scorer,
        scorer_of_classes,
    )

    scorer_of_classes(name)
    estimators = []
    for part, columns in zip(pairs, classes.columns, strict=True):
        block = to_float64(part.block(slice(0, part.n_samples))[0]).copy()
        used = columns if part.classes is None else columns[part.classes]
        estimators.append(KnownScores(block, used))
    # Most scorers have quick forms where all classes occur.
    widths = {len(model.classes_) for model in estimators}
    all_occur = widths == {len(np.unique(classes.labels))} == {classes.n_classes}
    scores = resampled_scorer(name, estimators, classes.labels) if all_occur else None
    if scores is None:
        scores = asked_scorer(name, estimators, classes.labels)

    def evaluate(weights: FloatArray, others: FloatArray) -> FloatArray:
        return scores(classes.weights * weights)

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
    n_labelled = 0 if classes.labelled is None else classes.labelled.predictions.shape[1]
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
            one_more if name in _FRACTIONS else 0.0,
            resampling,
        )
        for name, evaluate in criteria.items()
    }


def with_transfer_error(paired: PairedValues, classes: Classes) -> PairedValues:
    """Return estimated scores with intervals that allow for the error of carrying the meaning of predictions over.

    Those of differences stay as they are: the error is much the same for models of the same rows.
    """
    labelled = classes.labelled
    assert labelled is not None
    constant, per_change, per_distance = TRANSFER_ERROR
    errors = []
    for known, before, shifted in zip(
        labelled.predictions, classes.before, classes.shifted, strict=True
    ):
        changed = float(np.mean(shifted != before))
        distance = _excess_distance(known, before, classes.n_classes)
        errors.append(math.hypot(constant, per_change * changed, per_distance * distance))
    # A normal error of this size reaches so far in 95 %.
    reach = NORMAL_QUANTILE * np.array(errors)
    return widened(paired, reach, reach, "the transfer error")


def widened(paired: PairedValues, below: FloatArray, above: FloatArray, cause: str) -> PairedValues:
    """Return fractions whose 95 % intervals reach further, by errors that are independent of sampling."""
    intervals = []
    for model, (value, interval) in enumerate(zip(paired.values, paired.intervals, strict=True)):
        # At other confidence levels as a normal error would.
        scale = float(ndtri(0.5 + 0.5 * interval.confidence_level)) / NORMAL_QUANTILE
        low = value - math.hypot(value - interval.low, scale * below[model])
        high = value + math.hypot(interval.high - value, scale * above[model])
        method = f"{interval.method}, and {cause}"
        intervals.append(replace(interval, low=max(0.0, low), high=min(1.0, high), method=method))
    return replace(paired, intervals=tuple(intervals))


def _excess_distance(first: IntArray, second: IntArray, n_classes: int) -> float:
    """Return the total variation of two samples of predictions beyond what sampling gives on average."""
    counts = [np.bincount(part, minlength=n_classes) for part in (first, second)]
    fractions = [count / count.sum() for count in counts]
    pooled = sum(counts) / sum(count.sum() for count in counts)
    variance = pooled * (1.0 - pooled) * sum(1.0 / count.sum() for count in counts)
    # The mean absolute value of a normal error is sqrt(2 / pi) of its size.
    by_chance = 0.5 * float(np.sqrt(2.0 / math.pi * variance).sum())
    return max(0.0, 0.5 * float(np.abs(fractions[0] - fractions[1]).sum()) - by_chance)


def _paired(
    values: FloatArray, resamples: FloatArray, one_more: float, resampling: Resampling
) -> PairedValues:
    """Return the values with their intervals; ``one_more`` is what one more row may add to a fraction."""
    if not (np.isfinite(resamples).all() and np.isfinite(values).all()):
        raise ArgumentValueError("criterion", "defined by the rows and their labels", "no number")
    # A stream that no resample has: these are numbered from 0 to n_resamples - 1.
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
        one_more=2.0 * one_more,  # for one model and against the other
    )
