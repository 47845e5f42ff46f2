"""Losses that moves reach: the nearest error of each row, or the few moves that are worth their distance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.question import LossName

Confirm = Callable[[IntArray, IntArray], BoolArray]
"""Asks the model itself whether rows (by position in the block) are errors after the move to a choice."""

SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)
"""As `class_log_probabilities` of a model has it."""


class NotTheModel(Exception):  # noqa: N818 - not an error of the caller: the answer is another route
    """The forest and the model disagree beyond rounding."""


def losses_of(forest: Forest, outputs: FloatArray, y: Array, loss: LossName) -> FloatArray:
    """Return losses at outputs of shape (n_rows, ..., n_outputs) for the labels, or values, of the rows.

    The 0/1 loss counts what is not clearly right, for the model to decide.
    """
    shape = (len(y),) + (1,) * (outputs.ndim - 2)
    if loss == "squared":
        residuals = forest.predictions(outputs) - y.reshape(shape)
        return np.asarray(residuals * residuals)
    if loss == "log_loss":
        probabilities = forest.probabilities(outputs)
        own = np.take_along_axis(probabilities, y.reshape(*shape, 1), axis=-1)[..., 0]
        return np.maximum(-np.log(np.maximum(own, SMALLEST_PROBABILITY)), 0.0)
    margins = forest.margins(outputs, y)
    if loss == "hinge":
        return np.maximum(1.0 - margins, 0.0)
    return np.asarray(margins <= forest.tolerance, dtype=np.float64)


def nearest_errors(
    squared: FloatArray, margins: FloatArray, tolerance: float, confirm: Confirm
) -> tuple[FloatArray, IntArray]:
    """Return the least squared distance to an error of each row, and the choice that leads there.

    Parameters
    ----------
    squared : array of shape (n_rows, n_choices)
        Squared distance of each choice; inf where a row cannot go.
    margins : array of shape (n_rows, n_choices)
        How far the right class is ahead there. Closer to 0 than ``tolerance``, the model decides.
    confirm : callable
        Asks the model.

    Raises
    ------
    NotTheModel
        If the model calls right what is clearly wrong.
    """
    candidates = np.where(margins <= tolerance, squared, np.inf)
    everyone = np.arange(len(candidates))
    choice = candidates.argmin(axis=1)
    pending = np.flatnonzero(np.isfinite(candidates[everyone, choice]))
    while pending.size:
        wrong = confirm(pending, choice[pending])
        refuted = pending[~wrong]
        if (margins[refuted, choice[refuted]] < -tolerance).any():
            raise NotTheModel
        candidates[refuted, choice[refuted]] = np.inf
        choice[refuted] = candidates[refuted].argmin(axis=1)
        pending = refuted[np.isfinite(candidates[refuted, choice[refuted]])]
    return candidates[everyone, choice], choice


def worthwhile(
    squared: FloatArray, losses: FloatArray, own: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Keep of each row the choices that raise its loss above all nearer ones; where it stands comes first.

    Parameters
    ----------
    squared, losses : array of shape (n_rows, n_choices)
        Squared distance and loss of each choice; inf where a row cannot go.
    own : array of shape (n_rows,)
        The choice that is the row where it stands.

    Returns
    -------
    squared, losses, choice : array of shape (n_rows, n_kept)
        Sorted by distance; padded with inf, 0 and the row itself.
    """
    n_rows, everyone = len(squared), np.arange(len(squared))
    key = squared.copy()
    key[everyone, own] = -1.0
    # By distance, and among equals by loss, the highest first.
    order = np.lexsort((-losses, key), axis=1)
    near, high = np.take_along_axis(squared, order, axis=1), np.take_along_axis(losses, order, axis=1)
    high = np.where(np.isfinite(near), high, -np.inf)
    before = np.maximum.accumulate(high, axis=1)
    keep = np.ones(high.shape, dtype=bool)
    keep[:, 1:] = high[:, 1:] > before[:, :-1]
    place = np.cumsum(keep, axis=1) - 1
    width = int(place[:, -1].max(initial=0)) + 1
    row, column = np.nonzero(keep)
    kept = place[row, column]
    kept_squared, kept_losses = np.full((n_rows, width), np.inf), np.zeros((n_rows, width))
    choice = np.repeat(own[:, None], width, axis=1)
    kept_squared[row, kept], kept_losses[row, kept] = near[row, column], high[row, column]
    choice[row, kept] = order[row, column]
    return kept_squared, kept_losses, choice
