"""The cosine kernel is a product of unit vectors, so its covariance is exact with a row for each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows
from shiftmetrics._core.numerics import directions
from shiftmetrics._core.validation import check_directions, check_integer, check_matrix, describe
from shiftmetrics.novelty.feature_map import Coordinates
from shiftmetrics.novelty.kernels import CosineKernel


@dataclass(frozen=True, eq=False)
class CosineMap:
    """Coordinates ``z / |z|`` of a row z: exact for the cosine kernel.

    Parameters
    ----------
    n_columns : int
        Columns of the features.

    Examples
    --------
    >>> import numpy as np
    >>> CosineMap(2).coordinates(np.array([[3.0, 4.0]]), slice(0, 1))[0]
    array([[0.6, 0.8]])
    """

    n_columns: int

    def __post_init__(self) -> None:
        check_integer(self.n_columns, "n_columns", low=1)

    @property
    def size(self) -> int:
        """Return how many coordinates a row has."""
        return self.n_columns

    @property
    def kernel(self) -> CosineKernel:
        """Return the kernel."""
        return CosineKernel()

    def same_as(self, other: Any) -> bool:
        """Tell whether ``other`` gives all rows the same coordinates."""
        return isinstance(other, CosineMap) and other.n_columns == self.n_columns

    def check_points(self, points: Any, argument: str = "points") -> Array:
        """Return rows as an array of the right width, none of which is 0."""
        array = check_matrix(points, argument)
        if array.shape[1] != self.n_columns:
            raise ValueError(describe(argument, f"of {self.n_columns} columns", f"{array.shape[1]}"))
        check_directions(array, argument)
        return array

    def coordinates(self, points: Array, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of a block of ``points``, in their own library and on their device."""
        values = directions(float64_rows(points, rows))
        if out is not None and isinstance(values, np.ndarray):
            out[...] = values
        return values, None
