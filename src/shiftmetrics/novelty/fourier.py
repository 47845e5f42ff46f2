"""Random Fourier features of the Gaussian kernel: orthogonal frequencies, seeded, additive over rows.

The kernel is the mean of cos(v . (x - y)) over frequencies v from a normal distribution, so a few of them nearly give
it: each row gets the coordinates cos(v . x) and sin(v . x). Frequencies that are orthogonal in groups err less than
independent ones. The first modes come out within a few percent; the many small eigenvalues do not, so a score from
these features alone is too low.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows, namespace
from shiftmetrics._core.validation import check_integer, check_matrix, check_number, check_rng, describe
from shiftmetrics.novelty.feature_map import Coordinates
from shiftmetrics.novelty.kernels import GaussianKernel

N_FREQUENCIES = 1000

_TOO_LARGE = describe(
    "features", "of a size that the bandwidth can measure", "angles beyond the largest float", "Rescale them."
)


@dataclass(frozen=True, eq=False)
class FourierMap:
    """Coordinates ``[cos(z V), sin(z V)] / sqrt(n_frequencies)`` of a row z: unit length, Gaussian products.

    Parameters
    ----------
    frequencies : ndarray of shape (n_columns, n_frequencies)
        Random frequencies, one for each column; they hold the bandwidth.
    bandwidth : float
        Bandwidth of the kernel.
    center : ndarray of shape (n_columns,), optional
        A point amid the data, which saves digits where the data are far from 0.

    Examples
    --------
    >>> import numpy as np
    >>> feature_map = FourierMap.draw(3, bandwidth=2.0, n_frequencies=500, rng=0)
    >>> values, _ = feature_map.coordinates(np.eye(3), slice(0, 3))
    >>> (values @ values.T).round(1)  # the exact kernel is exp(-1/4) = 0.78 off the diagonal
    array([[1. , 0.8, 0.8],
           [0.8, 1. , 0.8],
           [0.8, 0.8, 1. ]])
    """

    frequencies: FloatArray
    bandwidth: float
    center: FloatArray | None = None

    @classmethod
    def draw(
        cls,
        n_columns: int,
        *,
        bandwidth: float,
        n_frequencies: int = N_FREQUENCIES,
        rng: Any = 0,
        center: FloatArray | None = None,
    ) -> FourierMap:
        """Draw orthogonal frequencies of the Gaussian kernel.

        Parameters
        ----------
        n_columns : int
            Columns of the features.
        bandwidth : float
            Bandwidth of the kernel, in units of the features.
        n_frequencies : int, default 1000
            How many; there are twice as many coordinates.
        rng : int or Generator, default 0
            Streams and shards that are to be merged need the same map: draw it once, or from one seed.
        center : ndarray of shape (n_columns,), optional
            A point amid the data.

        Raises
        ------
        ValueError, TypeError
            If an argument is out of range.
        """
        n_columns = check_integer(n_columns, "n_columns", low=1)
        n_frequencies = check_integer(n_frequencies, "n_frequencies", low=1)
        bandwidth = check_number(bandwidth, "bandwidth", low=0.0, open_low=True)
        generator = check_rng(rng)
        groups = []
        for start in range(0, n_frequencies, n_columns):
            # No more directions than are wanted: those of all columns of images would take gigabytes.
            count = min(n_columns, n_frequencies - start)
            directions, triangle = np.linalg.qr(generator.normal(size=(n_columns, count)))
            directions *= np.where(np.diagonal(triangle) < 0.0, -1.0, 1.0)  # uniform over rotations
            groups.append(directions * np.sqrt(generator.chisquare(n_columns, size=count)))
        frequencies = np.concatenate(groups, axis=1) / bandwidth
        if not np.isfinite(frequencies).all():
            raise ValueError(describe("bandwidth", "large enough to divide by", repr(bandwidth)))
        return cls(np.ascontiguousarray(frequencies), bandwidth, center)

    @property
    def n_frequencies(self) -> int:
        """Return how many frequencies there are."""
        return int(self.frequencies.shape[1])

    @property
    def size(self) -> int:
        """Return how many coordinates a row has: two for each frequency."""
        return 2 * self.n_frequencies

    @property
    def kernel(self) -> GaussianKernel:
        """Return the kernel that products of coordinates nearly are."""
        return GaussianKernel(self.bandwidth, self.center)

    def same_as(self, other: Any) -> bool:
        """Tell whether ``other`` gives all rows the same coordinates."""
        if not isinstance(other, FourierMap) or not np.array_equal(self.frequencies, other.frequencies):
            return False
        nowhere = np.zeros(1)
        own, others = (nowhere if one.center is None else one.center for one in (self, other))
        return bool(np.all(own == others))

    def check_points(self, points: Any, argument: str = "points") -> Array:
        """Return rows as an array of as many columns as the frequencies have."""
        array = check_matrix(points, argument)
        if array.shape[1] != self.frequencies.shape[0]:
            raise ValueError(
                describe(argument, f"of {self.frequencies.shape[0]} columns", f"{array.shape[1]}")
            )
        return array

    def coordinates(self, points: Array, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of a block of ``points``, in their own library and on their device."""
        block = float64_rows(points, rows)
        if isinstance(block, np.ndarray):
            return self._in_numpy(block, out), None
        xp = namespace(block)
        device = getattr(block, "device", None)
        if self.center is not None:
            block = block - xp.asarray(self.center, device=device)
        angles = block @ xp.asarray(self.frequencies, device=device)
        if not math.isfinite(float(xp.sum(angles))):
            raise ValueError(_TOO_LARGE)
        return xp.concat([xp.cos(angles), xp.sin(angles)], axis=1) / math.sqrt(self.n_frequencies), None

    def _in_numpy(self, block: FloatArray, out: FloatArray | None) -> FloatArray:
        """Return the coordinates by the tangent t of half the angle, which NumPy computes much faster.

        The cosine is 2 / (1 + t^2) - 1 and the sine 2 t / (1 + t^2), both right to the last digit or two.
        """
        half, scale = self.n_frequencies, 1.0 / math.sqrt(self.n_frequencies)
        values = np.empty((len(block), self.size)) if out is None else out
        with np.errstate(over="ignore", invalid="ignore"):
            tangents = (block if self.center is None else block - self.center) @ self.frequencies
            tangents *= 0.5
            if not math.isfinite(float(tangents.sum())):
                raise ValueError(_TOO_LARGE)
        np.tan(tangents, out=tangents)
        factors = tangents * tangents
        factors += 1.0
        np.divide(2.0 * scale, factors, out=factors)
        np.subtract(factors, scale, out=values[:, :half])
        np.multiply(tangents, factors, out=values[:, half:])
        return values
