"""Options of novelty: a number is the level, and options of another measure keep what they hold."""

import pytest

from shiftmetrics import Resampling
from shiftmetrics.novelty import NoveltyResampling
from shiftmetrics.novelty.options import novelty_resampling_of


def test_a_number_is_the_level() -> None:
    assert novelty_resampling_of(None) == NoveltyResampling()
    assert novelty_resampling_of(0.9) == NoveltyResampling(confidence_level=0.9)
    given = NoveltyResampling(paired=True)
    assert novelty_resampling_of(given) is given


def test_options_of_another_measure_keep_level_and_seed() -> None:
    found = novelty_resampling_of(Resampling(confidence_level=0.8, n_resamples=50, rng=3))
    assert (found.confidence_level, found.n_resamples, found.rng) == (0.8, 50, 3)


def test_equal_data_give_equal_results_unless_a_seed_is_given() -> None:
    assert NoveltyResampling().settings()["rng"] == 0
    assert NoveltyResampling(rng=5, paired=True).settings()["rng"] == 5


def test_too_few_permutations_and_levels_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="n_resamples"):
        NoveltyResampling(n_resamples=18)
    with pytest.raises(ValueError, match="resampling"):
        novelty_resampling_of(1.0)
