"""The best way of each row to an error, while ways are tried one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics.models.linear.geometry import FlipPlan, Geometry


@dataclass(eq=False)
class NearestPlan:
    """The best way of each row so far."""

    distance: FloatArray
    rival: IntArray
    flipped: BoolArray
    place: FloatArray
    steps: FloatArray

    @classmethod
    def unknown(cls, geometry: Geometry) -> NearestPlan:
        """Return no way at all."""
        n = geometry.n_samples
        return cls(
            distance=np.full(n, np.inf),
            rival=np.zeros(n, dtype=np.int64),
            flipped=np.zeros((n, len(geometry.flips)), dtype=np.bool_),
            place=np.zeros(n),
            steps=np.zeros((n, int(geometry.whole.sum()))),
        )

    def improve(
        self,
        rows: IntArray,
        rival: int,
        plan: FlipPlan,
        place: FloatArray,
        squared: FloatArray,
        steps: FloatArray,
    ) -> None:
        """Keep the shortest way of each row if it is shorter; ``squared`` is that of the changes of numbers."""
        distance = np.sqrt(squared + plan.distance[rows] ** 2)
        shortest = np.arange(len(rows))
        if not (np.diff(rows) > 0).all():  # several ways of a row
            order = np.argsort(distance, kind="stable")
            _, first = np.unique(rows[order], return_index=True)
            shortest = order[first]
        better = shortest[distance[shortest] < self.distance[rows[shortest]]]
        row = rows[better]
        self.distance[row] = distance[better]
        self.rival[row] = rival
        self.flipped[row] = plan.flipped[row]
        self.place[row] = place[better]
        self.steps[row] = steps[better]
