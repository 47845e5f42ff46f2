"""Feature maps: coordinates of a row that do not depend on the other rows.

With coordinates f of the rows in an orthonormal basis, a kernel is nearly the product of two f, and the kernel
covariance of a sample is the mean of f f': one pass over the rows, in any order. Maps differ in the basis: landmarks,
random frequencies, or, for the cosine kernel, the columns themselves.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from concurrent.futures import Executor
from typing import Any, Literal, cast

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, float64_rows, namespace, to_float64
from shiftmetrics._core.blocks import map_blocks, one_blas_thread, row_blocks
from shiftmetrics._core.numerics import directions
from shiftmetrics._core.validation import describe
from shiftmetrics.novelty.factor import pivoted_factor, residual_noise
from shiftmetrics.novelty.gram import Gram, Landmarks
from shiftmetrics.novelty.kernels import EPSILON, GaussianKernel
from shiftmetrics.novelty.spectrum import Coordinates

Route = Literal["dense", "cholesky", "landmarks", "fourier", "cosine"]


class PointFunctions(ABC):
    """Functions of a point: weighted sums of its coordinates, or of its similarities to landmarks."""

    gram: Gram
    size: int

    @abstractmethod
    def block(self, points: Array, rows: slice) -> Array:
        """Return what the functions are sums of, for a block of points that `evaluate` has checked."""

    def evaluate(self, points: Any, coefficients: FloatArray) -> FloatArray:
        """Return the value of each function, a column of ``coefficients``, at each point: shape (n_points, k)."""
        array = self.gram.check_points(points)
        blocks = row_blocks(int(array.shape[0]), 8 * (self.size + int(array.shape[1])))
        with one_blas_thread():
            parts = map_blocks(lambda rows: product(self.block(array, rows), coefficients), blocks)
            return np.concatenate(list(parts))

    def membership(self, points: Any, coefficients: FloatArray) -> FloatArray:
        """Return the membership of points in all functions together: the sum of their squares, at most 1."""
        values = self.evaluate(points, coefficients)
        return np.asarray(np.minimum(np.einsum("ij,ij->i", values, values), 1.0))


class KernelFunctions(PointFunctions):
    """Weighted sums of the similarities k(t, z) to some rows z of the data."""

    def __init__(self, gram: Gram, landmarks: Landmarks) -> None:
        self.gram, self.landmarks, self.size = gram, landmarks, landmarks.size

    def block(self, points: Array, rows: slice) -> Array:
        """Return the similarities of a block of points."""
        return self.gram.against(points, rows, self.landmarks)


class FeatureMap(ABC):
    """Coordinates of rows in a basis.

    Attributes
    ----------
    method : str
        Name of the route.
    size : int
        How many coordinates a row has.
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
    diagonal: FloatArray
    entry_error: float = 8.0 * EPSILON
    noise: float = 0.0
    indefinite: bool = False

    @abstractmethod
    def coordinates(self, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of ``rows`` of one sample; in NumPy they are written to ``out`` if given."""

    @abstractmethod
    def functions(self, vectors: FloatArray) -> tuple[PointFunctions, FloatArray]:
        """Return what evaluates functions of these coordinates anywhere, and their coefficients there."""

    def values(self, vectors: FloatArray, *, executor: Executor | None) -> FloatArray:
        """Return the values of functions at the rows of both samples."""
        _, coefficients = self.functions(vectors)
        if not coefficients.shape[1]:
            return np.empty((self.gram.n_rows, 0))
        blocks = self.gram.blocks(8 * len(coefficients))
        values = lambda rows: product(self._terms(rows), coefficients)  # noqa: E731
        with one_blas_thread():
            joined: FloatArray = np.concatenate(list(map_blocks(values, blocks, executor=executor)))
        return np.clip(joined, -1.0, 1.0)  # no unit function is more than 1 where k(t, t) is 1

    def _terms(self, rows: slice) -> Array:
        """Return what functions are sums of, for ``rows`` of one sample."""
        return self.coordinates(rows)[0]


class RowFeatures(FeatureMap, PointFunctions):
    """Coordinates that are computed from each row alone."""

    @abstractmethod
    def _at(self, block: Array, out: FloatArray | None) -> Array:
        """Return the coordinates of a block of rows, in their own library and on their device."""

    def coordinates(self, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of ``rows`` of one sample; in NumPy they are written to ``out`` if given."""
        return self._at(self.gram.rows(rows), out), None

    def block(self, points: Array, rows: slice) -> Array:
        """Return the coordinates of a block of points."""
        return self._at(self.gram.in_units(float64_rows(points, rows)), None)

    def functions(self, vectors: FloatArray) -> tuple[PointFunctions, FloatArray]:
        """Return the map itself, and the coefficients of its coordinates."""
        return self, vectors


class FourierFeatures(RowFeatures):
    """Random Fourier features: coordinates ``[cos(z V), sin(z V)] / sqrt(n_frequencies)`` of a row z.

    The Gaussian kernel is the mean of cos(v . (x - y)) over frequencies v from a normal distribution. Frequencies
    that are orthogonal in groups err less than independent ones. The first modes come out within a few percent; the
    many small eigenvalues do not, so a score from these features alone is too low.
    """

    method = "fourier"

    def __init__(self, gram: Gram, n_frequencies: int, rng: np.random.Generator) -> None:
        kernel = cast(GaussianKernel, gram.kernel)
        self.gram = gram
        self.center = kernel.center
        self.frequencies = draw_frequencies(int(gram.features.shape[1]), n_frequencies, kernel.bandwidth, rng)
        self.size = 2 * n_frequencies
        self.diagonal = np.ones(self.size)

    def _at(self, block: Array, out: FloatArray | None) -> Array:
        if isinstance(block, np.ndarray):
            return self._in_numpy(block, out)
        xp = namespace(block)
        device = getattr(block, "device", None)
        if self.center is not None:
            block = block - xp.asarray(self.center, device=device)
        angles = block @ xp.asarray(self.frequencies, device=device)
        _check_angles(float(xp.sum(angles)))
        return xp.concat([xp.cos(angles), xp.sin(angles)], axis=1) / math.sqrt(self.size // 2)

    def _in_numpy(self, block: FloatArray, out: FloatArray | None) -> FloatArray:
        """Return the coordinates by the tangent t of half the angle, which NumPy computes much faster.

        The cosine is 2 / (1 + t^2) - 1 and the sine 2 t / (1 + t^2), both right to the last digit or two.
        """
        half = self.size // 2
        scale = 1.0 / math.sqrt(half)
        values = np.empty((len(block), self.size)) if out is None else out
        with np.errstate(over="ignore", invalid="ignore"):
            tangents = (block if self.center is None else block - self.center) @ self.frequencies
            tangents *= 0.5
            _check_angles(float(tangents.sum()))
        np.tan(tangents, out=tangents)
        factors = tangents * tangents
        factors += 1.0
        np.divide(2.0 * scale, factors, out=factors)
        np.subtract(factors, scale, out=values[:, :half])
        np.multiply(tangents, factors, out=values[:, half:])
        return values


def draw_frequencies(
    n_columns: int, n_frequencies: int, bandwidth: float, rng: np.random.Generator
) -> FloatArray:
    """Draw frequencies of the Gaussian kernel, orthogonal in groups: shape (n_columns, n_frequencies).

    Raises
    ------
    ValueError
        If the bandwidth is too small to divide by.
    """
    groups = []
    for start in range(0, n_frequencies, n_columns):
        # No more directions than are wanted: those of all columns of images would take gigabytes.
        count = min(n_columns, n_frequencies - start)
        axes, triangle = np.linalg.qr(rng.normal(size=(n_columns, count)))
        axes *= np.where(np.diagonal(triangle) < 0.0, -1.0, 1.0)  # uniform over rotations
        groups.append(axes * np.sqrt(rng.chisquare(n_columns, size=count)))
    frequencies = np.concatenate(groups, axis=1) / bandwidth
    if not np.isfinite(frequencies).all():
        raise ValueError(describe("bandwidth", "large enough to divide by", repr(bandwidth)))
    return np.ascontiguousarray(frequencies)


class CosineFeatures(RowFeatures):
    """Coordinates ``z / |z|`` of a row z: exact for the cosine kernel."""

    method = "cosine"

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self.size = int(gram.features.shape[1])
        self.diagonal = np.ones(self.size)

    def _at(self, block: Array, out: FloatArray | None) -> Array:
        values = directions(block)
        if out is not None and isinstance(values, np.ndarray):
            out[...] = values
        return values


class LandmarkFeatures(FeatureMap):
    """Coordinates in an orthonormal basis of the span of some rows, the landmarks (Nystrom).

    The squared length 1 - |f|^2 of what lies outside their span is known row by row, so the sums over rows carry an
    error bound.

    Attributes
    ----------
    whitening : ndarray of shape (size, size)
        Turns similarities to the landmarks into coordinates, from the right.
    left_out : float
        Share of the trace of the kernel matrix of the rows looked at that the landmarks leave out.
    """

    method = "landmarks"

    def __init__(
        self,
        gram: Gram,
        rows: IntArray,
        weights: FloatArray,
        *,
        max_rank: int,
        rtol: float,
        executor: Executor | None = None,
    ) -> None:
        """Choose at most ``max_rank`` landmarks among ``rows``, which have these weights in the trace."""
        from scipy.linalg import solve_triangular

        factor = pivoted_factor(gram.subset(rows), weights, rtol=rtol, max_rank=max_rank, executor=executor)
        triangle = factor.triangle
        inverse = solve_triangular(triangle, np.eye(factor.rank), lower=True) if factor.rank else triangle
        self.gram = gram
        self.size = factor.rank
        self.landmarks = gram.take(rows[factor.pivots])
        self.whitening = np.ascontiguousarray(inverse.T)
        self.left_out = float(weights @ factor.residual) / float(weights.sum())
        self.indefinite = factor.indefinite
        self.entry_error, self.noise = gram.entry_error, residual_noise(gram)
        self.diagonal = np.diagonal(triangle).copy()

    def coordinates(self, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of ``rows``, and the squared length of what they leave out."""
        values = np.matmul(self._terms(rows), self.whitening, out=out)
        squares = np.einsum("ij,ij->i", values, values)
        if not self.gram.trusted:
            values /= np.maximum(np.sqrt(squares), 1.0)[:, None]
        return values, 1.0 - squares

    def functions(self, vectors: FloatArray) -> tuple[PointFunctions, FloatArray]:
        """Return sums of similarities to the landmarks, and their coefficients."""
        return KernelFunctions(self.gram, self.landmarks), self.whitening @ vectors

    def _terms(self, rows: slice) -> FloatArray:
        """Return similarities to the landmarks: at most 1, as under any positive semidefinite kernel."""
        similarities = self.gram.block(rows, self.landmarks)
        return similarities if self.gram.trusted else np.clip(similarities, -1.0, 1.0)


def product(block: Array, coefficients: FloatArray) -> FloatArray:
    """Return ``block @ coefficients`` in NumPy, computed where the block is."""
    if isinstance(block, np.ndarray):
        return np.asarray(block @ coefficients)
    # A copy: those of a frozen mode are read-only, which torch warns of.
    there = namespace(block).asarray(coefficients.copy(), device=getattr(block, "device", None))
    return to_float64(block @ there)


def _check_angles(total: float) -> None:
    """Raise a ValueError if the sum of angles is not finite."""
    if not math.isfinite(total):
        expected = "of a size that the bandwidth can measure"
        raise ValueError(describe("features", expected, "angles beyond the largest float", "Rescale them."))
