"""Distances by matrix products keep their digits, and neighbours are those of a k-d tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from shiftmetrics._core import neighbours
from shiftmetrics._core.neighbours import nearest_neighbours, pairwise_distances


@given(
    seed=st.integers(0, 1000),
    shift=st.sampled_from([0.0, 1e3, 1e8]),
    scale=st.sampled_from([1e-140, 1.0, 1e140]),
)
def test_distances_are_those_of_scipy(seed, shift, scale):
    rng = np.random.default_rng(seed)
    a, b = scale * (rng.normal(size=(7, 3)) + shift), scale * (rng.normal(size=(5, 3)) + shift)
    expected = scale * cdist(a / scale, b / scale)
    np.testing.assert_allclose(
        pairwise_distances(a, b), expected, rtol=1e-8 + 4e-15 * shift
    )  # dividing by the scale rounds


def test_equal_rows_are_at_distance_zero_and_close_ones_are_told_apart():
    a = np.random.default_rng(0).normal(size=(20, 8)) + 100.0
    distances = pairwise_distances(a, a.copy())
    assert (np.diagonal(distances) == 0.0).all()
    moved = a.copy()
    moved[:, 0] += 1e-9
    np.testing.assert_allclose(np.diagonal(pairwise_distances(moved, a)), 1e-9, rtol=1e-4)


@pytest.mark.parametrize("n_neighbours", [1, 4])
def test_neighbours_are_those_of_a_tree(n_neighbours, monkeypatch):
    monkeypatch.setattr(neighbours, "TILE_ROWS", 13)
    monkeypatch.setattr(neighbours, "TILE_POINTS", 17)
    a, b = np.random.default_rng(0).normal(size=(2, 90, 5))
    distances, indices = nearest_neighbours(a, b[:70], n_neighbours)
    expected = KDTree(b[:70]).query(a, k=[*range(1, n_neighbours + 1)])
    np.testing.assert_allclose(distances, expected[0], rtol=1e-12)
    np.testing.assert_array_equal(indices, expected[1])


def test_the_first_neighbour_of_a_row_of_the_sample_is_itself():
    a = np.random.default_rng(0).normal(size=(50, 3))
    distances, indices = nearest_neighbours(a, a, 3)
    assert not distances[:, 0].any()
    expected = KDTree(a).query(a, k=[1, 2, 3])
    np.testing.assert_array_equal(indices, expected[1])
    np.testing.assert_allclose(distances, expected[0])


def test_torch_rows():
    torch = pytest.importorskip("torch")
    a, b = np.random.default_rng(0).normal(size=(2, 30, 4))
    np.testing.assert_array_equal(
        nearest_neighbours(torch.tensor(a), torch.tensor(b))[1], nearest_neighbours(a, b)[1]
    )
