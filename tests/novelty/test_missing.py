"""Missing modes: what the data hold more than eta times as often as what was generated."""

import numpy as np
import pytest

from shiftmetrics.novelty import kernel_entropic_novelty, missing_modes


def kinds(counts: list[int], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = 8.0 * np.eye(len(counts))
    return np.repeat(centers, counts, axis=0) + rng.normal(size=(sum(counts), len(counts))) * 0.5


def test_only_what_is_more_than_eta_times_as_frequent_is_missing() -> None:
    # Kind 0 is as frequent, kind 1 a fifth, kind 2 is gone.
    data, generated = kinds([100, 100, 100], 0), kinds([240, 60, 0], 1)
    result = missing_modes(data, generated, bandwidth=3.0)
    assert result.eta == 10.0
    assert result.n_significant >= 1
    for mode in result.modes:
        if mode.significant:
            assert (mode.top(20) >= 200).all()
    twice = missing_modes(data, generated, eta=1.5, bandwidth=3.0)
    found = {int(np.bincount(mode.top(50) // 100).argmax()) for mode in twice.modes if mode.significant}
    assert found == {1, 2}
    same = kernel_entropic_novelty(data, generated, eta=10.0, bandwidth=3.0)
    assert result.value == same.value


def test_eta_is_checked() -> None:
    with pytest.raises(ValueError, match="eta"):
        missing_modes(np.ones((3, 1)), np.ones((3, 1)), eta=0.1)
