"""Halves of what was found: two modes where there is a gap, one where there is none."""

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty.modes.merge_and_split import _is_gap, are_one
from shiftmetrics.novelty.modes.space import SearchSpace
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import GaussianKernel


def groups_of(seed: int, columns: int, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a sample with groups of 40 far from everything, and a reference without them."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_groups, columns))
    centers *= 8.0 / np.linalg.norm(centers, axis=1, keepdims=True)
    groups = [center + rng.normal(scale=0.8, size=(40, columns)) for center in centers]
    known = rng.normal(size=(300 - 40 * n_groups, columns))
    return np.concatenate([known, *groups]), rng.normal(size=(300, columns))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [2, 5])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_groups_far_apart_are_modes_of_their_own(columns: int, n_groups: int) -> None:
    sample, reference = groups_of(0, columns, n_groups)
    result = novelty(sample, reference)
    first = len(sample) - 40 * n_groups
    group = (np.arange(len(sample)) - first) // 40
    assert len(result.new) == n_groups
    shown = set()
    for mode in result.new:
        numbers, counts = np.unique(group[mode.members()], return_counts=True)
        # A sample between two groups may be a member of both.
        assert counts.max() >= 0.8 * counts.sum()
        shown.add(int(numbers[counts.argmax()]))
    assert shown == set(range(n_groups))


def test_a_gap_is_a_few_samples_between_two_groups_that_known_samples_lack() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 60, 30))
    assert not _is_gap(first, second, first)  # two halves of one group, in many columns
    second[:, 0] += 8.0
    assert _is_gap(first, second, rng.normal(size=(500, 30)))
    # The known samples have the same two groups, as a category of two levels has.
    known = rng.normal(size=(500, 30))
    known[:250, 0] += 8.0
    assert not _is_gap(first, second, known)
    # A long group that was cut in the middle.
    line = np.sort(rng.uniform(0.0, 20.0, size=(120, 1)), axis=0)
    assert not _is_gap(line[:60], line[60:], known[:, :1])


def test_halves_of_one_group_are_one_and_groups_apart_are_not() -> None:
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(200, 3))
    sample[100:, 1] += 9.0
    gram = Gram(sample, rng.normal(size=(100, 3)), GaussianKernel(1.0))
    space = SearchSpace(gram, rng=rng, memory_limit=1 << 30)
    left = np.flatnonzero(sample[:100, 0] < 0.0)
    right = np.flatnonzero(sample[:100, 0] >= 0.0)
    assert are_one(left, right, space)
    assert not are_one(np.arange(100), np.arange(100, 200), space)
    assert not are_one(left[:5], right, space)  # too few to tell
