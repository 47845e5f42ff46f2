"""Landmarks: one pass, and a certificate that covers what they leave out."""

import functools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.novelty import LandmarkMap, NoveltyStatus
from shiftmetrics.novelty import kernel_entropic_novelty as with_null
from shiftmetrics.novelty.kernels import GaussianKernel

kernel_entropic_novelty = functools.partial(with_null, n_permutations=0)


def samples(seed: int, n: int, m: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)), rng.normal(size=(m, columns)) + 0.5


@given(
    seed=st.integers(0, 2**32 - 1),
    columns=st.integers(1, 6),
    bandwidth=st.floats(0.1, 10.0),
    max_rank=st.integers(1, 70),
    eta=st.sampled_from([1.0, 2.5, 10.0]),
)
def test_the_exact_value_lies_within_the_certificate(
    seed: int, columns: int, bandwidth: float, max_rank: int, eta: float
) -> None:
    x, y = samples(seed, 40, 25, columns)
    exact = kernel_entropic_novelty(x, y, bandwidth=bandwidth, eta=eta, method="dense", reverse=True)
    result = kernel_entropic_novelty(
        x, y, bandwidth=bandwidth, eta=eta, method="landmarks", reverse=True, max_rank=max_rank
    )
    slack = exact.error_bound + 1e-9
    assert result.value - slack <= exact.value + result.error_bound
    assert exact.value <= result.value + result.error_bound + slack
    assert abs(exact.reverse - result.reverse) <= result.reverse_error_bound + slack
    k = min(len(exact.eigenvalues), len(result.eigenvalues))
    assert (result.eigenvalues[:k] <= exact.eigenvalues[:k] + 1e-7).all()


def test_all_rows_as_landmarks_are_exact_and_few_are_not() -> None:
    x, y = samples(0, 300, 200, 2)
    exact = kernel_entropic_novelty(x, y, bandwidth=0.8, method="dense")
    full = kernel_entropic_novelty(x, y, bandwidth=0.8, method="landmarks")
    assert full.value == pytest.approx(exact.value, abs=1e-8)
    assert full.status is NoveltyStatus.CERTIFIED
    few = kernel_entropic_novelty(x, y, bandwidth=0.8, method="landmarks", max_rank=4)
    assert (few.rank, few.status) == (4, NoveltyStatus.RANK_LIMITED)
    assert few.value < exact.value <= few.value + few.error_bound


def test_landmarks_of_a_part_serve_all_rows() -> None:
    """More rows than landmarks are chosen from: all others meet them in the pass alone."""
    x, y = samples(1, 9000, 6000, 2)
    exact = kernel_entropic_novelty(x, y, bandwidth=1.0, method="cholesky")
    result = kernel_entropic_novelty(x, y, bandwidth=1.0, method="landmarks")
    assert result.rank < 400
    assert result.value == pytest.approx(exact.value, abs=result.error_bound)
    assert result.error_bound < 2e-3
    np.testing.assert_allclose(result.eigenvalues[:5], exact.eigenvalues[:5], atol=1e-9)
    np.testing.assert_allclose(result.modes[0].membership, exact.modes[0].membership, atol=1e-6)
    np.testing.assert_array_equal(result.modes[0].top(5), exact.modes[0].top(5))


def test_weights_are_repeated_rows() -> None:
    x, y = samples(2, 60, 40, 3)
    counts = np.random.default_rng(0).integers(0, 4, size=60)
    repeated = kernel_entropic_novelty(np.repeat(x, counts, axis=0), y, bandwidth=1.0, method="landmarks")
    weighted = kernel_entropic_novelty(x, y, bandwidth=1.0, method="landmarks", sample_weight=counts)
    assert weighted.value == pytest.approx(repeated.value, abs=1e-8)


@pytest.mark.parametrize("way", ["function", "precomputed", "torch"])
def test_every_way_to_give_a_kernel(way: str) -> None:
    x, y = samples(3, 120, 80, 3)
    expected = kernel_entropic_novelty(x, y, bandwidth=1.5, method="landmarks")
    kernel = GaussianKernel(1.5)
    if way == "function":
        result = kernel_entropic_novelty(x, y, kernel=lambda a, b: 3.0 * kernel(a, b), method="landmarks")
    elif way == "torch":
        result = kernel_entropic_novelty(
            torch.asarray(x), torch.asarray(y), bandwidth=1.5, method="landmarks"
        )
    else:
        joint = np.r_[x, y]
        matrix = kernel(joint, joint)
        result = kernel_entropic_novelty(matrix[:120], matrix[120:], kernel="precomputed", method="landmarks")
    assert result.value == pytest.approx(expected.value, abs=1e-6)


def test_a_kernel_that_is_not_semidefinite_is_said_to_be() -> None:
    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where((a[:, None] == b[None]).all(axis=-1), 1.0, -0.5)

    x, y = samples(4, 30, 20, 2)
    result = kernel_entropic_novelty(x, y, kernel=kernel, method="landmarks")
    assert result.status is NoveltyStatus.INDEFINITE


def test_the_map_is_reproducible_and_refuses_a_precomputed_kernel() -> None:
    x, y = samples(5, 50, 50, 2)
    first = LandmarkMap.choose(x, y, bandwidth=1.0, max_rank=9)
    second = LandmarkMap.choose(x, y, bandwidth=1.0, max_rank=9)
    np.testing.assert_array_equal(first.whitening, second.whitening)
    assert first.size == 9
    values, rest = first.coordinates(x, slice(0, 50))
    np.testing.assert_allclose((values**2).sum(axis=1) + rest, 1.0, atol=1e-14)
    assert rest.min() > -1e-12
    with pytest.raises(ValueError, match="got 'precomputed'"):
        LandmarkMap.choose(x, y, kernel="precomputed")
    with pytest.raises(ValueError, match="points must be of 2 columns"):
        first.check_points(np.ones((3, 5)))
