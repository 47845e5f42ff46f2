"""How a text is written."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.readers.dialect import best_separator, usual_count
from shiftmetrics.tables.register import read_file


def test_the_separator_gives_equal_counts():
    assert best_separator(["a;b", "1,5;2", "3;4"]) == ";"


def test_the_last_of_equal_counts_is_usual():
    assert usual_count([2, 3]) == 3
    assert usual_count([2, 2, 3]) == 2


def test_rows_above_a_table_without_names_are_never_left_out(tmp_path):
    path = tmp_path / "old.txt"
    rows = [f"{row} cat 0.{row} 1.5 x" for row in range(1, 4)]
    path.write_text("\n".join([*rows, *(f"{row} dog 0.{row} 2.5" for row in range(4, 9))]))
    with pytest.raises(UnreadableError, match="1 cat"):
        read_file(path, "OLD")


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("classes", [("cat", "dog", "fox"), (0, 1, 2)])
def test_names_of_two_levels_are_joined(named, classes, tmp_path):
    columns = pd.MultiIndex.from_tuples([*(("proba", name) for name in classes), ("other", "loss")])
    index = pd.Index([100, 107, 114], name="row" if named else None)
    frame = pd.DataFrame(np.arange(12).reshape(3, 4) / 16, columns=columns, index=index)
    path = tmp_path / "old.csv"
    frame.to_csv(path)
    found = read_file(path, "OLD").frame
    assert list(found.columns) == [
        "row" if named else "",
        *(f"proba.{name}" for name in classes),
        "other.loss",
    ]
    np.testing.assert_array_equal(found.iloc[:, 1:].to_numpy(), frame.to_numpy())
    assert found.iloc[:, 0].tolist() == [100, 107, 114]
