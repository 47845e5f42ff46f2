"""Folders of images, read when they are asked for: the one place that knows Pillow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.validation import check_integer


class ImageFiles(Sequence[Path]):
    """Image files in a fixed order, read when asked for: data sets of images rarely fit in memory.

    Parameters
    ----------
    folder : path
        Where the files lie.
    files : sequence of str
        Their names inside the folder.

    Examples
    --------
    >>> images = ImageFiles(".", ["a.png", "b.png"])
    >>> len(images), images[1:].names
    (2, ('b.png',))
    """

    def __init__(self, folder: str | os.PathLike[str], files: Sequence[str]) -> None:
        self.folder = Path(folder)
        self.names = tuple(str(name) for name in files)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"ImageFiles({len(self)} images in {str(self.folder)!r})"

    @overload
    def __getitem__(self, rows: int) -> Path: ...
    @overload
    def __getitem__(self, rows: Any) -> Any: ...
    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, int | np.integer):
            return self.folder / self.names[rows]
        positions = np.arange(len(self))[rows]
        return ImageFiles(self.folder, [self.names[position] for position in positions])

    def read(self, rows: Any = slice(None), *, size: int | None = None) -> npt.NDArray[np.uint8]:
        """Read some images as one array.

        Parameters
        ----------
        rows : slice, positions or boolean mask
            Which ones. Default: all.
        size : int, optional
            Side in pixels to which each is resized (bilinear). Needed when the files differ in size.

        Returns
        -------
        ndarray of uint8, shape (n_images, height, width, 3)

        Raises
        ------
        FileNotFoundError
            If a file is missing.
        ValueError
            If a file is not an image or has 32 bits a pixel, or the images differ in size.
        """
        from PIL import Image

        side = None if size is None else check_integer(size, "size", low=1)
        images = []
        for position in np.arange(len(self))[rows]:
            path = self[int(position)]
            if not path.is_file():
                raise FileNotFoundError(
                    f"The image {str(path)!r} is listed but missing. Extract the data again."
                )
            try:
                with Image.open(path) as image:
                    picture = _in_colour(image, path)
            except Exception as error:  # each format of images has its own for damaged files
                # An error that names the file says what is wrong with it.
                if isinstance(error, ValueError) and str(path) in str(error):
                    raise
                raise ValueError(
                    f"The file {str(path)!r} must be an image, got one that cannot be read ({error}). "
                    "Extract the data again."
                ) from error
            if side is not None:
                picture = picture.resize((side, side), Image.Resampling.BILINEAR)
            images.append(np.asarray(picture, dtype=np.uint8))
        if not images:
            return np.empty((0, side or 0, side or 0, 3), dtype=np.uint8)
        shapes = {image.shape for image in images}
        if len(shapes) > 1:
            raise ArgumentValueError(
                "The images",
                "one size",
                str(sorted(shapes)[:3]),
                Wording("Pass ", Setting("size"), " to resize them."),
                verb="have",
            )
        return np.stack(images)


def _in_colour(image: Any, path: Path) -> Any:
    """Return an opened image with 8 bits for each of red, green and blue.

    Pillow would cut 16 bits off at 255, which leaves hardly anything but white.
    """
    from PIL import Image

    if image.mode.startswith("I;16"):
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    elif image.mode in ("I", "F"):
        raise ValueError(
            f"The file {str(path)!r} must have 8 or 16 bits a pixel, got 32. Read it yourself, and give an array."
        )
    return image.convert("RGB")


SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")


def image_files(folder: str | os.PathLike[str]) -> ImageFiles:
    """List the images of a folder and of the folders in it, sorted by name; other files are left out.

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
        file
        for file in place.rglob("*")
        if file.suffix.lower() in SUFFIXES and not file.name.startswith(".")
    )
    if not found:
        raise FileNotFoundError(
            f"There are no images in {str(place)!r}: no file ends in {', '.join(SUFFIXES)}. Check the path."
        )
    return ImageFiles(place, [file.relative_to(place).as_posix() for file in found])
