"""Eigenvalues and the vectors of the largest, by either library, from one triangle."""

import numpy as np
import pytest

from shiftmetrics.novelty.eigensolver import eigenvalues_and_vectors, torch_eigenvalues, torch_eigh


@pytest.mark.parametrize(
    ("size", "wanted"), [(1, 1), (2, 0), (30, 5), (30, None), (700, 0), (700, 7), (700, None)]
)
def test_eigenvalues_and_vectors(size: int, wanted: int | None) -> None:
    matrix = np.random.default_rng(size).normal(size=(size, size))
    matrix = matrix + matrix.T
    eigenvalues, vectors = eigenvalues_and_vectors(np.asfortranarray(np.tril(matrix)), wanted)
    np.testing.assert_allclose(eigenvalues, np.linalg.eigvalsh(matrix)[::-1], rtol=0, atol=1e-11)
    assert vectors.shape == (size, size if wanted is None else wanted)
    count = vectors.shape[1]
    np.testing.assert_allclose(matrix @ vectors, vectors * eigenvalues[:count], rtol=0, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), rtol=0, atol=1e-11)


def test_clustered_eigenvalues_have_orthogonal_vectors() -> None:
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(600, 600)))[0]
    values = np.concatenate([np.full(20, 1.0), np.linspace(0.5, -0.5, 580)])
    matrix = np.asfortranarray((basis * values) @ basis.T)
    eigenvalues, vectors = eigenvalues_and_vectors(matrix.copy(order="F"), 10)
    np.testing.assert_allclose(eigenvalues[:20], 1.0, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(10), atol=1e-11)
    np.testing.assert_allclose(matrix @ vectors, vectors, atol=1e-11)


def test_a_matrix_of_no_rows_has_no_eigenvalues() -> None:
    eigenvalues, vectors = eigenvalues_and_vectors(np.empty((0, 0)), None)
    assert eigenvalues.shape == (0,)
    assert vectors.shape == (0, 0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_torch_reads_the_lower_triangle_of_either_order(order) -> None:
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    lower = np.tril(rng.normal(size=(70, 70))).copy(order=order)
    whole = lower + np.tril(lower, -1).T
    lower += np.triu(rng.normal(size=(70, 70)), 1)  # what stands above the diagonal does not count
    before = lower.copy()
    expected = np.linalg.eigvalsh(whole)[::-1]
    np.testing.assert_allclose(torch_eigenvalues(lower), expected, atol=1e-12)
    eigenvalues, vectors = torch_eigh(lower)
    np.testing.assert_allclose(eigenvalues, expected, atol=1e-12)
    np.testing.assert_allclose(whole @ vectors, vectors * expected, atol=1e-11)
    np.testing.assert_array_equal(lower, before)
