"""What stands below the verdict: kappa, posterior agreement, the label-free estimate, calibration and errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.decisions.diff_result import DiffEvidence, QualityMeasure
from shiftmetrics.decisions.gains import LEVEL
from shiftmetrics.decisions.paired import mean_interval
from shiftmetrics.decisions.pairs import ClassPair, OutputPair

LEAST_PROBABILITY = 1e-12
"""Probability that a log loss counts for a class that a model excludes."""

MOST_PAIRS = 20_000
"""Rows, evenly spaced, whose posterior agreement stands for that of all."""


def evidence_of_classes(pair: ClassPair, *, has_labels: bool) -> DiffEvidence:
    """Return what two classifiers' answers and probabilities say beside the difference of their accuracies."""
    kappa = cohen_kappa(pair.old_codes, pair.new_codes, len(pair.classes))
    if not (pair.old.has_probabilities and pair.new.has_probabilities):
        return DiffEvidence(kappa=kappa)
    # Whoever was asked which answer is right may have said "neither", which has no probability.
    has_labels = has_labels and len(pair.classes) == len(pair.old.names)
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
        interval=mean_interval(new - old, LEVEL),
    )
    return DiffEvidence(measures=(measure,))


def cohen_kappa(first: IntArray, second: IntArray, n_classes: int) -> float | None:
    """Return Cohen's kappa of two sequences of classes; None where both are one and the same constant."""
    n = len(first)
    agreeing = float((first == second).mean())
    rates = np.bincount(first, minlength=n_classes) / n
    other_rates = np.bincount(second, minlength=n_classes) / n
    by_chance = float(rates @ other_rates)
    if by_chance == 1.0:
        return None
    return (agreeing - by_chance) / (1.0 - by_chance)


def _blocks(pair: ClassPair, rows: IntArray) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield the probabilities of both models, block by block."""
    for block in row_blocks(len(rows), 16 * len(pair.classes)):
        old = pair.probabilities(pair.old, rows[block])
        new = pair.probabilities(pair.new, rows[block])
        yield block, old, new


def _agreement(pair: ClassPair) -> tuple[float, float]:
    """Return the posterior agreement over its maximum, and the equivalent fraction of flipped answers."""
    n = len(pair.labels)
    rows = np.linspace(0, n - 1, min(n, MOST_PAIRS)).astype(np.int64)
    result = posterior_agreement(
        pair.probabilities(pair.new, rows),
        pair.probabilities(pair.old, rows),
        kind="proportions",
    )
    return result.normalized, result.equivalent_error


def _estimate(pair: ClassPair) -> float:
    """Return the difference of the accuracies under labels that follow the mean of both models' probabilities."""
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
    names = ("log loss", "Brier score")
    totals = np.zeros((2, 2))
    differences = np.empty((2, n))
    second = np.empty((2, n)) if len(pair.classes) == 2 else None
    for block, *both in _blocks(pair, np.arange(n)):
        truth = pair.labels[block]
        losses = np.stack([_losses(probabilities, truth) for probabilities in both])
        totals += losses.sum(axis=2)
        differences[:, block] = losses[1] - losses[0]
        if second is not None:
            second[:, block] = [probabilities[:, 1] for probabilities in both]
    measures = []
    for place, name in enumerate(names):
        old, new = (totals[:, place] / n).tolist()
        interval = mean_interval(differences[place], LEVEL)
        measures.append(
            QualityMeasure(name=name, old=old, new=new, higher_is_better=False, interval=interval)
        )
    if second is not None and 0 < pair.labels.sum() < n:
        positive = pair.labels == 1
        for name, measure in (("AUC", area_under_curve), ("average precision", average_precision)):
            old, new = (measure(scores, positive) for scores in second)
            measures.append(QualityMeasure(name=name, old=old, new=new, higher_is_better=True))
    return tuple(measures)


def _losses(probabilities: FloatArray, truth: IntArray) -> FloatArray:
    """Return log loss and Brier score of each row."""
    right = probabilities[np.arange(len(truth)), truth]
    log_loss = -np.log(np.maximum(right, LEAST_PROBABILITY))
    # sum_k (p_k - y_k)^2 = sum_k p_k^2 - 2 p_y + 1
    brier = (probabilities**2).sum(axis=1) - 2.0 * right + 1.0
    return np.stack([log_loss, brier])


def area_under_curve(scores: FloatArray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve: how often a positive row has the higher score; ties count one half."""
    _, codes, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last_ranks = np.cumsum(counts)
    ranks = (last_ranks - 0.5 * (counts - 1))[codes.ravel()]  # mean rank of equal scores
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    above = float(ranks[positive].sum()) - 0.5 * n_positive * (n_positive + 1)
    return above / (n_positive * n_negative)


def average_precision(scores: FloatArray, positive: np.ndarray) -> float:
    """Return the precision at each distinct score, weighted by the recall that it adds."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(positive[order])
    # Rows of one score are taken together: only the last of them is a cut.
    ordered = scores[order]
    is_cut = np.append(ordered[1:] != ordered[:-1], True)
    hits = hits[is_cut]
    precision = hits / (np.flatnonzero(is_cut) + 1)
    gained = np.diff(hits, prepend=0)
    return float(precision @ gained) / float(hits[-1])
