"""Cells of arrays and of texts whose first line may be a header."""

import numpy as np
import pandas as pd

from shiftmetrics.tables.cells import Cells


def test_an_array_becomes_a_frame_only_when_it_is_asked_for():
    values = np.arange(6.0).reshape(3, 2)
    cells = Cells(argument="OLD", values=values)
    assert cells.table is None
    assert list(cells.frame.columns) == ["column 0", "column 1"]
    assert np.shares_memory(cells.frame.to_numpy(), values)
    assert cells.frame is cells.frame


def test_a_structured_array_has_the_names_of_its_fields():
    values = np.array([(1, 0.5), (2, 0.25)], dtype=[("id", "i8"), ("cat", "f8")])
    assert list(Cells(argument="OLD", values=values).frame.columns) == ["id", "cat"]


def test_as_data_takes_the_first_line_for_a_row():
    cells = Cells(
        argument="OLD",
        name="old.csv",
        table=pd.DataFrame({"cat": ["dog"]}),
        header="either",
        headless=pd.DataFrame({"column 0": ["cat", "dog"]}),
    )
    data = cells.as_data()
    assert data.header == "none"
    assert list(data.frame["column 0"]) == ["cat", "dog"]
    assert str(data) == "old.csv"
    assert data.as_data() is data
