"""The log-partition function of one side: its slope, and scores of any scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax

from shiftmetrics_lab.published.one_sided import _limits, log_partition


@given(st.integers(0, 1000), st.sampled_from([0.0, 1e-8, 0.3, 1.0, 50.0, 1e6]))
def test_log_partition_and_its_slope(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    scores, weights = rng.normal(size=(6, 5)) * 30, rng.dirichlet(np.ones(5))
    value, slope = log_partition(scores, weights, factor)
    np.testing.assert_allclose(
        value, logsumexp(factor * scores, axis=1, b=weights), rtol=1e-12, atol=1e-12
    )
    tilted = softmax(factor * scores + np.log(weights), axis=1)
    np.testing.assert_allclose(slope, np.sum(tilted * scores, axis=1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("offset", [-1e300, 0.0, 1e300])
def test_no_scale_overflows(offset: float) -> None:
    value, slope = log_partition(
        np.full((2, 3), offset), np.full(3, 1 / 3), 1e5 if offset == 0.0 else 1.0
    )
    np.testing.assert_allclose(value, offset)
    np.testing.assert_allclose(slope, offset)


def test_limits_of_shards_add_up_to_those_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 4))
    scores -= scores.max(axis=1, keepdims=True)
    offset = np.where(rng.random((40, 4)) < 0.2, -np.inf, rng.normal(size=(40, 4)))
    offset[:, 0] = 0.0
    prior = np.full(4, 0.25)

    def limits(part: slice) -> np.ndarray:
        return _limits(scores[part], offset[part], np.ones(len(scores[part])), prior).pack()

    parts = [limits(slice(start, start + 8)) for start in range(0, 40, 8)]
    np.testing.assert_allclose(np.sum(parts, axis=0), limits(slice(0, 40)), rtol=1e-12)
