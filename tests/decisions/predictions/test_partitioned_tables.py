"""Ids of tables in partitions: which column, how they are compared, and what is sampled of them."""

from types import SimpleNamespace

import pandas as pd
import pytest

from shiftmetrics.decisions.predictions.partitioned_tables import (
    KEY,
    POSITION,
    check_once,
    id_columns,
    key_kind,
    keyed_table,
)
from shiftmetrics.tables.options import RoleOptions


def framed(**columns):
    meta = pd.DataFrame(columns)
    return SimpleNamespace(_meta=meta, columns=meta.columns)


def test_the_only_column_with_the_name_of_an_id_names_the_rows() -> None:
    both = [framed(id=[1], x1=[2]), framed(id=[1], x1=[3])]
    assert id_columns(both, RoleOptions()) == ("id", "id")
    assert id_columns(both, RoleOptions(id="x1")) == ("x1", "x1")
    assert id_columns(both, RoleOptions(id="id=x1")) == ("id", "x1")
    for typed in ("none", "other", "id=other"):
        with pytest.raises(ValueError, match="ids must"):
            id_columns(both, RoleOptions(id=typed))
    with pytest.raises(ValueError, match="Pass ids="):
        id_columns([framed(x=[1]), framed(x=[1])], RoleOptions())


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ([1], [2], "integer"),
        ([1], [2.5], "float"),
        ([1], ["1"], "text"),
        ([1], pd.array([1], dtype="uint64"), "text"),
    ],
)
def test_ids_are_compared_as_numbers_where_both_are(first, second, kind: str) -> None:
    assert key_kind([framed(id=first), framed(id=second)], ("id", "id")) == kind


def test_an_id_that_stands_twice_is_named() -> None:
    check_once(pd.DataFrame({KEY: [1, 2]}), "old", "id")
    with pytest.raises(ValueError, match="'b' several times"):
        check_once(pd.DataFrame({KEY: ["a", "b", "b"]}), "old", "id")


def test_rows_of_some_ids_come_in_their_order() -> None:
    dd = pytest.importorskip(
        "dask.dataframe", reason="needs dask: pip install 'shiftmetrics[dask]'"
    )
    frame = pd.DataFrame({"id": [5, 3, 9, 7, 1, 2], "x": range(6)})
    parted = dd.from_pandas(frame, npartitions=3, sort=False)
    table = keyed_table(parted, parted, "id", "integer", "old")
    assert (len(table), table.sizes.sum()) == (6, 6)
    found = table.rows_of({1, 9, 77})
    assert found["x"].tolist() == [2, 4]
    assert found[POSITION].tolist() == [2, 4]
    assert table.sampled_keys(frozenset(["2"])) >= {2}
    assert table.map(len, columns=["x"]) == table.sizes.tolist()
