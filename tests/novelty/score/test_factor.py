"""Factors: K = F F' + a semidefinite residual whose diagonal is known, without anything added to the diagonal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.novelty.score.factor import Factor, pivoted_factor
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import CallableKernel, CosineKernel, GaussianKernel


def gram_of(
    seed: int, n: int = 40, m: int = 30, columns: int = 2, bandwidth: float = 0.5, copies: int = 0
) -> Gram:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    x[:copies] = y[:copies]
    return Gram(x, y, GaussianKernel(bandwidth))


def pivoted(
    gram: Gram, rtol: float = 1e-12, max_rank: int = 10**6, weights: np.ndarray | None = None
) -> Factor:
    return pivoted_factor(
        gram,
        np.full(gram.n_rows, 1.0 / gram.n_rows) if weights is None else weights,
        rtol=rtol,
        max_rank=max_rank,
    )


def whole(gram: Gram) -> np.ndarray:
    return gram.among(np.arange(gram.n_rows))


def check(gram: Gram, factor: Factor, atol: float = 1e-12) -> None:
    matrix = whole(gram)
    rest = matrix - factor.values @ factor.values.T
    assert np.linalg.eigvalsh(rest)[0] >= -atol
    assert (np.diagonal(rest) <= factor.residual + atol).all()
    assert (factor.residual >= 0.0).all()
    np.testing.assert_array_equal(factor.residual[factor.pivots], 0.0)
    triangle = factor.values[factor.pivots]
    np.testing.assert_array_equal(triangle, np.tril(triangle))
    np.testing.assert_allclose(
        triangle @ triangle.T, matrix[np.ix_(factor.pivots, factor.pivots)], rtol=0, atol=atol
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    columns=st.integers(1, 6),
    bandwidth=st.floats(0.05, 20.0),
    rtol=st.sampled_from([0.5, 1e-2, 1e-6, 1e-12, 0.0]),
    copies=st.integers(0, 20),
)
def test_a_pivoted_factor_leaves_a_semidefinite_residual(
    seed: int, columns: int, bandwidth: float, rtol: float, copies: int
) -> None:
    gram = gram_of(seed, columns=columns, bandwidth=bandwidth, copies=copies)
    factor = pivoted(gram, rtol)
    check(gram, factor)
    assert factor.converged
    trace = (whole(gram) - factor.values @ factor.values.T).trace() / gram.n_rows
    assert trace <= max(rtol, 1e-12)


def test_a_singular_matrix_is_factored_up_to_its_rank_without_jitter() -> None:
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(12, 3)) * 5
    rows = distinct[rng.integers(12, size=60)]
    gram = Gram(rows[:25], rows[25:], GaussianKernel(1.0))
    factor = pivoted(gram)
    assert factor.rank == len(np.unique(rows, axis=0))
    np.testing.assert_allclose((factor.values**2).sum(axis=1), 1.0, atol=1e-13)


def test_a_cosine_kernel_has_the_rank_of_its_columns() -> None:
    rng = np.random.default_rng(0)
    gram = Gram(rng.normal(size=(200, 7)), rng.normal(size=(300, 7)), CosineKernel())
    assert pivoted(gram).rank == 7


def test_many_rows_are_factored_in_blocks_and_rounds() -> None:
    gram = gram_of(3, n=3000, m=2000, bandwidth=0.7)
    factor = pivoted(gram)
    rows = np.random.default_rng(0).integers(gram.n_rows, size=300)
    rest = gram.among(rows) - factor.values[rows] @ factor.values[rows].T
    assert np.abs(rest).max() < 1e-9
    assert factor.rank < 600
    assert factor.converged


def test_the_rank_limit_holds_and_is_told() -> None:
    gram = gram_of(0, n=600, m=500, columns=6, bandwidth=0.5)
    factor = pivoted(gram, max_rank=50)
    assert factor.rank == 50
    assert not factor.converged
    assert factor.residual.max() <= 1.0


def test_rows_without_weight_are_explained_but_never_pivots() -> None:
    gram = gram_of(0)
    weights = np.zeros(gram.n_rows)
    weights[5:15] = 0.1
    factor = pivoted(gram, weights=weights)
    assert set(factor.pivots) <= set(range(5, 15))
    check(gram, factor)


def test_pivots_follow_the_weights() -> None:
    gram = gram_of(0, bandwidth=0.01)  # all rows are equally unlike
    weights = np.linspace(1.0, 2.0, gram.n_rows) ** 8
    factor = pivoted(gram, max_rank=10, weights=weights)
    np.testing.assert_array_equal(np.sort(factor.pivots), np.arange(gram.n_rows - 10, gram.n_rows))


def test_a_factor_does_not_depend_on_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    gram = gram_of(3, n=3000, m=2000, bandwidth=0.7)
    weights = np.full(gram.n_rows, 1.0)
    with ThreadPoolExecutor(1) as one:
        first = pivoted_factor(gram, weights, rtol=1e-9, max_rank=400, executor=one)
    second = pivoted_factor(gram, weights, rtol=1e-9, max_rank=400)
    np.testing.assert_array_equal(first.pivots, second.pivots)
    np.testing.assert_array_equal(first.values, second.values)


def indefinite(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """1 on the diagonal and -1/2 elsewhere: the smallest eigenvalue is 1 - (n - 1) / 2."""
    return np.where((a[:, None] == b[None]).all(axis=-1), 1.0, -0.5)


def test_a_kernel_that_is_not_semidefinite_is_refused() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 10, 2))
    with pytest.raises(ValueError, match="kernel must be positive semidefinite"):
        Gram(x, y, CallableKernel(indefinite))


def gram_of_matrix(matrix: np.ndarray) -> Gram:
    """The samples are positions in the matrix, 20 of them of the test sample."""
    positions = np.arange(float(len(matrix)))[:, None]
    kernel = CallableKernel(lambda a, b: matrix[np.ix_(a[:, 0].astype(int), b[:, 0].astype(int))])
    return Gram(positions[:20], positions[20:], kernel)


def test_a_contradiction_between_pairs_is_refused() -> None:
    """Two pivots explain the diagonal of all rows, yet some pairs are not their products."""
    angles = np.linspace(0.0, 3.0, 60)
    honest = np.cos(angles[:, None] - angles)
    assert pivoted(gram_of_matrix(honest)).rank == 2
    honest[30:, 30:] = 1.0
    with pytest.raises(ValueError, match="kernel must be positive semidefinite"):
        gram_of_matrix(honest)


def test_a_contradiction_that_no_probe_shows_is_refused_when_it_is_met() -> None:
    """One row of thousands is as like as can be to two rows that are not like each other."""

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        values = (a[:, 0][:, None] == b[:, 0]).astype(float)
        odd = (a[:, 0] == 1001.0)[:, None] & (b[:, 0] < 4.0)
        return values + odd + ((a[:, 0] < 4.0)[:, None] & (b[:, 0] == 1001.0))

    rows = np.arange(2000.0)[:, None]
    gram = Gram(rows[:1000], rows[1000:], CallableKernel(kernel))
    weights = np.where(rows[:, 0] < 4.0, 1.0, 1e-9)
    with pytest.raises(ValueError, match="kernel must be positive semidefinite"):
        pivoted(gram, weights=weights)


def test_a_function_of_single_precision_is_not_taken_for_indefinite() -> None:
    def single(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return GaussianKernel(2.0)(a, b).astype(np.float32)

    rng = np.random.default_rng(0)
    gram = Gram(rng.normal(size=(80, 2)), rng.normal(size=(60, 2)), CallableKernel(single))
    factor = pivoted(gram)
    assert factor.converged
    np.testing.assert_allclose(factor.values @ factor.values.T, whole(gram), atol=1e-5)
