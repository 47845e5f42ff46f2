"""What stands below the verdict: kappa, posterior agreement, the label-free estimate, calibration and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.probabilities import cohen_kappa
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.decisions.diff.compared import ComparedRows, PairTotals
from shiftmetrics.decisions.diff.gains import LEVEL, Gains
from shiftmetrics.decisions.diff.records import ConstantAnswer, DiffEvidence, QualityMeasure
from shiftmetrics.decisions.labelling.paired_mean import (
    interval_of_moments,
    paired_mean_interval,
)
from shiftmetrics.decisions.predictions.pairs import ClassPair, OutputPair

TIED = 1e-12
"""Relative difference of two costs that is rounding."""


def evidence_of_classes(compared: ComparedRows, gains: Gains) -> DiffEvidence:
    """Return what two classifiers' answers and probabilities say beside the difference of their accuracies."""
    pair = compared.pair
    assert isinstance(pair, ClassPair)
    totals = compared.totals
    kappa = _kappa(compared)
    constant = _best_constant(totals, pair.classes, gains)
    if totals.sampled is None:
        return DiffEvidence(kappa=kappa, constant=constant)
    # The fraction of flips does not get sharper with a million rows.
    result = posterior_agreement(totals.sampled.new, totals.sampled.old, kind="proportions")
    return DiffEvidence(
        kappa=kappa,
        agreement=result.normalized,
        flipped=result.equivalent_error,
        estimate=totals.estimate / compared.n_samples,
        measures=_calibration(totals),
        constant=constant,
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


def _best_constant(
    totals: PairTotals, classes: npt.NDArray[Any], gains: Gains
) -> ConstantAnswer | None:
    """Return what the best constant answer has; None where labels are missing."""
    if not totals.all_labelled:
        return None
    # Whoever always says k is right on the rows of k, and saves their cost: 1 a row where accuracies are compared.
    saved = totals.labels.astype(np.float64)
    if not gains.are_signs:
        saved = totals.labels * gains.weights
    most = float(saved.max())
    # Equal up to rounding: the product of a count and a cost.
    best = np.flatnonzero(saved >= most * (1.0 - TIED))
    score = most / totals.n_samples
    if not gains.are_signs:
        score = float(saved.sum() - most) / totals.n_samples
    return ConstantAnswer(answers=tuple(str(name) for name in classes[best]), score=score)


def _kappa(compared: ComparedRows) -> float | None:
    """Return Cohen's kappa of the answers of both; None where both are one and the same constant."""
    n = compared.n_samples
    agreeing = (n - len(compared.positions)) / n
    rates = compared.totals.answers / n
    return cohen_kappa(agreeing, float(rates[0] @ rates[1]))


def _calibration(totals: PairTotals) -> tuple[QualityMeasure, ...]:
    """Return log loss and Brier score of both models, and of two classes AUC and average precision."""
    losses = totals.losses
    # Rows with a label may be a chosen part, whose mean losses say little of the others.
    if losses is None or not totals.all_labelled:
        return ()
    measures = []
    for place, name in enumerate(("log loss", "Brier score")):
        measure = QualityMeasure(
            name=name,
            old=float(losses.totals[0, place] / losses.n),
            new=float(losses.totals[1, place] / losses.n),
            higher_is_better=False,
            # Of the differences row by row: both models find the same rows hard.
            interval=interval_of_moments(
                losses.n,
                float(losses.mean[place]),
                float(losses.squares[place]),
                float(losses.largest[place]),
                LEVEL,
            ),
        )
        measures.append(measure)
    if totals.ranked is not None:
        measures += _discrimination(*totals.ranked)
    return tuple(measures)


def _discrimination(old: FloatArray, new: FloatArray, positive: BoolArray) -> list[QualityMeasure]:
    """Return how well the probabilities of two classes order the rows, where labels are of both classes."""
    if positive.all() or not positive.any():
        return []
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
