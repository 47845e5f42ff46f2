"""The levels of a category: which have a feature, and which are rare, in both samples together."""

import numpy as np
import pandas as pd

from shiftmetrics.tables.encoder.categories import (
    CategoryPart,
    level_codes,
    level_counts,
    level_names,
)


def series(values):
    return pd.Series(values, name="x", dtype=object)


def test_levels_are_named_by_their_strings_and_missing_cells_are_one():
    values = series(["b", None, "a", "b"])
    assert level_names(values).tolist() == ["b", "missing", "a", "b"]
    codes, names = level_codes(values)
    assert codes.tolist() == [0, 2, 1, 0]
    assert names == ["b", "a", "missing"]
    # Integers with gaps are read as floats by pandas.
    assert level_names(pd.Series([1.0, None, 2.0])).tolist() == ["1", "missing", "2"]
    assert level_names(pd.Series([1.5, 2.0])).tolist() == ["1.5", "2.0"]


def test_counts_stand_the_most_frequent_first_and_one_name_is_one_level():
    counts = level_counts(series([1, "1", "b", None]))
    assert list(counts.items()) == [("1", 2), ("b", 1), ("missing", 1)]


def test_frequent_levels_have_a_feature_and_rare_ones_share_one():
    reference = series(["a"] * 20 + ["b"] * 12 + ["c"] * 3 + ["d"] * 2)
    part = CategoryPart.fit("x", reference, reference)
    assert part.levels == ("a", "b")
    assert part.rare == ("c", "d")
    assert part.names == ("x = a", "x = b", "x is rare")
    expected = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    # A level that stands in neither sample counts as rare.
    np.testing.assert_array_equal(part.transform(series(["a", "d", "new"])), expected)


def test_levels_are_counted_in_both_samples_together():
    reference = series(["a"] * 60 + ["b"] * 60)
    current = series(["a"] * 5 + ["n"] * 12 + ["m"] * 2 + ["o"])
    part = CategoryPart.fit("x", reference, current)
    assert part.names == ("x = a", "x = b", "x = n", "x is rare")
    assert part.transform(current).sum(axis=0).tolist() == [5.0, 0.0, 12.0, 3.0]
    assert part.in_words(2, 0.5, 0.0) == "x = n in 50 %, else 0 %"


def test_levels_do_not_depend_on_which_row_is_of_which_sample():
    rng = np.random.default_rng(0)
    rows = series(rng.choice([f"l{place}" for place in range(90)], 400)).to_numpy()
    first = CategoryPart.fit("x", series(rows[:150]), series(rows[150:]))
    mixed = rng.permutation(rows)
    second = CategoryPart.fit("x", series(mixed[:150]), series(mixed[150:]))
    assert first.names == second.names
    assert first.rare == second.rare


def test_one_level_everywhere_gives_no_part():
    constant = series(["a"] * 10)
    assert CategoryPart.fit("x", constant, constant) is None
    assert CategoryPart.fit("x", constant, series(["b"])) is not None


def test_missing_cells_are_called_so():
    reference = series(["a"] * 20 + [None] * 20)
    part = CategoryPart.fit("x", reference, reference)
    assert part.in_words(1, 0.25, 0.5) == "x missing in 25 %, else 50 %"
