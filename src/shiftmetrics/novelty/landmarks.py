"""Landmarks (Nystrom): a few rows whose similarities place all others, and the part of each row they leave out.

Pivoted Cholesky of a subsample chooses them. Whatever rows come later, the squared length 1 - |f|^2 of what lies
outside their span is known row by row, so the sums over rows carry a certificate.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, IntArray, namespace, to_numpy
from shiftmetrics._core.validation import check_integer, check_number, check_rng
from shiftmetrics.novelty.factor import pivoted_factor, residual_noise
from shiftmetrics.novelty.feature_map import Coordinates
from shiftmetrics.novelty.gram import FeatureGram, Gram, Landmarks
from shiftmetrics.novelty.inputs import (
    KernelChoice,
    check_eta,
    check_kernel,
    check_samples,
    choose_bandwidth,
    make_gram,
)
from shiftmetrics.novelty.kernels import Kernel
from shiftmetrics.novelty.subsample import draw_both

MAX_RANK = 1024
PILOT_ROWS = 4096
"""Rows of each sample that landmarks are chosen from."""


@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """Coordinates of a row in an orthonormal basis of the span of the landmarks.

    Attributes
    ----------
    gram : Gram
        The kernel matrix that the landmarks are rows of.
    landmarks : Landmarks
        The rows.
    whitening : ndarray of shape (rank, rank)
        Turns similarities to the landmarks into coordinates, from the right.
    diagonal : ndarray of shape (rank,)
        Distance of each landmark from the span of those before it.
    left_out : float
        Share of the trace of the kernel matrix of the subsample that the landmarks leave out.
    indefinite : bool
        Whether the kernel was found not to be positive semidefinite.
    """

    gram: Gram
    landmarks: Landmarks
    whitening: FloatArray
    diagonal: FloatArray
    left_out: float
    indefinite: bool = False

    @classmethod
    def choose(
        cls,
        features: Any,
        reference: Any,
        *,
        kernel: KernelChoice = "gaussian",
        bandwidth: float | str = "auto",
        eta: float = 1.0,
        max_rank: int = MAX_RANK,
        rtol: float = 1e-12,
        rng: Any = 0,
    ) -> LandmarkMap:
        """Choose landmarks among rows of both samples: the first blocks of a stream, or a random part of all rows.

        Parameters
        ----------
        features, reference : array of shape (n_rows, n_columns)
            Rows of the sample under test and of the reference; at most 4096 of each are looked at.
        kernel, bandwidth
            As for `kernel_entropic_novelty`; not "precomputed".
        eta : float, default 1.0
            Weight of the reference rows in the choice.
        max_rank : int, default 1024
            Most landmarks.
        rtol : float, default 1e-12
            Share of the trace of the rows' kernel matrix that may be left out.
        rng : int or Generator, default 0
            Draws rows.

        Returns
        -------
        LandmarkMap

        Raises
        ------
        ValueError, TypeError
            If an argument is out of range, or the samples do not match.

        Examples
        --------
        >>> import numpy as np
        >>> rows = np.repeat(9.0 * np.eye(3), 5, axis=0)
        >>> LandmarkMap.choose(rows, rows, bandwidth=1.0).size
        3
        """
        kernel = check_kernel(kernel)
        if kernel == "precomputed":
            raise ValueError(
                "kernel must be a function of rows for landmarks that place new rows, got 'precomputed'. "
                "Pass the features."
            )
        eta = check_eta(eta)
        max_rank = check_integer(max_rank, "max_rank", low=1)
        rtol = check_number(rtol, "rtol", low=0.0, high=1.0)
        generator = check_rng(rng)
        test, base = check_samples(features, reference, kernel, "labels")
        width, _ = choose_bandwidth(bandwidth, kernel, test, base, rng=generator)
        ones = [np.ones(int(part.shape[0])) for part in (test, base)]
        rows, *shares = draw_both(ones[0], ones[1], PILOT_ROWS, generator)
        gram = make_gram(test, base, kernel, width).subset(rows)
        return cls.among(gram, np.arange(len(rows)), *shares, eta=eta, max_rank=max_rank, rtol=rtol)

    @classmethod
    def among(
        cls,
        gram: Gram,
        rows: IntArray,
        test_weights: FloatArray,
        reference_weights: FloatArray,
        *,
        eta: float,
        max_rank: int,
        rtol: float,
        executor: Executor | None = None,
    ) -> LandmarkMap:
        """Choose landmarks among some ``rows`` of a kernel matrix, with their weights in each sample."""
        from scipy.linalg import solve_triangular

        weights = np.concatenate([test_weights, eta * reference_weights])
        pilot = gram.subset(rows)
        factor = pivoted_factor(pilot, weights, rtol=rtol, max_rank=max_rank, executor=executor)
        triangle = factor.triangle
        inverse = solve_triangular(triangle, np.eye(factor.rank), lower=True) if factor.rank else triangle
        return cls(
            gram=gram,
            landmarks=gram.take(rows[factor.pivots]),
            whitening=np.ascontiguousarray(inverse.T),
            diagonal=np.diagonal(triangle).copy(),
            left_out=float(weights @ factor.residual) / float(weights.sum()),
            indefinite=factor.indefinite,
        )

    @property
    def size(self) -> int:
        """Return how many landmarks there are."""
        return len(self.diagonal)

    @property
    def kernel(self) -> Kernel:
        """Return the kernel that places rows."""
        return cast(FeatureGram, self.gram).kernel

    def same_as(self, other: Any) -> bool:
        """Tell whether ``other`` gives all rows the same coordinates."""
        if not isinstance(other, LandmarkMap) or other.size != self.size:
            return False
        (name, width, rows), (other_name, other_width, other_rows) = (
            (one.kernel.name, getattr(one.kernel, "bandwidth", None), to_numpy(one.landmarks.rows))
            for one in (self, other)
        )
        return (
            (name, width) == (other_name, other_width)
            and np.array_equal(rows, other_rows)
            and np.array_equal(self.whitening, other.whitening)
        )

    @property
    def noise(self) -> float:
        """Return the rounding error of ``1 - |f|^2``."""
        return residual_noise(self.gram)

    def check_points(self, points: Any, argument: str = "points") -> Array:
        """Return rows as an array of the width of the landmarks, in the library and on the device of these."""
        landmarks = self.landmarks.rows
        if isinstance(points, np.ndarray) and not isinstance(landmarks, np.ndarray):
            points = namespace(landmarks).asarray(points, device=landmarks.device)
        return self.gram.check_points(points, argument)

    def coordinates(self, points: Array, rows: slice, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of a block of ``points``, and the squared length of what they leave out."""
        return self.placed(self.gram.against(points, rows, self.landmarks), out)

    def placed(self, similarities: FloatArray, out: FloatArray | None = None) -> Coordinates:
        """Return the coordinates of rows from their ``similarities`` to the landmarks."""
        values = np.matmul(self.within_bounds(similarities), self.whitening, out=out)
        squares = np.einsum("ij,ij->i", values, values)
        if not self.gram.trusted:
            values /= np.maximum(np.sqrt(squares), 1.0)[:, None]
        return values, 1.0 - squares

    def within_bounds(self, similarities: FloatArray) -> FloatArray:
        """Return similarities that are at most 1, as under any kernel that is positive semidefinite."""
        return similarities if self.gram.trusted else np.clip(similarities, -1.0, 1.0)
