"""What novelty must not depend on, and what its spectrum adds up to; kernels and array libraries that agree."""

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calls import both_ways, eigenmodes, novelty
from optional import array_api_strict, torch
from shiftmetrics.novelty.score.kernels import GaussianKernel

ROUTES = ("dense", "landmarks")


def two_samples(
    seed: int, n: int = 25, m: int = 18, columns: int = 2, shift: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)), rng.normal(size=(m, columns)) + shift


# --- identities and invariances --------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    m=st.integers(2, 30),
    eta=st.floats(1.0, 20.0),
    bandwidth=st.floats(0.1, 3.0),
    method=st.sampled_from(ROUTES),
)
def test_eigenvalues_are_excess_frequencies(
    seed: int, n: int, m: int, eta: float, bandwidth: float, method: str
) -> None:
    x, y = two_samples(seed, n, m)
    result = novelty(x, y, eta=eta, bandwidth=bandwidth, method=method)
    assert len(eigenmodes(result)) <= len(result.score.eigenvalues)
    for mode, eigenvalue in zip(eigenmodes(result), result.score.eigenvalues, strict=False):
        assert mode.eigenvalue == eigenvalue
        assert eigenvalue == pytest.approx(
            mode.frequency - eta * mode.reference_frequency, abs=1e-10
        )
    assert result.score.total == pytest.approx(result.score.eigenvalues.sum(), abs=1e-12)
    total = result.point_novelty(x).mean() - eta * result.point_novelty(y).mean()
    assert total == pytest.approx(result.score.total, abs=1e-7)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 30),
    m=st.integers(2, 30),
    method=st.sampled_from(ROUTES),
)
def test_gained_and_lost_weight_balance(seed: int, n: int, m: int, method: str) -> None:
    """S+ - S- = 1 - eta: at eta = 1 what is gained is lost elsewhere."""
    x, y = two_samples(seed, n, m)
    result = novelty(x, y, bandwidth=0.7, method=method)
    assert result.score.reverse_eigenvalues is not None
    assert result.score.eigenvalues.sum() - result.score.reverse_eigenvalues.sum() == pytest.approx(
        0.0, abs=1e-9
    )
    turned = novelty(y, x, bandwidth=0.7, method=method)
    assert turned.value == pytest.approx(result.score.reverse, abs=1e-7)
    assert turned.score.reverse == pytest.approx(result.value, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("method", ROUTES)
def test_the_order_of_rows_is_irrelevant(method: str) -> None:
    x, y = two_samples(0, 200, 150)
    rng = np.random.default_rng(1)
    first = novelty(x, y, method=method)
    second = novelty(
        rng.permutation(x), rng.permutation(y), method=method, bandwidth=first.score.bandwidth
    )
    assert abs(first.value - second.value) <= max(first.error_bound, second.error_bound)
    assert first.value == pytest.approx(second.value, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("method", ROUTES)
@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.floats(1e-3, 1e3),
    offset=st.floats(-1e3, 1e3),
    turn=st.floats(0, 6),
)
def test_moving_turning_and_scaling_both_samples_changes_nothing(
    method: str, seed: int, scale: float, offset: float, turn: float
) -> None:
    x, y = two_samples(seed)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    first = novelty(x, y, bandwidth=0.6, method=method)
    second = novelty(
        scale * (x @ rotation) + offset,
        scale * (y @ rotation) + offset,
        bandwidth=0.6 * scale,
        method=method,
    )
    assert second.value == pytest.approx(first.value, abs=1e-7)


@pytest.mark.parametrize("method", ROUTES)
def test_integer_weights_are_repeated_rows(method: str) -> None:
    x, y = two_samples(3)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, size=len(x)), rng.integers(0, 4, size=len(y))
    weighted = both_ways(
        x, y, bandwidth=0.8, eta=2.0, method=method, sample_weight=a, reference_weight=b
    )
    repeated = both_ways(
        np.repeat(x, a, axis=0), np.repeat(y, b, axis=0), bandwidth=0.8, eta=2.0, method=method
    )
    assert weighted.value == pytest.approx(repeated.value, abs=1e-7)
    assert weighted.score.reverse == pytest.approx(repeated.score.reverse, abs=1e-7)
    np.testing.assert_allclose(
        weighted.score.eigenvalues[:5], repeated.score.eigenvalues[:5], atol=1e-9
    )


