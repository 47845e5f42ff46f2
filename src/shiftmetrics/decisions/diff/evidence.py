"""What stands below the verdict: kappa, posterior agreement, the label-free estimate, calibration and errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.probabilities import cohen_kappa
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.decisions.diff.gains import LEVEL, Gains
from shiftmetrics.decisions.diff.records import ConstantAnswer, DiffEvidence, QualityMeasure
from shiftmetrics.decisions.labelling.paired_mean import paired_mean_interval
from shiftmetrics.decisions.predictions.pairs import ClassPair, OutputPair

LEAST_PROBABILITY = 1e-12
"""Probability that a log loss counts for a class that a model excludes."""

TIED = 1e-12
"""Relative difference of two costs that is rounding."""

MOST_PAIRS = 20_000
MOST_ENTRIES = 2_000_000
"""Rows, evenly spaced, and probabilities of theirs, whose posterior agreement stands for that of all.

Of 1,000 classes 2,000 rows are left, whose equivalent fraction of flips has a standard error of at most one point.
"""


def evidence_of_classes(pair: ClassPair, *, has_labels: bool) -> DiffEvidence:
    """Return what two classifiers' answers and probabilities say beside the difference of their accuracies."""
    kappa = _kappa(pair.old_codes, pair.new_codes, len(pair.classes))
    if not (pair.old.has_probabilities and pair.new.has_probabilities):
        return DiffEvidence(kappa=kappa)
    agreement, flipped = _agreement(pair)
    return DiffEvidence(
        kappa=kappa,
        agreement=agreement,
        flipped=flipped,
        estimate=_estimate(pair),
        measures=_calibration(pair) if has_labels else (),
    )


def evidence_of_outputs(pair: OutputPair) -> DiffEvidence:
    """Return the squared errors of two regressions, where all true values are known."""
    if not pair.rows.known.all():
        return DiffEvidence()
    old = (pair.labels - pair.old_outputs) ** 2
    new = (pair.labels - pair.new_outputs) ** 2
    measure = QualityMeasure(
        name="mean squared error",
        old=float(old.mean()),
        new=float(new.mean()),
        higher_is_better=False,
        interval=paired_mean_interval(new - old, float(max(old.max(), new.max())), LEVEL),
    )
    return DiffEvidence(measures=(measure,))


def best_constant(pair: ClassPair, gains: Gains) -> ConstantAnswer | None:
    """Return what the best constant answer has; None where labels are missing."""
    if not pair.rows.known.all():
        return None
    n = len(pair.labels)
    counts = np.bincount(pair.labels, minlength=len(pair.classes))
    # Whoever always says k is right on the rows of k, and saves their cost: 1 a row where accuracies are compared.
    saved = counts.astype(np.float64)
    if not gains.are_signs:
        saved = counts * gains.weights
    most = float(saved.max())
    # Equal up to rounding: the product of a count and a cost.
    best = np.flatnonzero(saved >= most * (1.0 - TIED))
    score = most / n
    if not gains.are_signs:
        score = float(saved.sum() - most) / n
    return ConstantAnswer(answers=tuple(str(name) for name in pair.classes[best]), score=score)


def _kappa(first: IntArray, second: IntArray, n_classes: int) -> float | None:
    """Return Cohen's kappa of two sequences of classes; None where both are one and the same constant."""
    n = len(first)
    agreeing = float((first == second).mean())
    rates = np.bincount(first, minlength=n_classes) / n
    other_rates = np.bincount(second, minlength=n_classes) / n
    by_chance = float(rates @ other_rates)
    return cohen_kappa(agreeing, by_chance)


