"""Random numbers that belong to rows: row i gets the same ones alone, in a batch, or on another thread.

Philox is a counter-based generator, so the numbers of any row are reached without drawing those before it. The
numbers do not depend on the strength of a shift either: stronger versions of a shift with one seed are the same
disturbance, only more of it, and curves over strength are smooth.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray

_DRAWS_PER_COUNT = 4  # Philox gives four 64-bit numbers for each step of its counter


def child_seed(seed: int, position: int) -> int:
    """Return the seed of the part at ``position`` of something that was given ``seed``."""
    state = np.random.SeedSequence([seed, position]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


@dataclass(frozen=True)
class RowStreams:
    """Independent random streams, one for each row, under one seed and the ``name`` of their purpose."""

    seed: int
    name: str = ""

    def _bits(self, counter: int | list[int]) -> np.random.Philox:
        purpose = zlib.crc32(self.name.encode())
        key = np.random.SeedSequence([self.seed, purpose]).generate_state(2, np.uint64)
        return np.random.Philox(key=key, counter=counter)

    def generator(self, row: int) -> np.random.Generator:
        """Return a generator that belongs to ``row`` alone."""
        return np.random.Generator(self._bits([0, 0, row, 1]))

    def uniforms(self, rows: slice, shape: tuple[int, ...] = ()) -> FloatArray:
        """Return numbers in [0, 1) of shape ``(n_rows, *shape)`` for the rows from start to stop."""
        n_rows, size = rows.stop - rows.start, math.prod(shape)
        counts = -(-size // _DRAWS_PER_COUNT)
        bits = self._bits(0)
        bits.advance(rows.start * counts)
        raw: npt.NDArray[np.uint64] = bits.random_raw(n_rows * counts * _DRAWS_PER_COUNT)
        kept = raw.reshape(n_rows, counts * _DRAWS_PER_COUNT)[:, :size]
        return np.asarray((kept >> np.uint64(11)) * 2.0**-53).reshape(n_rows, *shape)

    def normals(self, rows: slice, shape: tuple[int, ...] = ()) -> FloatArray:
        """Return standard normal numbers of shape ``(n_rows, *shape)``."""
        from scipy.special import ndtri

        # Half a step off the grid keeps zero, whose quantile is infinite, out.
        return np.asarray(ndtri(self.uniforms(rows, shape) + 2.0**-54))
