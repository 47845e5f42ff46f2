"""Draws that repeat, sums of any statistic over them, and units that are drawn together."""

import numpy as np
import pytest

from shiftmetrics._core.resampling import Draws, Units, resampled_sums

DRAWS = [
    Draws(70, 4000, 3),
    Draws(70, 4000, 3, 25),
    Draws(1000, 400, 3),
    Draws(1000, 400, 3, 90),
]


def all_counts(draws: Draws) -> np.ndarray:
    return np.concatenate([draws.counts(block) for block in range(len(draws.blocks))], axis=1)


@pytest.mark.parametrize(
    "draws", DRAWS, ids=lambda draws: f"{draws.size or draws.n_units} of {draws.n_units}"
)
def test_counts_follow_their_law(draws):
    counts = all_counts(draws)
    size = draws.size or draws.n_units
    share = size / draws.n_units
    assert counts.shape == (draws.n_resamples, draws.n_units)
    assert (counts.sum(axis=1) == size).all()
    assert np.array_equal(counts, all_counts(draws))
    variance = share * (1 - share) if draws.size is not None else 1.0 - 1.0 / draws.n_units
    assert counts.mean(axis=0) == pytest.approx(share, abs=6 * np.sqrt(variance / draws.n_resamples))
    assert counts.var(axis=0).mean() == pytest.approx(variance, rel=0.02)
    # Units of one draw exclude each other a little, across blocks as well as within them.
    expected = -variance / (draws.n_units - 1)
    error = 6 * variance / np.sqrt(draws.n_resamples)
    assert np.cov(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(expected, abs=error)
    assert np.cov(counts[:, 0], counts[:, -1])[0, 1] == pytest.approx(expected, abs=error)
    if draws.size is not None:
        assert counts.max() == 1.0


def test_several_blocks_are_tried():
    assert len(DRAWS[2].blocks) > 1
    assert len(DRAWS[3].blocks) > 1


def test_sums_are_those_of_the_counts():
    rng = np.random.default_rng(0)
    values, groups = rng.normal(size=(900, 3)), rng.integers(0, 50, 900)
    for labels in (None, groups):
        units = Units.of(labels, 900)
        draws = Draws(units.n_units, 500, 1)
        counts = all_counts(draws) if units.codes is None else all_counts(draws)[:, units.codes]
        assert resampled_sums(lambda rows: values[rows], draws, units) == pytest.approx(counts @ values)


def test_another_seed_is_another_draw():
    assert not np.array_equal(all_counts(Draws(50, 10, 0)), all_counts(Draws(50, 10, 1)))


def test_units_add_up_their_rows():
    units = Units.of(["b", "a", "b"], 3)
    assert units.n_units == 2
    assert units.sums(np.array([1.0, 2.0, 4.0])).tolist() == [2.0, 5.0]
