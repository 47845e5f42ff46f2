"""Symmetric eigenproblems by torch, whose library (MKL) takes half the time of SciPy's on Intel's processors."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray


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
    """Return the eigenvalues, descending, of a symmetric matrix of which the lower triangle is stored."""
    torch = check_torch()
    # The transpose of a matrix in Fortran order is in C order, with the upper triangle stored.
    values = torch.linalg.eigvalsh(torch.from_numpy(np.ascontiguousarray(lower.T)), UPLO="U")
    return np.asarray(values.numpy()[::-1].copy())


def torch_eigh(lower: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues, descending, and the eigenvectors of a matrix of which the lower triangle is stored."""
    torch = check_torch()
    values, vectors = torch.linalg.eigh(torch.from_numpy(np.ascontiguousarray(lower.T)), UPLO="U")
    return values.numpy()[::-1].copy(), vectors.numpy()[:, ::-1].copy()
