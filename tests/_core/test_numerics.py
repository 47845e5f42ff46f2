"""Log-partition functions at every scale, entropy, and buffers that belong to one thread."""

import math
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax

from optional import array_api_strict, torch
from shiftmetrics._core.arrays import to_float64
from shiftmetrics._core.numerics import Workspace, entropy, log_partition


@given(st.integers(0, 1000), st.sampled_from([0.0, 1e-8, 0.3, 1.0, 50.0, 1e6]))
def test_log_partition_and_its_slope(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    scores, weights = rng.normal(size=(6, 5)) * 30, rng.dirichlet(np.ones(5))
    value, slope = log_partition(scores, weights, factor)
    np.testing.assert_allclose(value, logsumexp(factor * scores, axis=1, b=weights), rtol=1e-12, atol=1e-12)
    tilted = softmax(factor * scores + np.log(weights), axis=1)
    np.testing.assert_allclose(slope, np.sum(tilted * scores, axis=1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("offset", [-1e300, 0.0, 1e300])
def test_no_scale_overflows(offset: float) -> None:
    value, slope = log_partition(np.full((2, 3), offset), np.full(3, 1 / 3), 1e5 if offset == 0.0 else 1.0)
    np.testing.assert_allclose(value, offset)
    np.testing.assert_allclose(slope, offset)


def test_libraries_agree() -> None:
    scores, weights = np.random.default_rng(0).normal(size=(20, 4)), np.array([0.1, 0.2, 0.3, 0.4])
    expected = log_partition(scores, weights, 2.5)
    for asarray in (torch.asarray, array_api_strict.asarray):
        found = log_partition(asarray(scores), asarray(weights), 2.5)
        for mine, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(to_float64(other), mine, rtol=1e-14)


def test_entropy() -> None:
    assert entropy(np.array([0.5, 0.0, 0.5])) == pytest.approx(math.log(2))
    assert entropy(np.full(10, 0.1)) == pytest.approx(math.log(10))
    assert math.copysign(1.0, entropy(np.array([0.0, 1.0]))) == 1.0


def test_buffers_are_kept_and_grow() -> None:
    workspace = Workspace()
    first = workspace.buffer("a", (4, 5))
    assert first.shape == (4, 5)
    assert first.dtype == np.float64
    assert np.shares_memory(first, workspace.buffer("a", (2, 5)))
    assert workspace.buffer("a", (2, 5)).flags.c_contiguous
    assert not np.shares_memory(first, workspace.buffer("b", (4, 5)))
    assert workspace.buffer("a", (40, 5)).shape == (40, 5)


def test_buffers_do_not_travel() -> None:
    workspace = Workspace()
    workspace.buffer("a", (1000, 1000))
    message = pickle.dumps(workspace)
    assert len(message) < 1000
    assert pickle.loads(message).buffer("a", (3,)).shape == (3,)


def test_each_thread_has_its_own_buffers() -> None:
    workspace = Workspace()
    mine = workspace.buffer("a", (3,))
    theirs: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: theirs.append(workspace.buffer("a", (3,))))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, theirs[0])
