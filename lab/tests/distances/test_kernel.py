"""Maximum mean discrepancy: the definition by loops, torchmetrics, its expectation and its standard error."""

import math
from functools import partial

import numpy as np
import pytest

from shiftmetrics._core import neighbours
from shiftmetrics_lab.distances import maximum_mean_discrepancy

kernel_inception_distance = partial(maximum_mean_discrepancy, kernel="polynomial")


def unbiased(a, b, kernel):
    """Three double loops."""
    n, m = len(a), len(b)
    xx = sum(kernel(a[i], a[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    yy = sum(kernel(b[i], b[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    return xx + yy - 2.0 * sum(kernel(x, y) for x in a for y in b) / (n * m)


@pytest.fixture
def small(features):
    return features[0][:12], features[1][:9]


def test_the_gaussian_one_is_its_definition(small):
    expected = unbiased(*small, lambda x, y: math.exp(-((x - y) @ (x - y)) / (2.0 * 1.7**2)))
    assert maximum_mean_discrepancy(*small, bandwidth=1.7).value == pytest.approx(
        expected, abs=1e-14
    )


@pytest.mark.parametrize(
    ("degree", "gamma", "coef0"), [(3, None, 1.0), (2, 0.5, 0.0), (1, 1.0, 2.0)]
)
def test_the_polynomial_one_is_its_definition(small, degree, gamma, coef0):
    factor = 1.0 / 6.0 if gamma is None else gamma
    expected = unbiased(*small, lambda x, y: (factor * (x @ y) + coef0) ** degree)
    result = kernel_inception_distance(*small, degree=degree, gamma=gamma, coef0=coef0)
    assert result.value == pytest.approx(expected, rel=1e-12)


def test_kid_is_that_of_torchmetrics(features):
    kid = pytest.importorskip("torchmetrics.image.kid")
    torch = pytest.importorskip("torch")
    a, b = features[0][:250], features[1]
    expected = float(kid.poly_mmd(torch.tensor(a), torch.tensor(b)))
    assert kernel_inception_distance(a, b).value == pytest.approx(expected, rel=1e-9)


def test_a_linear_kernel_gives_the_distance_of_the_means():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(1000, 2)) + np.array([1.0, 0.0]), rng.normal(size=(1000, 2))
    result = kernel_inception_distance(a, b, degree=1, gamma=1.0, coef0=0.0)
    assert result.value == pytest.approx(1.0, abs=4 * result.standard_error)


def test_tiles_change_nothing(features, monkeypatch):
    whole = kernel_inception_distance(*features)
    monkeypatch.setattr(neighbours, "TILE_ROWS", 37)
    monkeypatch.setattr("shiftmetrics_lab.distances.kernel.TILE_POINTS", 41)
    tiled = kernel_inception_distance(*features)
    assert tiled.value == pytest.approx(whole.value, rel=1e-12)
    assert tiled.standard_error == pytest.approx(whole.standard_error, rel=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_it_is_unbiased_and_its_standard_error_is_its_spread(shift):
    rng = np.random.default_rng(0)
    draws = [
        maximum_mean_discrepancy(
            rng.normal(size=(60, 2)) + shift, rng.normal(size=(40, 2)), bandwidth=1.0
        )
        for _ in range(150)
    ]
    values = np.array([draw.value for draw in draws])
    errors = np.array([draw.standard_error for draw in draws])
    # E k of two Gaussians of variance v apart by d in 2 dimensions is exp(-d^2 / (2 (1 + 2 v))) / (1 + 2 v).
    expected = 2.0 / 3.0 * (1.0 - math.exp(-2 * shift**2 / 6.0))
    assert values.mean() == pytest.approx(expected, abs=4 * values.std() / math.sqrt(150))
    if shift:
        assert errors.mean() == pytest.approx(values.std(), rel=0.15)
    else:  # a degenerate statistic: the jackknife is on the safe side
        assert values.std() < errors.mean() < 2.5 * values.std()


def test_the_median_rule_is_seeded_and_recorded(features):
    first = maximum_mean_discrepancy(*features)
    assert first.equals(maximum_mean_discrepancy(*features))
    pooled = np.concatenate(features)
    distances = np.linalg.norm(pooled[:, None] - pooled, axis=2)[np.triu_indices(len(pooled), 1)]
    assert first.settings["bandwidth"] == pytest.approx(np.median(distances))


def test_equal_samples_and_constant_features():
    assert maximum_mean_discrepancy(np.ones((5, 2)), np.ones((4, 2))).value == pytest.approx(0.0)
    assert kernel_inception_distance(np.zeros((5, 2)), np.zeros((4, 2))).value == pytest.approx(0.0)


def test_bad_input_is_named(features):
    with pytest.raises(ValueError, match="features must be an array of at least 3 row"):
        maximum_mean_discrepancy(features[0][:2], features[1])
    with pytest.raises(ValueError, match="bandwidth must be"):
        maximum_mean_discrepancy(*features, bandwidth=0.0)
    with pytest.raises(ValueError, match='bandwidth must be a positive number or "median"'):
        maximum_mean_discrepancy(*features, bandwidth="scott")
    with pytest.raises(ValueError, match="degree must be an integer at least 1"):
        kernel_inception_distance(*features, degree=0)
    with pytest.raises(ValueError, match="features must be of a size whose kernel is finite"):
        kernel_inception_distance(features[0] * 1e120, features[1])
