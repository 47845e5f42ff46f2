"""Tables as coded matrices: what goes in comes out, in the user's own columns and dtypes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.models import Table
from shiftmetrics.models.result import ModelStabilityResult


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": np.array([20, 40, 60], dtype=np.int16),
            "income": [1.5, 2.5, 3.5],
            "region": pd.Categorical(["south", "north", "south"], categories=["south", "west", "north"]),
            "name": ["b", "a", "b"],
            "smoker": [True, False, True],
            "visits": pd.array([1, 2, 3], dtype="Int64"),
        },
        index=["p", "q", "r"],
    )


def test_a_table_comes_back_as_it_was() -> None:
    table = Table.of(frame())
    assert [column.kind for column in table.columns] == [
        "number", "number", "category", "category", "category", "number",
    ]  # fmt: skip
    assert table.codes[:, 2].tolist() == [0.0, 2.0, 0.0], "codes of the dtype's own categories"
    back = table.decode(table.codes, index=table.labels)
    pd.testing.assert_frame_equal(back[frame().columns[:5]], frame()[frame().columns[:5]])
    assert back["visits"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.bool_])
def test_an_array_comes_back_with_its_values(dtype: type) -> None:
    rows = np.array([[1, 0], [0, 1]], dtype=dtype)
    back = Table.of(rows).decode(Table.of(rows).codes)
    assert isinstance(back, np.ndarray)
    np.testing.assert_array_equal(back.astype(float), rows.astype(float))


def test_integers_become_floats_only_where_a_row_stands_between_them() -> None:
    table = Table.of(frame()[["age"]])
    assert table.decode(table.codes)["age"].dtype == np.int16
    assert table.decode(table.codes + 0.5)["age"].tolist() == [20.5, 40.5, 60.5]
    assert table.decode(table.codes + 1e6)["age"].tolist() == [1e6 + 20, 1e6 + 40, 1e6 + 60], "no overflow"


def test_columns_of_numbers_that_stand_for_categories() -> None:
    rows = np.array([[3, 1.5], [7, 2.5], [3, 0.5]])
    table = Table.of(rows, categorical=[0])
    assert table.codes[:, 0].tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_array_equal(table.decode(table.codes), rows)
    assert Table.of(rows, levels={0: [9, 7, 3]}).codes[:, 0].tolist() == [2.0, 1.0, 2.0]


def test_other_rows_are_coded_likewise() -> None:
    table = Table.of(frame())
    more = frame().iloc[[2, 0]]
    np.testing.assert_array_equal(table.coded(more), table.codes[[2, 0]])
    with pytest.raises(ValueError, match="categories that X does not have in column 'name'"):
        table.coded(more.assign(name="z"))


@given(seed=st.integers(0, 1000))
def test_codes_survive_the_round_trip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = Table.of(frame())
    codes = table.codes[rng.integers(3, size=7)]
    codes[:, 2] = rng.integers(3, size=7)
    np.testing.assert_array_equal(table.coded(table.decode(codes)), codes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": [20.0, np.nan, 60.0]}, "missing values, got 1 in column 'age', the first at row 1"),
        ({"name": ["a", None, "b"]}, "missing values, got 1 in column 'name'"),
        ({"income": [1.0, np.inf, 2.0]}, "got inf in column 'income' at row 1"),
        ({"name": ["a", 3, "b"]}, "mixed values in column 'name'"),
        ({"age": pd.to_datetime(["2020-01-01"] * 3)}, "dates in column 'age'"),
    ],
)
def test_what_cannot_be_coded_names_its_column(change: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Table.of(frame().assign(**change))


def test_shapes_and_names_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        Table.of(frame().iloc[:0])
    with pytest.raises(ValueError, match="of shape"):
        Table.of(np.zeros(3))
    with pytest.raises(ValueError, match=r"repeated \['a'\]"):
        Table.of(pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]))


def test_tables_travel_as_json() -> None:
    from shiftmetrics._core.record import Record, decode, encode

    table = Table.of(frame())
    stored: list[np.ndarray] = []

    def keep(_name: str, array: np.ndarray) -> dict[str, object]:
        stored.append(array)
        return {"array": len(stored) - 1, "dtype": "", "shape": []}

    back = decode(encode(table, keep), lambda part: stored[part["array"]])
    assert isinstance(back, Record)
    assert back.equals(table)
    rows = back.decode(back.codes, index=back.labels)
    assert rows["region"].tolist() == ["south", "north", "south"]
    assert rows.index.tolist() == ["p", "q", "r"]
    assert ModelStabilityResult.measure == "model_stability"
