"""Random Fourier features: unbiased, orthogonal, additive; good modes, and never a score."""

import functools
import tracemalloc

import numpy as np
import pytest
import torch

import oracles
from shiftmetrics.novelty import FourierMap, NoveltyStatus
from shiftmetrics.novelty import kernel_entropic_novelty as with_null

kernel_entropic_novelty = functools.partial(with_null, n_permutations=0)


def clusters(seed: int, n: int, m: int, columns: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Four clusters in the sample, of which the reference lacks two."""
    centers = 8.0 * np.random.default_rng(9).normal(size=(4, columns)) / np.sqrt(columns)
    rng = np.random.default_rng(seed)
    x = centers[rng.integers(4, size=n)] + 0.3 * rng.normal(size=(n, columns))
    return x, centers[rng.integers(2, size=m)] + 0.3 * rng.normal(size=(m, columns))


def test_the_products_of_coordinates_estimate_the_kernel() -> None:
    points = np.random.default_rng(0).normal(size=(12, 5))
    exact = oracles.gaussian_kernel(points, points, 2.0)
    errors = []
    for seed in range(200):
        values, rest = FourierMap.draw(5, bandwidth=2.0, n_frequencies=40, rng=seed).coordinates(
            points, slice(None)
        )
        assert rest is None
        np.testing.assert_allclose((values**2).sum(axis=1), 1.0, atol=1e-14)
        errors.append(values @ values.T - exact)
    spread = np.std(errors, axis=0).max()
    assert np.abs(np.mean(errors, axis=0)).max() < 4.0 * spread / np.sqrt(200)
    independent = np.random.default_rng(1).normal(size=(200, 5, 40)) / 2.0
    plain = [
        np.cos((points @ part)[:, None] - (points @ part)[None]).mean(axis=-1) - exact for part in independent
    ]
    assert np.square(errors).mean() < 0.8 * np.square(plain).mean()  # orthogonal frequencies err less


def test_few_frequencies_of_many_columns_take_little_memory() -> None:
    tracemalloc.start()
    frequencies = FourierMap.draw(20_000, bandwidth=1.0, n_frequencies=3, rng=0).frequencies
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * frequencies.nbytes  # all directions of so many columns would take 3.2 GB
    products = frequencies.T @ frequencies
    np.testing.assert_allclose(products - np.diag(np.diagonal(products)), 0.0, atol=1e-8)
    np.testing.assert_allclose(np.diagonal(products), 20_000, rtol=0.05)


def test_frequencies_are_orthogonal_in_groups_and_of_normal_length() -> None:
    frequencies = FourierMap.draw(6, bandwidth=0.5, n_frequencies=6000, rng=0).frequencies
    products = frequencies[:, :6].T @ frequencies[:, :6]
    np.testing.assert_allclose(products, np.diag(np.diagonal(products)), atol=1e-12)
    np.testing.assert_allclose(frequencies @ frequencies.T / 6000, 4.0 * np.eye(6), atol=0.25)


def test_a_map_is_reproducible_and_names_what_is_wrong() -> None:
    first = FourierMap.draw(3, bandwidth=1.0, n_frequencies=10, rng=7)
    second = FourierMap.draw(3, bandwidth=1.0, n_frequencies=10, rng=7)
    np.testing.assert_array_equal(first.frequencies, second.frequencies)
    assert (first.size, first.n_frequencies) == (20, 10)
    with pytest.raises(ValueError, match="points must be of 3 columns, got 2"):
        first.check_points(np.ones((4, 2)))
    with pytest.raises(ValueError, match="bandwidth must be a number greater than 0"):
        FourierMap.draw(3, bandwidth=0.0)
    with pytest.raises(ValueError, match="n_frequencies must be an integer at least 1"):
        FourierMap.draw(3, bandwidth=1.0, n_frequencies=0)
    with pytest.raises(ValueError, match="angles beyond the largest float"):
        FourierMap.draw(1, bandwidth=1e-300).coordinates(np.full((2, 1), 1e300), slice(0, 2))


@pytest.mark.parametrize("eta", [1.0, 2.0])
def test_the_first_modes_are_those_of_the_whole_matrix(eta: float) -> None:
    x, y = clusters(0, 700, 500)
    exact = kernel_entropic_novelty(x, y, bandwidth=4.0, eta=eta, method="dense")
    result = kernel_entropic_novelty(x, y, bandwidth=4.0, eta=eta, method="fourier", n_frequencies=500)
    np.testing.assert_allclose(result.eigenvalues[:2], exact.eigenvalues[:2], rtol=0.04)
    new = {tuple(np.sort(mode.members())) for mode in exact.modes[:2]}
    assert {tuple(np.sort(mode.members())) for mode in result.modes[:2]} == new
    mode = result.modes[0]
    assert mode.eigenvalue == pytest.approx(mode.frequency - eta * mode.reference_frequency, abs=1e-12)
    np.testing.assert_allclose(mode.score(x), mode.membership, atol=1e-12)
    # Every coordinate vector has length 1, so the identity of the traces holds: S+ - S- = 1 - eta.
    assert result.value == pytest.approx(exact.value, abs=1e-9)  # all rows fit in the score's part


def test_a_score_comes_with_its_rows_and_frequencies_and_a_warning() -> None:
    x, y = clusters(1, 900, 600)
    result = kernel_entropic_novelty(x, y, bandwidth=2.0, method="fourier", n_frequencies=60, score_rows=300)
    assert result.status is NoveltyStatus.SAMPLED
    assert (result.score_rows, result.n_frequencies, result.rank) == ((300, 300), 60, 120)
    assert "60 random frequencies" in result.headline()
    assert "300 and 300 rows" in result.headline()
    assert any("no score should be made of them" in warning for warning in result.warnings)
    assert result.settings["n_frequencies"] == 60
    again = kernel_entropic_novelty(x, y, bandwidth=2.0, method="fourier", n_frequencies=60, score_rows=300)
    assert again.equals(result)
    # The entropy of the truncated spectrum is too low, the part's score is near that of as many rows.
    exact = kernel_entropic_novelty(x[:300], y[:300], bandwidth=2.0, method="dense")
    assert result.value == pytest.approx(exact.value, rel=0.1)


def test_a_tensor_gives_the_same() -> None:
    x, y = clusters(2, 300, 200)
    options = {"bandwidth": 4.0, "method": "fourier", "n_frequencies": 80, "n_modes": 2}
    expected = kernel_entropic_novelty(x, y, **options)
    result = kernel_entropic_novelty(torch.asarray(x), torch.asarray(y), **options)
    np.testing.assert_allclose(result.eigenvalues, expected.eigenvalues, atol=1e-12)
    np.testing.assert_allclose(result.modes[0].membership, expected.modes[0].membership, atol=1e-10)


def test_points_are_scored_by_all_modes_of_a_large_map() -> None:
    x, y = clusters(3, 120, 100)
    result = kernel_entropic_novelty(x, y, bandwidth=4.0, method="fourier", n_frequencies=600, n_modes=2)
    assert len(result.modes) == 2
    novelty = result.point_novelty(x).mean() - result.point_novelty(y).mean()
    assert novelty == pytest.approx(result.eigenvalues.sum(), abs=1e-9)


def test_another_kernel_is_refused() -> None:
    x, y = clusters(4, 20, 20)
    with pytest.raises(ValueError, match="kernel must be 'gaussian' with method='fourier', got 'cosine'"):
        kernel_entropic_novelty(x, y, kernel="cosine", method="fourier")
