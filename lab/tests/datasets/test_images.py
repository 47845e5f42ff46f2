"""Digits, MNIST and CIFAR: every layout gives the same arrays, a broken file gives a sentence."""

import gzip
import io
import pickle
import struct
import tarfile

import numpy as np
import pytest
from PIL import Image

from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.datasets.digits import read_idx
from shiftmetrics_lab.datasets.sources import RemoteFile, Source

RNG = np.random.default_rng(0)
DIGITS = RNG.integers(0, 256, (7, 28, 28)).astype(np.uint8)
LABELS = RNG.integers(0, 10, 7).astype(np.uint8)
PICTURES = RNG.integers(0, 256, (4, 32, 32, 3)).astype(np.uint8)
CLASSES = np.array([3, 0, 9, 5], dtype=np.uint8)


def idx_bytes(array):
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def cifar_bytes(pictures, labels):
    planes = pictures.transpose(0, 3, 1, 2).reshape(len(pictures), -1)
    return np.concatenate([labels[:, None], planes], axis=1).tobytes()


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


def write_cifar(folder, layout):
    if layout == "binary":
        (folder / "test_batch.bin").write_bytes(cifar_bytes(PICTURES, CLASSES))
    elif layout == "python":
        planes = PICTURES.transpose(0, 3, 1, 2).reshape(len(PICTURES), -1)
        (folder / "test_batch").write_bytes(
            pickle.dumps({b"data": planes, b"labels": CLASSES.tolist()})
        )
    elif layout == "archive":
        (folder / "inner" / "cifar-10-batches-bin").mkdir(parents=True)
        (folder / "inner" / "cifar-10-batches-bin" / "test_batch.bin").write_bytes(
            cifar_bytes(PICTURES, CLASSES)
        )
    return folder


@pytest.mark.parametrize("layout", ["binary", "python", "archive"])
def test_cifar10_layouts(tmp_path, layout):
    data = load("cifar10", write_cifar(tmp_path, layout))
    np.testing.assert_array_equal(data.X, PICTURES)
    np.testing.assert_array_equal(data.y, CLASSES)
    assert data.class_names[3] == "cat"


def test_cifar10_of_five_training_batches(tmp_path):
    for number in range(1, 6):
        (tmp_path / f"data_batch_{number}.bin").write_bytes(
            cifar_bytes(PICTURES[:1], np.array([number], np.uint8))
        )
    assert load("cifar10", tmp_path, split="train").y.tolist() == [1, 2, 3, 4, 5]


def test_cifar10_from_class_folders_and_joined_jpegs(tmp_path):
    names = load("cifar10", write_cifar(tmp_path, "binary")).class_names
    (tmp_path / "images" / "test").mkdir(parents=True)
    for label, name in enumerate(names):
        folder = tmp_path / "images" / "test" / name
        folder.mkdir()
        Image.fromarray(np.full((32, 32, 3), label, np.uint8)).save(folder / "0000.png")
    data = load("cifar10", tmp_path / "images")
    np.testing.assert_array_equal(data.X[:, 0, 0, 0], range(10))
    files = []
    for value in (10, 200):
        buffer = io.BytesIO()
        Image.fromarray(np.full((32, 32, 3), value, np.uint8)).save(buffer, "JPEG")
        files.append(np.frombuffer(buffer.getvalue(), np.uint8))
    offsets = np.cumsum([0, *map(len, files)])
    np.savez(tmp_path / "a.npz", jpeg=np.concatenate(files), offsets=offsets, labels=[1, 2])
    np.testing.assert_allclose(
        load("cifar10", tmp_path / "a.npz").X.mean(axis=(1, 2, 3)), [10, 200], atol=1
    )


class Evil:
    def __reduce__(self):
        import os

        return os.mkdir, ("/tmp/shiftmetrics-evil",)


