"""Tables as coded matrices: what goes in comes out, in the user's own columns and dtypes."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from shiftmetrics.models import Perturbation, Search, feature_stability, model_stability
from shiftmetrics.models.domain.table import CodedTable
from shiftmetrics.models.measures.result import ModelStabilityResult


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": np.array([20, 40, 60], dtype=np.int16),
            "income": [1.5, 2.5, 3.5],
            "region": pd.Categorical(
                ["south", "north", "south"], categories=["south", "west", "north"]
            ),
            "name": ["b", "a", "b"],
            "smoker": [True, False, True],
            "visits": pd.array([1, 2, 3], dtype="Int64"),
        },
        index=["p", "q", "r"],
    )


def test_a_table_comes_back_as_it_was() -> None:
    table = CodedTable.of(frame())
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
    back = CodedTable.of(rows).decode(CodedTable.of(rows).codes)
    assert isinstance(back, np.ndarray)
    np.testing.assert_array_equal(back.astype(float), rows.astype(float))


def test_integers_become_floats_only_where_a_row_stands_between_them() -> None:
    table = CodedTable.of(frame()[["age"]])
    assert table.decode(table.codes)["age"].dtype == np.int16
    assert table.decode(table.codes + 0.5)["age"].tolist() == [20.5, 40.5, 60.5]
    assert table.decode(table.codes + 1e6)["age"].tolist() == [1e6 + 20, 1e6 + 40, 1e6 + 60], (
        "no overflow"
    )


def test_columns_of_numbers_that_stand_for_categories() -> None:
    rows = np.array([[3, 1.5], [7, 2.5], [3, 0.5]])
    table = CodedTable.of(rows, categorical=[0])
    assert table.codes[:, 0].tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_array_equal(table.decode(table.codes), rows)
    assert CodedTable.of(rows, levels={0: [9, 7, 3]}).codes[:, 0].tolist() == [2.0, 1.0, 2.0]


def test_other_rows_are_coded_likewise() -> None:
    table = CodedTable.of(frame())
    more = frame().iloc[[2, 0]]
    np.testing.assert_array_equal(table.coded(more), table.codes[[2, 0]])
    with pytest.raises(ValueError, match="categories that X does not have in column 'name'"):
        table.coded(more.assign(name="z"))


@given(seed=st.integers(0, 1000))
def test_codes_survive_the_round_trip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = CodedTable.of(frame())
    codes = table.codes[rng.integers(3, size=7)]
    codes[:, 2] = rng.integers(3, size=7)
    np.testing.assert_array_equal(table.coded(table.decode(codes)), codes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"name": pd.Series([None, np.nan, "b"], index=list("pqr"), dtype=object)},
            "one way in each column, got none and nan in column 'name'",
        ),
        ({"income": [1.0, np.inf, 2.0]}, "got inf in column 'income' at row 1"),
        ({"name": ["a", 3, "b"]}, "mixed values in column 'name'"),
        ({"age": pd.to_datetime(["2020-01-01"] * 3)}, "dates in column 'age'"),
    ],
)
def test_what_cannot_be_coded_names_its_column(change: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        CodedTable.of(frame().assign(**change))


def with_holes() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "float": [1.5, np.nan, 2.0],
            "Int64": pd.array([1, None, 3], dtype="Int64"),
            "Float64": pd.array([1.5, None, 3.0], dtype="Float64"),
            "boolean": pd.array([True, None, False], dtype="boolean"),
            "string": pd.array(["x", None, "y"], dtype="string"),
            "None": pd.Series(["x", None, "y"], dtype=object),
            "nan": pd.Series(["x", np.nan, "y"], dtype=object),
            "NaT": pd.Series(["x", pd.NaT, "y"], dtype=object),
            "bools": pd.Series([True, None, False], dtype=object),
            "category": pd.Categorical(["u", None, "v"]),
            "text": ["q", None, "r"],
            "empty": [np.nan] * 3,
            "nothing": pd.Series([None] * 3, dtype=object),
            "whole": [1, 2, 3],
        }
    )
    return frame.set_axis(["p", "q", "r"], axis=0)


def test_missing_cells_come_back_as_they_were_written() -> None:
    frame = with_holes()
    table = CodedTable.of(frame)
    np.testing.assert_array_equal(np.isnan(table.codes), frame.isna())
    back = table.decode(table.codes, index=frame.index)
    pd.testing.assert_frame_equal(back, frame)
    for name in frame:
        written, came = frame[name].iloc[1], back[name].iloc[1]
        assert (
            written is came
            or (isinstance(written, float) and isinstance(came, float))
            or name == "whole"
        )
    kinds = {column.name: column.missing for column in table.columns}
    assert kinds["float"] == "nan"
    assert kinds["text"] in ("nan", "none")  # pandas 2 keeps None among words
    assert (kinds["None"], kinds["NaT"], kinds["Int64"], kinds["whole"]) == (
        "none",
        "NaT",
        "NA",
        None,
    )


def test_nullable_integers_become_nullable_floats_between_whole_numbers() -> None:
    table = CodedTable.of(with_holes()[["Int64", "Float64"]])
    codes = table.codes.copy()
    codes[0] = [1.25, 2.25]
    moved = table.decode(codes)
    assert moved.dtypes.astype(str).tolist() == ["Float64", "Float64"]
    assert moved["Int64"].tolist()[::2] == [1.25, 3.0]
    assert moved["Int64"].iloc[1] is pd.NA


def test_arrays_of_objects_with_missing_cells() -> None:
    numbers = CodedTable.of([[1.0, None], [2, 3]])
    assert [column.kind for column in numbers.columns] == ["number", "number"]
    np.testing.assert_array_equal(numbers.decode(numbers.codes), [[1.0, np.nan], [2.0, 3.0]])
    mixed = CodedTable.of(np.array([["a", None, 1.0], ["b", "c", None]], dtype=object))
    assert [column.kind for column in mixed.columns] == ["category", "category", "number"]
    assert mixed.decode(mixed.codes)[0].tolist() == ["a", None, 1.0]
    background = np.array([["b", "c", 4.0], ["a", None, np.nan]], dtype=object)
    np.testing.assert_array_equal(mixed.coded(background), [[1.0, 0.0, 4.0], [0.0, np.nan, np.nan]])


def test_other_rows_may_miss_cells_where_their_column_has_no_word_for_it() -> None:
    table = CodedTable.of(
        pd.DataFrame({"smoker": [True, False], "visits": [1, 2], "ward": [7, 8]}),
        categorical=["ward"],
    )
    others = pd.DataFrame({"smoker": [None, True], "visits": [np.nan, 2.0], "ward": [np.nan, 8.0]})
    rows = table.decode(table.coded(others, "background"))
    assert rows.isna().all(axis=1).tolist() == [
        True,
        False,
    ]  # True is no way to write that a cell is missing
    assert rows.iloc[1].tolist() == [True, 2.0, 8.0]
    assert table.decode(table.codes)["ward"].dtype == np.int64


def test_tables_with_missing_cells_travel_as_json() -> None:
    from shiftmetrics._core.record import decode, encode_value

    frame = with_holes()
    table = CodedTable.of(frame)
    stored: list[np.ndarray] = []

    def keep(_name: str, array: np.ndarray) -> dict[str, object]:
        stored.append(array)
        return {"array": len(stored) - 1, "dtype": "", "shape": []}

    back = decode(encode_value(table, keep), lambda part: stored[part["array"]])
    assert back.equals(table)
    pd.testing.assert_frame_equal(
        back.decode(back.codes, index=back.labels), frame, check_index_type=False
    )


def test_shapes_and_names_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        CodedTable.of(frame().iloc[:0])
    with pytest.raises(ValueError, match="of shape"):
        CodedTable.of(np.zeros(3))
    with pytest.raises(ValueError, match=r"repeated \['a'\]"):
        CodedTable.of(pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]))


def test_tables_travel_as_json() -> None:
    from shiftmetrics._core.record import Record, decode, encode_value

    table = CodedTable.of(frame())
    stored: list[np.ndarray] = []

    def keep(_name: str, array: np.ndarray) -> dict[str, object]:
        stored.append(array)
        return {"array": len(stored) - 1, "dtype": "", "shape": []}

    back = decode(encode_value(table, keep), lambda part: stored[part["array"]])
    assert isinstance(back, Record)
    assert back.equals(table)
    rows = back.decode(back.codes, index=back.labels)
    assert rows["region"].tolist() == ["south", "north", "south"]
    assert rows.index.tolist() == ["p", "q", "r"]
    assert ModelStabilityResult.measure == "model_stability"


def test_numbers_among_objects_are_numbers_and_come_back_as_they_were() -> None:
    X = pd.DataFrame(
        {
            "a": np.array([0.5, 1.25, 3.0], dtype=object),
            "b": np.array(["x", "y", "x"], dtype=object),
        }
    )
    table = CodedTable.of(X)
    assert [column.kind for column in table.columns] == ["number", "category"]
    pd.testing.assert_frame_equal(table.decode(table.codes), X, check_dtype=False)


@pytest.mark.parametrize("kind", ["text", "marked"])
def test_many_fractions_are_no_categories(kind: str) -> None:
    numbers = np.random.default_rng(0).normal(size=40)
    X = pd.DataFrame({"dose": numbers.astype(str) if kind == "text" else numbers})
    with pytest.raises(
        TypeError, match="got 40 different numbers as the categories of column 'dose'"
    ):
        CodedTable.of(X, categorical=() if kind == "text" else ["dose"])
    whole = pd.DataFrame({"ward": np.arange(40).astype(str)})
    assert CodedTable.of(whole).columns[0].kind == "category"


def test_tables_of_other_libraries_are_taken() -> None:
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=120), "town": rng.choice(["a", "b"], 120)})
    y = (X["age"] + (X["town"] == "a") > 0.5).to_numpy().astype(int)

    def predict(rows: pd.DataFrame) -> np.ndarray:
        return ((rows["age"] + (rows["town"] == "a")) > 0.6).to_numpy().astype(int)

    options = {"computing": Search(n_queries=30, progress=False)}
    table = pa.Table.from_pandas(X)
    expected = model_stability(predict, X, y, 0.4, **options)
    assert model_stability(predict, table, y, 0.4, **options).value == expected.value
    by = Perturbation(by="town")
    first, second = (
        feature_stability(predict, rows, y, 0.4, perturbation=by, **options) for rows in (X, table)
    )
    assert first.subgroups_frame().equals(second.subgroups_frame())


def test_decimals_are_numbers_and_nothing_is_dropped_in_silence() -> None:
    numbers = pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": [1.0, 2.0, 3.0]})
    decimals = numbers.assign(a=[Decimal("0.5"), Decimal("1.5"), Decimal("2.5")])
    np.testing.assert_array_equal(CodedTable.of(decimals).codes, CodedTable.of(numbers).codes)
    masked = np.ma.masked_array(numbers.to_numpy(), mask=numbers.to_numpy() == 1.5)
    holes = np.where(numbers == 1.5, np.nan, numbers)
    np.testing.assert_array_equal(CodedTable.of(masked).codes, CodedTable.of(holes).codes)
    for complex_rows in (numbers + 1j, numbers.to_numpy() + 1j):
        with pytest.raises(TypeError, match="complex128"):
            CodedTable.of(complex_rows)


def test_rows_are_given_back_with_the_categories_of_the_table() -> None:
    cells = pd.Categorical(["x", "z", "x"], categories=list("qzx"), ordered=True)
    X = pd.DataFrame({"c": cells, "a": [0.5, 1.0, 2.0]}, index=list("klm"))
    table = CodedTable.of(X, levels={0: ["x", "z"]})
    assert table.decode(table.codes)["c"].cat.categories.tolist() == ["x", "z"]
    pd.testing.assert_frame_equal(table.given_back(table.codes, table.labels), X)
    pd.testing.assert_frame_equal(table.given_back(table.codes[:0], table.labels[:0]), X[:0])


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "Float32"])
def test_a_table_of_nullable_columns_is_an_array_to_a_model_that_was_fitted_on_one(
    dtype: str,
) -> None:
    rows = np.array([[0, 3], [1, 5], [4, 2], [6, 1]])
    y = np.array([0, 0, 1, 1])
    model = LogisticRegression().fit(rows, y)
    plain = model_stability(model, rows, y, 0.5, computing=Search(progress=False))
    table = pd.DataFrame(rows, columns=["a", "b"]).astype(dtype)
    whole = Perturbation(integer=["a", "b"])
    result = model_stability(
        model, table, y, 0.5, perturbation=whole, computing=Search(progress=False)
    )
    assert result.value == pytest.approx(plain.value, rel=1e-6)
