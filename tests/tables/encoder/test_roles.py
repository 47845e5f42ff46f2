"""What each column of two tables is, and why one is left out."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.encoder.roles import as_cells, as_frame, common_columns, role_of


def role(values, kind, name="x", **options):
    column = pd.Series(values)
    found = role_of(name, kind, column, column, **options)
    return found.role, found.reason


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("number", "number"),
        ("integer", "number"),
        ("boolean", "category"),
        ("word", "category"),
        ("code", "category"),
        ("text", "text"),
    ],
)
def test_values_that_repeat_have_the_role_of_their_kind(kind, expected):
    assert role([1, 1, 2], kind) == (expected, "")


@pytest.mark.parametrize(
    ("values", "kind", "name"),
    [
        (["ab", "cd", "ef"], "word", "patient_id"),
        ([5, 9, 7], "integer", "Unnamed: 0"),
        (range(1, 30), "integer", "x"),  # a running number
        ([f"{place:08x}" for place in range(30)], "word", "x"),  # tokens
    ],
)
def test_distinct_values_are_an_id_by_the_name_or_by_themselves(values, kind, name):
    assert role(list(values), kind, name) == ("id", "its values are distinct")


@pytest.mark.parametrize(
    ("values", "kind", "name"),
    [
        (["ab", "cd", "ab"], "word", "patient_id"),  # repeats
        ([place**2 for place in range(30)], "integer", "x"),  # with holes
        ([f"a word {place}" for place in range(30)], "word", "x"),  # blanks
        ([1.5, 2.5, 3.5], "number", "patient_id"),
    ],
)
def test_what_is_no_id(values, kind, name):
    assert role(values, kind, name)[0] != "id"


def test_an_id_is_what_the_user_says():
    assert role([1, 1, 2], "number", id_column="x") == ("id", "given as the id")


def test_what_is_left_out_has_its_reason():
    assert role([None, None], "empty") == ("left out", "all its cells are missing")
    assert role([[1], [2]], "list") == ("left out", "its cells hold lists or objects")
    assert role([0.5, 0.5], "number", "Unnamed: 0") == ("left out", "it numbers the rows")


def test_dates_are_left_out_where_the_samples_cover_different_ones():
    days = pd.Series(pd.date_range("2024-01-01", periods=40))
    assert role_of("x", "date", days, days + pd.Timedelta(days=10)).role == "date"
    for first, second in ((days, days + pd.Timedelta(days=100)), (days, days[:0])):
        found = role_of("x", "date", first, second)
        expected = "left out" if len(second) else "date"
        assert found.role == expected
    later = role_of("x", "date", days + pd.Timedelta(days=100), days)
    assert later.reason == "the samples cover different dates"


def test_common_columns_stand_in_the_order_of_the_reference():
    reference = pd.DataFrame(columns=["a", "b", "c", "only"])
    current = pd.DataFrame(columns=["new", "c", "b", "a"])
    chosen, left_out = common_columns(reference, current, None, exclude=["b"])
    assert chosen == ["a", "c"]
    assert {column.name: column.reason for column in left_out} == {
        "b": "excluded",
        "only": "only in the reference",
        "new": "only in the current sample",
    }
    assert common_columns(reference, current, ["c"], exclude=[])[0] == ["c"]
    with pytest.raises(ValueError, match=r"exclude must be names of columns, got.*zip"):
        common_columns(reference, current, None, exclude=["zip"])
    with pytest.raises(ValueError, match="a column of the reference"):
        common_columns(reference[["only"]], current, None, exclude=[])


def test_arrays_get_names_and_tables_without_cells_are_refused():
    assert list(as_frame(np.zeros((2, 2)), "A").columns) == ["column 0", "column 1"]
    with pytest.raises(TypeError, match=r"A must be .*two axes, got ndarray of shape \(3,\)"):
        as_frame(np.zeros(3), "A")
    with pytest.raises(ValueError, match="0 rows and 1 columns"):
        as_frame(pd.DataFrame({"a": []}), "A")
    with pytest.raises(ValueError, match="distinct column names"):
        as_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]), "A")


def test_only_a_named_index_is_a_column_of_cells():
    frame = pd.DataFrame({"a": [1, 2]}, index=[5, 6])
    assert list(as_cells(frame, "A").table.columns) == ["a"]
    assert "day" in as_cells(frame.rename_axis("day"), "A").table.columns
