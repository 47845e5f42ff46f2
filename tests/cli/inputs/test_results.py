"""Results from files and folders: a name for each, the same whatever is read beside it."""

from pathlib import Path

import numpy as np
import pytest

from shiftmetrics._core.documents import write_results
from shiftmetrics.cli.inputs.results import read_result_files
from shiftmetrics.rules import Rule, check_results
from shiftmetrics.stability import FixedLoss, stability_criterion


@pytest.fixture(scope="module")
def result():
    return stability_criterion(FixedLoss(np.random.default_rng(0).random(30)), 0.7)


@pytest.fixture
def files(result, tmp_path):
    """A folder with a file of one result, one of two, rules that were checked, and JSON of others."""
    result.to_json(tmp_path / "single.json")
    write_results({"first": result, "second": result}, tmp_path / "both.json")
    check_results({"it": result}, [Rule(at_least=0)]).to_json(tmp_path / "gate.json")
    (tmp_path / "package.json").write_text('{"name": "other"}')
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "readme.txt").write_text("no JSON")
    return tmp_path


def names(*paths):
    return list(read_result_files(paths).results)


def test_files_and_folders_are_read(files, result):
    read = read_result_files([files])
    assert list(read.results) == ["first", "second", "single"]
    assert all(part.equals(result) for part in read.results.values())
    assert [note.split("/")[-1] for note in read.notes] == [
        f"{name}.json holds no results and is left out." for name in ("gate", "list", "package")
    ]
    assert {source.path.name for source in read.sources} == {
        "both.json",
        "both.npz",
        "single.json",
        "single.npz",
    }
    assert names(files / "single.json", files, files / "both.json") == ["single", "first", "second"]


def test_names_that_repeat_are_told_apart_by_their_paths(result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in map(Path, ("v1", "v2")):
        folder.mkdir()
        result.to_json(folder / "it.json")
        write_results({"a": result, "b": result}, folder / "two.json")
    write_results({"a": result, "c": result}, Path("v2/three.json"))
    assert names("v1") == ["it", "a", "b"]
    assert names("v2") == ["it", "v2/three: a", "c", "v2/two: a", "b"]
    both = names("v2", "v1")
    assert both == [
        "v2/it", "v2/three: a", "c", "v2/two: a", "v2/two: b", "v1/it", "v1/two: a", "v1/two: b",
    ]  # fmt: skip
    assert sorted(both) == sorted(names("v1", "v2"))


def test_names_stay_apart_whatever_happens(result, tmp_path):
    for folder in ("x/v", "y/v"):
        (tmp_path / folder).mkdir(parents=True)
        result.to_json(tmp_path / folder / "it.json")
    assert len(names(tmp_path / "x" / "v", tmp_path / "y" / "v")) == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.json", "[1, 2]", "x.json: source must be the JSON of a result"),
        ("x.json", "{", "x.json'. source must be the JSON of a result"),
        (
            "x.json",
            '{"schema_version": 99, "type": "A", "measure": "a"}',
            "schema_version 2, got 99",
        ),
        ("x.json", '{"schema_version": 2, "results": [3]}', "RESULTS must be files of results"),
        (
            "x.json",
            '{"schema_version": 2, "results": [{"type": "A"}]}',
            "RESULTS must be files of results",
        ),
        ("x.json", '{"schema_version": 2, "results": []}', "at least one result, got none"),
        (
            "x.json",
            '{"schema_version": 2, "type": "A", "measure": "a"}',
            "JSON of a known result, got type 'A'",
        ),
    ],
)
def test_a_file_that_is_no_result_is_refused(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_result_files([path])


def test_what_is_missing_or_empty_is_refused(tmp_path):
    with pytest.raises(ValueError, match="existing file or folder, got .*nowhere"):
        read_result_files([tmp_path / "nowhere"])
    with pytest.raises(ValueError, match="at least one result, got none"):
        read_result_files([tmp_path])
    (tmp_path / "broken.json").write_text('{"schema_version": 2, "measu')
    with pytest.raises(
        ValueError, match="broken.json"
    ):  # half of a result must not go missing in silence
        read_result_files([tmp_path])


@pytest.mark.parametrize("damage", [b"not an archive", b""])
def test_damaged_archives_are_refused(files, damage):
    (files / "single.npz").write_bytes(damage)
    with pytest.raises(ValueError, match="single.json'.*damaged file"):
        read_result_files([files])
    (files / "single.npz").unlink()
    with pytest.raises(ValueError, match="Keep both files together"):
        read_result_files([files])


def test_files_in_the_making_and_folders_are_passed_over(files):
    before = names(files)
    (files / ".single.json.x7_a.json").write_text("")
    (files / "folder.json").mkdir()
    assert names(files) == before
