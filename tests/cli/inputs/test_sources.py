"""What is typed as an input."""

from pathlib import Path

import pandas as pd
import pytest

from shiftmetrics.cli.inputs.sources import Source, parquet_files


def test_parts_are_named_with_their_file():
    assert str(Source(argument="OLD", path=Path("a/runs.npz"), key="new")) == "runs.npz:new"
    assert str(Source(argument="OLD", path=Path("a/runs.npz"))) == "runs.npz"


def test_folders_and_patterns_of_parquet_files(tmp_path):
    pytest.importorskip("pyarrow")
    for name in ("b", "a"):
        pd.DataFrame({"x": [1.0]}).to_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "notes.txt").write_text("x")
    both = (tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert parquet_files(str(tmp_path)) == both
    assert parquet_files(str(tmp_path / "*.parquet")) == both
    assert parquet_files(str(tmp_path / "a.parquet")) == ()
    assert parquet_files(str(tmp_path / "gone")) == ()
