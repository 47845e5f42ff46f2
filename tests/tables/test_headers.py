"""First lines that may be names or data."""

from __future__ import annotations

import pandas as pd
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.headers import choose_headers
from shiftmetrics.tables.options import RoleOptions


def _unclear(n):
    """Return a file whose first line, 0, is a header or the first of n + 1 rows."""
    return Cells(
        argument="OLD",
        name="old.csv",
        table=pd.DataFrame({"0": [1] * n}),
        header="either",
        headless=pd.DataFrame({"column 0": [0] + [1] * n}),
    )


def _clear(n):
    return Cells(argument="--labels", name="labels.csv", table=pd.DataFrame({"label": [1] * n}))


@pytest.mark.parametrize("n_labels", [5, 6])
def test_the_rows_of_other_files_decide(n_labels):
    found = choose_headers([_unclear(5), _unclear(5), _clear(n_labels)], RoleOptions(), 2)
    assert [len(one.frame) for one in found] == [n_labels] * 3


def test_it_is_asked_where_nothing_decides():
    files = [_unclear(5), _unclear(5)]
    with pytest.raises(AmbiguousReadingError) as caught:
        choose_headers(files, RoleOptions(), 2)
    assert [reading.remedy for reading in caught.value.readings] == [
        "--header names",
        "--header none",
    ]
    for header, n in (("names", 5), ("none", 6)):
        found = choose_headers(files, RoleOptions(header=header), 2)
        assert [len(one.frame) for one in found] == [n, n]


def test_clear_headers_stay():
    files = [_clear(3)]
    assert choose_headers(files, RoleOptions(header="none"), 1) == files
