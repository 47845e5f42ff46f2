"""Folders of parts and patterns of files: one table."""

import errno

import pandas as pd
import pytest

import tool_logs
from shiftmetrics.tables.content import UnreadableError
from shiftmetrics.tables.readers import folders
from shiftmetrics.tables.register import read_file


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "scores"
    path.mkdir()
    (path / "_SUCCESS").write_bytes(b"")
    (path / ".part-00000.csv.crc").write_bytes(b"crc\x00\x00")
    return path


def test_parts_with_a_header_each(folder):
    for place, rows in enumerate(["1,007\n2,012\n", "", "3,100\n"]):
        (folder / f"part-{place:05}.csv").write_text("id,code\n" + rows)
    cells = read_file(folder, "OLD")
    assert cells.frame["id"].tolist() == [1, 2, 3]
    assert cells.frame["code"].tolist() == ["007", "012", "100"]
    assert cells.name == "scores"


def test_parts_without_a_header(folder):
    (folder / "part-0.csv").write_text("cat,0.5\ndog,0.25\n")
    (folder / "part-1.csv").write_text("bird,0.75\ncat,0.125\n")
    cells = read_file(folder, "OLD")
    assert cells.header == "none"
    assert cells.frame["column 0"].tolist() == ["cat", "dog", "bird", "cat"]


def test_parts_with_other_headers_are_refused(folder):
    """They were read as a table without a header, in which the headers are rows."""
    (folder / "part-0.csv").write_text("id,score\n1,0.5\n2,0.25\n")
    for header in ("score,id", "id,other"):
        (folder / "part-1.csv").write_text(f"{header}\n3,0.5\n4,0.25\n")
        with pytest.raises(UnreadableError, match=r"same columns, got .*'part-1.csv' has others"):
            read_file(folder, "OLD")


def test_a_header_in_the_first_part_alone_names_the_columns_of_all(folder):
    """As `split` cuts a file."""
    (folder / "xaa").write_text("id,answer\n1,cat\n2,dog\n")
    (folder / "xab").write_text("3,bird\n4,cat\n")
    cells = read_file(folder, "OLD")
    assert cells.frame["id"].tolist() == [1, 2, 3, 4]
    assert cells.frame["answer"].tolist() == ["cat", "dog", "bird", "cat"]


def test_parts_of_json_lines_and_packed_parts(folder):
    (folder / "part-0.json").write_text('{"id": 1, "p": 0.5}\n')
    (folder / "part-1.json").write_text('{"id": 2, "p": 0.25}\n{"id": 3, "p": 0.75}\n')
    assert read_file(folder, "OLD").frame["p"].tolist() == [0.5, 0.25, 0.75]
    for path in folder.glob("*.json"):
        path.unlink()
    for place in (0, 1):
        pd.DataFrame({"id": [place], "p": [0.5]}).to_csv(
            folder / f"part-{place}.csv.gz", index=False
        )
    assert read_file(folder, "OLD").frame["id"].tolist() == [0, 1]


def test_names_of_folders_are_columns(folder):
    pytest.importorskip("pyarrow")
    for country in ("DE", "NA"):
        (folder / f"country={country}").mkdir()
        pd.DataFrame({"p": [0.5, 0.25]}).to_parquet(
            folder / f"country={country}" / "part-0.parquet"
        )
    cells = read_file(folder, "OLD")
    assert cells.frame["country"].tolist() == ["DE", "DE", "NA", "NA"]


def test_a_pattern(tmp_path):
    for place in (0, 1):
        (tmp_path / f"a{place}.csv").write_text(f"id,p\n{place},0.5\n")
    (tmp_path / "other.csv").write_text("x\n1\n")
    assert read_file(tmp_path / "a*.csv", "OLD").frame["id"].tolist() == [0, 1]


