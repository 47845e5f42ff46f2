"""Digits and MNIST: every layout gives the same arrays, a broken file gives a sentence."""

import gzip
import struct

import numpy as np
import pytest

from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.datasets.digits import read_idx
from shiftmetrics_lab.datasets.sources import RemoteFile, Source

RNG = np.random.default_rng(0)
DIGITS = RNG.integers(0, 256, (7, 28, 28)).astype(np.uint8)
LABELS = RNG.integers(0, 10, 7).astype(np.uint8)


def idx_bytes(array):
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def test_digits_are_bundled():
    data = load("digits")
    assert data.X.shape == (1797, 8, 8)
    assert data.X.min() == 0.0
    assert np.bincount(data.y).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("dot", [False, True])
def test_mnist_from_idx_files(tmp_path, zipped, dot):
    for stem, kind, array in (
        ("t10k-images", "idx3-ubyte", DIGITS),
        ("t10k-labels", "idx1-ubyte", LABELS),
    ):
        name = f"{stem}{'.' if dot else '-'}{kind}"
        content = idx_bytes(array)
        (tmp_path / (name + ".gz" if zipped else name)).write_bytes(
            gzip.compress(content) if zipped else content
        )
    data = load("mnist", tmp_path)
    np.testing.assert_array_equal(data.X, DIGITS)
    np.testing.assert_array_equal(data.y, LABELS)
    with pytest.raises(
        FileNotFoundError, match="There is no 'train-images-idx3-ubyte' .or .gz. in"
    ):
        load("mnist", tmp_path, split="train")


@pytest.mark.parametrize("names", [("images", "labels"), ("x_test", "y_test")])
def test_mnist_from_npz(tmp_path, names):
    np.savez(tmp_path / "mnist.npz", **dict(zip(names, (DIGITS, LABELS), strict=True)))
    np.testing.assert_array_equal(load("mnist", tmp_path / "mnist.npz").X, DIGITS)


def test_mnist_downloads_with_checksums(server, tmp_path):
    import hashlib

    files = []
    for name, array in (
        ("t10k-images-idx3-ubyte.gz", DIGITS),
        ("t10k-labels-idx1-ubyte.gz", LABELS),
    ):
        content = gzip.compress(idx_bytes(array))
        server.files[f"/{name}"] = content
        checksum = "sha256:" + hashlib.sha256(content).hexdigest()
        files.append(RemoteFile(url=f"{server.url}/{name}", name=name, checksum=checksum))
    mirror = Source(name="mnist", files=tuple(files), terms="none")
    for _ in range(2):
        data = load("mnist", tmp_path / "home", download=True, progress=False, source=mirror)
        np.testing.assert_array_equal(data.X, DIGITS)
    assert len(server.requests) == 2
    server.files["/t10k-labels-idx1-ubyte.gz"] += b"x"
    with pytest.raises(ValueError, match="must have sha256"):
        load("mnist", tmp_path / "other", download=True, progress=False, source=mirror)


def test_the_home_of_data_can_be_set(tmp_path, monkeypatch):
    monkeypatch.setenv("SHIFTMETRICS_HOME", str(tmp_path))
    with pytest.raises(
        FileNotFoundError,
        match=rf"no mnist data at '{tmp_path}/mnist'.*download=True .terms: LeCun",
    ):
        load(
            "mnist",
        )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx_bytes(DIGITS)[:-1], r"must be 5504 bytes for shape \(7, 28, 28\), got 5503"),
        (idx_bytes(DIGITS)[:9], "truncated inside its header"),
        (b"\x89PNG....", "must be in the IDX format"),
        (b"", "must be in the IDX format"),
    ],
)
def test_broken_idx_files(tmp_path, content, message):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_idx(tmp_path / "a")


def test_truncated_gzip(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(idx_bytes(DIGITS))[:-20])
    with pytest.raises(ValueError, match="truncated or damaged"):
        read_idx(tmp_path / "a.gz")


@pytest.mark.parametrize("dtype", [">i2", ">i4", ">f4", ">f8", "i1"])
def test_idx_types(tmp_path, dtype):
    array = np.arange(-3, 3).astype(dtype)
    code = {"i2": 11, "i4": 12, "f4": 13, "f8": 14, "i1": 9}[dtype.removeprefix(">")]
    (tmp_path / "a").write_bytes(bytes([0, 0, code, 1]) + struct.pack(">I", 6) + array.tobytes())
    np.testing.assert_array_equal(read_idx(tmp_path / "a"), array)
    assert read_idx(tmp_path / "a").dtype.isnative


def test_npz_of_something_else(tmp_path):
    np.savez(tmp_path / "a.npz", weights=DIGITS)
    with pytest.raises(ValueError, match="arrays images and labels, or jpeg.*got weights"):
        load("mnist", tmp_path / "a.npz")


@pytest.mark.realdata
def test_real_mnist(data_folder):
    digits = load("mnist", data_folder / "mnist_test" / "mnist_t10k.npz")
    assert digits.X.shape == (10_000, 28, 28)
    assert np.bincount(digits.y).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
