"""The joint kernel matrix, block by block: from features, from a function, from a matrix."""

from collections.abc import Callable

import numpy as np
import pytest

import oracles
from optional import torch
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import CallableKernel, CosineKernel, GaussianKernel

N_TEST, N_REFERENCE, COLUMNS = 37, 53, 5


@pytest.fixture(scope="module")
def samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(N_TEST, COLUMNS)), rng.normal(size=(N_REFERENCE, COLUMNS)) + 0.5


@pytest.fixture(scope="module")
def expected(samples: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    joint = np.concatenate(samples)
    return oracles.gaussian_kernel(joint, joint, 1.3)


GRAMS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], Gram]] = {
    "gaussian": lambda x, y, k: Gram(x, y, GaussianKernel(1.3)),
    "torch": lambda x, y, k: Gram(torch.asarray(x), torch.asarray(y), GaussianKernel(1.3)),
    "function": lambda x, y, k: Gram(x, y, CallableKernel(GaussianKernel(1.3))),
}


@pytest.fixture(params=sorted(GRAMS))
def gram(
    request: pytest.FixtureRequest, samples: tuple[np.ndarray, np.ndarray], expected: np.ndarray
) -> Gram:
    return GRAMS[request.param](*samples, expected)


def test_blocks_and_the_whole_agree_with_the_oracle(gram: Gram, expected: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    chosen = rng.permutation(gram.n_rows)[:20]
    landmarks = gram.take(chosen)
    assert landmarks.shape[0] == 20
    for rows in gram.blocks(8 * COLUMNS, block_bytes=8 * COLUMNS * 10):
        np.testing.assert_allclose(
            gram.block(rows, landmarks), expected[rows][:, chosen], atol=1e-13
        )
    np.testing.assert_allclose(gram.among(chosen), expected[np.ix_(chosen, chosen)], atol=1e-13)
    np.testing.assert_allclose(np.tril(gram.dense()), np.tril(expected), atol=1e-13)
    whole = gram.dense()
    np.testing.assert_array_equal(whole, np.tril(whole))
    assert (np.diagonal(whole) == 1.0).all()


def test_new_points(
    gram: Gram,
    samples: tuple[np.ndarray, np.ndarray],
    expected: np.ndarray,
    request: pytest.FixtureRequest,
) -> None:
    landmarks = gram.take(np.array([3, 40]))
    points: object = np.concatenate(samples)[:9]
    if torch.is_tensor(gram.features):
        points = torch.asarray(points)
    array = gram.check_points(points)
    np.testing.assert_allclose(
        gram.kernel(gram.in_units(array), landmarks), expected[:9][:, [3, 40]], atol=1e-13
    )


def test_points_match_the_features(samples: tuple[np.ndarray, np.ndarray]) -> None:
    gram = Gram(*samples, GaussianKernel(1.0))
    with pytest.raises(ValueError, match="points must be of 5 columns, got 4"):
        gram.check_points(np.zeros((2, 4)))
    with pytest.raises(
        TypeError, match="points and features must come from the same array library"
    ):
        gram.check_points(torch.zeros((2, 5)))
    with pytest.raises(ValueError, match="points must be finite"):
        gram.check_points(np.full((2, 5), np.nan))


def test_no_block_crosses_from_one_sample_to_the_other(gram: Gram) -> None:
    for size in (1, 7, 37, 64, 1000):
        blocks = gram.blocks(8, block_bytes=8 * size)
        assert [row for rows in blocks for row in range(rows.start, rows.stop)] == list(
            range(gram.n_rows)
        )
        assert all(rows.stop <= N_TEST or rows.start >= N_TEST for rows in blocks)
        assert max(rows.stop - rows.start for rows in blocks) <= size


def test_a_centre_that_overflows_is_done_without() -> None:
    rows = np.array([[1.7e308, 0.0, 0.0, 0.0], [1.7e308, 0.0, 0.0, 1.0]])
    gram = Gram(rows, rows, GaussianKernel(1.0))
    np.testing.assert_allclose(gram.dense()[1, 0], np.exp(-0.5))


def test_functions_that_are_no_kernels(samples: tuple[np.ndarray, np.ndarray]) -> None:
    def lopsided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(a[:, :1] - b[:, 0])

    def negative(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return -(a @ b.T)

    with pytest.raises(ValueError, match="kernel must be symmetric"):
        Gram(*samples, CallableKernel(lopsided))
    with pytest.raises(ValueError, match="kernel must be 1 between a row and itself, got"):
        Gram(*samples, CallableKernel(negative))


def test_the_cosine_kernel_needs_no_center(samples: tuple[np.ndarray, np.ndarray]) -> None:
    joint = np.concatenate(samples)
    unit = joint / np.linalg.norm(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(
        Gram(*samples, CosineKernel()).dense(), np.tril(unit @ unit.T), atol=1e-14
    )
