"""The cells of one column as codes and back: numbers, categories and missing cells."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import model_stability
from shiftmetrics.models.domain.cells import (
    coded_cells,
    decoded_cells,
    in_own_categories,
    whole_where_possible,
)


def test_categories_are_numbered_in_their_order_and_come_back() -> None:
    cells = pd.Series(["south", None, "north", "south"], name="region", dtype=object)
    column, codes = coded_cells(cells, "region", False, None, "X")
    assert column.kind == "category"
    assert column.categories == ("north", "south")
    assert column.missing == "none"
    np.testing.assert_array_equal(codes, [1.0, np.nan, 0.0, 1.0])
    assert decoded_cells(column, codes, cells.dtype, cells.index).tolist() == cells.tolist()


def test_known_levels_come_first_and_others_after_them() -> None:
    cells = pd.Series([5, 2, 9], name="ward")
    column, codes = coded_cells(cells, "ward", False, [9, 2], "X")
    assert column.categories == (9, 2, 5)
    np.testing.assert_array_equal(codes, [2.0, 1.0, 0.0])


def test_numbers_are_their_own_codes_and_whole_ones_come_back_as_integers() -> None:
    cells = pd.Series([3, 1, 2], name="age")
    column, codes = coded_cells(cells, "age", False, None, "X")
    assert column.kind == "number"
    np.testing.assert_array_equal(codes, [3.0, 1.0, 2.0])
    assert decoded_cells(column, codes, cells.dtype, cells.index).dtype == np.int64
    between = decoded_cells(column, codes + 0.5, cells.dtype, cells.index)
    np.testing.assert_array_equal(between, [3.5, 1.5, 2.5])


@pytest.mark.parametrize(
    ("codes", "dtype", "kind"),
    [([0.0, 255.0], np.uint8, "u"), ([0.0, 256.0], np.uint8, "f"), ([-1.0], np.uint8, "f")],
)
def test_integers_hold_what_fits_into_them(codes: list[float], dtype: type, kind: str) -> None:
    found = whole_where_possible(np.array(codes), np.dtype(dtype))
    assert found.dtype.kind == kind
    np.testing.assert_array_equal(found, codes)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1.0, np.inf], "inf in column 'c' at row 1"),
        ([1.0 + 2.0j], "numbers or strings in column 'c'"),
        (pd.to_datetime(["2020-01-01"]), "dates in column 'c'"),
        (["a", None, float("nan")], "one way in each column"),
        (["a", 1], "mixed values in column 'c'"),
    ],
)
def test_cells_that_have_no_code_are_refused(cells: object, message: str) -> None:
    series = pd.Series(cells, name="c")
    if message.startswith(("one", "mixed")):
        series = pd.Series(cells, name="c", dtype=object)
    with pytest.raises((TypeError, ValueError), match=message):
        coded_cells(series, "c", False, None, "X")


@pytest.mark.parametrize(
    "cells",
    [
        np.array([3, 1, 2], dtype=object),
        np.array([3.5, 1.0, 2.0], dtype=object),
        np.array([3.5, 1.0, 2.0], dtype=np.longdouble),
        pd.arrays.SparseArray([0.0, 0.0, 1.5]),
        pd.arrays.SparseArray([0, 0, 2]),
    ],
)
def test_numbers_come_back_in_the_dtype_of_their_column(cells: object) -> None:
    series = pd.Series(cells, name="c")
    column, codes = coded_cells(series, "c", False, None, "X")
    found = decoded_cells(column, codes, series.dtype, series.index)
    pd.testing.assert_series_equal(found, series, check_names=False)


@pytest.mark.parametrize("missing", ["x", None])
@pytest.mark.parametrize("levels", [None, ["x", "z", "other"]])
def test_categories_come_back_as_they_were_with_others_after_them(
    missing: str | None, levels: list[str] | None
) -> None:
    cells = pd.Categorical(["x", "z", missing], categories=["z", "y", "x"], ordered=True)
    series = pd.Series(cells)
    column, codes = coded_cells(series, "c", False, levels, "X")
    asked = decoded_cells(column, codes, series.dtype, series.index)
    assert asked.cat.categories.tolist() == (levels or ["z", "y", "x"])  # as the model knows them
    pd.testing.assert_series_equal(in_own_categories(asked, series.dtype), series)
    if levels is not None:
        other = decoded_cells(column, codes * 0.0 + 2.0, series.dtype, series.index)
        found = in_own_categories(other, series.dtype)
        assert found.cat.categories.tolist() == ["z", "y", "x", "other"]
        assert found.dropna().unique().tolist() == ["other"]


def test_dates_can_be_fixed_as_their_refusal_says() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=40), "t": pd.Timestamp("2026-01-01")})
    y = (X["a"] > 0.1).astype(int)

    class Model:
        def predict(self, rows: pd.DataFrame) -> np.ndarray:
            assert rows.columns.tolist() == ["a", "t"]
            return ((rows["a"] > 0.0) & (rows["t"].dt.year == 2026)).to_numpy().astype(int)

    model = Model()
    with pytest.raises(TypeError, match="got dates in column 't'") as refusal:
        model_stability(model, X, y, resampling=None)
    remedy = str(refusal.value).partition("or fix one of them, with ")[2].removesuffix(".")
    table, _, function = remedy.removesuffix(" as the model").partition(" as the table and ")
    names = {"X": X, "model": model}
    found = model_stability(eval(function, names), eval(table, names), y, resampling=None)
    assert found.value > 0.0
