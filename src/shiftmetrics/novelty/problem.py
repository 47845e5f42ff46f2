"""What a route gets, two weighted samples under one kernel, and what it gives, the spectrum of their difference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.novelty.gram import Gram
from shiftmetrics.novelty.spectrum import entropy, entropy_slack

Method = Literal["auto", "dense", "cholesky", "landmarks", "krylov", "fourier", "cosine"]
Route = Literal["dense", "cholesky", "landmarks", "krylov", "fourier", "cosine"]
Eigensolver = Literal["scipy", "torch"]

METHODS: tuple[Method, ...] = ("auto", "dense", "cholesky", "landmarks", "krylov", "fourier", "cosine")


class PointFunctions(Protocol):
    """Functions of a point that a route found."""

    def evaluate(self, points: Any, coefficients: FloatArray) -> FloatArray:
        """Return the value of each function, a column of ``coefficients``, at each point: shape (n_points, k)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Two weighted samples under one kernel, and how hard to try."""

    gram: Gram
    test_weights: FloatArray
    """Weights of the test rows, summing to 1."""
    reference_weights: FloatArray
    eta: float
    rtol: float
    max_rank: int | None
    memory_limit: int
    eigensolver: Eigensolver = "scipy"
    n_frequencies: int = 1000
    score_rows: int = 1000
    """Rows of each sample for a score where the route itself gives none."""
    n_lost: int = 0
    """How many modes of C_Y - eta C_X to evaluate at the rows."""
    seed: int = 0
    """Draws landmarks, frequencies, starting vectors and the rows of the score."""
    paired: bool = False
    """Whether row i of both samples belong together: random parts then hold both or none."""
    executor: Executor | None = field(default=None)
    progress: bool = True

    @property
    def row_weights(self) -> FloatArray:
        """Return s^2 of both samples: 1/n for test rows and eta/m for reference rows."""
        return np.concatenate([self.test_weights, self.eta * self.reference_weights])

    def rng(self) -> np.random.Generator:
        """Return a generator that starts from the seed."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The spectrum by one of the routes.

    Attributes
    ----------
    method, reason : str
        The route, and why it was taken.
    rank : int
        Size of the eigenproblem.
    eigenvalues : ndarray of shape (rank,)
        Of C_X - eta C_Y, descending; the first ones only by Krylov.
    reverse_eigenvalues : ndarray of shape (rank,) or None
        Of C_Y - eta C_X, descending.
    values : ndarray of shape (n_rows, k)
        The first eigenfunctions at the rows of both samples.
    coefficients : ndarray of shape (rank, k)
        Their coefficients in ``functions``: those of all positive modes when ``complete``, else of the first ones.
    mode_counts : tuple of float
        1 / |C|_F^2 of the test sample and of the reference.
    lost, reverse_lost : float
        How much the truncation may have taken off the sum of the positive eigenvalues.
    rounding, cutoff : float
        Sum of the rounding errors, and the size up to which an eigenvalue is one of the eigensolver. Eigenfunctions
        are kept for eigenvalues that stand out from the errors of the factor too.
    converged, indefinite : bool
        Whether the route reached its tolerance, and whether the kernel was found not to be positive semidefinite.
    bound : float or None
        How far any of the eigenvalues may be from an exact one, where the route says.
    lost_values, lost_coefficients : ndarray or None
        Like ``values`` and ``coefficients``, of the first eigenfunctions of C_Y - eta C_X, where they were asked for.
    scored : tuple of Problem and Solution, or None
        A random part of the rows by an exact route, for the score, where the route itself gives none.
    """

    method: Route
    reason: str
    rank: int
    eigenvalues: FloatArray
    reverse_eigenvalues: FloatArray | None
    values: FloatArray
    coefficients: FloatArray
    functions: PointFunctions
    complete: bool
    mode_counts: tuple[float, float]
    lost: float = 0.0
    reverse_lost: float = 0.0
    rounding: float
    cutoff: float
    converged: bool = True
    indefinite: bool = False
    bound: float | None = None
    lost_values: FloatArray | None = None
    lost_coefficients: FloatArray | None = None
    scored: tuple[Problem, Solution] | None = None

    def score(self, count: int, *, reverse: bool = False) -> tuple[float, float, FloatArray]:
        """Return the entropy of the positive eigenvalues, its error bound, and these eigenvalues.

        Parameters
        ----------
        count : int
            Rows of positive weight of the sample whose novelty it is: no more eigenvalues are positive.
        reverse : bool, default False
            Whether to score the reference against the sample.
        """
        eigenvalues, lost = self.eigenvalues, self.lost
        if reverse:
            assert self.reverse_eigenvalues is not None
            eigenvalues, lost = self.reverse_eigenvalues, self.reverse_lost
        positive = eigenvalues[eigenvalues > self.cutoff]
        if self.indefinite:
            return entropy(positive), math.inf, positive
        # The sum never exceeds the trace of the sample's own covariance, 1.
        lost = min(lost, max(0.0, 1.0 - float(positive.sum())))
        dropped = float(eigenvalues[(eigenvalues > 0.0) & (eigenvalues <= self.cutoff)].sum())
        return entropy(positive), entropy_slack(lost + dropped + self.rounding, count), positive


@contextmanager
def progress_bar(progress: bool, total: int | None, title: str) -> Iterator[Any]:
    """Show a progress bar, after two seconds of work."""
    from tqdm import tqdm

    with tqdm(total=total, desc=title, delay=2.0, disable=not progress, leave=False) as bar:
        yield bar
