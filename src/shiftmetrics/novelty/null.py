"""The permutation null: what novelty scores when rows are relabelled at random, so that nothing is new.

Finite samples of one distribution differ, in high dimension by more than most real differences. One factor of the
joint kernel matrix serves all relabellings: its rows are coordinates of length 1, which get the weights of the sample
that they are assigned to, so that the trace stays 1 - eta, and each sample is as uneven as it was.

Rows that belong together, such as a text and its edited version, are swapped within their pairs instead: relabelled
freely they would differ more than the true samples do.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.record import Record
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics.novelty.factor import dense_factor
from shiftmetrics.novelty.kernels import EPSILON
from shiftmetrics.novelty.options import NoveltyResampling
from shiftmetrics.novelty.routes import part_of
from shiftmetrics.novelty.solution import Problem, Solution, progress_bar
from shiftmetrics.novelty.spectrum import entropy

_LOW_RANK = 256
_PRODUCT = 2e9
"""Multiplications of one relabelling up to which coordinates of low rank are relabelled for all rows."""

_ROW_BYTES = 64
_EQUAL = 1e-12
"""Labellings of equal rows score the same up to this: they count as reaching the observed score."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Null(Record):
    """Novelty of relabelled rows, and of the same rows with their own labels.

    Attributes
    ----------
    mean, spread : float
        Mean and standard deviation of the scores of relabelled rows, in nats.
    largest : float
        The largest eigenvalue of any relabelling: a mode above it is significant.
    observed : float
        The score of these rows with their own labels.
    p_value : float
        Share of labellings, the true one included, that score at least as much.
    scores, eigenvalues : ndarray of shape (n_permutations,)
        Score and largest eigenvalue of each relabelling.
    n_test, n_reference : int
        Rows of each sample that were relabelled.
    paired : bool
        Whether rows were swapped within pairs only.
    """

    mean: float
    spread: float
    largest: float
    observed: float
    p_value: float
    scores: FloatArray
    eigenvalues: FloatArray
    n_test: int
    n_reference: int
    paired: bool = False

    @property
    def excess(self) -> float:
        """Return how far the observed score lies above the mean of relabelled rows, in nats."""
        return self.observed - self.mean

    def significant(self, eigenvalues: FloatArray) -> int:
        """Return how many eigenvalues lie above the largest of the null."""
        return int((eigenvalues > self.largest + _EQUAL).sum())


def relabel(
    problem: Problem, solution: Solution, options: NoveltyResampling
) -> tuple[Null | None, Null | None]:
    """Relabel the rows of a problem, or of a random part of them where all would take too long.

    Returns
    -------
    tuple
        The null of novelty, and that of the reference against the sample (at eta = 1); None where none is wanted.
    """
    if not options.n_permutations:
        return None, None
    rng = np.random.default_rng([problem.seed, 1])
    values = low_rank_values(problem, solution)
    if values is None:
        fits = int((problem.memory_limit / _ROW_BYTES) ** 0.5) // 2
        problem = part_of(problem, max(2, min(options.max_rows, fits)), rng)
        values = dense_factor(problem.gram, executor=problem.executor).values
    sides = (problem.test_weights, problem.reference_weights)
    with progress_bar(problem.progress, options.n_permutations, "permutation null") as bar:
        return relabelled(
            values,
            np.concatenate([side * len(side) for side in sides]),
            len(sides[0]),
            problem.eta,
            n_permutations=options.n_permutations,
            paired=problem.paired,
            rng=rng,
            executor=problem.executor,
            report=bar.update,
        )


