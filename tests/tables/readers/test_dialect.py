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


@pytest.mark.parametrize("types", ["string\tcat dog\td", "s\td\tdiscrete"])
def test_lines_of_types_and_roles_follow_the_names(types, tmp_path):
    """As Orange 3.40 writes a table with a tab between cells; no column of it is one of numbers."""
    path = tmp_path / "old.tab"
    rows = [f"im{row}\t{'cat' if row % 2 else 'dog'}\tcat" for row in range(6)]
    path.write_text("\n".join(["image\ttruth\tpred", types, "meta\tclass\t", *rows]) + "\n")
    cells = read_file(path, "OLD")
    assert cells.header == "names"
    assert list(cells.frame.columns) == ["image", "truth", "pred"]
    assert cells.frame["image"].tolist() == [f"im{row}" for row in range(6)]
    assert cells.notes == ("2 lines that follow the names are left out",)


def test_words_of_types_that_come_back_are_cells(tmp_path):
    """Such as of a table that lists types of data."""
    path = tmp_path / "old.tsv"
    path.write_text("a\tb\nstring\td\nclass\tmeta\n" + "string\td\n" * 4)
    assert read_file(path, "OLD").frame.shape == (6, 2)
