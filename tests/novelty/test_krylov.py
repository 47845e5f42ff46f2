"""Block Krylov: the first eigenvalues of the whole matrix, each within its bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from shiftmetrics.novelty import NoveltyStatus, kernel_entropic_novelty
from shiftmetrics.novelty.gram import FeatureGram
from shiftmetrics.novelty.kernels import CallableKernel, GaussianKernel
from shiftmetrics.novelty.krylov import KernelProduct, TopModes, top_modes


def samples(seed: int, n: int, m: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    x[: n // 3] += 2.0
    return x, y


def found(x: np.ndarray, y: np.ndarray, bandwidth: float, eta: float, k: int, **options: object) -> TopModes:
    gram = FeatureGram(x, y, GaussianKernel(bandwidth))
    weights = np.r_[np.full(len(x), 1 / len(x)), np.full(len(y), -eta / len(y))]
    product = KernelProduct(gram, stored=bool(options.pop("stored", True)))
    return top_modes(product, weights, k, rng=np.random.default_rng(0), **options)  # type: ignore[arg-type]


@given(
    seed=st.integers(0, 2**32 - 1),
    columns=st.integers(1, 8),
    bandwidth=st.floats(0.1, 10.0),
    eta=st.sampled_from([1.0, 3.0, 10.0]),
    copies=st.integers(0, 10),
)
def test_eigenvalues_lie_within_their_bounds(
    seed: int, columns: int, bandwidth: float, eta: float, copies: int
) -> None:
    x, y = samples(seed, 40, 25, columns)
    x[:copies] = y[:copies]
    top = found(x, y, bandwidth, eta, 5)
    matrix = oracles.differential_kernel_matrix(x, y, lambda a, b: GaussianKernel(bandwidth)(a, b), eta)
    exact = np.sort(np.linalg.eigvals(matrix).real)[::-1]
    assert top.converged
    assert not top.indefinite
    gaps = np.abs(top.eigenvalues[:, None] - exact)
    assert (gaps.min(axis=1) <= top.bounds + 1e-13).all()
    # Of eigenvalues near 0 some may be passed over.
    largest = np.maximum(exact[: len(top.eigenvalues)], 0.0)
    np.testing.assert_allclose(np.maximum(top.eigenvalues, 0.0), largest, atol=1e-8)
    # lambda = f_X - eta f_Y
    squares = top.values**2
    np.testing.assert_allclose(
        squares[:40].mean(axis=0) - eta * squares[40:].mean(axis=0), top.eigenvalues, atol=1e-9
    )


@pytest.mark.parametrize("stored", [True, False])
def test_the_matrix_need_not_be_stored(stored: bool) -> None:
    x, y = samples(0, 900, 700, 12)  # rows of each sample in tiles of their own
    exact = kernel_entropic_novelty(x, y, bandwidth=4.0, method="dense", n_permutations=0)
    top = found(x, y, 4.0, 1.0, 8, stored=stored)
    assert top.bounds.max() < 1e-9
    np.testing.assert_allclose(top.eigenvalues, exact.eigenvalues[:8], atol=1e-13)
    for index, mode in enumerate(exact.modes[:8]):
        np.testing.assert_allclose(top.values[:900, index] ** 2, mode.membership, atol=1e-6)


def test_mode_counts_do_not_need_the_matrix() -> None:
    x, y = samples(1, 60, 30, 3)
    gram = FeatureGram(x, y, GaussianKernel(1.0))
    weights = np.random.default_rng(0).dirichlet(np.ones(60)), np.full(30, 1 / 30)
    kernel = oracles.gaussian_kernel(np.r_[x, y], np.r_[x, y], 1.0) ** 2
    expected = (
        1 / (weights[0] @ kernel[:60, :60] @ weights[0]),
        1 / (weights[1] @ kernel[60:, 60:] @ weights[1]),
    )
    for stored in (True, False):
        np.testing.assert_allclose(
            KernelProduct(gram, stored=stored).mode_counts(*weights), expected, rtol=1e-12
        )


def test_a_large_tolerance_leaves_a_bound_that_holds() -> None:
    x, y = samples(2, 500, 400, 20)
    exact = kernel_entropic_novelty(x, y, bandwidth=5.0, method="dense", n_permutations=0).eigenvalues[:6]
    rough = found(x, y, 5.0, 1.0, 6, tolerance=1e-3)
    fine = found(x, y, 5.0, 1.0, 6)
    assert rough.n_products < fine.n_products
    assert 1e-6 < rough.bounds.max() <= 1e-3 + 1e-13
    assert (np.abs(rough.eigenvalues - exact) <= rough.bounds).all()


def test_more_modes_than_rows_and_rows_that_repeat() -> None:
    x = np.repeat([[0.0], [50.0]], 5, axis=0)
    top = found(x, x[:3], 1.0, 1.0, 30)
    assert top.converged
    # Two far points: 1/2 - 1 and 1/2.
    np.testing.assert_allclose(top.eigenvalues, [0.5, -0.5], atol=1e-14)


def test_an_indefinite_kernel_is_noticed() -> None:
    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where((a[:, None] == b[None]).all(axis=-1), 1.0, -0.5)

    x, y = samples(0, 20, 15, 2)
    result = kernel_entropic_novelty(x, y, kernel=kernel, method="krylov")
    assert result.status is NoveltyStatus.INDEFINITE
    assert "not positive semidefinite" in result.summary()
    twice = KernelProduct(
        FeatureGram(
            x,
            y,
            CallableKernel(
                lambda a, b: (
                    2.0 - np.eye(len(a), len(b)) if len(a) == len(b) else 2.0 + 0 * (a[:, :1] + b[:, 0])
                )
            ),
        ),
        stored=False,
    )
    assert np.abs(twice(np.ones((35, 1)))).max() <= 35.0
    assert twice.contradicted


def test_the_route_gives_modes_of_all_rows_and_the_score_of_some() -> None:
    x, y = samples(3, 800, 600, 30)
    exact = kernel_entropic_novelty(x, y, bandwidth=6.0, method="dense", n_permutations=0)
    result = kernel_entropic_novelty(
        x, y, bandwidth=6.0, method="krylov", score_rows=200, n_modes=4, n_permutations=0
    )
    np.testing.assert_allclose(result.eigenvalues, exact.eigenvalues[:4], atol=1e-13)
    assert result.eigenvalue_error_bound < 1e-9
    assert result.status is NoveltyStatus.SAMPLED
    assert result.score_rows == (200, 200)
    assert result.reverse_eigenvalues is None
    assert "200 and 200 rows drawn at random" in result.headline()
    assert any("only with scores of as many rows" in warning for warning in result.warnings)
    np.testing.assert_allclose(result.modes[0].score(x), exact.modes[0].membership, atol=1e-8)
    # Over the modes that were found.
    novelty = result.point_novelty(x).mean() - result.point_novelty(y).mean()
    assert novelty == pytest.approx(result.eigenvalues.sum(), abs=1e-9)
    all_rows = kernel_entropic_novelty(x, y, bandwidth=6.0, method="krylov", n_permutations=0)
    assert all_rows.score_rows is None
    assert all_rows.value == pytest.approx(exact.value, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_short_directions_do_not_spoil_the_modes(seed: int) -> None:
    # Under a wide kernel the spectrum falls so fast that new directions are hardly longer than their rounding errors.
    rng = np.random.default_rng([seed, 5])
    x, y = samples(seed, 40, 40, 2)
    shares = [weights / weights.sum() for weights in (rng.uniform(0.01, 1, 40), rng.exponential(size=40))]
    exact = kernel_entropic_novelty(
        x,
        y,
        bandwidth=5.0,
        method="dense",
        n_permutations=0,
        sample_weight=shares[0],
        reference_weight=shares[1],
    )
    product = KernelProduct(FeatureGram(x, y, GaussianKernel(5.0)), stored=True)
    top = top_modes(product, np.r_[shares[0], -shares[1]], 10, rng=rng)
    assert top.converged
    assert top.bounds.max() < 1e-7
    np.testing.assert_allclose(top.eigenvalues[:3], exact.eigenvalues[:3], atol=1e-8)


@pytest.mark.parametrize("kernel", ["cosine", lambda a, b: np.sign(a) @ np.sign(b).T])
def test_a_kernel_of_rank_one_leaves_nothing_new(kernel: object) -> None:
    # At eta = 1 the difference is 0, and no vector has a length: that is no sign of an indefinite kernel.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 1)), rng.normal(size=(30, 1))
    result = kernel_entropic_novelty(x, y, kernel=kernel, method="krylov")
    assert result.status is NoveltyStatus.EXACT
    assert result.value == 0.0
    assert len(result.eigenvalues) == 0
