"""Digits drawn as colour images with chosen factors.

The digit is cut out of its image, sized by the scale factor and put at one of nine places; the texture multiplies
the grey image; hue and lightness map grey to colour. Each image deviates a little from its factors' nominal values
(`jitter`), so that no two images of one environment are drawn alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import check_integer, check_number, seed_of
from shiftmetrics_lab.shifts.factors.spec import FACTORS, FactorSpec
from shiftmetrics_lab.shifts.images import check_images, run_blocks
from shiftmetrics_lab.shifts.streams import RowStreams

HUE_DEGREES = {
    "red": 0.0,
    "yellow": 60.0,
    "green": 120.0,
    "cyan": 180.0,
    "blue": 240.0,
    "magenta": 300.0,
}
LIGHTNESS_LEVELS = {"dark": 0.30, "normal": 0.50, "bright": 0.70}
SCALE_SIDES = {"small": 0.24, "normal": 0.35, "large": 0.46}
"""Longer side of the digit, as a fraction of the side of the image."""

SATURATION = 0.9
BACKGROUND = 0.3
"""Lightness of the background as a fraction of that of the digit."""

JITTER = {"hue": 6.0, "lightness": 0.03, "position": 0.015, "scale": 0.015, "phase": 0.02}
"""Largest deviations at jitter 1: degrees, lightness, and fractions of the side of the image."""

DEPTH = 0.45
"""Difference between the light and the dark parts of a texture."""

_CENTRES = {"U": 0.25, "L": 0.75, "C": 0.5}  # of the rows; for the columns L is left
_COLUMNS = {"L": 0.25, "C": 0.5, "R": 0.75}


def render_factors(
    digits: Any,
    factors: FactorSpec | Mapping[str, Any],
    *,
    size: int = 128,
    jitter: float = 1.0,
    rng: Any = None,
    first_row: int = 0,
    progress: bool = True,
) -> npt.NDArray[np.uint8]:
    """Draw grey digits as colour images with the chosen factors.

    Parameters
    ----------
    digits : ndarray, shape (n_images, height, width)
        Bright digits on black, uint8 or floating from 0 to 1, of any size: MNIST, scikit-learn's digits / 16.
    factors : FactorSpec or mapping
        One choice for all images, or for each factor an array of values, one for each image.
    size : int, default 128
        Side of the images in pixels, at least 32.
    jitter : float, default 1
        Random deviation of hue, lightness, position, scale and texture of each image from the nominal value, as
        a multiple of `JITTER`, in [0, 1]; 0 draws all alike.
    rng : int, Generator or None
        Seed of the jitter. With one seed an image deviates in the same way whatever its factors are.
    first_row : int, default 0
        Position of the first digit in the whole sample, when it is drawn in batches.
    progress : bool, default True
        Whether to show a progress bar.

    Returns
    -------
    ndarray of uint8, shape (n_images, size, size, 3)

    Raises
    ------
    TypeError, ValueError
        If the digits are not grey images in their range, one of them is empty, or a factor is unknown.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shiftmetrics_lab.shifts.factors.spec import FactorSpec
    >>> from shiftmetrics_lab.shifts.factors.render import render_factors
    >>> digits = load_digits().images[:2] / 16
    >>> images = render_factors(digits, FactorSpec(hue="green", position="UL"), rng=0)
    >>> images.shape, int(images.mean(axis=(0, 1, 2)).argmax())
    ((2, 128, 128, 3), 1)
    """
    grey = check_images(digits, "digits")
    if grey.ndim == 4 and grey.shape[3] == 1:
        grey = grey[..., 0]
    if grey.ndim != 3:
        expected = "grey images of shape (n_images, height, width)"
        raise ArgumentValueError("digits", expected, f"shape {grey.shape}")
    empty = np.flatnonzero(grey.reshape(len(grey), -1).max(axis=1) == 0)
    if empty.size:
        got = f"an empty image at row {empty[0]}"
        raise ArgumentValueError("digits", "images with something on them", got, "Drop it.")
    side = check_integer(size, "size", low=32)
    amount = check_number(jitter, "jitter", low=0.0, high=1.0)
    values = factor_values(factors, len(grey))
    streams = RowStreams(seed_of(rng), "render_factors")
    first_row = check_integer(first_row, "first_row", low=0)
    images = np.empty((len(grey), side, side, 3), dtype=np.uint8)

    def fill(rows: slice) -> int:
        # Seven deviations for each image, between -1 and 1.
        draws = streams.uniforms(slice(rows.start + first_row, rows.stop + first_row), (7,))
        for row, draw in zip(
            range(rows.start, rows.stop), (2.0 * draws - 1.0) * amount, strict=True
        ):
            chosen = {factor: str(column[row]) for factor, column in values.items()}
            images[row] = draw_image(grey[row], chosen, side, draw)
        return len(draws)

    run_blocks(fill, len(grey), 3 * side * side, what="render_factors", progress=progress)
    return images


def factor_values(
    factors: FactorSpec | Mapping[str, Any], n_images: int
) -> dict[str, npt.NDArray[Any]]:
    """Return for each factor an array of values, one for each image.

    Raises
    ------
    TypeError, ValueError
        If a factor or value is unknown, missing, or there are not as many values as images.
    """
    if isinstance(factors, FactorSpec):
        return {name: np.full(n_images, value) for name, value in factors.values().items()}
    if not isinstance(factors, Mapping):
        raise ArgumentTypeError("factors", "a FactorSpec or a mapping", type(factors).__name__)
    if set(factors) != set(FACTORS):
        raise ArgumentValueError(
            "factors", f"a mapping of {', '.join(FACTORS)}", ", ".join(map(str, factors))
        )
    columns = {name: np.asarray(factors[name]) for name in FACTORS}
    for name, column in columns.items():
        if column.shape != (n_images,):
            expected = f"{n_images} values, one for each image"
            raise ArgumentValueError(f"factors[{name!r}]", expected, f"shape {column.shape}")
        unknown = [value for value in np.unique(column) if value not in FACTORS[name]]
        if unknown:
            expected = f"of {', '.join(FACTORS[name])}"
            raise ArgumentValueError(f"factors[{name!r}]", expected, value=str(unknown[0]))
    return columns


def draw_image(
    digit: npt.NDArray[Any], factors: Mapping[str, str], size: int, deviations: FloatArray
) -> npt.NDArray[np.uint8]:
    """Draw one image; ``deviations`` are seven numbers in [-1, 1] for the jitter."""
    hue, lightness, down, right, scale, phase_down, phase_right = deviations
    extent = (SCALE_SIDES[factors["scale"]] + JITTER["scale"] * scale) * size
    row = (_CENTRES[factors["position"][0]] + JITTER["position"] * down) * size
    column = (_COLUMNS[factors["position"][1]] + JITTER["position"] * right) * size
    mask = place_digit(digit, extent, row, column, size)
    phase = JITTER["phase"] * phase_down, JITTER["phase"] * phase_right
    shade = (BACKGROUND + (1.0 - BACKGROUND) * mask) * texture_field(
        factors["texture"], size, phase
    )
    level = LIGHTNESS_LEVELS[factors["lightness"]] + JITTER["lightness"] * lightness
    degrees = HUE_DEGREES[factors["hue"]] + JITTER["hue"] * hue
    return np.rint(255.0 * tint(np.minimum(level * shade, 1.0), degrees)).astype(np.uint8)


def place_digit(
    digit: npt.NDArray[Any], extent: float, row: float, column: float, size: int
) -> FloatArray:
    """Return the digit alone, its longer side ``extent`` pixels, centred at (row, column): values in [0, 1]."""
    from PIL import Image

    ink = digit.astype(np.float32) / float(digit.max())
    rows, columns = np.flatnonzero((ink > 0.2).any(axis=1)), np.flatnonzero((ink > 0.2).any(axis=0))
    top, bottom = int(rows[0]), int(rows[-1]) + 1
    left, right = int(columns[0]), int(columns[-1]) + 1
    zoom = extent / max(bottom - top, right - left)
    height, width = max(1, round(zoom * (bottom - top))), max(1, round(zoom * (right - left)))
    cut = Image.fromarray(ink).resize(
        (width, height), Image.Resampling.BICUBIC, box=(left, top, right, bottom)
    )
    # Enlarging blurs the stroke's edge: stretch the middle of the range over all of it.
    glyph = np.clip((np.asarray(cut, dtype=np.float64) - 0.25) * 2.0, 0.0, 1.0)
    canvas = np.zeros((size, size))
    y = min(max(0, round(row - height / 2)), size - height)
    x = min(max(0, round(column - width / 2)), size - width)
    canvas[y : y + height, x : x + width] = glyph
    return canvas


def tint(lightness: FloatArray, hue_degrees: float) -> FloatArray:
    """Return RGB in [0, 1] of this hue and the common saturation, whose channels average ``lightness``."""
    sector = (hue_degrees / 60.0) % 6.0
    # The pure colour: for each channel a trapezium over the circle, around its own primary.
    away = np.abs((sector - np.array([0.0, 2.0, 4.0]) + 3.0) % 6.0 - 3.0)
    pure = np.clip(2.0 - away, 0.0, 1.0)
    mean = pure.mean()
    # The most colour that leaves every channel in [0, 1].
    room = np.minimum((1.0 - lightness) / (1.0 - mean), lightness / mean)
    rgb = lightness[..., None] + SATURATION * room[..., None] * (pure - mean)
    return np.asarray(np.clip(rgb, 0.0, 1.0))


def texture_field(texture: str, size: int, phase: tuple[float, float]) -> FloatArray:
    """Return the brightness of a texture, shape (size, size); ``phase`` moves it by fractions of the side.

    It multiplies an image; its mean is 1, so that the lightness stays.
    """
    if texture == "blank":
        return np.ones((size, size))
    steps = (np.arange(size) + 0.5) / size
    down, right = np.meshgrid(steps + phase[0], steps + phase[1], indexing="ij")
    pattern = _tiles(down, right) if texture == "tiles" else _wood(down, right)
    return np.asarray(1.0 + DEPTH * (pattern.mean() - pattern))


def _tiles(down: FloatArray, right: FloatArray) -> FloatArray:
    """Return 1 on the joints of an 8 by 8 grid of square tiles, 0 on the tiles, with soft edges."""
    joint = 0.12  # half the width of a joint, in tiles
    edges = [np.abs((8.0 * axis + 0.5) % 1.0 - 0.5) for axis in (down, right)]
    return np.asarray(np.clip(2.0 - np.minimum(*edges) / joint, 0.0, 1.0))


def _wood(down: FloatArray, right: FloatArray) -> FloatArray:
    """Return wavy rings along the vertical: the grain of a board."""
    bend = 0.06 * np.sin(2.0 * np.pi * down) + 0.02 * np.sin(2.0 * np.pi * 3.0 * down + 1.0)
    return np.asarray(0.5 + 0.5 * np.sin(2.0 * np.pi * 7.0 * (right + bend)))
