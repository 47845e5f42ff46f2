"""Textures: fields of brightness that multiply an image; their mean is 1, so that they leave lightness alone."""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray

DEPTH = 0.45
"""Difference between the light and the dark parts of a texture."""


def texture_field(texture: str, size: int, phase: tuple[float, float]) -> FloatArray:
    """Return the brightness of a texture, shape (size, size); ``phase`` moves it by shares of the side."""
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
