"""Tables that describe samples: of the right height, and columns as numbers or strings."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.stability.frames import MISSING, frame_of, is_numeric, numbers_of, strings_of


def test_arrays_and_columns_become_tables() -> None:
    assert list(frame_of(np.zeros((3, 2)), "table", 3).columns) == [0, 1]
    assert list(frame_of(np.zeros((3, 2)), "table", 3, columns=["a", "b"]).columns) == ["a", "b"]
    # names of another number of columns are those of something else
    assert list(frame_of(np.zeros((3, 2)), "table", 3, columns=["a"]).columns) == [0, 1]
    series = pd.Series([1.0, 2.0], name="age")
    assert list(frame_of(series, "table", 2).columns) == ["age"]
    table = pd.DataFrame({"a": [1, 2]})
    assert frame_of(table, "table", 2) is table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros(3), r"table must be a table of shape .* got shape \(3,\)"),
        (np.zeros((2, 2)), "table must be of 3 rows, got 2 rows"),
        (
            pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"]),
            "distinct column names, got 'a' twice",
        ),
    ],
)
def test_what_is_no_table_of_these_rows_is_refused(table: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        frame_of(table, "table", 3)


def test_booleans_are_categories() -> None:
    assert is_numeric(pd.Series([1, 2]))
    assert is_numeric(pd.Series([1.5, None]))
    assert is_numeric(pd.Series([1, None], dtype="Int64"))
    assert not is_numeric(pd.Series([True, False]))
    assert not is_numeric(pd.Series(["a", "b"]))
    assert not is_numeric(pd.Series(["a", "b"], dtype="category"))


def test_missing_values_are_nan_or_a_word() -> None:
    numbers = numbers_of(pd.Series([1, None, 3], dtype="Int64"))
    np.testing.assert_array_equal(numbers, [1.0, np.nan, 3.0])
    assert numbers.dtype == np.float64
    column = pd.Series(["a", None, "b"], dtype="category")
    assert strings_of(column).tolist() == ["a", MISSING, "b"]
    assert strings_of(pd.Series([True, False])).tolist() == ["True", "False"]
