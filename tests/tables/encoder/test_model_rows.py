"""Rows of files as models take them: numbers as numbers, words as words."""

import numpy as np
import pandas as pd

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.encoder.model_rows import model_rows
from shiftmetrics.tables.kinds import decide_kinds


def of_file(**columns):
    table = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    return Cells(argument="OLD", table=table, written=frozenset(columns))


def test_cells_of_a_file_are_read_as_plainly_as_by_pandas():
    cells = of_file(
        price=["1,5", "2,25", None],
        known=["True", "False", "True"],
        paid=["t", "f", "t"],
        code=["007", "012", None],
        day=["2024-01-13", "2024-01-14", "2024-01-15"],
    )
    rows = model_rows(cells, decide_kinds([cells]), 0)
    np.testing.assert_array_equal(rows["price"], [1.5, 2.25, np.nan])
    assert rows["known"].dtype == bool
    assert rows["paid"].tolist() == ["t", "f", "t"]
    assert rows["code"].tolist()[:2] == ["007", "012"]
    assert rows["code"].isna().tolist() == [False, False, True]
    assert rows["day"].tolist()[0] == "2024-01-13"


def test_a_table_of_python_is_given_to_the_model_as_it_is():
    frame = pd.DataFrame({"city": pd.Categorical(["a", "b"]), "x": [1, 2]}, index=[5, 9])
    typed = decide_kinds([Cells(argument="reference", table=frame.reset_index(drop=True))])
    assert model_rows(frame, typed, 0) is frame