@pytest.mark.slow
def test_novelty_falls_with_eta() -> None:
    x, y = two_samples(0, 300, 200)
    totals = [novelty(x, y, bandwidth=1.0, eta=eta).score.total for eta in (1.0, 1.5, 3.0, 10.0)]
    assert (np.diff(totals) < 0).all()


# --- kernels and libraries -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ROUTES)
def test_every_way_to_give_a_kernel_gives_the_same(method: str) -> None:
    x, y = two_samples(5, columns=4)
    first = novelty(x, y, bandwidth=0.9, method=method)
    for second in (
        novelty(x, y, kernel=GaussianKernel(0.9), method=method),
        novelty(torch.asarray(x), torch.asarray(y), bandwidth=0.9, method=method),
        novelty(x.tolist(), y.tolist(), bandwidth=0.9, method=method),
    ):
        assert second.value == pytest.approx(first.value, abs=1e-10)
        assert second.score.reverse == pytest.approx(first.score.reverse, abs=1e-10)
    assert first.score.bandwidth == 0.9
    assert second.score.kernel == "gaussian"


@pytest.mark.slow
@pytest.mark.parametrize("method", ROUTES)
def test_the_cosine_kernel_is_a_problem_of_the_columns(method: str) -> None:
    x, y = two_samples(0, 200, 150, columns=4)
    result = novelty(x, y, kernel="cosine", method=method)
    unit = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (x, y)]
    eigenvalues = np.linalg.eigvalsh(unit[0].T @ unit[0] / 200 - unit[1].T @ unit[1] / 150)[::-1]
    np.testing.assert_allclose(result.score.eigenvalues, eigenvalues[eigenvalues > 0], atol=1e-12)
    assert result.score.rank == 4
    assert result.score.bandwidth is None


def test_a_kernel_with_another_diagonal_is_refused_with_what_mends_it() -> None:
    x, y = two_samples(0)
    with pytest.raises(
        ValueError, match=r"1 between a row and itself, got 3. .* by sqrt\(k\(x, x\) k\(y, y\)\)"
    ):
        novelty(x, y, kernel=lambda a, b: 3.0 * GaussianKernel(0.9)(a, b))


def test_a_kernel_that_is_not_semidefinite_is_refused() -> None:
    x, y = two_samples(0)

    def far(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """1 - |x - y| / 2: not positive semidefinite in the plane."""
        return 1.0 - np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=-1)) / 2.0

    with pytest.raises(ValueError, match="kernel must be positive semidefinite, got an eigenvalue"):
        novelty(x, y, kernel=far)


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize("kernel", ["gaussian", "cosine"])
@pytest.mark.parametrize("library", [torch, array_api_strict], ids=["torch", "strict"])
def test_array_libraries_agree_from_end_to_end(
    method: str, kernel: str, library: ModuleType
) -> None:
    x, y = two_samples(0, 60, 50, columns=5)
    expected = novelty(x, y, method=method, kernel=kernel)
    found = novelty(library.asarray(x), library.asarray(y), method=method, kernel=kernel)
    assert found.value == pytest.approx(expected.value, abs=1e-12)
    assert found.score.bandwidth == expected.score.bandwidth
    np.testing.assert_allclose(
        eigenmodes(found)[0].score(library.asarray(x)),
        eigenmodes(expected)[0].score(x),
        rtol=0,
        atol=1e-11,
    )
    np.testing.assert_allclose(
        found.point_novelty(library.asarray(y)), expected.point_novelty(y), rtol=0, atol=1e-9
    )


def test_array_libraries_and_dtypes_agree() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, size=(60, 3)), rng.integers(1, 7, size=(50, 3))
    expected = novelty(x, y)
    for dtype in ("float16", "float32", "int32", "uint8"):
        assert novelty(x.astype(dtype), y.astype(dtype)).value == pytest.approx(expected.value)
    found = novelty(torch.asarray(x), torch.asarray(y))
    assert found.value == pytest.approx(expected.value, abs=1e-10)
    assert found.score.bandwidth == expected.score.bandwidth
