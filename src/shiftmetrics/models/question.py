"""A model, rows, labels and where the rows may move: what every route is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.domain import Domain
from shiftmetrics.models.outputs import (
    class_log_probabilities,
    class_scores,
    predicted_labels,
    predicted_values,
)
from shiftmetrics.models.table import Table

LossName = Literal["zero_one", "hinge", "log_loss", "squared"]
LOSSES: tuple[LossName, ...] = ("zero_one", "hinge", "log_loss", "squared")


@dataclass
class QueryCount:
    """How many rows the model was asked for."""

    rows: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """What loss the rows can reach, and how far away.

    Attributes
    ----------
    model : object
        The fitted model.
    table : Table
        The rows; ``table.decode`` turns coded points into what the model accepts.
    y : array of shape (n_samples,)
        Positions of the labels among ``classes``; the values themselves for the squared loss.
    classes : array of shape (n_classes,) or None
        The classes of the model, in its order; None for the squared loss.
    loss : {"zero_one", "hinge", "log_loss", "squared"}
        The loss.
    domain : Domain
        Where rows may move.
    theta1, theta2 : float
        Prices, for searches that depend on them.
    rng : numpy.random.Generator
        For searches that are random.
    n_queries : int
        Most queries for each row, for searches that only predict.
    background : array of shape (n_background, n_features) or None
        Other coded rows that searches may start from.
    progress : bool
        Whether to show progress bars for work of more than two seconds.
    count : QueryCount
        Counts what `predict` and `losses` ask of the model.
    """

    model: Any
    table: Table
    y: npt.NDArray[Any]
    classes: npt.NDArray[Any] | None
    loss: LossName
    domain: Domain
    theta1: float = 0.4
    theta2: float = 0.4
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    n_queries: int = 500
    background: FloatArray | None = None
    progress: bool = True
    count: QueryCount = field(default_factory=QueryCount)

    @property
    def codes(self) -> FloatArray:
        """The rows, coded, of shape (n_samples, n_features)."""
        return self.table.codes

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def immovable(self) -> bool:
        """Whether neither rows nor labels may change, so that their weights alone do."""
        labels_fixed = math.isinf(self.domain.label_flip)
        return math.isinf(self.theta1) or (self.domain.immovable and labels_fixed)

    def _decoded(self, points: FloatArray) -> Any:
        self.count.rows += len(points)
        return self.table.decode(points)

    def predict(self, points: FloatArray) -> npt.NDArray[Any]:
        """Return the position of the predicted class at coded points (-1: none of them); values for regressions."""
        if self.classes is None:
            return predicted_values(self.model, self._decoded(points))
        return class_positions(predicted_labels(self.model, self._decoded(points)), self.classes)

    def losses(self, points: FloatArray, rows: IntArray | slice) -> FloatArray:
        """Return the loss of the model at coded points, for the labels of ``rows``."""
        y = self.y[rows]
        if self.loss == "squared":
            residuals = self.predict(points) - y
            return np.asarray(residuals * residuals)
        if self.loss == "zero_one":
            return np.asarray(self.predict(points) != y, dtype=np.float64)
        everyone = np.arange(len(points))
        if self.loss == "log_loss":
            logs = class_log_probabilities(self.model, self._decoded(points))
            return np.asarray(np.maximum(-logs[everyone, y], 0.0))
        scores = class_scores(self.model, self._decoded(points))
        own = scores[everyone, y]
        rivals = scores.copy()
        rivals[everyone, y] = -np.inf
        return np.asarray(np.maximum(1.0 + rivals.max(axis=1) - own, 0.0))

    def is_wrong(self, points: FloatArray, rows: IntArray | slice) -> BoolArray:
        """Tell where the model misclassifies coded points, for the labels of ``rows``."""
        return np.asarray(self.predict(points) != self.y[rows])


def class_positions(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> IntArray:
    """Return the position of each label among the classes, -1 where it is none of them."""
    order = np.argsort(classes, kind="stable")
    place = np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)
    found = order[place]
    return np.where(classes[found] == labels, found, -1).astype(np.int64)
