"""Coordinates of samples in a low-rank basis of the kernel: what the score and the search for modes are computed in.

With coordinates f, a kernel is nearly the product of two f, and the kernel covariance of a sample is the mean of f
f':
one pass over the rows, in any order. Maps differ in the basis: the pivots of a factor, landmarks, or, for a kernel
that
is an inner product, the columns themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows, to_float64
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks
from shiftmetrics.novelty.factor import Factor, residual_noise
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.kernels import EPSILON
from shiftmetrics.novelty.spectrum import Coordinates

Route = Literal["dense", "landmarks", "cosine"]

Function = tuple[int, FloatArray]
"""The number of a width, and coefficients of what is known at it: (n_terms, k)."""


class FeatureMap(ABC):
    """Coordinates of rows in a basis.

    Attributes
    ----------
    method : str
        Name of the route.
    size : int
        How many coordinates a row has.
    landmarks : array of shape (size, n_columns)
        The rows whose similarities to a point give its coordinates.
    diagonal : ndarray of shape (size,)
        Lengths that similarities are divided by; ones for a map that does not divide.
    entry_error, noise : float
        Rounding errors of a coordinate, and of ``1 - |f|^2``.
    indefinite : bool
        Whether the kernel was found not to be positive semidefinite.
    """

    gram: Gram
    method: Route
    size: int
    landmarks: Array
    diagonal: FloatArray
    entry_error: float = 8.0 * EPSILON
    noise: float = 0.0
    indefinite: bool = False

    @abstractmethod
    def coordinates(self, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of ``rows`` of one sample, which may be written to ``out``."""

    @abstractmethod
    def coefficients(self, vectors: FloatArray) -> FloatArray:
        """Return functions of the coordinates as sums of what `terms` gives."""

    def terms(self, points: Array, rows: slice) -> FloatArray:
        """Return what functions are sums of, for a block of new points: similarities to the landmarks."""
        return self.gram.against(points, rows, self.landmarks)

    def membership(self, points: Any, coefficients: FloatArray) -> FloatArray:
        """Return the membership of new points in all functions together: the sum of their squares, at most 1."""
        array = self.gram.check_points(points)
        blocks = row_blocks(int(array.shape[0]), 8 * (self.size + int(array.shape[1])))

        def squares(rows: slice) -> FloatArray:
            return np.asarray(np.square(self.terms(array, rows) @ coefficients).sum(axis=1))

        with one_blas_thread():
            return np.asarray(np.minimum(np.concatenate(list(map_blocks(squares, blocks))), 1.0))


class FactorMap(FeatureMap):
    """The coordinates of the rows in a factor of the joint kernel matrix."""

    def __init__(self, gram: Gram, factor: Factor, method: Route) -> None:
        self.gram = gram
        self.factor = factor
        self.method = method
        self.size = factor.rank
        self.diagonal = factor.diagonal
        self.entry_error = gram.entry_error
        self.indefinite = factor.indefinite

    def coordinates(self, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of ``rows``, and the squared length of what they leave out."""
        values = self.factor.values[rows]
        if out is not None:
            out[...] = values
        return values, self.factor.residual[rows]

    def coefficients(self, vectors: FloatArray) -> FloatArray:
        """Return coefficients of similarities to the pivots.

        u(t) = f(t).w with the coordinates f(t) that solve triangle f(t) = k(pivots, t).
        """
        from scipy.linalg import solve_triangular

        self.landmarks = self.gram.take(self.factor.pivots)
        if not vectors.size:
            return vectors
        return np.asarray(solve_triangular(self.factor.triangle, vectors, lower=True, trans="T"))


class ColumnFeatures(FeatureMap):
    """The points of a kernel that is their inner product, such as the directions of the cosine kernel: exact."""

    method = "cosine"

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self.size = int(gram.features.shape[1])
        self.diagonal = np.ones(self.size)

    def coordinates(self, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the points of ``rows``, which leave nothing out."""
        values = to_float64(self.gram.kernel.points(self.gram.rows(rows)))
        if out is not None:
            out[...] = values
        return values, None

    def coefficients(self, vectors: FloatArray) -> FloatArray:
        """Return the functions themselves: they are sums of the coordinates."""
        return vectors

    def terms(self, points: Array, rows: slice) -> FloatArray:
        """Return the coordinates of a block of new points."""
        return to_float64(self.gram.kernel.points(float64_rows(points, rows)))


@dataclass(frozen=True, eq=False)
class LandmarkBasis:
    """Coordinates from similarities to some samples, the landmarks, at some widths of the kernel (Nystrom).

    Attributes
    ----------
    landmarks : array of shape (n_landmarks, n_columns)
        The samples.
    projections : tuple of ndarray of shape (n_landmarks, rank)
        Turn similarities into coordinates, from the right: one for each width.
    widths : tuple of float
        Relative to the bandwidth of the kernel; (1.0,) for a kernel that has none.
    """

    landmarks: Array
    projections: tuple[FloatArray, ...]
    widths: tuple[float, ...] = (1.0,)

    @property
    def functions(self) -> list[Function]:
        """All coordinates as functions: those at one width after those at another."""
        return list(enumerate(self.projections))

    def evaluate(self, similarities: FloatArray, functions: list[Function]) -> list[FloatArray]:
        """Return functions, each a width and coefficients of the similarities at it."""
        at_width = {
            width: at_relative_width(similarities, self.widths[width])
            for width in {width for width, _ in functions}
        }
        return [at_width[width] @ coefficients for width, coefficients in functions]


def at_relative_width(similarities: FloatArray, width: float) -> FloatArray:
    """Return similarities at half the bandwidth, at it, or at twice it: powers of those at the bandwidth."""
    if width == 0.5:
        return np.square(np.square(similarities))
    if width == 2.0:
        return np.sqrt(np.sqrt(similarities))
    return similarities


class LandmarkFeatures(FeatureMap):
    """Coordinates in an orthonormal basis of the span of the landmarks, with what lies outside it.

    The squared length 1 - |f|^2 of what lies outside the span is known row by row, so sums over rows carry an error
    bound.
    """

    method = "landmarks"

    def __init__(self, gram: Gram, part: Gram, factor: Factor) -> None:
        """Take the pivots of the factor of a part of the rows as landmarks."""
        from scipy.linalg import solve_triangular

        inverse = triangle = factor.triangle
        if factor.rank:
            inverse = solve_triangular(triangle, np.eye(factor.rank), lower=True)
        self.gram = gram
        self.size = factor.rank
        self.landmarks = part.take(factor.pivots)
        self.basis = LandmarkBasis(self.landmarks, (np.ascontiguousarray(inverse.T),))
        self.indefinite = factor.indefinite
        self.entry_error = gram.entry_error
        self.noise = residual_noise(gram)
        self.diagonal = np.diagonal(triangle).copy()

    def coordinates(self, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of ``rows``, and the squared length of what they leave out."""
        similarities = self.gram.block(rows, self.landmarks)
        if not self.gram.trusted:
            # At most 1, as under any positive semidefinite kernel.
            similarities = np.clip(similarities, -1.0, 1.0)
        values = np.matmul(similarities, self.basis.projections[0], out=out)
        squares = np.einsum("ij,ij->i", values, values)
        if not self.gram.trusted:
            values /= np.maximum(np.sqrt(squares), 1.0)[:, None]
        return values, 1.0 - squares

    def coefficients(self, vectors: FloatArray) -> FloatArray:
        """Return coefficients of similarities to the landmarks."""
        return np.asarray(self.basis.projections[0] @ vectors)
