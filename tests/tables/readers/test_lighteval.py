"""Details of lighteval."""

from __future__ import annotations

import pytest

import tool_logs
from shiftmetrics.tables.logs import LogCells
from shiftmetrics.tables.register import read_file

pytest.importorskip("pyarrow")


def test_metrics_are_scores_and_the_file_names_the_task(tmp_path):
    path = tmp_path / "details_adds|0_2026-11-29T10-00-00.123.parquet"
    path.write_bytes(tool_logs.lighteval([0.0, 1.0, 1.0]))
    log = read_file(path, "OLD")
    assert isinstance(log, LogCells)
    assert log.scores == ("em", "length")
    assert log.frame["em"].tolist() == [0.0, 1.0, 1.0]
    assert log.frame["id"].tolist() == ["0", "1", "2"]
    assert set(log.frame["task"]) == {"adds|0"}


def test_a_folder_of_tasks_is_one_log(tmp_path):
    for task in ("adds|0", "takes|0"):
        path = tmp_path / f"details_{task}_2026-11-29T10-00-00.123.parquet"
        path.write_bytes(tool_logs.lighteval([0.0, 1.0]))
    assert set(read_file(tmp_path, "OLD").frame["task"]) == {"adds|0", "takes|0"}


def test_another_parquet_file_is_a_table(tmp_path):
    pd = pytest.importorskip("pandas")
    pd.DataFrame({"metric": [0.5, 0.25], "model_response": ["a", "b"]}).to_parquet(
        tmp_path / "a.parquet"
    )
    assert not isinstance(read_file(tmp_path / "a.parquet", "OLD"), LogCells)
