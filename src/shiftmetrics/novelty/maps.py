"""Feature maps: coordinates of rows in an orthonormal basis.

With coordinates f of the rows, a kernel is nearly the product of two f, and the kernel covariance of a sample is the
mean of f f': one pass over the rows, in any order. Maps differ in the basis: the pivots of a factor, landmarks, or,
for the cosine kernel, the columns themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, directions, float64_rows, to_float64
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks
from shiftmetrics.novelty.factor import Factor, residual_noise
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.kernels import EPSILON
from shiftmetrics.novelty.spectrum import Coordinates

Route = Literal["dense", "landmarks", "cosine"]


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
        self.gram, self.factor, self.method = gram, factor, method
        self.size, self.diagonal = factor.rank, factor.diagonal
        self.entry_error, self.indefinite = gram.entry_error, factor.indefinite

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


class CosineFeatures(FeatureMap):
    """Coordinates ``z / |z|`` of a row z: exact for the cosine kernel."""

    method = "cosine"

    def __init__(self, gram: Gram) -> None:
        self.gram, self.size = gram, int(gram.features.shape[1])
        self.diagonal = np.ones(self.size)

    def coordinates(self, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the directions of ``rows``, which leave nothing out."""
        values = to_float64(directions(self.gram.rows(rows)))
        if out is not None:
            out[...] = values
        return values, None

    def coefficients(self, vectors: FloatArray) -> FloatArray:
        """Return the functions themselves: they are sums of the coordinates."""
        return vectors

    def terms(self, points: Array, rows: slice) -> FloatArray:
        """Return the directions of a block of new points."""
        return to_float64(directions(float64_rows(points, rows)))


class LandmarkFeatures(FeatureMap):
    """Coordinates in an orthonormal basis of the span of some rows, the landmarks (Nystrom).

    The squared length 1 - |f|^2 of what lies outside their span is known row by row, so the sums over rows carry an
    error bound.

    Attributes
    ----------
    whitening : ndarray of shape (size, size)
        Turns similarities to the landmarks into coordinates, from the right.
    """

    method = "landmarks"

    def __init__(self, gram: Gram, part: Gram, factor: Factor) -> None:
        """Take the pivots of the factor of a part of the rows as landmarks."""
        from scipy.linalg import solve_triangular

        triangle = factor.triangle
        inverse = (
            solve_triangular(triangle, np.eye(factor.rank), lower=True) if factor.rank else triangle
        )
        self.gram, self.size = gram, factor.rank
        self.landmarks = part.take(factor.pivots)
        self.whitening = np.ascontiguousarray(inverse.T)
        self.indefinite = factor.indefinite
        self.entry_error, self.noise = gram.entry_error, residual_noise(gram)
        self.diagonal = np.diagonal(triangle).copy()

    def coordinates(self, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of ``rows``, and the squared length of what they leave out."""
        similarities = self.gram.block(rows, self.landmarks)
        if not self.gram.trusted:  # at most 1, as under any positive semidefinite kernel
            similarities = np.clip(similarities, -1.0, 1.0)
        values = np.matmul(similarities, self.whitening, out=out)
        squares = np.einsum("ij,ij->i", values, values)
        if not self.gram.trusted:
            values /= np.maximum(np.sqrt(squares), 1.0)[:, None]
        return values, 1.0 - squares

    def coefficients(self, vectors: FloatArray) -> FloatArray:
        """Return coefficients of similarities to the landmarks."""
        return np.asarray(self.whitening @ vectors)
