"""Long tables of scores as one row a sample."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.long_scores import with_one_row_a_sample

WIDE = pd.DataFrame(
    {"cat": [0.5, 0.25, 0.125], "dog": [0.25, 0.75, 0.25], "fox": [0.25, 0.0, 0.625]},
    index=pd.Index(["z", "a", "m"], name="image"),
)


def _long(wide=WIDE, **columns):
    long = wide.reset_index().melt("image", var_name="class", value_name="p")
    return long.assign(**columns).sample(frac=1, random_state=3).reset_index(drop=True)


def _cells(frame):
    words = [name for name in frame if frame[name].dtype.kind not in "iufb"]
    return Cells(argument="OLD", name="old.csv", table=frame, written=frozenset(words))


def test_a_row_for_each_class_becomes_a_column_for_each_class():
    long = _long()
    long["truth"] = long["image"].map({"z": "cat", "a": "dog", "m": "dog"})
    cells = with_one_row_a_sample(_cells(long))
    frame = cells.frame.set_index("image")
    assert list(cells.frame.columns) == ["image", "truth", "cat", "dog", "fox"]
    assert cells.written == {"image", "truth"}
    assert frame.loc[WIDE.index, list(WIDE)].to_numpy().tolist() == WIDE.to_numpy().tolist()
    assert frame["truth"].to_dict() == {"z": "cat", "a": "dog", "m": "dog"}
    assert "image" in cells.notes[0]


@pytest.mark.parametrize(
    "frame",
    [
        _long(2 * WIDE),
        _long().iloc[:-1],
        _long(latency=np.arange(9) / 8),
        _long().assign(image=[f"i{row}" for row in range(9)]),
        _long().drop(columns="p"),
        WIDE.reset_index(),
        _long().assign(image=[None, *_long()["image"][1:]]),
        _long().rename(columns={"image": "cat"}),
    ],
    ids=[
        "totals of 2",
        "a row is missing",
        "two change",
        "no samples",
        "no score",
        "wide",
        "a gap",
        "name",
    ],
)
def test_other_tables_stay_as_they_are(frame):
    cells = _cells(frame)
    assert with_one_row_a_sample(cells) is cells


def test_a_large_array_is_not_opened():
    cells = Cells(argument="OLD", values=np.zeros((4, 3)))
    assert with_one_row_a_sample(cells) is cells
