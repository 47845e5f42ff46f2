"""The changed rows of two models: how many, which ones, and what their labels say."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics.decisions.diff.compared import ComparedRows
from shiftmetrics.decisions.diff.gains import Gains
from shiftmetrics.decisions.diff.records import (
    ChangeCount,
    ChangedSamples,
    LabelledChanges,
    PredictionDiff,
)
from shiftmetrics.decisions.labelling.paired import mcnemar_p_value
from shiftmetrics.decisions.labelling.plan import LabelPlan
from shiftmetrics.decisions.predictions.pairs import ClassPair, OutputPair

CONFIDENT = 0.9
"""Probability from which on a model is confident."""

MOST_FREQUENT = 10
"""Changes from class to class that a result lists."""

UNKNOWN_EFFECT = 2


def prediction_diff(compared: ComparedRows, gains: Gains, plan: LabelPlan | None) -> PredictionDiff:
    """Return the changes, with their rows in the order of the plan."""
    pair = compared.pair
    rows = gains.candidates if plan is None else gains.held(plan.order)
    # 1 fixed, -1 broken, 0 neither
    effect = np.where(gains.known[rows], np.sign(gains.low[rows]), UNKNOWN_EFFECT)
    effect = effect.astype(np.int64)
    ids = pair.rows.ids[rows]
    fraction = len(rows) / gains.n_samples
    if isinstance(pair, OutputPair):
        table = ChangedSamples(
            position=gains.positions[rows],
            id=ids,
            old=pair.old_outputs[rows],
            new=pair.new_outputs[rows],
            label=pair.labels[rows],
            effect=effect,
            beside=pair.rows.columns_of(rows),
        )
        return PredictionDiff(n_changed=len(rows), fraction=fraction, rows=table)
    confidences = [pair.confidence(side, rows) for side in (pair.old, pair.new)]
    # Confident on both sides, and yet of two opinions: the changes to look at first.
    n_confident = None
    if confidences[0] is not None and confidences[1] is not None:
        n_confident = int(((confidences[0] >= CONFIDENT) & (confidences[1] >= CONFIDENT)).sum())
    # A label that is not known is an empty string.
    known = pair.labels[rows] >= 0
    names = pair.classes
    table = ChangedSamples(
        position=gains.positions[rows],
        id=ids,
        old=names[pair.old_codes[rows]],
        new=names[pair.new_codes[rows]],
        old_confidence=confidences[0],
        new_confidence=confidences[1],
        label=np.where(known, names[pair.labels[rows]], ""),
        effect=effect,
        beside=pair.rows.columns_of(rows),
    )
    return PredictionDiff(
        n_changed=len(rows),
        fraction=fraction,
        n_confident=n_confident,
        n_tied_old=pair.old.n_tied,
        n_tied_new=pair.new.n_tied,
        frequent=_frequent(pair, rows, effect),
        rows=table,
    )


def _frequent(pair: ClassPair, rows: IntArray, effect: IntArray) -> tuple[ChangeCount, ...]:
    """Return the most frequent changes from one class to another."""
    # Each pair of classes is one number.
    n_classes = len(pair.classes)
    cells = pair.old_codes[rows] * n_classes + pair.new_codes[rows]
    distinct, place, counts = np.unique(cells, return_inverse=True, return_counts=True)
    fixed = np.bincount(place.ravel(), weights=effect == 1, minlength=len(distinct))
    broken = np.bincount(place.ravel(), weights=effect == -1, minlength=len(distinct))
    order = np.argsort(-counts, kind="stable")[:MOST_FREQUENT]
    return tuple(
        ChangeCount(
            old=str(pair.classes[distinct[cell] // n_classes]),
            new=str(pair.classes[distinct[cell] % n_classes]),
            n=int(counts[cell]),
            fixed=int(fixed[cell]),
            broken=int(broken[cell]),
        )
        for cell in order
    )


def labelled_rows(
    compared: ComparedRows, gains: Gains, used: IntArray, *, is_complete: bool
) -> LabelledChanges:
    """Return what the labels of some changed rows say; the scores of both models where all rows have one."""
    pair = compared.pair
    seen = gains.outcomes(used)
    is_used = np.zeros(len(gains.known), dtype=bool)
    is_used[used] = True
    # A label of a row that does not change is no use either way: it is not listed.
    labelled = gains.candidates[pair.rows.known[gains.candidates]]
    unused = labelled[~is_used[labelled]]
    # The accuracies themselves need the labels of rows that do not change, too.
    scores: tuple[float | None, float | None] = (None, None)
    if compared.totals.all_labelled:
        scores = _scores(compared, gains)
    p_value = None
    if is_complete and isinstance(pair, ClassPair):
        p_value = mcnemar_p_value(seen.fixed, seen.broken)
    return LabelledChanges(
        n_labelled=len(used),
        fixed=seen.fixed,
        broken=seen.broken,
        neither=seen.neither,
        old_score=scores[0],
        new_score=scores[1],
        p_value=p_value,
        unused=np.asarray(pair.rows.ids[unused]),
    )


def _scores(compared: ComparedRows, gains: Gains) -> tuple[float, float]:
    """Return the metric of both models."""
    pair = compared.pair
    if isinstance(pair, OutputPair):
        old = float(np.abs(pair.labels - pair.old_outputs).mean())
        return old, float(np.abs(pair.labels - pair.new_outputs).mean())
    totals = compared.totals
    if gains.are_signs:
        right = totals.right.sum(axis=1) / compared.n_samples
        return float(right[0]), float(right[1])
    # Each error costs what its class does.
    costs = (totals.labels - totals.right) @ gains.weights / compared.n_samples
    return float(costs[0]), float(costs[1])
