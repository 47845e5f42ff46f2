"""The matrix of the eigenproblem, entropy, and bounds that hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from shiftmetrics.novelty.score.basis import PivotBasis
from shiftmetrics.novelty.score.factor import Factor, pivoted_factor
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import GaussianKernel
from shiftmetrics.novelty.score.solution import NoveltyProblem, solve_dense
from shiftmetrics.novelty.score.spectrum import (
    eigenvalues_and_vectors,
    entropy_slack,
    moments_of,
    spectral_entropy,
    truncation,
)


def basis_of(gram: Gram, factor: Factor) -> PivotBasis:
    pivots = factor.pivots
    return PivotBasis(gram, "landmarks", gram.take(pivots), factor.values[pivots], factor)


@given(values=st.lists(st.floats(1e-300, 1.0), min_size=1, max_size=30))
def test_entropy_is_the_sum_term_by_term(values: list[float]) -> None:
    array = np.array(values)
    assert spectral_entropy(array) == pytest.approx(oracles.novelty(values), rel=1e-12, abs=1e-14)
    assert 0.0 <= spectral_entropy(array) <= array.sum() * np.log(len(array)) + 1e-12
    assert spectral_entropy(array / 2) == pytest.approx(spectral_entropy(array) / 2, abs=1e-14)


def test_entropy_of_nothing_is_zero() -> None:
    assert spectral_entropy(np.empty(0)) == 0.0
    assert spectral_entropy(np.array([0.3])) == 0.0


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 40),
    change=st.floats(-16, 0),
    concentrated=st.booleans(),
)
def test_entropy_moves_at_most_by_its_slack(
    seed: int, count: int, change: float, concentrated: bool
) -> None:
    rng = np.random.default_rng(seed)
    first = rng.dirichlet(np.full(count, 0.05 if concentrated else 5.0)) * rng.uniform(0.1, 1.0)
    moves = rng.dirichlet(np.full(count, 0.05 if rng.random() < 0.5 else 5.0)) * 10.0**change
    second = np.maximum(first + moves * rng.choice([-1.0, 1.0], size=count), 0.0)
    if second.sum() > 1.0:
        return
    size = float(np.abs(second - first).sum())
    difference = abs(spectral_entropy(second[second > 0]) - spectral_entropy(first[first > 0]))
    assert difference <= entropy_slack(size, count) + 1e-13


def test_slack_has_limits() -> None:
    assert entropy_slack(0.0, 100) == 0.0
    assert entropy_slack(1e300, 100) == pytest.approx(np.log(100), rel=1e-15)
    assert entropy_slack(0.5, 1) == 0.0  # one number has no entropy


@given(
    seed=st.integers(0, 2**32 - 1),
    columns=st.integers(1, 3),
    bandwidth=st.floats(0.1, 5.0),
    rank=st.integers(1, 40),
    eta=st.sampled_from([1.0, 2.5, 10.0]),
)
def test_truncation_takes_off_at_most_what_the_certificate_says(
    seed: int, columns: int, bandwidth: float, rank: int, eta: float
) -> None:
    rng = np.random.default_rng(seed)
    n, m = 30, 20
    x, y = rng.normal(size=(n, columns)), rng.normal(size=(m, columns)) * 1.5
    gram = Gram(x, y, GaussianKernel(bandwidth))
    weights = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    exact = np.linalg.eigvals(
        oracles.differential_kernel_matrix(
            x, y, lambda a, b: oracles.gaussian_kernel(a, b, bandwidth), eta
        )
    ).real
    factor = pivoted_factor(gram, weights, rtol=0.0, max_rank=rank)
    basis = basis_of(gram, factor)
    parts = [
        moments_of(basis, weights[:n], of_test=True),
        moments_of(basis, weights[n:], of_test=False),
    ]
    kept = np.linalg.eigvalsh(parts[0].products - eta * parts[1].products)
    lost = exact[exact > 0].sum() - kept[kept > 0].sum()
    assert -1e-7 <= lost <= truncation(parts[0], parts[1], eta) + 1e-7
    # Each eigenvalue of the compression is below the exact one (Cauchy).
    top = np.sort(kept[kept > 0])[::-1]
    assert (top <= np.sort(exact)[::-1][: len(top)] + 1e-7).all()


def test_covariances_in_blocks_are_those_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    gram = Gram(rng.normal(size=(4000, 2)), rng.normal(size=(3000, 2)), GaussianKernel(1.0))
    weights = rng.dirichlet(np.ones(4000))
    factor = pivoted_factor(gram, np.ones(7000), rtol=1e-6, max_rank=300)
    found = moments_of(basis_of(gram, factor), weights, of_test=True)
    rows, residual = factor.values[:4000], factor.residual[:4000]
    np.testing.assert_allclose(found.products, (rows.T * weights) @ rows, rtol=0, atol=1e-14)
    assert found.residual == pytest.approx(weights @ residual)
    assert found.spread == pytest.approx(weights @ np.sqrt(residual * (1.0 - residual)))
    assert found.mode_count == pytest.approx(1.0 / np.sum(((rows.T * weights) @ rows) ** 2))


@pytest.mark.parametrize(
    ("n", "m", "eta"), [(60, 40, 2.5), (7, 5, 1.0), (2, 30, 10.0), (300, 250, 1.0)]
)
def test_the_dense_route_is_that_of_the_covariances(n: int, m: int, eta: float) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    a, b = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
    gram = Gram(x, y, GaussianKernel(0.5))
    problem = NoveltyProblem(
        gram=gram, test_weights=a, reference_weights=b, eta=eta, rtol=1e-12, memory_limit=1 << 40
    )
    found = solve_dense(problem, "", vectors=True)
    assert found is not None
    kernel = gram.among(np.arange(n + m))
    values = np.linalg.cholesky(kernel)
    first = (values[:n].T * a) @ values[:n]
    second = (values[n:].T * b) @ values[n:]
    expected = np.linalg.eigvalsh(first - eta * second)[::-1]
    np.testing.assert_allclose(found.eigenvalues, expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.mode_counts, (1 / (first**2).sum(), 1 / (second**2).sum()))
    # Eigenfunctions: values of unit functions, f_X - eta f_Y of which is the eigenvalue.
    squares = (found.basis.at(np.concatenate([x, y])) @ found.vectors) ** 2
    np.testing.assert_allclose(
        a @ squares[:n] - eta * b @ squares[n:], found.eigenvalues[: squares.shape[1]], atol=1e-9
    )


def test_a_singular_matrix_is_left_to_pivots() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 3))
    gram = Gram(rows, rows[:10], GaussianKernel(0.5))
    weights = {"test_weights": np.full(20, 0.05), "reference_weights": np.full(10, 0.1)}
    problem = NoveltyProblem(gram=gram, **weights, eta=1.0, rtol=1e-12, memory_limit=1 << 40)
    assert solve_dense(problem, "", vectors=False) is None


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("size", [0, 1, 2, 30, 300])
def test_eigenvalues_and_vectors(size: int, vectors: bool) -> None:
    matrix = np.random.default_rng(size).normal(size=(size, size))
    matrix = matrix + matrix.T
    upper = np.asfortranarray(np.triu(matrix))
    eigenvalues, found = eigenvalues_and_vectors(upper, vectors=vectors)
    np.testing.assert_allclose(eigenvalues, np.linalg.eigvalsh(matrix)[::-1], rtol=0, atol=1e-11)
    assert found.shape == (size, size if vectors else 0)
    if vectors:
        np.testing.assert_allclose(matrix @ found, found * eigenvalues, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.T @ found, np.eye(size), rtol=0, atol=1e-11)
