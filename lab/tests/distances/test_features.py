"""Distances between features against closed forms and torchmetrics; numerical edges of the Frechet distance."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import sqrtm
from scipy.spatial.distance import cosine

from shiftmetrics_lab.distances import feature_distance
from shiftmetrics_lab.distances.gaussian import gaussian_fit

cosine_distance = partial(feature_distance, method="cosine")
centroid_distance = partial(feature_distance, method="centroid")
frechet_distance = partial(feature_distance, method="frechet")

UNPAIRED = [centroid_distance, frechet_distance]


def test_cosine_is_that_of_scipy(features):
    a, b = features[0][:250], features[1]
    expected = [cosine(x, y) for x, y in zip(a, b, strict=True)]
    result = cosine_distance(a, b)
    np.testing.assert_allclose(result.per_sample, expected, atol=1e-14)
    assert 1.0 - result.value == pytest.approx(1.0 - np.mean(expected))


def test_close_directions_keep_their_digits():
    angle = 1e-9
    result = cosine_distance([[math.cos(angle), math.sin(angle)]], [[1.0, 0.0]])
    assert result.value == pytest.approx(angle**2 / 2, rel=1e-6)


@given(scale=st.floats(1e-150, 1e150), seed=st.integers(0, 100))
def test_cosine_ignores_lengths(scale, seed):
    a, b = np.random.default_rng(seed).normal(size=(2, 3, 4))
    assert cosine_distance(scale * a, b).value == pytest.approx(
        cosine_distance(a, b).value, abs=1e-14
    )


def test_centroids(features):
    a, b = features
    result = centroid_distance(a, b)
    assert result.value == pytest.approx(np.linalg.norm(a.mean(axis=0) - b.mean(axis=0)), abs=1e-13)
    far = centroid_distance(a + 1e8, b + 1e8)
    assert far.value == pytest.approx(result.value, abs=1e-6)
    assert centroid_distance([[1.0]], [[1.0]]).standard_error is None


def test_the_standard_error_of_a_centroid_distance_is_its_spread_over_samples():
    rng = np.random.default_rng(0)
    draws = [
        centroid_distance(
            rng.normal(size=(100, 3)) + np.array([3.0, 0.0, 0.0]), 2.0 * rng.normal(size=(80, 3))
        )
        for _ in range(200)
    ]
    spread = np.std([draw.value for draw in draws])
    assert np.mean([draw.standard_error for draw in draws]) == pytest.approx(spread, rel=0.15)


def test_frechet_is_the_textbook_formula(features):
    a, b = features
    first, second = np.cov(a.T), np.cov(b.T)
    shift = a.mean(axis=0) - b.mean(axis=0)
    expected = shift @ shift + np.trace(first + second - 2.0 * sqrtm(first @ second).real)
    result = frechet_distance(a, b)
    assert result.value == pytest.approx(expected, rel=1e-9)
    assert frechet_distance(b, a).value == pytest.approx(expected, rel=1e-9)
    assert not result.warnings


def test_frechet_is_that_of_torchmetrics(features):
    fid = pytest.importorskip("torchmetrics.image.fid")
    torch = pytest.importorskip("torch")
    moments = []
    for part in features:
        moments += [torch.tensor(part.mean(axis=0)), torch.tensor(np.cov(part.T))]
    expected = float(fid._compute_fid(*moments))
    assert frechet_distance(*features).value == pytest.approx(expected, rel=1e-5)


def test_frechet_of_axis_aligned_gaussians_is_the_closed_form():
    corners = np.array(
        [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]
    )  # standard deviation sqrt(4 / 3)
    scale = np.array([2.0, 5.0])
    expected = 3.0**2 + (4.0 / 3.0) * ((scale - 1.0) ** 2).sum()
    assert frechet_distance(corners * scale + [3.0, 0.0], corners).value == pytest.approx(
        expected, rel=1e-14
    )


@pytest.mark.parametrize("rows", [5, 12, 40])
def test_singular_covariances_lose_no_digits(rows):
    # A matrix square root of a singular product errs by the root of the rounding unit: 1e-8 for each column.
    a = np.random.default_rng(0).normal(size=(rows, 30))
    result = frechet_distance(a, a)
    assert result.value <= result.error_bound < 1e-11
    moved = frechet_distance(a + 1.0, a)
    assert moved.value == pytest.approx(30.0, abs=moved.error_bound)
    assert bool(result.warnings) == (rows <= 30)


def test_few_rows_of_many_columns_need_no_matrix_of_columns():
    a, b = np.random.default_rng(0).normal(size=(2, 5, 200_000))
    result = frechet_distance(a, b)
    assert result.value > 0
    assert "no more rows (5) than columns (200000)" in result.warnings[0]


def test_blocks_add_up_to_the_whole(features):
    a, _ = features
    parts = [gaussian_fit(a[:3]), gaussian_fit(a[3:100]), gaussian_fit(a[100:])]
    whole, total = gaussian_fit(a), parts[0] + parts[1] + parts[2]
    np.testing.assert_allclose(total.mean, whole.mean, atol=1e-13)
    np.testing.assert_allclose(total.factor.T @ total.factor, np.cov(a.T), atol=1e-12)
    assert total.count == whole.count
    assert whole.trace == pytest.approx(np.trace(np.cov(a.T)))


def test_many_blocks_are_the_same_as_one():
    a = np.random.default_rng(0).normal(size=(60_000, 6)) + 5.0
    np.testing.assert_allclose(gaussian_fit(a).mean, a.mean(axis=0), atol=1e-12)
    factor = gaussian_fit(a).factor
    np.testing.assert_allclose(factor.T @ factor, np.cov(a.T), atol=1e-11)


@pytest.mark.parametrize("distance", [*UNPAIRED, cosine_distance])
def test_torch_and_other_dtypes(distance, features):
    torch = pytest.importorskip("torch")
    a, b = features[0][:200], features[1][:200]
    expected = distance(a, b).value
    assert distance(torch.tensor(a), torch.tensor(b)).value == pytest.approx(expected, rel=1e-12)
    assert distance(a.astype(np.float16), b.astype(np.float16)).value == pytest.approx(
        expected, rel=0.01
    )
    assert math.isfinite(
        distance(np.arange(6).reshape(3, 2) + 1, np.eye(3, 2, dtype=bool) | True).value
    )


@pytest.mark.parametrize("distance", UNPAIRED)
def test_bad_samples_are_named(distance):
    good = np.eye(3)
    with pytest.raises(
        ValueError, match="reference must be of as many columns as features, 3, got 2"
    ):
        distance(good, good[:, :2])
    with pytest.raises(ValueError, match="features must be finite"):
        distance(good * np.nan, good)
    with pytest.raises(
        ValueError, match="reference must be at most 1e.150 in size, got 1e.200. Standardise"
    ):
        distance(good, 1e200 * good)
    with pytest.raises(TypeError, match="features must hold real numbers"):
        distance([["a", "b"]], good)
    with pytest.raises(ValueError, match="features must be an array of at least"):
        distance(np.empty((0, 3)), good)


def test_a_row_without_direction_is_named():
    with pytest.raises(
        ValueError, match="reference must be free of rows of zeros, got zeros in row 1"
    ):
        cosine_distance(np.ones((2, 2)), [[1.0, 0.0], [0.0, 0.0]])
