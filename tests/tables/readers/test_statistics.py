"""Files of Stata and SPSS: labels of values, not codes."""

import datetime
import struct

import pandas as pd
import pytest

from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.register import read_file


def test_labels_of_stata_in_place_of_codes(tmp_path):
    path = tmp_path / "old.dta"
    frame = pd.DataFrame(
        {"id": ["a", "b", ""], "answer": pd.Categorical(["cat", "dog", "cat"]), "p": [0.5, 0.25, 1]}
    )
    frame.to_stata(path, write_index=False)
    cells = read_file(path, "OLD")
    assert cells.frame["answer"].tolist() == ["cat", "dog", "cat"]
    assert cells.levels == {"answer": ("cat", "dog")}
    assert not cells.ordered
    assert cells.frame["id"].isna().tolist() == [False, False, True]


def test_labels_of_spss_in_place_of_codes(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / "old.sav"
    frame = pd.DataFrame({"id": [1, 2, 3], "answer": [1.0, 2.0, 1.0], "grade": [1.0, 2.0, 3.0]})
    labels = {"answer": {1: "cat", 2: "dog"}, "grade": {1: "low"}}
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    cells = read_file(path, "OLD")
    assert cells.frame["answer"].tolist() == ["cat", "dog", "cat"]
    assert cells.frame["grade"].tolist() == [1, 2, 3]
    assert "grade" in cells.notes[0]
    assert cells.frame["id"].dtype.kind == "i"


@pytest.mark.parametrize("compress", [False, True])
def test_a_file_of_spss_cannot_hold_more_rows_than_bytes(compress, tmp_path, monkeypatch):
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / "old.sav"
    frame = pd.DataFrame({"id": range(500), "p": 0.5})
    pyreadstat.write_sav(frame, str(path), compress=compress)
    assert len(read_file(path, "OLD").frame) == 500
    whole = path.read_bytes()
    assert struct.unpack("<i", whole[80:84]) == (500,)
    # The room for the rows would be made before the file is read: the library must not be asked.
    monkeypatch.setattr(pyreadstat, "read_sav", lambda *_, **__: pytest.fail("the file was opened"))
    path.write_bytes(whole[:80] + struct.pack("<i", min(2**31 - 1, 1033 * len(whole))) + whole[84:])
    with pytest.raises(UnreadableError, match="OLD must be a whole file, .* rows in"):
        read_file(path, "OLD")


@pytest.mark.parametrize("version", [5, 8])
def test_a_transport_file_of_sas(version, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / "old.xpt"
    frame = pd.DataFrame({"ID": [101, 102, 103], "ANSWER": ["cat", "dog", ""], "P": [0.5, 0.25, 1]})
    pyreadstat.write_xport(frame, str(path), file_format_version=version)
    found = read_file(path, "OLD").frame
    assert found["ID"].tolist() == [101, 102, 103]
    assert found["ANSWER"].iloc[:2].tolist() == ["cat", "dog"]
    assert found["ANSWER"].isna().tolist() == [False, False, True]
    assert found["P"].tolist() == [0.5, 0.25, 1.0]


def test_times_of_a_day_are_words(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / "old.sav"
    times = [datetime.time(1, 2), datetime.time(3, 4)]
    pyreadstat.write_sav(pd.DataFrame({"p": [0.5, 0.25], "at": times}), str(path))
    cells = read_file(path, "OLD")
    assert cells.frame["at"].tolist() == ["01:02:00", "03:04:00"]
    assert "at" in cells.written
