"""Parts of the result: what follows from their numbers."""

import numpy as np

from shiftmetrics.novelty.modes.changed_columns import changes_of_columns
from shiftmetrics.novelty.result_parts import NoveltyChanges, NoveltyTest


def a_test(**fields):
    given = {
        "p_value": 0.01, "missing_p_value": 1.0, "n_resamples": 199, "confidence_level": 0.95,
        "sizes": (60, 60), "first_rows": np.arange(3), **fields,
    }  # fmt: skip
    return NoveltyTest(**given)


def test_the_smallest_mode_is_the_least_group_that_chance_has_less_than_once():
    for n, m in ((60, 60), (1_000, 1_000), (100, 400), (400, 100)):
        size = a_test(sizes=(n, m)).smallest_mode
        fraction = n / (n + m)
        assert (n + m) * fraction**size <= 1.0 + 1e-9
        assert (n + m) * fraction ** (size - 1) > 1.0


def test_a_p_value_near_the_level_could_turn():
    part = a_test()
    assert part.is_near(0.05)
    assert part.is_near(0.04)
    assert not part.is_near(1 / 200)
    assert not part.is_near(0.2)


def test_changes_are_gradual_where_columns_or_pairs_changed():
    assert not NoveltyChanges().are_gradual
    assert NoveltyChanges().in_words() == ""
    rng = np.random.default_rng(0)
    columns = changes_of_columns(
        rng.normal(2.0, 1.0, size=(200, 1)), rng.normal(size=(200, 1)), ("dose",), 0.05
    )
    changes = NoveltyChanges(columns=columns)
    assert changes.are_gradual
    assert "dose" in changes.in_words()
