"""Files are opened together: doubles count once, two models in one table become two files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.ask import Complaints, UnreadableTableError
from shiftmetrics.tables.opening import bring_together, check_named_columns, opened_files
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.ids import find_row_key
from tables.variants import cells

N = 20


def _frame():
    return pd.DataFrame({"id": np.arange(N) * 3, "a": ["x", "y"] * 10, "b": ["y", "y"] * 10})


def test_two_models_in_one_table():
    roles = opened_files([cells(_frame())], None, RoleOptions(old="a", new="b"))
    assert [list(table.columns) for table in roles.tables] == [["id", "a"], ["id", "b"]]
    with pytest.raises(UnreadableTableError, match="--new gone"):
        opened_files([cells(_frame())], None, RoleOptions(old="a", new="gone"))


def test_exact_doubles_count_once_in_all_files_or_in_none():
    doubled = pd.concat([_frame(), _frame().iloc[:2]])
    roles = opened_files([cells(doubled), cells(_frame())], None, RoleOptions())
    assert [table.n_rows for table in roles.tables] == [N, N]
    assert len(roles.notes) == 1
    other = doubled.assign(a=["x"] * N + ["y", "z"])
    roles = opened_files([cells(doubled), cells(other)], None, RoleOptions())
    assert [table.n_rows for table in roles.tables] == [N + 2, N + 2]


def test_rows_in_their_order_are_a_slice_and_others_are_places():
    for order, expected in ((np.arange(N), slice), (np.arange(N)[::-1], np.ndarray)):
        roles = opened_files([cells(_frame()), cells(_frame().iloc[order])], None, RoleOptions())
        roles.key = find_row_key(roles.tables, roles.options, Complaints())
        bring_together(roles)
        assert all(isinstance(rows, expected) for rows in roles.rows)
        assert roles.n_rows == N


def test_columns_that_no_file_has():
    roles = opened_files([cells(_frame())], None, RoleOptions(group="gone", exclude=("lost",)))
    complaints = Complaints()
    check_named_columns(roles, complaints)
    assert len(complaints.sentences) == 2
