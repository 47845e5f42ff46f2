"""Symmetric eigenproblems of one triangle: by SciPy, or by torch.

Torch's library (MKL) takes half the time of SciPy's on Intel's processors.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray

_SMALL = 512
"""Up to this size all vectors are found faster than a few."""


def eigenvalues_and_vectors(matrix: FloatArray, n_vectors: int | None) -> tuple[FloatArray, FloatArray]:
    """Return all eigenvalues of a symmetric matrix, descending, and the vectors of the largest ones.

    Parameters
    ----------
    matrix : ndarray of shape (rank, rank)
        Symmetric; its lower triangle is read, and overwritten when the matrix is in Fortran order.
    n_vectors : int or None
        How many eigenvectors; None for all.

    Returns
    -------
    tuple
        Eigenvalues of shape (rank,) and vectors of shape (rank, n_vectors).
    """
    size = len(matrix)
    if size == 0:
        return np.empty(0), np.empty((0, 0))
    wanted = size if n_vectors is None else min(n_vectors, size)
    if size <= _SMALL or 4 * wanted > size:
        eigenvalues, vectors = np.linalg.eigh(matrix)
        return eigenvalues[::-1].copy(), vectors[:, ::-1][:, :wanted].copy()
    return _few_vectors(matrix, wanted)


def _few_vectors(matrix: FloatArray, wanted: int) -> tuple[FloatArray, FloatArray]:
    """Reduce to tridiagonal form once: all eigenvalues of it, and the vectors of the largest, mapped back."""
    from scipy.linalg import LinAlgError, eigh_tridiagonal, lapack

    size = len(matrix)
    work, _ = lapack.dsytrd_lwork(size, lower=1)
    reflectors, diagonal, beside, scales, _ = lapack.dsytrd(
        np.asfortranarray(matrix), lower=1, lwork=int(work), overwrite_a=1
    )
    eigenvalues, info = lapack.dsterf(diagonal, beside)
    if info:
        raise LinAlgError(f"The eigenvalues of a tridiagonal matrix of size {size} did not converge.")
    eigenvalues = np.asarray(eigenvalues)[::-1].copy()
    if not wanted:
        return eigenvalues, np.empty((size, 0))
    _, vectors = eigh_tridiagonal(
        diagonal, beside, select="i", select_range=(size - wanted, size - 1), check_finite=False
    )
    # The reflectors leave the first row alone and stand one row too low for dormqr: each column moves up.
    for column in range(size - 1):
        reflectors[:-1, column] = reflectors[1:, column]
    inner = np.asfortranarray(vectors[1:])
    _, work, _ = lapack.dormqr("L", "N", reflectors[:, : size - 1], scales, inner, -1)
    inner, _, _ = lapack.dormqr(
        "L", "N", reflectors[:, : size - 1], scales, inner, int(work[0]), overwrite_c=1
    )
    vectors[1:] = inner
    return eigenvalues, np.asarray(vectors, dtype=np.float64)[:, ::-1].copy()


def check_torch() -> Any:
    """Return torch, or raise.

    Raises
    ------
    ImportError
        If it is not installed, with the command that installs it.
    """
    try:
        return importlib.import_module("torch")  # by name: novelty itself knows no framework
    except ImportError as error:
        raise ImportError(
            "eigensolver='torch' needs torch. Install it: pip install 'shiftmetrics[torch]'"
        ) from error


def torch_eigenvalues(lower: FloatArray) -> FloatArray:
    """Return the eigenvalues, descending, of a symmetric matrix of which the lower triangle is stored.

    MKL reduces the lower triangle of a matrix in Fortran order a quarter faster than an upper one, and torch copies
    such a matrix as it lies.
    """
    torch = check_torch()
    values = torch.linalg.eigvalsh(torch.from_numpy(lower), UPLO="L")
    return np.asarray(values.numpy()[::-1].copy())


def torch_eigh(lower: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues, descending, and the eigenvectors of a matrix of which the lower triangle is stored."""
    torch = check_torch()
    values, vectors = torch.linalg.eigh(torch.from_numpy(lower), UPLO="L")
    return values.numpy()[::-1].copy(), vectors.numpy()[:, ::-1].copy()
