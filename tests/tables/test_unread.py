"""A column that is almost one of numbers is not left out of the classes in silence."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from shiftmetrics.tables.unread import MOST_NUMBERS
from tables.variants import cells

ids = [f"s{place}" for place in range(120)]


def _files():
    rng = np.random.default_rng(0)
    for argument, name in (("OLD", "old.csv"), ("NEW", "new.csv")):
        block = rng.dirichlet(np.ones(3), 120)
        frame = pd.DataFrame(block, columns=["a", "b", "c"]).round(6)
        frame.insert(0, "id", ids)
        frame["c"] = frame["c"].astype(str)
        yield frame, argument, name


def test_a_class_with_a_cell_that_is_no_number_is_named():
    files = []
    for frame, argument, name in _files():
        frame.loc[3, "c"] = "broken"
        files.append(cells(frame, argument, name))
    with pytest.raises(UnreadableTableError, match="broken") as caught:
        read_predictions(files)
    assert "--exclude c" in str(caught.value)
    found = read_predictions(files, options=RoleOptions(exclude=("c",)))
    assert found.files[0].columns == ("a", "b")


def test_words_with_some_numbers_are_left_out():
    assert MOST_NUMBERS == 0.5
    files = []
    for frame, argument, name in _files():
        frame["c"] = frame["c"].astype(float)
        frame["note"] = [f"seen {argument} {place}" for place in range(120)]
        files.append(cells(frame, argument, name))
    found = read_predictions(files)
    assert found.files[0].columns == ("a", "b", "c")


@pytest.mark.parametrize("largest", [2**53 - 100, 2**53 + 1000])
def test_scores_that_floats_do_not_tell_apart_are_refused(largest):
    """As floats the larger of two neighbours may be the other one, or none."""
    place = np.arange(40)
    files = []
    for sign, name in ((-1, "old.csv"), (1, "new.csv")):
        first = largest + place - 50
        frame = pd.DataFrame({"id": ids[:40], "cat": first, "dog": first + sign})
        files.append(cells(frame, name[:3].upper(), name))
    options = RoleOptions(columns=("cat", "dog"), classes=("cat", "dog"))
    if largest < 2**53:
        old, new = read_predictions(files, options=options).files
        assert (old.largest() == "cat").all()
        assert (new.largest() == "dog").all()
    else:
        with pytest.raises(UnreadableTableError, match=r"beyond 2\^53 in the column 'cat'"):
            read_predictions(files, options=options)
