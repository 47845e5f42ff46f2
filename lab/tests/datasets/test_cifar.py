"""CIFAR: every layout gives the same arrays, a broken file gives a sentence."""

import io
import pickle
import tarfile

import numpy as np
import pytest
from PIL import Image

from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.datasets.sources import RemoteFile, Source

RNG = np.random.default_rng(0)
PICTURES = RNG.integers(0, 256, (4, 32, 32, 3)).astype(np.uint8)
CLASSES = np.array([3, 0, 9, 5], dtype=np.uint8)


def cifar_bytes(pictures, labels):
    planes = pictures.transpose(0, 3, 1, 2).reshape(len(pictures), -1)
    return np.concatenate([labels[:, None], planes], axis=1).tobytes()


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
def test_real_cifar10(data_folder):
    pictures = load("cifar10", data_folder / "cifar10_jpeg" / "test_10000.npz")
    assert pictures.X.shape == (10_000, 32, 32, 3)
    assert set(np.bincount(pictures.y)) == {1000}
