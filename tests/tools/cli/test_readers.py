import gzip
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tools.cli.readers import read_source
from shiftmetrics.tools.cli.sources import parse_source

SCORES = np.arange(12.0).reshape(4, 3) / 7


def read(path: Path | str):
    return read_source(parse_source(str(path), "SHIFTED"))


def test_every_kind_of_file_gives_the_same_numbers(tmp_path):
    frame = pd.DataFrame(SCORES, columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.to_csv(tmp_path / "s.csv.gz", index=False)
    frame.to_csv(tmp_path / "semicolon.csv", index=False, sep=";")
    frame.to_csv(tmp_path / "bom.csv", index=False, encoding="utf-8-sig")
    frame.to_parquet(tmp_path / "s.parquet")
    np.save(tmp_path / "s.npy", SCORES)
    np.savez(tmp_path / "s.npz", only=SCORES)
    np.savez_compressed(tmp_path / "deep.npz", runs=np.stack([SCORES + 1, SCORES]), other=np.zeros(2))
    for name in (
        "s.csv",
        "s.csv.gz",
        "semicolon.csv",
        "bom.csv",
        "s.parquet",
        "s.npy",
        "s.npz",
        "deep.npz:runs[1]",
    ):
        content = read(tmp_path / name)
        np.testing.assert_allclose(np.asarray(content), SCORES)
        if hasattr(content, "columns"):
            assert list(content.columns) == ["a", "b", "c"]


def test_a_csv_without_a_header_keeps_its_first_row(tmp_path):
    np.savetxt(tmp_path / "s.csv", SCORES, delimiter=",")
    frame = read(tmp_path / "s.csv")
    assert frame.shape == SCORES.shape
    assert list(frame.columns) == ["0", "1", "2"]


def test_class_numbers_are_a_header(tmp_path):
    pd.DataFrame(SCORES).to_csv(tmp_path / "s.csv", index=False)
    assert read(tmp_path / "s.csv").shape == SCORES.shape


def test_large_arrays_are_mapped_and_not_copied(tmp_path):
    np.save(tmp_path / "s.npy", SCORES)
    assert isinstance(read(tmp_path / "s.npy"), np.memmap)


def test_an_npz_of_several_arrays_lists_them_with_their_shapes(tmp_path):
    np.savez(tmp_path / "s.npz", log_probs=np.zeros((4, 5, 6, 3), np.float32), labels=np.zeros(6, np.uint8))
    with pytest.raises(ValueError, match=r"log_probs \(4, 5, 6, 3\) float32, labels \(6,\) uint8"):
        read(tmp_path / "s.npz")
    with pytest.raises(ValueError, match=r"got 'logits'; s.npz holds log_probs"):
        read(f"{tmp_path / 's.npz'}:logits")
    with pytest.raises(ValueError, match=r"index inside the shape \(4, 5, 6, 3\), got s.npz:log_probs\[7\]"):
        read(f"{tmp_path / 's.npz'}:log_probs[7]")


def test_pickled_arrays_are_refused_with_the_reason(tmp_path):
    np.save(tmp_path / "s.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "s.npz", good=SCORES, bad=np.array([[1], [1, 2]], dtype=object))
    with pytest.raises(ValueError, match=r"s.npy holds pickled Python objects, which can run code"):
        read(tmp_path / "s.npy")
    with pytest.raises(ValueError, match=r"'bad' of s.npz holds pickled"):
        read(f"{tmp_path / 's.npz'}:bad")
    np.testing.assert_array_equal(read(f"{tmp_path / 's.npz'}:good"), SCORES)


@pytest.mark.parametrize("keep", [0, 5, 0.5, 0.97])
@pytest.mark.parametrize("name", ["s.npy", "s.npz", "s.csv.gz", "s.parquet"])
def test_truncated_files_say_so(tmp_path, name, keep):
    values = np.random.default_rng(0).normal(size=(400, 3))
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    path = tmp_path / name
    {
        "s.npy": lambda: np.save(path, values),
        "s.npz": lambda: np.savez_compressed(path, x=values),
        "s.csv.gz": lambda: path.write_bytes(gzip.compress(frame.to_csv(index=False).encode())),
        "s.parquet": lambda: frame.to_parquet(path),
    }[name]()
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep < 1 else keep])
    with pytest.raises(ValueError, match=r"SHIFTED must be an? .*truncated or of another kind") as error:
        read(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b"a,b,c\n", "none below its header"),
        (b"a,b,a\n1,2,3\n", "distinct names, got 'a' twice"),
        (b"a,b\n1,2\n1,2,3,4\n", "cannot be read"),
        (b"\xff\xfe\x00\x01binary", "cannot be read"),
    ],
)
def test_broken_csv_files_say_so(tmp_path, content, message):
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "s.csv")


def test_a_csv_has_no_parts(tmp_path):
    (tmp_path / "s.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="must be a file of kind"):
        read(f"{tmp_path / 's.csv'}[0]")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    pd.DataFrame(SCORES, columns=["a", "b", "c"]).to_parquet(tmp_path / "s.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'shiftmetrics\[parquet\]'"):
        read(tmp_path / "s.parquet")
