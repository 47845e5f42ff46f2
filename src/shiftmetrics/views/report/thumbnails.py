"""Small pictures inside the page: arrays of pixels as PNG data, photographs as JPEG data."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup, escape

LARGEST_SIDE = 64
"""Pixels; larger pictures are scaled down, so that a page of a hundred of them stays small."""


def is_image_batch(array: Any) -> bool:
    """Tell whether ``array`` has the shape of grey (n, h, w) or colour (n, h, w, 3 or 4) images."""
    shape = np.shape(array)
    return len(shape) == 3 or (len(shape) == 4 and shape[-1] in (1, 3, 4))


def thumbnail(image: npt.NDArray[Any], *, value_range: tuple[float, float], alt: str) -> Markup:
    """Return an ``img`` element with one image of shape (h, w) or (h, w, 1, 3 or 4).

    Parameters
    ----------
    image : ndarray
        Grey or colour, whole numbers 0..255 or any floats.
    value_range : tuple of float
        The values that are black and white (see `range_of`).
    alt : str
        What it is; shown when the pointer rests on it.
    """
    from PIL import Image

    low, high = value_range
    scaled = (np.asarray(image, dtype=np.float64) - low) / ((high - low) or 1.0)
    pixels = (255.0 * np.clip(np.nan_to_num(scaled), 0.0, 1.0)).round().astype(np.uint8)
    if pixels.ndim == 3 and pixels.shape[-1] == 1:
        pixels = pixels[..., 0]
    picture = Image.fromarray(pixels)
    kind: dict[str, Any] = {"format": "PNG", "optimize": True}
    if max(picture.size) > LARGEST_SIDE:
        picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
        if (
            picture.mode == "RGB"
        ):  # its pixels are not those of the data any more, and a quarter of the bytes will do
            kind = {"format": "JPEG", "quality": 85}
    buffer = io.BytesIO()
    picture.save(buffer, **kind)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    coarse = " coarse" if max(pixels.shape[:2]) <= 32 else ""
    label = escape(alt)
    source = f"data:image/{kind['format'].lower()};base64,{data}"
    return Markup(f'<img class="thumb{coarse}" src="{source}" alt="{label}" title="{label}">')


def range_of(images: Any) -> tuple[float, float]:
    """Return the values to show as black and white: the natural range of the dtype, else what is there."""
    array = np.asarray(images)
    if array.dtype == np.uint8:
        return 0.0, 255.0
    if array.dtype == np.bool_:
        return 0.0, 1.0
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low >= 0.0:
        return 0.0, 1.0 if 0.5 < high <= 1.0 else high
    return low, high
