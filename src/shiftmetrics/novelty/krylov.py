"""Block Krylov: the first modes of the whole kernel matrix without factoring it, with a bound on each eigenvalue.

A function in the span of the rows is sum_i a_i k(z_i, .), with the inner product a' K b. There Lambda = C_X - eta C_Y
acts as a -> D K a, with D the weights w of the test rows and -eta w of the reference rows, and is self-adjoint. A
basis that grows by the residuals r of its best vectors finds the largest eigenvalues, each within ``sqrt(r' K r)`` of
an exact one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics.novelty.gram import TILE_ROWS, Gram
from shiftmetrics.novelty.kernels import EPSILON

_SPARE = 6
"""Vectors of a block beyond the modes that are asked for: they speed up the last of those."""

_MAX_BLOCKS = 12
"""Blocks of the basis before it is reduced to the best vectors and grown again."""

_MAX_STEPS = 300
_DEPENDENT = 1e-10
"""A direction of a new block below this share of its longest is a combination of the others."""

_NOISE = 1e4
"""A vector whose squared length is less than this many of its rounding errors has no direction worth keeping."""

_INDEFINITE = 1e-7
_DIRECTIONLESS = 1e-6
"""K takes vectors without a length to at most the root of its rounding errors, times their size."""


@dataclass(frozen=True, eq=False)
class TopModes:
    """The largest eigenvalues of C_X - eta C_Y.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        Largest first.
    bounds : ndarray of shape (k,)
        An exact eigenvalue lies within this of each.
    coefficients : ndarray of shape (n_rows, k)
        Of the unit eigenfunctions, as sums of similarities to all rows.
    values : ndarray of shape (n_rows, k)
        Of the eigenfunctions at all rows.
    n_products : int
        Blocks of vectors that the kernel matrix was multiplied by.
    converged : bool
        Whether the bounds are as small as was asked for.
    indefinite : bool
        Whether the kernel was found not to be positive semidefinite.
    """

    eigenvalues: FloatArray
    bounds: FloatArray
    coefficients: FloatArray
    values: FloatArray
    n_products: int
    converged: bool
    indefinite: bool


class KernelProduct:
    """Products of the kernel matrix with blocks of vectors: stored when it fits, made anew block by block when not.

    Parameters
    ----------
    gram : Gram
        The kernel matrix.
    stored : bool
        Whether to keep it.
    executor : concurrent.futures.Executor, optional
        Where blocks are mapped.

    Attributes
    ----------
    contradicted : bool
        Whether some similarity was more than 1, so that the kernel is not positive semidefinite.
    """

    def __init__(self, gram: Gram, *, stored: bool, executor: Executor | None = None) -> None:
        self.gram = gram
        self.executor = executor
        self.contradicted = False
        self.matrix: FloatArray | None = None
        if stored:
            self.matrix = self._within_bounds(gram.dense(symmetric=True, executor=executor))

        self.tiles = gram.blocks(8, block_bytes=8 * TILE_ROWS)

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the product with ``vectors`` of shape (n_rows, k)."""
        if self.matrix is not None:
            return np.asarray(self.matrix @ vectors)
        return np.concatenate(self._of_tiles(lambda block, columns: block @ vectors[columns]))

    def mode_counts(self, test_weights: FloatArray, reference_weights: FloatArray) -> tuple[float, float]:
        """Return 1 / |C|_F^2 of both samples, from the squares of all similarities."""
        n_test = self.gram.n_test
        joint = np.zeros((self.gram.n_rows, 2))
        joint[:n_test, 0], joint[n_test:, 1] = test_weights, reference_weights
        squares = np.concatenate(self._of_tiles(lambda block, columns: (block * block) @ joint[columns]))
        return (1.0 / float(joint[:, 0] @ squares[:, 0]), 1.0 / float(joint[:, 1] @ squares[:, 1]))

    def _within_bounds(self, block: FloatArray) -> FloatArray:
        """Clip similarities beyond 1, which a kernel that is semidefinite does not have, and remember that."""
        if not self.gram.trusted and max(block.max(), -block.min()) > 1.0:
            self.contradicted |= bool(max(block.max(), -block.min()) > 1.0 + _INDEFINITE)
            np.clip(block, -1.0, 1.0, out=block)
        return block

    def _of_tiles(self, part: Callable[[FloatArray, slice], FloatArray]) -> list[FloatArray]:
        """Return the sum of ``part(block, columns)`` over the blocks of each tile of rows."""
        landmarks = (
            None
            if self.matrix is not None
            else [self.gram.take(np.arange(tile.start, tile.stop)) for tile in self.tiles]
        )

        def total(position: slice) -> FloatArray:
            rows = self.tiles[position.start]
            parts = []
            for number, columns in enumerate(self.tiles):
                if self.matrix is not None:
                    block = self.matrix[rows, columns]
                else:
                    block = self._within_bounds(self.gram.block(rows, landmarks[number]))  # type: ignore[index]
                parts.append(part(block, columns))
            return np.asarray(sum(parts[1:], parts[0]))

        with one_blas_thread():
            positions = [slice(i, i + 1) for i in range(len(self.tiles))]
            return list(map_blocks(total, positions, executor=self.executor))