def relabelled(
    values: FloatArray,
    weights: FloatArray,
    n_test: int,
    eta: float,
    *,
    n_permutations: int,
    rng: np.random.Generator,
    paired: bool = False,
    executor: Executor | None = None,
    report: Callable[[], object] | None = None,
) -> tuple[Null, Null | None]:
    """Score relabellings of the rows of a factor.

    Parameters
    ----------
    values : ndarray of shape (n_rows, rank)
        Coordinates of the rows, test rows first: the kernel matrix is ``values @ values.T``.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, 1 on average in each sample. Each sample keeps its weights, which its new rows get by the
        rank of their former weights.
    n_test : int
        Rows of the test sample.
    eta : float
        Multiplier of the reference.
    n_permutations : int
        Relabellings; with 0 the true labels alone are scored, and the mean is 0.
    rng : Generator
        Draws the labels.
    paired : bool, default False
        Whether to swap labels within pairs only, of row i of both samples.
    executor : concurrent.futures.Executor, optional
        Threads in which relabellings are scored.
    report : callable, optional
        Called after each relabelling.

    Returns
    -------
    tuple
        The null of novelty, and at eta = 1 that of the reference against the sample.
    """
    n_rows = len(values)
    draw = _swapped if paired else np.random.Generator.permutation
    orders = [np.arange(n_rows), *(draw(rng, n_rows) for _ in range(n_permutations))]
    equal = float(np.ptp(weights)) <= 1e-12
    whole = values.T @ values
    few = n_test <= n_rows - n_test

    def covariances(order: IntArray) -> tuple[FloatArray, FloatArray]:
        parts = [order[:n_test], order[n_test:]]
        if not equal:
            new = _reassigned(weights, order, n_test)
            test, reference = (
                values[rows].T @ (values[rows] * (share / share.sum())[:, None])
                for rows, share in zip(parts, (new[:n_test], new[n_test:]), strict=True)
            )
            return test, reference
        rows = parts[0] if few else parts[1]
        part = values[rows].T @ values[rows]
        one, other = part / len(rows), (whole - part) / (n_rows - len(rows))
        return (one, other) if few else (other, one)

    def score(place: slice) -> tuple[tuple[float, float], ...]:
        test, reference = covariances(orders[place.start])
        eigenvalues: FloatArray = np.asarray(np.linalg.eigvalsh(test - eta * reference), dtype=np.float64)
        if report is not None and place.start:
            report()
        return score_and_top(eigenvalues), score_and_top(-eigenvalues)

    with one_blas_thread():
        places = [slice(i, i + 1) for i in range(len(orders))]
        scores = np.array(list(map_blocks(score, places, executor=executor)))
    sizes = (n_test, n_rows - n_test)
    gained, lost = (_null(scores[:, side], *sizes, paired) for side in (0, 1))
    return gained, lost if eta == 1.0 else None


def score_and_top(eigenvalues: FloatArray) -> tuple[float, float]:
    """Return the entropy of the positive eigenvalues, and the largest of them."""
    positive = eigenvalues[eigenvalues > EPSILON * len(eigenvalues)]
    return entropy(positive), float(positive.max(initial=0.0))


def low_rank_values(problem: Problem, solution: Solution) -> FloatArray | None:
    """Return coordinates of all rows where they are few, so that each labelling of all rows is cheap."""
    basis, n_rows = solution.basis, problem.gram.n_rows
    if solution.method not in ("cholesky", "landmarks", "cosine") or solution.indefinite:
        return None
    if basis.size > _LOW_RANK or n_rows * basis.size**2 > _PRODUCT:
        return None
    if 16 * n_rows * _LOW_RANK > problem.memory_limit:
        return None
    if not (problem.test_weights.all() and problem.reference_weights.all()):
        return None
    return basis.values(np.eye(basis.size), executor=problem.executor)


def _reassigned(weights: FloatArray, order: IntArray, n_test: int) -> FloatArray:
    """Return the weights of relabelled rows: those of their new sample, by the rank of their former weights.

    A sample of uneven weights is as noisy as one of fewer rows, whichever rows it gets. And where weights depend on
    the rows, a row that counted for much still does.
    """
    former, new = weights[order], np.empty_like(weights)
    for side in (slice(0, n_test), slice(n_test, None)):
        new[side][np.argsort(former[side], kind="stable")] = np.sort(weights[side])
    return new


def _swapped(rng: np.random.Generator, n_rows: int) -> IntArray:
    """Return an order of the rows in which each pair, rows i and i + n_rows / 2, is swapped or not."""
    half = n_rows // 2
    first = np.arange(half) + half * rng.integers(0, 2, size=half)
    return np.concatenate([first, (first + half) % n_rows])


def _null(scores: FloatArray, n_test: int, n_reference: int, paired: bool) -> Null:
    """Make a null of the scores and largest eigenvalues of all labellings, the true one first."""
    observed, null = float(scores[0, 0]), scores[1:, 0].copy()
    reached = int((null >= observed - _EQUAL).sum())
    return Null(
        mean=float(null.mean()) if len(null) else 0.0,
        spread=float(null.std(ddof=1)) if len(null) > 1 else 0.0,
        largest=float(scores[1:, 1].max(initial=0.0)),
        observed=observed,
        p_value=(1 + reached) / (1 + len(null)),
        scores=null,
        eigenvalues=scores[1:, 1].copy(),
        n_test=n_test,
        n_reference=n_reference,
        paired=paired,
    )
