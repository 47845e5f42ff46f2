"""Folders of parquet files in chunks, and what may stand beside them."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.cli.inputs.chunked_files import read_in_chunks

pytest.importorskip("pyarrow")
VALUES = np.arange(12.0).reshape(6, 2)


@pytest.fixture
def parts(tmp_path):
    frame = pd.DataFrame(VALUES, columns=["a", "b"])
    (tmp_path / "parts").mkdir()
    for place in (0, 3):
        frame[place : place + 3].to_parquet(tmp_path / "parts" / f"{place}.parquet")
    return tmp_path


def test_columns_are_chosen_by_name(parts):
    found = read_in_chunks(str(parts / "parts"), "SHIFTED", "b,a")
    assert found.names == ["b", "a"]
    np.testing.assert_array_equal(np.asarray(found.values), VALUES[:, ::-1])
    with pytest.raises(ValueError, match="--columns must name a column of SHIFTED, got 'c'"):
        read_in_chunks(str(parts / "parts"), "SHIFTED", "c")


def test_one_file_beside_them_is_read_at_once(parts):
    np.save(parts / "s.npy", VALUES)
    assert read_in_chunks(str(parts / "s.npy"), "SHIFTED").names is None
    pd.DataFrame(VALUES, columns=["a", "b"]).to_csv(parts / "s.csv", index=False)
    assert read_in_chunks(str(parts / "s.csv"), "SHIFTED", "b").names == ["b"]


def test_damaged_parts_are_named(parts):
    (parts / "parts" / "0.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ValueError, match="SHIFTED must be a folder or pattern of parquet files"):
        read_in_chunks(str(parts / "parts"), "SHIFTED")
