"""Coordinates in a basis of the kernel: their products are the kernel, up to what they leave out."""

import numpy as np
import pytest

from shiftmetrics.novelty.score.basis import (
    ColumnBasis,
    LandmarkBasis,
    PivotBasis,
    at_relative_width,
)
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import CosineKernel, GaussianKernel

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 2)), RNG.normal(size=(9, 2))
ROWS = np.concatenate([X, Y])


def kernel(a, b, bandwidth=1.5):
    squared = ((a[:, None] - b) ** 2).sum(axis=2)
    return np.exp(-squared / (2.0 * bandwidth**2))


def pivots(rows):
    gram = Gram(X, Y, GaussianKernel(1.5))
    among = kernel(ROWS[rows], ROWS[rows])
    return PivotBasis(gram, "landmarks", ROWS[rows], np.linalg.cholesky(among))


def test_similarities_at_another_width_are_those_of_a_wider_kernel():
    similar = kernel(X, Y)
    gaussian = GaussianKernel(1.5)
    assert at_relative_width(gaussian, similar, 1.0) is similar
    np.testing.assert_allclose(at_relative_width(gaussian, similar, 2.0), kernel(X, Y, 3.0))


def test_functions_of_landmarks_are_sums_of_similarities_at_their_width():
    basis = LandmarkBasis(Y, GaussianKernel(1.5), (np.eye(9), np.eye(9)), (0.5, 2.0))
    coefficients = RNG.normal(size=(9, 3))
    found = basis.evaluate(kernel(X, Y), [(1, coefficients), (0, coefficients)])
    np.testing.assert_allclose(found[0], kernel(X, Y, 3.0) @ coefficients)
    np.testing.assert_allclose(found[1], kernel(X, Y, 0.75) @ coefficients)


def test_coordinates_of_pivots_give_the_kernel_and_say_what_they_leave_out():
    rows = np.array([0, 3, 7, 12, 15, 20])
    basis = pivots(rows)
    values, outside = basis.coordinates(slice(0, 12))
    inverse = np.linalg.inv(kernel(ROWS[rows], ROWS[rows]))
    projected = kernel(X, ROWS[rows]) @ inverse @ kernel(ROWS[rows], X)
    np.testing.assert_allclose(values @ values.T, projected, atol=1e-10)
    np.testing.assert_allclose(outside, 1.0 - np.diag(projected), atol=1e-10)
    assert (outside >= 0.0).all()
    # A pivot lies in the span of the pivots.
    assert outside[[0, 3, 7]].max() < 1e-10
    np.testing.assert_array_equal(basis.at(X), values)


def test_a_cosine_is_the_product_of_directions():
    gram = Gram(X, Y, CosineKernel())
    values, outside = ColumnBasis(gram).coordinates(slice(12, 21))
    assert outside is None
    np.testing.assert_allclose(values, Y / np.linalg.norm(Y, axis=1, keepdims=True))


@pytest.mark.parametrize("n_vectors", [1, 3])
def test_membership_is_the_sum_of_squares_in_the_functions(n_vectors):
    basis = pivots(np.arange(21)[::3])
    vectors = np.linalg.qr(RNG.normal(size=(basis.size, n_vectors)))[0]
    expected = ((basis.at(X) @ vectors) ** 2).sum(axis=1)
    np.testing.assert_allclose(basis.membership(X, vectors), expected)
    assert basis.membership(X, vectors).max() <= 1.0
