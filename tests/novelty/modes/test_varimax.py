"""Varimax: it recovers what a rotation mixed, and parts kinds that eigenvectors mix."""

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty.modes.varimax import varimax


def five_new_kinds(
    seed: int, n_rows: int = 300, dimension: int = 64
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ten kinds in the test sample, five of which the reference lacks, all equally frequent; kinds of the test."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(10, dimension))
    kinds, known = (
        rng.permutation(np.resize(np.arange(10), n_rows)),
        np.resize(np.arange(5), n_rows),
    )
    x, y = (centers[part] + 0.3 * rng.normal(size=(n_rows, dimension)) for part in (kinds, known))
    return x, y, kinds


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_varimax_undoes_a_random_rotation(size: int) -> None:
    rng = np.random.default_rng(size)
    pure = np.repeat(np.eye(size), 10, axis=0) * rng.uniform(0.7, 1.0, size=(10 * size, 1))
    mixing = np.linalg.qr(rng.normal(size=(size, size)))[0]
    rotation = varimax(pure @ mixing, np.full(10 * size, 0.1 / size))
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(size), atol=1e-12)
    found = np.abs(mixing @ rotation)
    np.testing.assert_allclose(np.sort(found, axis=0)[-1], 1.0, atol=1e-6)
    np.testing.assert_array_equal(np.sort(found.argmax(axis=0)), np.arange(size))


def test_rows_without_weight_do_not_turn_the_rotation() -> None:
    pure = np.repeat(np.eye(2), 5, axis=0)
    odd = np.vstack([pure, np.full((30, 2), 3.0)])
    weights = np.r_[np.full(10, 0.1), np.zeros(30)]
    np.testing.assert_allclose(np.abs(varimax(odd, weights)).max(axis=0), 1.0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_modes_show_five_of_five_new_kinds(seed: int) -> None:
    x, y, kinds = five_new_kinds(seed, n_rows=450)
    result = novelty(x, y, bandwidth=5.0, n_resamples=99)
    tops = [kinds[mode.top(20)] for mode in result.new]
    assert all((top == top[0]).all() for top in tops)  # purity 1.00
    assert sorted(int(top[0]) for top in tops) == [5, 6, 7, 8, 9]
    assert result.fraction == pytest.approx(0.5, abs=0.05)
