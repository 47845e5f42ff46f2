"""Tables and arrays in Python say the same as the files that they are written to."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.python import cells_of


def test_a_frame_keeps_its_index_and_its_categories():
    frame = pd.DataFrame({"p": [0.5, 0.25], "c": pd.Categorical(["x", "y"])}, index=[4, 7])
    cells = cells_of(frame, "old")
    assert list(cells.frame.columns) == ["index", "p", "c"]
    assert cells.index == ("index",)
    assert cells.levels == {"c": ("x", "y")}
    assert cells_of(frame.rename_axis("id"), "old").index == ("id",)
    assert cells_of(frame.reset_index(drop=True), "old").index == ()


def test_columns_of_words_are_written():
    cells = cells_of(pd.DataFrame({"w": ["NA", None, "007"], "x": [1, 2, 3]}), "old")
    assert cells.written == {"w"}
    assert cells.frame["w"].isna().tolist() == [False, True, False]


def test_arrays_are_not_copied():
    values = np.random.default_rng(0).random((100, 3))
    cells = cells_of(values, "old")
    assert cells.values is values
    assert np.shares_memory(cells.frame.to_numpy(), values)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [0.1, 0.6], "b": [0.9, 0.4]},
        [{"a": 0.1, "b": 0.9}, {"a": 0.6, "b": 0.4}],
        [
            [{"label": "b", "score": 0.9}, {"label": "a", "score": 0.1}],
            [{"label": "a", "score": 0.6}, {"label": "b", "score": 0.4}],
        ],
    ],
)
def test_lists_and_dicts(value):
    cells = cells_of(value, "old")
    assert cells.frame["a"].tolist() == [0.1, 0.6]
    assert cells.frame["b"].tolist() == [0.9, 0.4]


def test_a_series_and_words():
    assert cells_of(pd.Series(["cat", "dog"], name="label"), "labels").frame["label"].tolist() == [
        "cat",
        "dog",
    ]
    assert cells_of(["cat", "dog"], "labels").frame["column 0"].tolist() == ["cat", "dog"]


def test_a_table_of_pyarrow_says_what_its_file_says():
    pa = pytest.importorskip("pyarrow")
    cells = cells_of(pa.table({"v": [[0.25, 0.75], [0.5, 0.5]]}), "old")
    assert cells.frame["v.1"].tolist() == [0.75, 0.5]


@pytest.mark.parametrize("value", [3, "text", object(), None, np.float64(1.0)])
def test_what_is_no_table_is_refused(value):
    with pytest.raises(TypeError, match="^old must be a table or an array"):
        cells_of(value, "old")


@pytest.mark.parametrize(
    "value", [[], pd.DataFrame(), np.empty((0, 2)), {"a": [1], "b": [1, 2]}, [[1, 2], [3]]]
)
def test_what_has_no_rows_is_refused(value):
    with pytest.raises(ValueError, match="^old must be"):
        cells_of(value, "old")


def test_names_that_stand_twice_are_refused():
    with pytest.raises(ValueError, match="'a' twice"):
        cells_of(pd.DataFrame([[1, 2]], columns=["a", "a"]), "old")