def krylov_bytes(n_rows: int, n_modes: int, *, stored: bool) -> int:
    """Estimate the peak memory: the basis and its images, and the kernel matrix where it is stored."""
    block = n_modes + _SPARE
    return 8 * n_rows * block * (2 * _MAX_BLOCKS + 12) + (8 * n_rows**2 if stored else 0) + (64 << 20)


def top_modes(
    product: Callable[[FloatArray], FloatArray],
    weights: FloatArray,
    n_modes: int,
    *,
    tolerance: float = 1e-10,
    trusted: bool = True,
    rng: np.random.Generator,
    report: Callable[[float], None] | None = None,
) -> TopModes:
    """Find the largest eigenvalues of C_X - eta C_Y and their eigenfunctions.

    Parameters
    ----------
    product : callable
        Multiplies the kernel matrix with a block of vectors: a `KernelProduct`.
    weights : ndarray of shape (n_rows,)
        D: weights of the test rows, and -eta times those of the reference rows.
    n_modes : int
        How many eigenvalues.
    tolerance : float, default 1e-10
        Stop when the bounds of all of them are below this.
    trusted : bool, default True
        Whether the kernel is known to be positive semidefinite; if not, signs that it is not are looked for.
    rng : Generator
        Draws the first block.
    report : callable, optional
        Called with the largest bound after each step.
    """
    n_rows = len(weights)
    width = min(n_modes + _SPARE, n_rows)
    scale = weights[:, None]
    # D K times anything has no part along vectors that K takes to 0 (of repeated rows, say). Such parts have no
    # length, so they would stay while residuals shrink, until nothing but their rounding errors were left.
    start = scale / np.abs(scale).max() * product(rng.normal(size=(n_rows, width)))
    image = product(start)
    nothing = np.empty((n_rows, 0))
    # Q with Q' K Q = 1, and K Q
    basis, images, indefinite = _orthonormal(start, image, nothing, nothing)
    indefinite = indefinite and not trusted
    if not basis.shape[1]:
        # Vectors of no length: D K is 0, as for rows that are all alike, unless a kernel that is not positive
        # semidefinite takes them to others than 0.
        sizes = float(np.abs(image).max()), float(np.abs(start).max()) * n_rows
        indefinite = indefinite or (not trusted and sizes[0] > _DIRECTIONLESS * sizes[1])
        return TopModes(np.empty(0), np.empty(0), nothing, nothing, 2, not indefinite, indefinite)
    for step in range(_MAX_STEPS):
        theta, rotation = _projected_spectrum(basis, images, scale)
        vectors, values = basis @ rotation[:, :width], images @ rotation[:, :width]
        residual = scale * values - vectors * theta[:width]
        along = images.T @ residual  # 0 but for rounding
        residual -= basis @ along
        residual -= basis @ (images.T @ residual)
        image = product(residual)
        squares = np.einsum("ij,ij->j", residual, image) + np.einsum("ij,ij->j", along, along)
        lengths = np.einsum("ij,ij->j", vectors, values)  # 1 but for rounding
        bounds = np.sqrt(np.maximum(squares, 0.0) / np.maximum(lengths, 0.5))[:n_modes]
        if report is not None:
            report(float(bounds.max()))
        added, added_images, negative = _orthonormal(residual, image, basis, images)
        indefinite = indefinite or (negative and not trusted)
        # A basis that nothing is left out of has all eigenvalues, even if there are fewer than were asked for.
        converged = bool(bounds.max() <= tolerance) or not added.shape[1]
        if converged or indefinite or step == _MAX_STEPS - 1:
            break
        if basis.shape[1] + added.shape[1] > _MAX_BLOCKS * (n_modes + _SPARE):
            kept = rotation[:, : 2 * (n_modes + _SPARE)]
            basis, images = basis @ kept, images @ kept
        basis, images = np.hstack([basis, added]), np.hstack([images, added_images])
    shown = min(n_modes, len(theta))
    norms = np.sqrt(np.maximum(lengths[:shown], 0.5))
    return TopModes(
        eigenvalues=theta[:shown].copy(),
        bounds=bounds[:shown] + 64.0 * EPSILON,
        coefficients=vectors[:, :shown] / norms,
        values=values[:, :shown] / norms,
        n_products=step + 3,
        converged=converged,
        indefinite=indefinite,
    )


