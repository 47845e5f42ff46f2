"""Corruptions of images: noise, blur, light, resolution and compression.

Images are NumPy arrays of shape ``(n_images, height, width)`` or ``(n_images, height, width, channels)``, either
uint8 from 0 to 255 or floating from 0 to 1; the corrupted images have the same shape and dtype and stay in the
range. Strengths are in units of the range [0, 1] whatever the dtype.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.validation import check_finite
from shiftmetrics_lab.shifts.protocol import SampleShift
from shiftmetrics_lab.shifts.streams import RowStreams

UnitImages = npt.NDArray[np.floating[Any]]
"""Images from 0 to 1 (float64 stays, all else is float32), of shape (n_images, height, width, channels)."""


def check_images(images: Any, argument: str = "X") -> npt.NDArray[Any]:
    """Return ``images`` if they are images in the range of their dtype.

    Raises
    ------
    TypeError
        If they are not a NumPy array of uint8 or floating numbers.
    ValueError
        If the shape is not that of images, a value is not finite, or the pixels leave [0, 1].
    """
    if not isinstance(images, np.ndarray):
        raise ArgumentTypeError(
            argument,
            "a NumPy array of images",
            type(images).__name__,
            "Convert it with numpy.asarray.",
        )
    if images.dtype != np.uint8 and images.dtype.kind != "f":
        raise ArgumentTypeError(
            argument,
            "uint8 (0 to 255) or floating (0 to 1)",
            f"dtype {images.dtype}",
            "Convert with astype('uint8'), or to float and divide by the largest pixel value.",
        )
    expected = "of shape (n_images, height, width) or (n_images, height, width, 1, 3 or 4 channels)"
    remedy = ""
    if images.ndim == 4 and images.shape[1] in (1, 3) and images.shape[3] not in (1, 3, 4):
        remedy = "Channels come last: numpy.moveaxis(X, 1, -1)."
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] not in (1, 3, 4)):
        raise ArgumentValueError(argument, expected, f"shape {images.shape}", remedy)
    if 0 in images.shape:
        raise ArgumentValueError(
            argument, "at least one image of at least one pixel", f"shape {images.shape}"
        )
    if images.dtype.kind == "f":
        check_finite(images, argument)
        low, high = float(images.min()), float(images.max())
        if low < 0.0 or high > 1.0:
            remedy = (
                "Divide by 255, or pass uint8."
                if low >= 0 and high <= 255
                else "Undo the normalisation first."
            )
            raise ArgumentValueError(
                argument, "pixels from 0 to 1", f"pixels from {low:g} to {high:g}", remedy
            )
    return images


class ImageShift(SampleShift):
    """Base of the image corruptions: converts blocks of images to [0, 1], corrupts, clips and converts back."""

    def _check(self, X: Any) -> None:
        check_images(X)

    def _shift(
        self,
        X: npt.NDArray[Any],
        strength: float,
        streams: RowStreams,
        first_row: int,
        progress: bool,
    ) -> npt.NDArray[Any]:
        images = X if X.ndim == 4 else X[..., None]
        corrupted = np.empty_like(images)
        working = np.float64 if X.dtype == np.float64 else np.float32

        def fill(rows: slice) -> int:
            unit: UnitImages = images[rows].astype(working)
            if X.dtype == np.uint8:
                unit /= np.float32(255)
            places = slice(rows.start + first_row, rows.stop + first_row)
            unit = np.clip(self._corrupt(unit, strength, streams, places), 0.0, 1.0)
            corrupted[rows] = np.rint(unit * np.float32(255)) if X.dtype == np.uint8 else unit
            return len(unit)

        run_blocks(fill, len(images), images[0].size, what=type(self).__name__, progress=progress)
        return corrupted.reshape(X.shape)

    @abstractmethod
    def _corrupt(
        self, images: UnitImages, strength: float, streams: RowStreams, rows: slice
    ) -> UnitImages:
        """Return corrupted images; values outside [0, 1] are clipped afterwards."""


def run_blocks(fill: Any, n_images: int, image_size: int, *, what: str, progress: bool) -> None:
    """Call ``fill(rows)``, which returns how many rows it did, for all blocks of rows, on all CPUs."""
    blocks = row_blocks(n_images, 8 * image_size)
    with progress_bar(progress, what, n_images, unit="image") as bar:
        for done in map_blocks(fill, blocks):
            bar.update(done)


@dataclass(frozen=True)
class GaussianNoise(ImageShift):
    """White noise. Strength: its reach epsilon, with standard deviation epsilon / 3, in [0, 1].

    99.73 % of the noise lies within +- epsilon, so that the strength compares with the maximum norm of an
    attack (V. Jimenez Rodriguez, master thesis, ETH Zurich 2024, experiment 2, which prints sigma = 3 epsilon where
    epsilon = 3 sigma is meant).

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts.images import GaussianNoise
    >>> noisy = GaussianNoise()(np.full((2, 32, 32), 0.5), strength=8 / 255, rng=0)
    >>> bool(0.9 < noisy.std() / (8 / 255 / 3) < 1.1)
    True
    """

    max_strength: ClassVar[float] = 1.0

    def _corrupt(
        self, images: UnitImages, strength: float, streams: RowStreams, rows: slice
    ) -> UnitImages:
        return images + strength / 3.0 * streams.normals(rows, images.shape[1:])


@dataclass(frozen=True)
class ShotNoise(ImageShift):
    """Noise of counted light (Poisson). Strength: its standard deviation at a white pixel, in [0, 1].

    A pixel x becomes Poisson(x / strength^2) strength^2, whose standard deviation is sqrt(x) strength.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts.images import ShotNoise
    >>> float(ShotNoise()(np.zeros((1, 4, 4)), strength=0.2, rng=0).max())  # no light, no noise
    0.0
    """

    max_strength: ClassVar[float] = 1.0

    def _corrupt(
        self, images: UnitImages, strength: float, streams: RowStreams, rows: slice
    ) -> UnitImages:
        quantum = strength**2
        # A mean so large that the generator refuses it has noise far below any pixel's resolution.
        counts = [
            streams.generator(row).poisson(np.minimum(image.astype(np.float64) / quantum, 1e15))
            for row, image in zip(range(rows.start, rows.stop), images, strict=True)
        ]
        return np.asarray(np.stack(counts) * quantum)


@dataclass(frozen=True)
class ImpulseNoise(ImageShift):
    """Salt and pepper. Strength: the fraction of values, in [0, 1], that become 0 or 1 (evenly).

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts.images import ImpulseNoise
    >>> spoilt = ImpulseNoise()(np.full((1, 64, 64), 0.5), strength=0.25, rng=0)
    >>> bool(0.23 < (spoilt != 0.5).mean() < 0.27)
    True
    """

    max_strength: ClassVar[float] = 1.0

    def _corrupt(
        self, images: UnitImages, strength: float, streams: RowStreams, rows: slice
    ) -> UnitImages:
        draws = streams.uniforms(rows, (2, *images.shape[1:]))
        salt = draws[:, 1] < 0.5
        return np.where(draws[:, 0] < strength, salt.astype(np.float32), images)


@dataclass(frozen=True)
class Blur(ImageShift):
    """Gaussian blur. Strength: its standard deviation in pixels, from 0 to 100.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts.images import Blur
    >>> dot = np.zeros((1, 9, 9))
    >>> dot[0, 4, 4] = 1.0
    >>> round(float(Blur()(dot, strength=1.0)[0, 4, 4]), 2)  # 1 / (2 pi sigma^2)
    0.16
    """

    max_strength: ClassVar[float] = 100.0

    def _corrupt(
        self, images: UnitImages, strength: float, streams: RowStreams, rows: slice
    ) -> UnitImages:
        from scipy.ndimage import gaussian_filter

        return np.asarray(gaussian_filter(images, (0, strength, strength, 0)))


@dataclass(frozen=True)
class Brightness(ImageShift):
    """More light, or less. Strength: the amount added to every pixel (taken from it when ``darker``), in [0, 1].

    Parameters
    ----------
    darker : bool, default False
        Whether light is taken away.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts.images import Brightness
    >>> Brightness(darker=True)(np.full((1, 1, 2), 0.75), strength=0.5).tolist()
    [[[0.25, 0.25]]]
    """

    darker: bool = False
    max_strength: ClassVar[float] = 1.0

    def _corrupt(
        self, images: UnitImages, strength: float, streams: RowStreams, rows: slice
    ) -> UnitImages:
        return images - strength if self.darker else images + strength


@dataclass(frozen=True)
class Contrast(ImageShift):
    """Less contrast. Strength: the fraction of it lost, in [0, 1]; at 1 each image is its mean colour.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts.images import Contrast
    >>> Contrast()(np.array([[[0.0, 1.0]]]), strength=0.5).tolist()
    [[[0.25, 0.75]]]
    """

    max_strength: ClassVar[float] = 1.0

    def _corrupt(
        self, images: UnitImages, strength: float, streams: RowStreams, rows: slice
    ) -> UnitImages:
        means = images.mean(axis=(1, 2), keepdims=True)
        return np.asarray(means + (1.0 - strength) * (images - means))


@dataclass(frozen=True)
class Pixelate(ImageShift):
    """Fewer pixels. Strength: the fraction of the resolution lost along each side, in [0, 1].

    The image is averaged down to ``round((1 - strength) * side)`` pixels (at least one) and enlarged again.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts.images import Pixelate
    >>> stripes = np.tile([0.0, 1.0], (1, 4, 2))
    >>> np.unique(Pixelate()(stripes, strength=0.5)).tolist()
    [0.5]
    """

    max_strength: ClassVar[float] = 1.0

    def _corrupt(
        self, images: UnitImages, strength: float, streams: RowStreams, rows: slice
    ) -> UnitImages:
        from PIL import Image

        height, width, n_channels = images.shape[1:]
        small = (max(1, round((1 - strength) * width)), max(1, round((1 - strength) * height)))
        if small == (width, height):
            return images
        corrupted = np.empty_like(images)
        for image, target in zip(images, corrupted, strict=True):
            for channel in range(n_channels):
                plane = Image.fromarray(np.ascontiguousarray(image[..., channel]))
                reduced = plane.resize(small, Image.Resampling.BOX)
                target[..., channel] = np.asarray(
                    reduced.resize((width, height), Image.Resampling.NEAREST)
                )
        return corrupted


@dataclass(frozen=True)
class JPEG(ImageShift):
    """Lossy compression. Strength s in [0, 1]: JPEG quality 100 (1 - s), at least 1; strength 0 does not compress.

    Colour images (3 channels) and grey ones; the colour is subsampled as encoders do by default.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts.images import JPEG
    >>> ramp = np.linspace(0, 1, 256).reshape(1, 16, 16)
    >>> bool(np.abs(JPEG()(ramp, strength=0.9) - ramp).max() > 0.02)
    True
    """

    max_strength: ClassVar[float] = 1.0

    def _check(self, X: Any) -> None:
        if check_images(X).ndim == 4 and X.shape[3] == 4:
            expected = "grey or colour images for JPEG"
            raise ArgumentValueError("X", expected, "4 channels", "Drop the alpha channel.")

    def _corrupt(
        self, images: UnitImages, strength: float, streams: RowStreams, rows: slice
    ) -> UnitImages:
        quality = max(1, round(100 * (1 - strength)))
        corrupted = np.empty_like(images)
        for image, target in zip(images, corrupted, strict=True):
            target[...] = compress_jpeg(image, quality)
        return corrupted


def compress_jpeg(image: npt.NDArray[Any], quality: int) -> UnitImages:
    """Return one image of shape (height, width, 1 or 3) with values in [0, 1] as JPEG of a quality leaves it."""
    from PIL import Image

    levels = np.clip(np.rint(image * 255), 0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(levels[..., 0] if levels.shape[-1] == 1 else levels).save(
        buffer, format="JPEG", quality=quality
    )
    with Image.open(buffer) as decoded:
        return np.asarray(decoded, dtype=np.float32).reshape(image.shape) / 255


CORRUPTIONS: dict[str, ImageShift] = {
    "gaussian_noise": GaussianNoise(),
    "shot_noise": ShotNoise(),
    "impulse_noise": ImpulseNoise(),
    "blur": Blur(),
    "brightness": Brightness(),
    "contrast": Contrast(),
    "pixelate": Pixelate(),
    "jpeg": JPEG(),
}
"""All image corruptions by name, with their default options."""
