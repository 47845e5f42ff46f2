"""Recognise images, texts or rows of a table; take slices of them, and a digest of their content."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import as_array, is_table, to_numpy
from shiftmetrics._core.validation import describe

Kind = Literal["images", "texts", "table"]

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_EXPECTED = (
    "images of shape (n, height, width) or (n, height, width, channels), a list of image files (Path), a folder of "
    "them, a list of texts, or a table of shape (n, n_columns)"
)


@functools.cache
def image_class() -> Any:
    """Return the class of lists of image files, which stands in the laboratory: it is loaded on first use."""
    from shiftmetrics.lab.datasets.dataset import ImageFiles

    return ImageFiles


@dataclass(frozen=True, eq=False)
class Items:
    """The observations of one sample.

    Attributes
    ----------
    kind : {"images", "texts", "table"}
        What they are.
    data : array, DataFrame, ImageFiles or list of str
        Where they are.
    size : int or None
        Side in pixels to which image files are resized.
    """

    kind: Kind
    data: Any
    size: int | None = None

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: slice) -> Any:
        """Return some of them as an encoder gets them: an array, a DataFrame or a list of str."""
        if isinstance(self.data, image_class()):
            return self.data.read(rows, size=self.size)
        return self.data.iloc[rows] if is_table(self.data) else self.data[rows]

    def digest(self) -> str:
        """Return a SHA-256 of their content, in their order: files count by their bytes, not by their names."""
        sha = hashlib.sha256(f"{self.kind} {len(self)} {self.size}".encode())
        if self.kind == "texts":
            for text in self.data:
                _add(sha, text.encode("utf-8", "surrogatepass"))
        elif isinstance(self.data, image_class()):
            for position in range(len(self.data)):
                _add(sha, self.data[position].read_bytes())
        elif is_table(self.data):
            import pandas as pd

            for position, name in enumerate(self.data.columns):
                column = self.data.iloc[:, position]
                _add(sha, f"{name!r} {column.dtype}".encode())
                _add(sha, pd.util.hash_pandas_object(column, index=False).to_numpy().tobytes())
        else:
            array = to_numpy(self.data)
            _add(sha, f"{array.dtype.str} {array.shape}".encode())
            for start in range(0, len(array), 1024):
                sha.update(np.ascontiguousarray(array[start : start + 1024]).tobytes())
        return sha.hexdigest()


def check_items(value: Any, argument: str, *, size: int | None = None) -> Items:
    """Tell what ``value`` holds.

    Raises
    ------
    TypeError
        If it is neither images nor texts nor a table of numbers.
    ValueError
        If it is empty, or of another shape.
    FileNotFoundError
        If an image file, or the folder, is not there.
    """
    if isinstance(value, Items):
        return value
    items = Items(*_kind(value, argument), size=size)
    if len(items) == 0:
        raise ValueError(describe(argument, "at least one item", "none"))
    return items


def image_files(folder: str | os.PathLike[str]) -> Any:
    """List the images of a folder and of the folders in it, sorted by name.

    Parameters
    ----------
    folder : path
        Files with the suffix of an image format are taken, all others are left out.

    Returns
    -------
    ImageFiles

    Raises
    ------
    FileNotFoundError
        If there is no such folder, or no image in it.

    Examples
    --------
    >>> image_files("/nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no folder '/nowhere'. Check the path.
    """
    place = Path(folder)
    if not place.is_dir():
        raise FileNotFoundError(f"There is no folder {str(place)!r}. Check the path.")
    found = sorted(
        file for file in place.rglob("*") if file.suffix.lower() in SUFFIXES and not file.name.startswith(".")
    )
    if not found:
        raise FileNotFoundError(
            f"There are no images in {str(place)!r}: no file ends in {', '.join(SUFFIXES)}. Check the path."
        )
    return image_class()(place, [file.relative_to(place).as_posix() for file in found])


def _kind(value: Any, argument: str) -> tuple[Kind, Any]:
    if isinstance(value, Path):
        return "images", image_files(value)
    if isinstance(value, image_class()):
        return "images", _existing(value)
    if is_table(value):
        return "table", value
    if isinstance(value, str | bytes):
        remedy = "Put a single text into a list; the name of a folder goes into pathlib.Path."
        raise TypeError(describe(argument, _EXPECTED, repr(value)[:60], remedy))
    if _is_sequence(value):
        parts = value.tolist() if hasattr(value, "tolist") else list(value)  # a Series answers by its index
        for cls, what in ((str, "texts"), (Path, "image files (Path)")):
            if not isinstance(next(iter(parts), ""), cls):
                continue
            for row, item in enumerate(parts):
                if not isinstance(item, cls):
                    got, remedy = f"{item!r} at row {row}", "Drop or fill such rows first."
                    raise TypeError(describe(argument, f"{what} only", got, remedy))
            if cls is str:
                return "texts", parts
            return "images", _existing(image_class()(Path(), [str(file.absolute()) for file in parts]))
    array = as_array(value, argument)
    if array.ndim == 2:
        return "table", array
    if array.ndim == 3 or (array.ndim == 4 and array.shape[-1] in (1, 3, 4)):
        return "images", array
    raise ValueError(
        describe(argument, _EXPECTED, f"shape {tuple(array.shape)}", "Put the channels of images last.")
    )


def _is_sequence(value: Any) -> bool:
    """Tell whether items come one by one: in a list, a tuple, or a Series or array of texts or objects."""
    if hasattr(value, "dtype"):
        numeric = getattr(value.dtype, "kind", "f") in "biufc"
        return hasattr(value, "tolist") and not numeric and getattr(value, "ndim", 0) == 1
    return isinstance(value, Sequence)


def _existing(files: Any) -> Any:
    for position in range(len(files)):
        if not files[position].is_file():
            raise FileNotFoundError(f"There is no image {str(files[position])!r}. Check the path.")
    return files


def _add(sha: Any, part: bytes) -> None:
    """Add a part with its length, so that the ends of parts count."""
    sha.update(len(part).to_bytes(8, "little"))
    sha.update(part)
