"""Handwritten digits: the small set that ships with scikit-learn, and MNIST from IDX files or an npz."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice
from shiftmetrics_lab.datasets.dataset import Dataset
from shiftmetrics_lab.datasets.sources import MNIST, Source, find, locate

_DIGITS = tuple("0123456789")
_IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_IDX_NAMES = {"train": "train", "test": "t10k"}


def load_digits() -> Dataset:
    """Return scikit-learn's 1,797 digits of 8 x 8 pixels; nothing is downloaded.

    Returns
    -------
    Dataset
        ``X`` of shape (1797, 8, 8), float64 in [0, 1]; ``y`` the digit.
    """
    from sklearn.datasets import load_digits as load

    bunch = load()
    return Dataset(
        name="digits",
        X=np.asarray(bunch.images) / 16.0,
        y=np.asarray(bunch.target, dtype=np.int64),
        class_names=_DIGITS,
        source="scikit-learn (UCI optical recognition of handwritten digits)",
    )


def load_mnist(
    path: str | os.PathLike[str] | None = None,
    *,
    split: str = "test",
    download: bool = False,
    progress: bool = True,
    source: Source = MNIST,
) -> Dataset:
    """Read MNIST digits of 28 x 28 pixels.

    Parameters
    ----------
    path : path, optional
        A folder of IDX files (``train-images-idx3-ubyte``, ..., gzipped or not), or an ``.npz`` file with arrays
        ``images`` and ``labels``, or ``x_train``, ``y_train``, ``x_test``, ``y_test``. Default: `data_home`.
    split : {"test", "train"}, default "test"
        Which part. An npz with ``images`` and ``labels`` has one part only, whatever its name.
    download, progress, source
        Whether to download into ``path`` first, with progress bars, and from where.

    Returns
    -------
    Dataset
        ``X`` of shape (n_samples, 28, 28), uint8; ``y`` the digit.

    Raises
    ------
    FileNotFoundError
        If the files are not there.
    ValueError
        If a file is truncated, or is not what its name says.

    Examples
    --------
    >>> load_mnist("/nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no mnist data at '/nowhere'. ...
    """
    check_choice(split, "split", ("test", "train"))
    place = locate(path, source, download=download, progress=progress)
    if place.suffix == ".npz":
        images, labels = _npz_split(place, split)
    else:
        prefix = _IDX_NAMES[split]
        images = read_idx(_idx_file(place, f"{prefix}-images", "idx3-ubyte"))
        labels = read_idx(_idx_file(place, f"{prefix}-labels", "idx1-ubyte"))
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
        raise ValueError(
            f"The files of {str(place)!r} must hold as many images as labels, got arrays of shape "
            f"{images.shape} and {labels.shape}. Download them again."
        )
    return Dataset(
        name=f"MNIST ({split})",
        X=images,
        y=labels.astype(np.int64),
        class_names=_DIGITS,
        source=f"{place} ({source.terms})",
    )


def read_idx(path: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """Read an array from a file in the IDX format, gzipped or not.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, or not in the IDX format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "labels-idx1-ubyte"
    >>> _ = file.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4]))
    >>> read_idx(file)
    array([5, 0, 4], dtype=uint8)
    """
    file = Path(path)
    try:
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"The file {str(file)!r} is truncated or damaged ({error}). Download it again."
        ) from error
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _IDX_TYPES:
        raise ArgumentValueError(
            f"The file {str(file)!r}", "in the IDX format", f"the bytes {content[:4]!r}"
        )
    dtype, n_axes = np.dtype(_IDX_TYPES[content[2]]), content[3]
    header = 4 + 4 * n_axes
    if len(content) < header:
        raise ValueError(
            f"The file {str(file)!r} is truncated inside its header. Download it again."
        )
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", n_axes, 4))
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if len(content) != header + size:
        expected = f"{header + size} bytes for shape {shape}"
        raise ArgumentValueError(f"The file {str(file)!r}", expected, f"{len(content)}")
    return (
        np.frombuffer(content, dtype, offset=header).reshape(shape).astype(dtype.newbyteorder("="))
    )


def image_arrays(stored: Any, file: Path) -> tuple[npt.NDArray[np.uint8], IntArray]:
    """Take images and labels from an npz: arrays ``images``, or joined JPEG files with ``offsets``."""
    if "labels" in stored and "images" in stored:
        return np.asarray(stored["images"]), np.asarray(stored["labels"], dtype=np.int64)
    if "labels" in stored and "jpeg" in stored and "offsets" in stored:
        return _decode(stored["jpeg"], stored["offsets"]), np.asarray(
            stored["labels"], dtype=np.int64
        )
    expected = "an npz with arrays images and labels, or jpeg, offsets and labels"
    got = ", ".join(stored) or "an empty one"
    raise ArgumentValueError(f"The file {str(file)!r}", expected, got)


def _npz_split(file: Path, split: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    with np.load(file, allow_pickle=False) as stored:
        if f"x_{split}" in stored and f"y_{split}" in stored:
            return stored[f"x_{split}"], stored[f"y_{split}"]
        return image_arrays(stored, file)


def _decode(joined: npt.NDArray[np.uint8], offsets: IntArray) -> npt.NDArray[np.uint8]:
    from PIL import Image

    images = []
    for start, stop in itertools.pairwise(offsets):
        with Image.open(io.BytesIO(joined[start:stop].tobytes())) as image:
            images.append(np.asarray(image.convert("RGB")))
    return np.stack(images)


def _idx_file(place: Path, stem: str, kind: str) -> Path:
    """Find an IDX file under the spellings that are about: a dot or a dash, gzipped or not."""
    for name in (f"{stem}-{kind}", f"{stem}.{kind}", f"{stem}-{kind}.gz", f"{stem}.{kind}.gz"):
        try:
            return find(place, name)
        except FileNotFoundError:
            continue
    raise FileNotFoundError(
        f"There is no '{stem}-{kind}' (or .gz) in {str(place)!r}. Check the path."
    )
