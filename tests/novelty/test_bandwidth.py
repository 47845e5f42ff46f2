"""Bandwidths: the corrected variance rule, and both ends at which a kernel says nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calls import novelty
from optional import torch
from shiftmetrics.novelty import choose_bandwidth
from shiftmetrics.novelty.bandwidth import bandwidth_by_rule, squared_distances


def blobs(n: int, columns: int, k: int, seed: int, spread: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(0).normal(size=(k, columns)) * 0.5
    return centers[rng.integers(k, size=n)] + rng.normal(size=(n, columns)) * spread


def count(rows: np.ndarray, bandwidth: float) -> float:
    """1 / |C|_F^2 by definition."""
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=-1)
    return len(rows) ** 2 / np.exp(-squares / bandwidth**2).sum()


def test_the_count_and_its_variance_are_what_they_are_said_to_be() -> None:
    rows = blobs(120, 3, 4, 0)
    choice = choose_bandwidth(rows[:70], rows[70:], n_resamples=2000, rng=1)
    assert choice.mode_count == pytest.approx(count(rows, choice.value), rel=1e-10)
    rng = np.random.default_rng(2)
    halves = [count(rows[rng.permutation(120)[:60]], choice.value) for _ in range(2000)]
    assert choice.variance == pytest.approx(np.var(halves), rel=0.15)
    assert (choice.n_rows, choice.n_resamples) == (120, 2000)


def test_the_search_stops_just_before_the_limit() -> None:
    rows = blobs(600, 20, 5, 0)
    for limit in (1e-4, 1e-2, 1.0):
        choice = choose_bandwidth(rows, limit=limit)
        assert 0.5 * limit < choice.variance <= limit
        assert "varies by more than" in choice.reason


def test_a_higher_limit_is_a_narrower_kernel() -> None:
    rows = blobs(300, 5, 4, 0)
    widths = [choose_bandwidth(rows, limit=limit).value for limit in (1e-4, 1e-3, 1e-2, 1e-1)]
    assert (np.diff(widths) < 0).all()


@pytest.mark.slow
def test_modes_in_high_dimension_are_resolved() -> None:
    """20 Gaussians in 512 dimensions, 5 of them new: the range that works is about 10 to 15."""
    centers = np.random.default_rng(0).normal(size=(20, 512)) * 0.5
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 20, size=600), rng.integers(0, 15, size=600)
    x, y = (centers[label] + rng.normal(size=(600, 512)) * 0.5 for label in labels)
    choice = choose_bandwidth(x, y)
    assert 10.0 < choice.value < 15.0
    result = novelty(x, y)
    assert result.score.bandwidth == choice.value
    tops = [labels[0][mode.top(5)] for mode in result.new[:5]]
    assert all((top >= 15).mean() > 0.5 for top in tops)


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-300, 1e-9, 1.0, 1e9, 1e300]))
def test_bandwidths_scale_with_the_features(seed: int, scale: float) -> None:
    rows = np.random.default_rng(seed).normal(size=(40, 3))
    expected, found = choose_bandwidth(rows), choose_bandwidth(rows * scale)
    assert found.value == pytest.approx(expected.value * scale, rel=1e-6)
    assert found.mode_count == pytest.approx(expected.mode_count, rel=1e-6)


def test_far_clusters_lose_no_digits() -> None:
    """Two clusters a billion apart: inside each, distances are still told."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4))
    rows[20:] += 1e9
    exact = np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=-1))
    squares, unit = squared_distances(rows)
    np.testing.assert_allclose(unit * np.sqrt(squares), exact, rtol=1e-6)


def test_repeated_rows_stop_at_a_quarter_of_the_smallest_distance() -> None:
    rows = np.repeat(np.array([[0.0, 0.0], [3.0, 4.0], [30.0, 40.0]]), 40, axis=0)
    choice = choose_bandwidth(rows, limit=10.0)
    assert choice.value == pytest.approx(5.0 / 4.0)
    assert choice.mode_count == pytest.approx(3.0, abs=0.01)
    assert "smallest distance" in choice.reason


def test_equal_rows_take_any_bandwidth() -> None:
    choice = choose_bandwidth(np.full((5, 2), 7.0), np.full((3, 2), 7.0))
    assert choice.value == 1.0
    assert choice.mode_count == pytest.approx(1.0)
    assert "all rows are equal" in choice.reason
    assert choose_bandwidth(np.zeros((4, 2))).value == 1.0


@pytest.mark.parametrize("n", [5, 10, 20])
def test_few_rows_never_make_the_kernel_an_identity(n: int) -> None:
    rng = np.random.default_rng(0)
    choice = choose_bandwidth(rng.normal(size=(n, 50)), rng.normal(size=(n, 50)))
    assert 0.0 < choice.value < np.inf
    assert choice.mode_count <= 2 * n / 4


def test_two_rows_take_their_distance() -> None:
    choice = choose_bandwidth([[0.0], [3.0]])
    assert choice.value == pytest.approx(3.0)
    assert "so few rows" in choice.reason


def test_many_rows_are_drawn_from_with_a_seed() -> None:
    rows = blobs(1500, 3, 4, 0)
    first, second, third = (
        choose_bandwidth(rows[:1000], rows[1000:], max_rows=300, rng=seed) for seed in (0, 0, 1)
    )
    assert first.equals(second)
    assert first.value != third.value
    assert first.value == pytest.approx(third.value, rel=0.25)
    assert first.n_rows == 600
    assert choose_bandwidth(rows).n_rows == 1000
    assert choose_bandwidth(rows[:200]).equals(choose_bandwidth(rows[:200], rng=0))


def test_rows_without_weight_are_left_out() -> None:
    rows = blobs(100, 2, 3, 0)
    outlier = np.concatenate([rows, np.full((1, 2), 1e6)])
    weights = [np.r_[np.ones(100), 0.0]]
    found = bandwidth_by_rule([outlier], weights, np.random.default_rng(0))
    assert found.value == choose_bandwidth(rows).value
    heavy = bandwidth_by_rule([outlier], weights, np.random.default_rng(0), max_rows=50)
    assert heavy.n_rows == 50
    assert heavy.value < 10.0


def test_torch_gives_the_same() -> None:
    rows = blobs(80, 3, 4, 0)
    assert choose_bandwidth(torch.asarray(rows)).equals(choose_bandwidth(rows))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": np.zeros((1, 2))}, "features must be an array of at least 2"),
        (
            {"features": np.zeros((3, 2)), "reference": np.zeros((3, 4))},
            "reference must be of as many columns",
        ),
        ({"features": np.full((3, 2), np.nan)}, "features must be finite"),
        ({"features": np.eye(3), "limit": 0.0}, "limit must be a number greater than 0"),
        ({"features": np.eye(3), "n_resamples": 1}, "n_resamples must be an integer at least 2"),
        ({"features": np.eye(3), "max_rows": 1}, "max_rows must be an integer at least 2"),
    ],
)
def test_bad_input_is_named(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_bandwidth(**arguments)
