"""Coordinates of samples in a low-rank basis of the kernel: what the score and the search for modes are computed in.

With coordinates f, a kernel is nearly the product of two f, and the kernel covariance of a sample is the mean of
f f': one pass over the rows, in any order. Bases differ in what spans them: some rows, the landmarks (Nystrom), or,
for a kernel that is an inner product, the columns themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows, to_float64
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks
from shiftmetrics.novelty.score.factor import INDEFINITE, Factor, residual_noise
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import EPSILON, Kernel, refuse_indefinite

Route = Literal["dense", "landmarks", "cosine"]

Coordinates = tuple[FloatArray, FloatArray | None]
"""Coordinates of rows, (n_rows, size), and 1 - |f|^2 of each, None where it is 0."""

Function = tuple[int, FloatArray]
"""The number of a width, and coefficients of what is known at it: (n_terms, k)."""


@dataclass(frozen=True, eq=False)
class LandmarkBasis:
    """Coordinates from similarities to some samples, the landmarks, at some widths of the kernel (Nystrom).

    Attributes
    ----------
    landmarks : array of shape (n_landmarks, n_columns)
        The samples.
    kernel : Kernel
        What the similarities are by.
    projections : tuple of ndarray of shape (n_landmarks, rank)
        Turn similarities into coordinates, from the right: one for each width.
    widths : tuple of float
        Relative to the bandwidth of the kernel; (1.0,) for a kernel that has none.
    """

    landmarks: Array
    kernel: Kernel
    projections: tuple[FloatArray, ...]
    widths: tuple[float, ...] = (1.0,)

    def evaluate(self, similarities: FloatArray, functions: list[Function]) -> list[FloatArray]:
        """Return functions, each a width and coefficients of the similarities at it."""
        at_width = {}
        for width in {width for width, _ in functions}:
            at_width[width] = at_relative_width(self.kernel, similarities, self.widths[width])
        return [at_width[width] @ coefficients for width, coefficients in functions]


def at_relative_width(kernel: Kernel, similarities: FloatArray, width: float) -> FloatArray:
    """Return similarities at ``width`` times the bandwidth, as the kernel makes them of those at the bandwidth."""
    return similarities if width == 1.0 else kernel.at_width(similarities, width)


class ScoreBasis(ABC):
    """The basis that a score is computed in.

    Attributes
    ----------
    gram : Gram
        The kernel matrix of all rows.
    method : str
        Name of the route.
    size : int
        How many coordinates a row has.
    diagonal : ndarray of shape (size,)
        Lengths that similarities are divided by; ones for a basis that does not divide.
    entry_error : float
        Rounding error of a similarity.
    """

    gram: Gram
    method: Route
    size: int
    diagonal: FloatArray
    entry_error: float

    @abstractmethod
    def coordinates(self, rows: slice) -> Coordinates:
        """Return the coordinates of ``rows`` of one sample, and the squared length of what they leave out."""

    @abstractmethod
    def at(self, rows: Array) -> FloatArray:
        """Return the coordinates of new points, float64 and in the units of the kernel."""

    def membership(self, points: Any, vectors: FloatArray) -> FloatArray:
        """Return the membership of new points in all functions together: the sum of their squares, at most 1."""
        array = self.gram.check_points(points)
        n_points, n_columns = array.shape
        blocks = row_blocks(int(n_points), 8 * (self.size + int(n_columns)))

        def squares(rows: slice) -> FloatArray:
            values = self.at(self.gram.in_units(float64_rows(array, rows))) @ vectors
            return np.asarray(np.square(values).sum(axis=1))

        with one_blas_thread():
            parts = list(map_blocks(squares, blocks))
        # Rounding may take a sum above 1.
        return np.asarray(np.minimum(np.concatenate(parts), 1.0))


class PivotBasis(ScoreBasis):
    """An orthonormal basis of the span of some rows, the pivots of a Cholesky factor.

    The squared length 1 - |f|^2 of what lies outside the span is known row by row, so sums over rows carry an error
    bound.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of all rows.
    method : str
        Name of the route.
    landmarks : array of shape (size, n_columns)
        The pivots.
    triangle : ndarray of shape (size, size)
        Lower triangular: the coordinates of the pivots.
    factor : Factor, optional
        That of all rows, where it is known.
    """

    def __init__(
        self,
        gram: Gram,
        method: Route,
        landmarks: Array,
        triangle: FloatArray,
        factor: Factor | None = None,
    ) -> None:
        self.gram = gram
        self.method = method
        self.size = len(triangle)
        self.entry_error = gram.entry_error
        self.diagonal = np.diagonal(triangle).copy()
        self._landmarks = landmarks
        self._triangle = triangle
        self._factor = factor
        if factor is None:
            # Found once, before the basis is sent to workers.
            self._nystrom  # noqa: B018

    def coordinates(self, rows: slice) -> Coordinates:
        """Return those of the factor, or from the similarities to the landmarks."""
        if self._factor is not None:
            return self._factor.values[rows], self._factor.residual[rows]
        values = self.at(self.gram.rows(rows))
        # What the basis leaves of a row of length 1.
        outside = 1.0 - np.einsum("ij,ij->i", values, values)
        if outside.min() < -INDEFINITE:
            refuse_indefinite("one that contradicts itself")
        outside = np.maximum(outside, 0.0) + residual_noise(self.gram)
        return values, np.minimum(outside, 1.0)

    def at(self, rows: Array) -> FloatArray:
        """Return f with triangle f = k(landmarks, row)."""
        similarities = self.gram.kernel(rows, self._landmarks)
        functions = [(0, self._nystrom.projections[0])]
        return self._nystrom.evaluate(similarities, functions)[0]

    @cached_property
    def _nystrom(self) -> LandmarkBasis:
        from scipy.linalg import solve_triangular

        # Rows of similarities stand where the equation has columns: they take the transposed inverse, from the
        # right.
        inverse = self._triangle
        if self.size:
            inverse = solve_triangular(self._triangle, np.eye(self.size), lower=True)
        return LandmarkBasis(self._landmarks, self.gram.kernel, (np.ascontiguousarray(inverse.T),))


class ColumnBasis(ScoreBasis):
    """The points of a kernel that is their inner product, such as the directions of the cosine kernel: exact."""

    method = "cosine"
    entry_error = 8.0 * EPSILON

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self.size = int(gram.features.shape[1])
        self.diagonal = np.ones(self.size)

    def coordinates(self, rows: slice) -> Coordinates:
        """Return the points of ``rows``, which leave nothing out."""
        return self.at(self.gram.rows(rows)), None

    def at(self, rows: Array) -> FloatArray:
        """Return the points of rows."""
        return to_float64(self.gram.kernel.points(rows))
