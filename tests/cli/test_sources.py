from pathlib import Path

import numpy as np
import pytest

from shiftmetrics.cli.inputs.sources import looks_like_source, parse_source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", np.zeros(3))
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04N.")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "key"), [("a.npz", None), ("a.npz:x", "x"), ("a.npy", None), ("a.csv", None)]
)
def test_a_source_is_a_path_with_perhaps_an_array(folder, text, key):
    source = parse_source(str(folder / text), "SHIFTED")
    assert source.path.is_file()
    assert source.key == key
    assert str(source) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("missing.csv", "SHIFTED must be an existing file"),
        ("missing.npz:x", "SHIFTED must be an existing file"),
        ("a.pkl", "must be a file of kind .csv"),
        ("missing.joblib", "SHIFTED must be an existing file"),
        ("a.xlsx", "must be a file of kind .csv"),
        ("", "must be a file, got the folder"),
        ("a.npy:x", "must be a file of kind .csv"),
        ("a.csv:x", "must be a file of kind .csv"),
    ],
)
def test_what_cannot_be_read_is_named(folder, text, message):
    with pytest.raises(ValueError, match=message):
        parse_source(str(folder / text) if text else str(folder), "SHIFTED")


@pytest.mark.parametrize(
    ("text", "is_source"), [("label", False), ("y.npy", True), ("z.npz:y", True), ("y.csv", True)]
)
def test_column_names_are_told_from_files(text, is_source):
    assert looks_like_source(text) is is_source