def _projected_spectrum(
    basis: FloatArray, images: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of D K in the span of a basis, largest first, and their vectors.

    Short directions make a basis less and less orthonormal, so its own inner products are used: taken for 1, they
    would spoil all vectors in the end.
    """
    products = basis.T @ images
    lengths, turned = np.linalg.eigh(0.5 * (products + products.T))
    half = turned[:, lengths > 0.5] / np.sqrt(lengths[lengths > 0.5])
    values = images @ half
    projected = values.T @ (scale * values)  # Q' K D K Q
    theta, rotation = np.linalg.eigh(0.5 * (projected + projected.T))
    return theta[::-1], half @ rotation[:, ::-1]


def _orthonormal(
    block: FloatArray, image: FloatArray, basis: FloatArray, images: FloatArray
) -> tuple[FloatArray, FloatArray, bool]:
    """Make the columns of a block orthonormal to a basis and to each other in the inner product a' K b.

    Columns that depend on others are dropped.

    Returns
    -------
    tuple
        The block, its image under K, and whether some squared length was negative beyond rounding.
    """
    negative = False
    for _ in range(3):  # the second time mends what the first lost to rounding
        along = images.T @ block
        block, image = block - basis @ along, image - images @ along
        squares = np.einsum("ij,ij->j", block, image)
        # Rounding errors of a' K a: the norm of K is at most the number of rows.
        noise = EPSILON * len(block) * np.einsum("ij,ij->j", block, block)
        negative = negative or bool((squares < -1e3 * np.maximum(noise, 1e-30)).any())
        kept = squares > np.maximum(1e-30, _NOISE * noise)
        if not kept.any():
            return block[:, kept], image[:, kept], negative
        lengths = np.sqrt(squares[kept])
        block, image = block[:, kept] / lengths, image[:, kept] / lengths
        products = block.T @ image
        eigenvalues, rotation = np.linalg.eigh(0.5 * (products + products.T))
        errors = _INDEFINITE + 1e3 * float((noise[kept] / squares[kept]).sum())
        negative = negative or bool(eigenvalues[0] < -errors * eigenvalues[-1])
        large = eigenvalues > _DEPENDENT * eigenvalues[-1]
        half = rotation[:, large] / np.sqrt(eigenvalues[large])
        block, image = block @ half, image @ half
    return block, image, negative