def _blocks(
    pair: ClassPair, rows: IntArray | None = None
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield the probabilities of both models in some rows, or in all of them, block by block."""
    n_rows = len(pair.labels) if rows is None else len(rows)
    for block in row_blocks(n_rows, 16 * len(pair.classes)):
        own = block if rows is None else rows[block]
        yield block, pair.probabilities(pair.old, own), pair.probabilities(pair.new, own)


def _agreement(pair: ClassPair) -> tuple[float, float]:
    """Return the posterior agreement over its maximum, and the equivalent fraction of flipped answers."""
    n = len(pair.labels)
    # The fraction of flips does not get sharper with a million rows, and costs ten passes over them.
    n_rows = min(n, MOST_PAIRS, max(MOST_ENTRIES // len(pair.classes), 1_000))
    rows = np.linspace(0, n - 1, n_rows).astype(np.int64)
    old = pair.probabilities(pair.old, rows)
    new = pair.probabilities(pair.new, rows)
    result = posterior_agreement(new, old, kind="proportions")
    return result.normalized, result.equivalent_error


def _estimate(pair: ClassPair) -> float:
    """Return the difference of the accuracies under labels that follow the mean of both models' probabilities."""
    # Only rows whose answer changes can differ.
    rows = np.flatnonzero(pair.changed)
    total = 0.0
    for block, old, new in _blocks(pair, rows):
        mean = 0.5 * (old + new)
        places = np.arange(len(mean))
        total += float(mean[places, pair.new_codes[rows[block]]].sum())
        total -= float(mean[places, pair.old_codes[rows[block]]].sum())
    return total / len(pair.labels)


def _calibration(pair: ClassPair) -> tuple[QualityMeasure, ...]:
    """Return log loss and Brier score of both models, and of two classes AUC and average precision."""
    n = len(pair.labels)
    totals = np.zeros((2, 2))
    differences = np.empty((2, n))
    largest = np.zeros(2)
    # A block at a time: the probabilities of all rows would fill the memory.
    for block, old, new in _blocks(pair):
        truth = pair.labels[block]
        old_losses = _losses(old, truth)
        new_losses = _losses(new, truth)
        totals[0] += old_losses.sum(axis=1)
        totals[1] += new_losses.sum(axis=1)
        differences[:, block] = new_losses - old_losses
        block_largest = np.maximum(old_losses, new_losses).max(axis=1)
        largest = np.maximum(largest, block_largest)
    measures = []
    for place, name in enumerate(("log loss", "Brier score")):
        measure = QualityMeasure(
            name=name,
            old=float(totals[0, place] / n),
            new=float(totals[1, place] / n),
            higher_is_better=False,
            interval=paired_mean_interval(differences[place], float(largest[place]), LEVEL),
        )
        measures.append(measure)
    if len(pair.classes) == 2:
        measures += _discrimination(pair)
    return tuple(measures)


def _losses(probabilities: FloatArray, truth: IntArray) -> FloatArray:
    """Return log loss and Brier score of each row."""
    places = np.arange(len(truth))
    right = probabilities[places, truth]
    log_loss = -np.log(np.maximum(right, LEAST_PROBABILITY))
    # sum_k (p_k - y_k)^2 = sum_k p_k^2 - 2 p_y + 1
    brier = np.einsum("ij,ij->i", probabilities, probabilities) - 2.0 * right + 1.0
    return np.stack([log_loss, brier])


def _discrimination(pair: ClassPair) -> list[QualityMeasure]:
    """Return how well the probabilities of two classes order the rows, where labels are of both classes."""
    positive = pair.labels == 1
    if positive.all() or not positive.any():
        return []
    rows = np.arange(len(positive))
    old = pair.probabilities(pair.old, rows)[:, 1]
    new = pair.probabilities(pair.new, rows)[:, 1]
    measures = []
    for name, function in (("AUC", area_under_curve), ("average precision", average_precision)):
        measure = QualityMeasure(
            name=name,
            old=function(old, positive),
            new=function(new, positive),
            higher_is_better=True,
        )
        measures.append(measure)
    return measures


def area_under_curve(scores: FloatArray, positive: BoolArray) -> float:
    """Return the area under the ROC curve: how often a positive row has the higher score; ties count one half.

    That of scikit-learn takes a second to import, as long as all else of a comparison of two files.
    """
    _, codes, counts = np.unique(scores, return_inverse=True, return_counts=True)
    # Equal scores get the mean of their ranks.
    mean_ranks = np.cumsum(counts) - 0.5 * (counts - 1)
    ranks = mean_ranks[codes.ravel()]
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    # The ranks of the positive rows, less those that they would have among themselves, count the negative rows below.
    above = float(ranks[positive].sum()) - 0.5 * n_positive * (n_positive + 1)
    return above / (n_positive * n_negative)


def average_precision(scores: FloatArray, positive: BoolArray) -> float:
    """Return the precision at each distinct score, weighted by the recall that it adds."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    hits = np.cumsum(positive[order])
    # Rows of one score are taken together: only the last of them is a cut.
    is_cut = np.append(ordered[1:] != ordered[:-1], True)
    hits = hits[is_cut]
    n_taken = np.flatnonzero(is_cut) + 1
    precision = hits / n_taken
    gained = np.diff(hits, prepend=0)
    return float(precision @ gained) / float(hits[-1])
