"""CIFAR-10 in its published layouts, and its corrupted test sets CIFAR-10-C."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice, check_integer
from shiftmetrics.adapters.images import ImageFiles
from shiftmetrics_lab.datasets.dataset import Dataset
from shiftmetrics_lab.datasets.digits import image_arrays
from shiftmetrics_lab.datasets.sources import CIFAR10, CIFAR10C, Source, find, locate

CIFAR10_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
_BATCHES = {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]}


def load_cifar10(
    path: str | os.PathLike[str] | None = None,
    *,
    split: str = "test",
    download: bool = False,
    progress: bool = True,
    source: Source = CIFAR10,
) -> Dataset:
    """Read CIFAR-10: 10,000 test or 50,000 training images of 32 x 32 pixels.

    Parameters
    ----------
    path : path, optional
        A folder with the binary version (``data_batch_1.bin``, ...), the Python version (``data_batch_1``, ...), or
        one folder of image files for each class under ``train`` and ``test``; or an npz file with ``labels`` and
        ``images``, or with ``jpeg`` and ``offsets`` (JPEG files joined). Default: `data_home`.
    split : {"test", "train"}, default "test"
        Which part. An npz has one part only.
    download, progress, source
        Whether to download into ``path`` first, with progress bars, and from where.

    Returns
    -------
    Dataset
        ``X`` of shape (n_samples, 32, 32, 3), uint8.

    Raises
    ------
    FileNotFoundError
        If the files are not there.
    ValueError
        If a file is truncated, or holds something else. Pickled objects other than arrays are refused.

    Examples
    --------
    >>> load_cifar10("/nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no cifar10 data at '/nowhere'. ...
    """
    check_choice(split, "split", ("test", "train"))
    place = locate(path, source, download=download, progress=progress)
    if place.suffix == ".npz":
        with np.load(place, allow_pickle=False) as stored:
            images, labels = image_arrays(stored, place)
    else:
        images, labels = _read_folder(place, split)
    return Dataset(
        name=f"CIFAR-10 ({split})",
        X=images,
        y=labels,
        class_names=CIFAR10_CLASSES,
        source=f"{place} ({source.terms})",
    )


def load_cifar10c(
    path: str | os.PathLike[str] | None = None,
    *,
    corruption: str,
    severity: int = 5,
    download: bool = False,
    progress: bool = True,
    source: Source = CIFAR10C,
) -> Dataset:
    """Read one corrupted version of the CIFAR-10 test set; row ``i`` is the corrupted image ``i`` of the test set.

    Parameters
    ----------
    path : path, optional
        The folder with ``labels.npy`` and one ``.npy`` file for each corruption. Default: `data_home`.
    corruption : str
        Name of a file without ``.npy``, such as "gaussian_noise" or "jpeg_compression".
    severity : int, default 5
        From 1 to 5.
    download, progress, source
        Whether to download into ``path`` first, with progress bars, and from where.

    Returns
    -------
    Dataset
        ``X`` of shape (n_samples, 32, 32, 3), uint8.

    Raises
    ------
    FileNotFoundError
        If the folder is not there.
    ValueError
        If there is no such corruption (the message lists those there are), or a file has the wrong shape.

    Examples
    --------
    >>> load_cifar10c("/nowhere", corruption="fog")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no cifar10c data at '/nowhere'. ...
    """
    check_integer(severity, "severity", low=1, high=5)
    folder = find(locate(path, source, download=download, progress=progress), "labels.npy").parent
    known = sorted(file.stem for file in folder.glob("*.npy") if file.stem != "labels")
    check_choice(corruption, "corruption", known)
    stacked = np.load(folder / f"{corruption}.npy", mmap_mode="r", allow_pickle=False)
    labels = np.load(folder / "labels.npy", allow_pickle=False)
    if stacked.ndim != 4 or len(stacked) % 5 or len(labels) != len(stacked):
        expected = "five severities of equally many images, with a label each"
        got = f"shapes {stacked.shape} and {labels.shape}"
        raise ArgumentValueError(f"The files of {str(folder)!r}", expected, got)
    n_samples = len(stacked) // 5
    rows = slice((severity - 1) * n_samples, severity * n_samples)
    return Dataset(
        name=f"CIFAR-10-C ({corruption}, severity {severity})",
        X=np.array(stacked[rows]),
        y=labels[rows].astype(np.int64),
        class_names=CIFAR10_CLASSES,
        source=f"{folder} ({source.terms})",
    )


def _read_folder(place: Path, split: str) -> tuple[npt.NDArray[np.uint8], IntArray]:
    for suffix, read in ((".bin", _read_binary), ("", _read_pickle)):
        try:
            files = [find(place, name + suffix) for name in _BATCHES[split]]
        except FileNotFoundError:
            continue
        parts = [read(file) for file in files]
        pixels = np.concatenate([part[0] for part in parts]).reshape(-1, 3, 32, 32)
        return np.ascontiguousarray(pixels.transpose(0, 2, 3, 1)), np.concatenate(
            [part[1] for part in parts]
        )
    if (place / split).is_dir():
        return _read_class_folders(place / split)
    raise FileNotFoundError(
        f"There are no CIFAR-10 files in {str(place)!r}: neither {_BATCHES[split][0]}.bin, nor {_BATCHES[split][0]}, "
        f"nor a folder {split}/ of class folders. Check the path."
    )


def _read_binary(file: Path) -> tuple[npt.NDArray[np.uint8], IntArray]:
    """Rows of 3,073 bytes: the label, then the red, green and blue planes."""
    content = np.frombuffer(file.read_bytes(), np.uint8)
    if content.size == 0 or content.size % 3073:
        expected = "rows of 3,073 bytes"
        got = f"{content.size} bytes"
        raise ArgumentValueError(f"The file {str(file)!r}", expected, got, "It is truncated.")
    rows = content.reshape(-1, 3073)
    return rows[:, 1:], rows[:, 0].astype(np.int64)


class _ArrayUnpickler(pickle.Unpickler):
    """Reads pickles of plain containers and NumPy arrays; anything else could run code and is refused."""

    _ALLOWED = frozenset({("_reconstruct", "multiarray"), ("ndarray", "numpy"), ("dtype", "numpy")})

    def find_class(self, module: str, name: str) -> Any:
        if (name, module.rpartition(".")[2]) in self._ALLOWED and module.partition(".")[
            0
        ] == "numpy":
            if name == "_reconstruct":
                # numpy.core, where old pickles look for it, is deprecated.
                return np.empty(0).__reduce__()[0]
            return getattr(np, name)
        if (module, name) == ("_codecs", "encode"):
            import codecs

            return codecs.encode
        raise pickle.UnpicklingError(f"it holds {module}.{name}")


def _read_pickle(file: Path) -> tuple[npt.NDArray[np.uint8], IntArray]:
    try:
        batch = _ArrayUnpickler(io.BytesIO(file.read_bytes()), encoding="bytes").load()
        return np.asarray(batch[b"data"], dtype=np.uint8), np.asarray(
            batch[b"labels"], dtype=np.int64
        )
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(
            f"The file {str(file)!r} must be a batch of CIFAR-10 arrays and was refused ({error}). "
            "Get it from its publisher, best in the binary version."
        ) from error


def _read_class_folders(folder: Path) -> tuple[npt.NDArray[np.uint8], IntArray]:
    names: list[str] = []
    labels: list[int] = []
    for label, class_name in enumerate(CIFAR10_CLASSES):
        files = sorted((folder / class_name).glob("*.*"))
        if not files:
            raise FileNotFoundError(
                f"There are no images in {str(folder / class_name)!r}. Check the path."
            )
        names.extend(f"{class_name}/{file.name}" for file in files)
        labels.extend([label] * len(files))
    return ImageFiles(folder, names).read(), np.asarray(labels, dtype=np.int64)
