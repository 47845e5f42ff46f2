"""Hinge, logistic and squared losses of a linear model: closed forms along the paths of its rivals."""

from __future__ import annotations

import math

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.linear.geometry import Geometry
from shiftmetrics.models.route import Answer
from shiftmetrics.stability.losses import (
    AlternativesLoss,
    BoundedHingeLoss,
    BoundedLogisticLoss,
    BoundedLoss,
    BoundedSquaredLoss,
    Kind,
    Loss,
)

_BOUNDED: dict[str, type[BoundedLoss]] = {
    "hinge": BoundedHingeLoss,
    "log_loss": BoundedLogisticLoss,
    "squared": BoundedSquaredLoss,
}


def closed_form(geometry: Geometry, *, kind: Kind = "exact", least: bool = False) -> Answer:
    """Return the loss with its worst case in closed form.

    Parameters
    ----------
    geometry : Geometry
        The rivals of the rows.
    kind : {"exact", "lower_bound"}, default "exact"
        What its stability is for the model.
    least : bool, default False
        Whether flips are priced at a lower bound of their distance, where prices were joined.

    Notes
    -----
    With more than two classes the logistic loss ``log(1 + sum_k exp(gap_k))`` is taken for the greatest
    ``log(1 + exp(gap_k + log(number of rivals)))``, which it never exceeds.
    """
    question = geometry.question
    rivals = list(geometry.rivals())
    parts: list[Loss] = []
    offsets: list[FloatArray] = []
    ratios: list[FloatArray] = []
    ways: list[tuple[int, BoolArray]] = []
    lift = math.log(len(rivals)) if question.loss == "log_loss" else 0.0
    for number, rival in enumerate(rivals):
        for plan in geometry.plans(rival):
            distance = plan.least_distance if least else plan.distance
            gain = np.where(np.isfinite(distance), plan.gain, 0.0)
            parts.append(_BOUNDED[question.loss](rival.gap + gain + lift, rival.path))
            offsets.append(distance)
            ratios.append(plan.from_ratio)
            ways.append((number, plan.flipped))
    # These losses rise by at most as much as the score, so that a flip must gain its price.
    ratio = None if question.loss == "squared" else np.stack(ratios, axis=1)
    loss = AlternativesLoss(parts, np.stack(offsets, axis=1), kind=kind, from_ratio=ratio)

    def points(rows: IntArray, distances: FloatArray, choices: IntArray | None) -> FloatArray:
        assert choices is not None
        placed = np.array(question.codes[rows])
        for part in np.unique(choices):  # the parts have no choices of their own
            number, flipped = ways[part]
            rival = rivals[number]
            mine = np.flatnonzero(choices == part)
            chosen = rows[mine]
            squared = np.maximum(distances[mine] ** 2 - loss.offsets[chosen, part] ** 2, 0.0)
            place = rival.path.take(chosen).place_of_squared(squared)
            placed[mine] = geometry.place(chosen, rival, flipped[chosen], place)
        return placed

    return Answer(loss, points)
