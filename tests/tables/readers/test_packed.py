"""Files of the kind gz are written and read."""

import zipfile

import pandas as pd
import pytest

from shiftmetrics.tables.content import ReadOptions
from shiftmetrics.tables.readers.packed import READERS
from shiftmetrics.tables.register import read_file


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "a.gz"
    READERS[0].write(pd.DataFrame({"a": [0.25, 0.5], "b": [1.5, 2.5]}), path)
    cells = read_file(path, "OLD")
    values = cells.values if cells.values is not None else cells.frame.to_numpy()
    assert values.tolist() == [[0.25, 1.5], [0.5, 2.5]]


@pytest.mark.parametrize("beside", [".DS_Store", "runs/.DS_Store", "__MACOSX/runs/._a.csv"])
def test_what_systems_leave_in_archives_is_left_out(beside, tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("runs/a.csv", "a,b\n1,2\n3,4\n")
        archive.writestr(beside, "x")
    assert list(read_file(path, "OLD").frame.columns) == ["a", "b"]


def test_a_member_is_chosen_by_its_whole_name_among_others_of_its_name(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n3,4\n")
        archive.writestr("more/a.csv", "a,b\n5,6\n7,8\n")
    for key, cells in (("a.csv", [1, 3]), ("more/a.csv", [5, 7])):
        assert read_file(path, "OLD", ReadOptions(key=key)).frame["a"].tolist() == cells