def test_what_does_not_belong_together_is_refused(folder):
    with pytest.raises(UnreadableError, match="which holds none"):
        read_file(folder, "OLD")
    (folder / "a.csv.gz").write_bytes(pd.DataFrame({"a": [1]}).to_csv(index=False).encode())
    (folder / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(UnreadableError, match="one kind"):
        read_file(folder, "OLD")


def test_slices_of_one_frame_have_the_same_columns(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": range(6), "b": list("uvwxyz")})
    for name, rows in (("whole", frame), ("some", frame[frame["a"] != 4])):
        (tmp_path / name).mkdir()
        for part, start in enumerate((0, 3)):
            rows[start : start + 3].to_parquet(tmp_path / name / f"{part}.parquet")
    whole = read_file(tmp_path / "whole", "OLD").frame
    assert list(whole.columns) == ["a", "b"]
    assert whole["a"].tolist() == list(range(6))
    # An index with a gap names rows.
    some = read_file(tmp_path / "some", "OLD").frame
    assert some["index"].tolist() == some["a"].tolist() == [0, 1, 2, 3, 5]


def test_a_folder_without_end_and_one_that_cannot_be_walked_are_refused(folder, monkeypatch):
    for place in range(4):
        (folder / f"{place}.csv").write_text("id,p\n1,a\n")
    monkeypatch.setattr(folders, "MOST_ENTRIES", 5)
    with pytest.raises(
        UnreadableError, match="OLD must be a folder of at most 5 files, got .*more"
    ):
        read_file(folder, "OLD")

    def broken(self, pattern):
        raise OSError(errno.EINVAL, "Invalid argument", str(self))

    monkeypatch.setattr(type(folder), "rglob", broken)
    with pytest.raises(
        UnreadableError, match=r"OLD must be .* that may be read, .*Invalid argument"
    ):
        read_file(folder, "OLD")


def test_a_name_that_is_too_long_is_refused():
    with pytest.raises(UnreadableError, match=r"OLD must be .*that may be read"):
        read_file("a" * 5000, "OLD")


def _run_of_helm(folder, scenario, model, scores):
    run = folder / f"{scenario}:model={model}"
    run.mkdir(parents=True)
    (run / "per_instance_stats.json").write_bytes(tool_logs.helm(scores))
    (run / "run_spec.json").write_text('{"name": "' + run.name + '", "groups": []}')
    (run / "stats.json").write_text('[{"name": {"name": "exact_match"}, "count": 1, "sum": 1.0}]')


def test_the_log_among_the_files_of_a_run_is_taken(tmp_path):
    """As HELM 0.5.16 writes runs; settings and totals beside it are named."""
    _run_of_helm(tmp_path, "sums", "a", [1.0, 0.0, 1.0])
    log = read_file(tmp_path / "sums:model=a", "OLD")
    assert log.frame["exact_match"].tolist() == [1.0, 0.0, 1.0]
    assert log.notes[-1] == "left out run_spec.json, stats.json, which are no logs of HELM"
    (tmp_path / "sums:model=a" / "report.html").write_text("<html>")
    assert len(read_file(tmp_path / "sums:model=a", "OLD").frame) == 3


def test_logs_of_one_name_are_told_by_their_folders(tmp_path):
    """Questions of two tasks have the same ids: by the name of the file alone, half of them were left out."""
    for model, scores in (("a", [1.0, 0.0]), ("b", [0.0, 0.0])):
        _run_of_helm(tmp_path / model, "sums", model, scores)
        _run_of_helm(tmp_path / model, "words:n=3", model, scores)
        for typed in (tmp_path / model, tmp_path / model / "*" / "per_instance_stats.json"):
            log = read_file(typed, "OLD")
            assert log.frame["task"].tolist() == ["sums"] * 2 + ["words:n=3"] * 2
            assert log.frame["exact_match"].tolist() == scores * 2


def test_two_models_in_one_folder_are_two_tasks(tmp_path):
    for model in "ab":
        _run_of_helm(tmp_path, "sums", model, [1.0, 0.0])
    assert read_file(tmp_path, "OLD").frame["task"].unique().tolist() == [
        "sums:model=a",
        "sums:model=b",
    ]


def test_logs_of_two_tools_in_one_folder_are_refused(tmp_path):
    _run_of_helm(tmp_path, "sums", "a", [1.0, 0.0])
    (tmp_path / "x.json").write_bytes(tool_logs.evalplus([1.0, 0.0]))
    with pytest.raises(UnreadableError, match="the logs of one tool"):
        read_file(tmp_path, "OLD")
