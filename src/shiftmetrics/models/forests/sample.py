"""Rows, what they should be predicted as, and what the model says of points where leaves tie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from shiftmetrics._core.arrays import Array, BoolArray, FloatArray, IntArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics.models.domain import Domain

_ASKED = 100_000  # points of ties that the model predicts at once

Place = Callable[[IntArray, IntArray], FloatArray]
"""From rows and their choices to the points where they then stand."""


class NotTheModel(Exception):  # noqa: N818 - no error of the caller: another route answers
    """The forest and the model disagree beyond rounding."""


@dataclass(frozen=True, eq=False)
class ForestSample:
    """Rows, what they should be predicted as, and what the model predicts.

    Attributes
    ----------
    codes : array of shape (n_samples, n_features)
        The rows, coded.
    y : array of shape (n_samples,)
        Positions of their labels, or values.
    loss : str
        The loss.
    domain : Domain
        Where rows may move.
    predict : callable
        The position of the class that the model predicts at coded points.
    ties : dict
        What the model predicted where sums tie, by the sums; see `ForestSample.labels_at_ties`.
    """

    codes: FloatArray
    y: Array
    loss: str
    domain: Domain
    predict: Callable[[FloatArray], IntArray]
    ties: dict[bytes, int] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def is_wrong(self, points: FloatArray, rows: IntArray | slice) -> BoolArray:
        """Return where the model misclassifies coded points, for the labels of ``rows``."""
        if not len(points):
            return np.zeros(0, dtype=np.bool_)
        return np.asarray(self.predict(points) != self.y[rows])

    # Two classes get 50 of 100 votes each at many points. Votes add up without rounding, so the model decides by the
    # sums alone: it is asked once for each different sum. Other sums round, so it is asked at each point.
    def labels_at_ties(
        self, adds_exactly: bool, outputs: FloatArray, place: Callable[[IntArray], FloatArray]
    ) -> IntArray:
        """Return what the model predicts where the outputs of the trees tie.

        Parameters
        ----------
        adds_exactly : bool
            Whether the sums of the trees have no rounding.
        outputs : array of shape (n_ties, n_outputs)
            The outputs.
        place : callable
            From positions among the ties to their points.
        """
        if not adds_exactly:
            blocks = [
                np.arange(part.start, part.stop)
                for part in row_blocks(len(outputs), 1, block_bytes=_ASKED)
            ]
            return np.concatenate([self.predict(place(block)) for block in blocks])
        _, first, which = np.unique(outputs, axis=0, return_index=True, return_inverse=True)
        new = [k for k in first.tolist() if outputs[k].tobytes() not in self.ties]
        if new:
            labels = self.predict(place(np.array(new)))
            self.ties.update(zip([outputs[k].tobytes() for k in new], labels.tolist(), strict=True))
        labels = np.array([self.ties[outputs[k].tobytes()] for k in first.tolist()])
        return labels[which.ravel()]
