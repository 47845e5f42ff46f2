"""One value a row: a column, a file, or a file of ids and values."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.cli.inputs.row_values import require_column, row_values, values_of_rows

IDS = ["7", "5", "9"]


def test_a_column_comes_before_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", [1.0, 2.0])
    frame = pd.DataFrame({"w.npy": [3.0, 4.0]})
    assert row_values("w.npy", "--weight", frame).tolist() == [3.0, 4.0]
    assert row_values("w.npy", "--weight", None).tolist() == [1.0, 2.0]
    assert row_values(None, "--weight", frame) is None
    assert row_values("v", "--weight", frame) is None
    with pytest.raises(ValueError, match="--weight must name a column of FILE, got 'v'"):
        row_values("v", "--weight", frame, required=True)
    with pytest.raises(ValueError, match="arrays have no named columns"):
        row_values("v", "--weight", None)


def test_values_with_ids_come_in_the_order_of_the_rows(tmp_path):
    path = tmp_path / "w.csv"
    pd.DataFrame({"w": [1.5, 2.5, 3.5, 4.5], "case": [5, 7, 8, 9]}).to_csv(path, index=False)
    assert values_of_rows(str(path), "--weight", IDS).tolist() == [2.5, 1.5, 4.5]
    with pytest.raises(ValueError, match="got none for 1 of 3, such as 6"):
        values_of_rows(str(path), "--weight", ["5", "6", "7"])
    pd.DataFrame({"w": [1.5, 2.5], "case": [5, 5]}).to_csv(path, index=False)
    with pytest.raises(ValueError, match="one value for each id, got ids that repeat"):
        values_of_rows(str(path), "--weight", ["5"])


def test_values_that_are_ids_as_well_are_values(tmp_path):
    path = tmp_path / "w.csv"
    # each value is an id of a row, and of the cells more are values than ids that are wanted
    ids = list(range(1, 41))
    pd.DataFrame({"case": ids, "w": [1 + case % 3 for case in ids]}).to_csv(path, index=False)
    found = values_of_rows(str(path), "--weight", ["3", "1", "2", "9", "7"])
    assert found.tolist() == [1, 2, 3, 1, 2]
    pd.DataFrame({"w": [1, 1, 2], "case": [1, 2, 3]}).to_csv(path, index=False)
    assert values_of_rows(str(path), "--weight", ["3", "1", "2"]).tolist() == [2, 1, 1]


def test_other_shapes_are_refused(tmp_path):
    np.save(tmp_path / "two.npy", np.ones((3, 2)))
    np.save(tmp_path / "deep.npy", np.ones((3, 2, 2)))
    np.save(tmp_path / "short.npy", np.ones(2))
    with pytest.raises(ValueError, match="--weight must be a file of one value a row"):
        values_of_rows(str(tmp_path / "two.npy"), "--weight")
    with pytest.raises(ValueError, match=r"got shape \(3, 2, 2\)"):
        values_of_rows(str(tmp_path / "deep.npy"), "--weight")
    with pytest.raises(ValueError, match="got 2 for 3 rows"):
        values_of_rows(str(tmp_path / "short.npy"), "--weight", n_rows=3)


def test_a_column_that_is_not_there():
    assert require_column(["a"], "a", "--id", "OLD") == "a"
    with pytest.raises(ValueError, match="--id must name a column of OLD, got 'b'; it has 'a'"):
        require_column(["a"], "b", "--id", "OLD")
