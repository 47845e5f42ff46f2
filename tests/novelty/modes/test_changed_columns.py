"""Gradual changes of columns: which are certain, and whether they explain the difference."""

import numpy as np
import pandas as pd
import pytest

from calls import novelty
from shiftmetrics.novelty.modes.changed_columns import changes_of_columns, is_gradual, smoothed

NAMES = [f"c{number}" for number in range(5)]


def normal(seed: int, n: int = 400, columns: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, columns))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: 1.3 * rows, "wider spread"),
        (lambda rows: 0.75 * rows, "narrower spread"),
        (lambda rows: rows + 0.5 * np.eye(5)[2], "gradual shift in column c2 by +0."),
    ],
)
def test_gradual_changes_are_not_new(change, words: str) -> None:
    sample = pd.DataFrame(change(normal(7, 500)), columns=NAMES)
    result = novelty(sample, pd.DataFrame(normal(8, 500), columns=NAMES), n_resamples=99)
    assert (result.new, result.missing, result.fraction) == ((), (), 0.0)
    assert words in result.headline()


def test_a_shift_of_one_standard_deviation_is_gradual() -> None:
    result = novelty(normal(9, 400, 1) + 1.0, normal(10, 400, 1), n_resamples=99)
    assert (result.new, result.missing) == ((), ())
    assert result.changes.columns[0].shift == pytest.approx(1.0, abs=0.3)


def test_counts_that_fell_are_a_gradual_change() -> None:
    rng = np.random.default_rng(40)
    result = novelty(rng.poisson(3, (400, 3)), rng.poisson(4, (400, 3)), n_resamples=99)
    assert (result.new, result.missing) == ((), ())
    assert "gradual shift" in result.headline()


def test_values_that_repeat_are_spread_between_their_neighbours() -> None:
    values = np.repeat([0.0, 1.0, 3.0], 50)
    spread = smoothed(values, np.random.default_rng(0))
    assert len(np.unique(spread)) == 150
    low, high = np.repeat([-0.5, 0.5, 2.0], 50), np.repeat([0.5, 2.0, 4.0], 50)
    assert ((spread >= low) & (spread <= high)).all()
    np.testing.assert_array_equal(smoothed(normal(0, 50)[:, 0], None), normal(0, 50)[:, 0])


def test_only_columns_that_moved_for_certain_are_changes() -> None:
    x, y = normal(25, 300), normal(26, 300)
    assert changes_of_columns(x, y, tuple(NAMES), 0.01) == ()
    moved = changes_of_columns(x + 0.8 * np.eye(5)[3], y, tuple(NAMES), 0.01)
    assert [change.name for change in moved] == ["c3"]
    assert moved[0].shift == pytest.approx(0.8, abs=0.2)
    assert is_gradual(x + 0.8 * np.eye(5)[3], y, tuple(NAMES), moved)
    far = x + 4.0 * np.eye(5)[3]
    assert not is_gradual(far, y, tuple(NAMES), changes_of_columns(far, y, tuple(NAMES), 0.01))