def test_a_pickle_that_would_run_code_is_refused(tmp_path):
    (tmp_path / "test_batch").write_bytes(pickle.dumps({b"data": Evil(), b"labels": []}))
    with pytest.raises(ValueError, match=r"was refused \(it holds posix.mkdir\)"):
        load("cifar10", tmp_path)


def test_old_pickles_name_the_old_place_of_numpy(tmp_path):
    write_cifar(tmp_path, "python")
    content = (tmp_path / "test_batch").read_bytes()
    planes = PICTURES.transpose(0, 3, 1, 2).reshape(len(PICTURES), -1)
    old = pickle.dumps({b"data": planes, b"labels": CLASSES.tolist()}, protocol=2)
    assert b"numpy._core.multiarray" in old or b"numpy.core.multiarray" in old
    (tmp_path / "test_batch").write_bytes(
        old.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    )
    np.testing.assert_array_equal(load("cifar10", tmp_path).X, PICTURES)
    (tmp_path / "test_batch").write_bytes(content[:-30])
    with pytest.raises(ValueError, match="was refused"):
        load("cifar10", tmp_path)


def test_a_truncated_batch_is_said(tmp_path):
    (tmp_path / "test_batch.bin").write_bytes(cifar_bytes(PICTURES, CLASSES)[:-1])
    with pytest.raises(ValueError, match="rows of 3,073 bytes, got 12291 bytes. It is truncated"):
        load("cifar10", tmp_path)
    with pytest.raises(FileNotFoundError, match="There are no CIFAR-10 files"):
        load("cifar10", tmp_path, split="train")


@pytest.fixture
def corrupted(tmp_path):
    severities = np.repeat(np.arange(1, 6, dtype=np.uint8), 4)
    np.save(
        tmp_path / "fog.npy", np.tile(PICTURES, (5, 1, 1, 1)) // severities[:, None, None, None]
    )
    np.save(tmp_path / "labels.npy", np.tile(CLASSES, 5))
    return tmp_path


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_cifar10c_rows_are_those_of_the_test_set(corrupted, severity):
    data = load("cifar10c", corrupted, corruption="fog", severity=severity)
    np.testing.assert_array_equal(data.X, PICTURES // severity)
    np.testing.assert_array_equal(data.y, CLASSES)


def test_cifar10c_refuses(corrupted):
    with pytest.raises(ValueError, match="corruption must be one of 'fog', got 'snow'"):
        load("cifar10c", corrupted, corruption="snow")
    with pytest.raises(ValueError, match="severity must be an integer between 1 and 5"):
        load("cifar10c", corrupted, corruption="fog", severity=6)
    np.save(corrupted / "fog.npy", PICTURES)
    with pytest.raises(ValueError, match="five severities of equally many images"):
        load("cifar10c", corrupted, corruption="fog")


def test_an_archive_is_downloaded_and_extracted_once(server, tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
        content = cifar_bytes(PICTURES, CLASSES)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    server.files["/c.tar.gz"] = buffer.getvalue()
    mirror = Source(
        name="c", files=(RemoteFile(url=f"{server.url}/c.tar.gz", name="c.tar.gz"),), terms="none"
    )
    for _ in range(2):
        data = load("cifar10", tmp_path, download=True, progress=False, source=mirror)
        np.testing.assert_array_equal(data.X, PICTURES)
    assert len(server.requests) == 1
    np.testing.assert_array_equal(load("cifar10", tmp_path).X, PICTURES)
    with pytest.raises(ValueError, match="path must be a folder when download=True"):
        load("cifar10", tmp_path / "c.tar.gz", download=True, source=mirror)


@pytest.mark.realdata
def test_real_mnist_and_cifar10(data_folder):
    digits = load("mnist", data_folder / "mnist_test" / "mnist_t10k.npz")
    assert digits.X.shape == (10_000, 28, 28)
    assert np.bincount(digits.y).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    pictures = load("cifar10", data_folder / "cifar10_jpeg" / "test_10000.npz")
    assert pictures.X.shape == (10_000, 32, 32, 3)
    assert set(np.bincount(pictures.y)) == {1000}
