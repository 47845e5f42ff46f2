"""Edges before a pipeline: the last number of a column before a step of it passes a threshold, to the last bit."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from shiftmetrics.models.forests.axes import NumberAxis
from shiftmetrics.models.forests.pipeline_edges import edges_before, ranges

X = np.array([[-2.0, 4.0], [3.0, np.nan], [1.0, 9.0]])


def edges(encode: Any, thresholds: list[float], features: list[int]) -> tuple[Any, Any]:
    """Return the edges of nodes that split these inputs, each the image of the column of the same number."""
    forest = SimpleNamespace(threshold=np.array(thresholds), feature=np.array(features))
    axes = []
    for column in (0, 1):
        axis = NumberAxis.__new__(NumberAxis)
        object.__setattr__(axis, "column", column)
        wide = SimpleNamespace(lower=np.full(2, -9.0), upper=np.full(2, 9.0))
        object.__setattr__(axis, "domain", wide)
        axes.append(axis)
    nodes = np.arange(len(thresholds))
    return edges_before(forest, nodes, np.array([0, 1]), axes, X, encode)


def test_edges_are_the_last_number_on_their_side() -> None:
    def encode(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([rows[:, 0] / 3.0 + 0.1, 7.0 - rows[:, 1] * 0.7])

    found, falls = edges(encode, [0.2, 1.3, 0.9, 0.2], [0, 1, 0, 0])
    np.testing.assert_array_equal(falls, [False, True, False, False])
    assert found[0] == found[3]
    after = np.nextafter(found, np.inf)
    for node, feature, threshold in ((0, 0, 0.2), (1, 1, 1.3), (2, 0, 0.9)):
        pair = np.tile([[found[node]], [after[node]]], 2)
        left = encode(pair)[:, feature] <= threshold
        np.testing.assert_array_equal(left, [not falls[node], falls[node]])


def test_a_linear_step_is_asked_few_times_and_any_other_once_for_each_bit() -> None:
    asked = []

    def noted(step):
        def encode(rows: np.ndarray) -> np.ndarray:
            asked.append(len(rows))
            return step(rows)

        return encode

    linear = edges(noted(lambda rows: (rows - 10.0) / 7.0), [-1.27, 0.1, -1.5], [0, 1, 0])[0]
    assert len(asked) < 30
    np.testing.assert_allclose(linear, 10.0 + 7.0 * np.array([-1.27, 0.1, -1.5]), rtol=1e-12)
    for step in (np.cbrt, np.round, np.exp):
        asked.clear()
        found, _ = edges(noted(step), [0.4, 0.6], [0, 1])
        assert len(asked) <= 70
        after = np.nextafter(found, np.inf)
        left = step(np.array([found, after])) <= [0.4, 0.6]
        np.testing.assert_array_equal(left, [[True, True], [False, False]])


def test_a_threshold_that_nothing_passes_has_all_numbers_on_one_side() -> None:
    found, falls = edges(lambda rows: np.zeros_like(rows), [0.5, -0.5], [0, 1])
    np.testing.assert_array_equal(found, [np.inf, -np.inf])
    assert not falls.any()


def test_ranges_pass_over_missing_cells() -> None:
    low, high = ranges(np.column_stack([X, np.full(3, np.nan)]))
    np.testing.assert_array_equal(low, [-2.0, 4.0, 0.0])
    np.testing.assert_array_equal(high, [3.0, 9.0, 0.0])
