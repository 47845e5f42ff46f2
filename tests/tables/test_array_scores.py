"""Arrays of scores: by their place, or under the names of the table beside them."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.array_scores import holds_scores, scores_of_arrays, under_names
from shiftmetrics.tables.ask import AmbiguousReadingError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.python import cells_of

SCORES = np.random.default_rng(0).normal(size=(6, 3))


def table(**more):
    return cells_of(pd.DataFrame(SCORES, columns=["a", "b", "c"]).assign(**more), "new")


@pytest.mark.parametrize("n_files", [2, 3])
def test_all_columns_of_arrays_are_scores_and_rows_go_by_their_place(n_files):
    files = [cells_of(SCORES, "old") for _ in range(n_files)]
    _, options = scores_of_arrays(files, RoleOptions())
    assert options.columns == ("column 0", "column 1", "column 2")
    assert options.id == "none"


def test_an_array_beside_a_table_has_its_names():
    files, _ = scores_of_arrays([cells_of(SCORES, "old"), table()], RoleOptions())
    assert list(files[0].frame.columns) == ["a", "b", "c"]
    wider = cells_of(np.ones((6, 4)), "old")
    assert under_names(wider, ("a", "b", "c")) is wider


def test_ids_of_the_table_alone_are_asked_for():
    files = [cells_of(SCORES, "old"), table(image_id=[5, 3, 4, 1, 2, 0])]
    with pytest.raises(AmbiguousReadingError, match="--id none: rows go by their place"):
        scores_of_arrays(files, RoleOptions())
    found, _ = scores_of_arrays(files, RoleOptions(id="none"))
    assert list(found[0].frame.columns) == ["a", "b", "c"]
    # what merely counts the rows is their place
    scores_of_arrays([cells_of(SCORES, "old"), table(image_id=range(6))], RoleOptions())


def test_a_column_that_counts_is_no_score():
    assert holds_scores(cells_of(SCORES, "old"))
    assert holds_scores(cells_of(np.ones((6, 2), dtype=int), "old"))
    counted = np.column_stack([np.arange(6.0), SCORES])
    assert not holds_scores(cells_of(counted, "old"))
    assert not holds_scores(table())
