from pathlib import Path

import numpy as np
import pytest

from shiftmetrics.tools.cli.sources import looks_like_source, parse_source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", np.zeros(3))
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04N.")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "key", "index"),
    [
        ("a.npz", None, ()),
        ("a.npz:x", "x", ()),
        ("a.npz:x[3,1]", "x", (3, 1)),
        ("a.npz[0]", None, (0,)),
        ("a.npz:x[-1, :5, ::2]", "x", (-1, slice(None, 5), slice(None, None, 2))),
        ("a.npy[:2]", None, (slice(None, 2),)),
        ("a.csv", None, ()),
    ],
)
def test_a_source_is_a_path_with_perhaps_an_array_and_a_part(folder, text, key, index):
    source = parse_source(str(folder / text), "SHIFTED")
    assert source.path.is_file()
    assert (source.key, source.index) == (key, index)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("missing.csv", "SHIFTED must be an existing file"),
        ("missing.npz:x[0]", "SHIFTED must be an existing file"),
        ("a.pkl", "must be a file of kind .csv"),
        ("missing.joblib", "SHIFTED must be an existing file"),
        ("a.xlsx", "must be a file of kind .csv"),
        ("", "must be a file, got the folder"),
        ("a.npy:x", "must be a file of kind .csv"),
        ("a.csv:x", "must be a file of kind .csv"),
        ("a.npz:x[one]", r"whole numbers and slices, got \[one\]"),
    ],
)
def test_what_cannot_be_read_is_named(folder, text, message):
    with pytest.raises(ValueError, match=message):
        parse_source(str(folder / text) if text else str(folder), "SHIFTED")


def test_a_file_whose_name_looks_like_a_part_is_taken_as_the_file(tmp_path):
    path = tmp_path / "run.npy[1].npy"
    np.save(path, np.zeros(2))
    assert parse_source(str(path), "TEST").path == path


def test_a_source_prints_what_was_chosen(folder):
    assert str(parse_source(str(folder / "a.npz:x[1,:2]"), "TEST")) == "a.npz:x[1,:2]"


@pytest.mark.parametrize(
    ("text", "is_source"), [("label", False), ("y.npy", True), ("z.npz:y", True), ("y.csv", True)]
)
def test_column_names_are_told_from_files(text, is_source):
    assert looks_like_source(text) is is_source
