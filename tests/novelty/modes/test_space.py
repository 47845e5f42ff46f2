"""Coordinates of samples: where all rows are landmarks, their products are the kernel."""

import numpy as np
import pytest

from shiftmetrics.novelty.modes.space import WIDTHS, SearchSpace, most_rows, thinned
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import GaussianKernel


@pytest.fixture(scope="module")
def space():
    # Thirteen rows three times: a third of all rows as coordinates is enough for the whole kernel.
    points = np.repeat(np.random.default_rng(0).normal(size=(13, 2)), 3, axis=0)
    gram = Gram(points[:20], points[20:], GaussianKernel(1.3))
    return SearchSpace(gram, rng=np.random.default_rng(1), memory_limit=1 << 30)


def kernel(space, width):
    points = np.concatenate([space.gram.features, space.gram.reference])
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    return np.exp(-squared / (2.0 * (1.3 * width) ** 2))


def test_products_of_coordinates_are_the_kernel_at_each_width(space):
    assert space.basis.widths == WIDTHS
    assert WIDTHS[space.middle] == 1.0
    for width, coordinates in zip(WIDTHS, space.coordinates, strict=True):
        # What lies along the least eigenvalues, divided by their roots, would be rounding.
        np.testing.assert_allclose(coordinates @ coordinates.T, kernel(space, width), atol=1e-6)


def test_sums_are_those_of_each_unit(space):
    rng = np.random.default_rng(2)
    units = rng.integers(-1, 3, 39)
    weights = rng.uniform(size=39)
    for sums, coordinates in zip(space.sums(units, weights, 3), space.coordinates, strict=True):
        triangle = np.tril_indices(coordinates.shape[1])
        for unit in range(3):
            here = units == unit
            expected = (coordinates[here] * weights[here, None]).T @ coordinates[here]
            np.testing.assert_allclose(sums[unit], expected[triangle], atol=1e-12)


def test_functions_at_new_points_are_those_at_the_rows(space):
    directions = np.random.default_rng(3).normal(size=(space.coordinates[1].shape[1], 2))
    at_rows = space.values(1, directions)
    (again,) = space.values_at(space.gram.features, [(1, directions)])
    np.testing.assert_allclose(again, at_rows[:20], atol=1e-6)
    (held,) = space.values_in(space.gram, [(1, directions)])
    np.testing.assert_array_equal(held, at_rows)
    some = space.gram.subset(np.arange(10, 30))
    (of_others,) = space.values_in(some, [(1, directions)])
    np.testing.assert_allclose(of_others, at_rows[10:30], atol=1e-6)


def test_rows_are_thinned_evenly():
    rows = np.arange(10)
    assert thinned(rows, 10).tolist() == list(range(0, 10, 2))
    assert thinned(rows, 11).tolist() == list(range(10))
    assert len(thinned(rows, 3)) <= 3


def test_more_memory_or_fewer_columns_hold_more_rows():
    assert most_rows(10, 1 << 30) > most_rows(10, 1 << 28) > most_rows(10_000, 1 << 28)
