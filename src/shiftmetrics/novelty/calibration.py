"""The permutation null: what novelty scores when rows are relabelled at random, so that nothing is new.

Finite samples of one distribution differ, in high dimension by more than most real differences. One factor of the
joint kernel matrix serves all relabellings: its rows are coordinates of length 1, which get the weights of the sample
that they are dealt to, so that the trace stays 1 - eta, and each sample is as uneven as it was.

Rows that belong together, such as a text and what became of it, are swapped within their pairs instead: dealt anew
they would differ more than the true samples do.
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
from shiftmetrics.novelty.factor import dense_factor, pivoted_factor
from shiftmetrics.novelty.kernels import EPSILON
from shiftmetrics.novelty.problem import Problem, Solution, progress_bar
from shiftmetrics.novelty.spectrum import entropy
from shiftmetrics.novelty.subsample import draw_both

N_PERMUTATIONS = 20
"""As many make the least p-value 1 / 21, below 5 %."""

NULL_ROWS = 500
"""Rows of each sample, unless a low rank makes more of them cheap."""

_LOW_RANK = 256
_PRODUCT = 2e9
"""Multiplications of one relabelling up to which a factor of low rank takes all rows."""

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
        Share of labellings, the own one included, that score at least as much.
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


@dataclass(frozen=True, eq=False)
class Nulls:
    """The null of novelty, and of what the sample lacks where that was asked for."""

    gained: Null
    lost: Null | None


def calibrate(
    problem: Problem,
    solution: Solution,
    *,
    n_permutations: int,
    null_rows: int,
    reverse: bool,
) -> Nulls:
    """Relabel the rows of a problem, or of a random part of them where all would take too long.

    Parameters
    ----------
    problem : Problem
        The samples.
    solution : Solution
        Their spectrum: its rank tells whether all rows are cheap.
    n_permutations : int
        Relabellings, at least 1.
    null_rows : int
        Rows of each sample to take where all would take too long.
    reverse : bool
        Whether the null of C_Y - eta C_X is wanted too; at eta = 1 it comes for nothing.
    """
    rng = np.random.default_rng([problem.seed, 1])
    values, test, reference = low_rank_rows(problem, solution) or _part(problem, null_rows, rng)
    weights = np.concatenate([test * len(test), reference * len(reference)])
    with progress_bar(problem.progress, n_permutations, "permutation null") as bar:
        return relabelled(
            values,
            weights,
            len(test),
            problem.eta,
            n_permutations=n_permutations,
            reverse=reverse or problem.eta == 1.0,
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
    reverse: bool,
    rng: np.random.Generator,
    paired: bool = False,
    executor: Executor | None = None,
    report: Callable[[], object] | None = None,
) -> Nulls:
    """Score relabellings of the rows of a factor.

    Parameters
    ----------
    values : ndarray of shape (n_rows, rank)
        Coordinates of the rows, test rows first: the kernel matrix is ``values @ values.T``.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, 1 on average in each sample. Each sample keeps its own, which are dealt to its new rows
        by the rank of what these weighed.
    n_test : int
        Rows of the test sample.
    eta : float
        Multiplier of the reference.
    n_permutations : int
        Relabellings; with 0 the own labels alone are scored, and the mean is 0.
    reverse : bool
        Whether to score the reference against the sample too.
    rng : Generator
        Deals the labels.
    paired : bool, default False
        Whether to swap labels within pairs only, of row i of both samples.
    executor : concurrent.futures.Executor, optional
        Threads in which relabellings are scored.
    report : callable, optional
        Called after each relabelling.
    """
    n_rows = len(values)
    deal = _swapped if paired else np.random.Generator.permutation
    orders = [np.arange(n_rows), *(deal(rng, n_rows) for _ in range(n_permutations))]
    equal = float(np.ptp(weights)) <= 1e-12
    whole = values.T @ values
    few = n_test <= n_rows - n_test

    def covariances(order: IntArray) -> tuple[FloatArray, FloatArray]:
        parts = [order[:n_test], order[n_test:]]
        if not equal:
            dealt = _dealt_weights(weights, order, n_test)
            test, reference = (
                values[rows].T @ (values[rows] * (share / share.sum())[:, None])
                for rows, share in zip(parts, (dealt[:n_test], dealt[n_test:]), strict=True)
            )
            return test, reference
        rows = parts[0] if few else parts[1]
        part = values[rows].T @ values[rows]
        one, other = part / len(rows), (whole - part) / (n_rows - len(rows))
        return (one, other) if few else (other, one)

    def score(place: slice) -> list[tuple[float, float]]:
        test, reference = covariances(orders[place.start])
        eigenvalues = _eigenvalues(test - eta * reference)
        found = [score_and_top(eigenvalues)]
        if reverse:
            other_way = -eigenvalues if eta == 1.0 else _eigenvalues(reference - eta * test)
            found.append(score_and_top(other_way))
        if report is not None and place.start:
            report()
        return found

    with one_blas_thread():
        places = [slice(i, i + 1) for i in range(len(orders))]
        scores = np.array(list(map_blocks(score, places, executor=executor)))
    sizes = (n_test, n_rows - n_test)
    gained, lost = (_null(part, *sizes, paired) for part in (scores[:, 0], scores[:, -1]))
    return Nulls(gained, lost if reverse else None)


def _dealt_weights(weights: FloatArray, order: IntArray, n_test: int) -> FloatArray:
    """Return the weights of relabelled rows: those of the sample that they come to, by the rank of their own.

    A sample of uneven weights is as noisy as one of fewer rows, whichever rows it is dealt. And where weights depend
    on the rows, a row that counted for much still does.
    """
    carried, dealt = weights[order], np.empty_like(weights)
    for own in (slice(0, n_test), slice(n_test, None)):
        dealt[own][np.argsort(carried[own], kind="stable")] = np.sort(weights[own])
    return dealt


def _swapped(rng: np.random.Generator, n_rows: int) -> IntArray:
    """Return an order of the rows in which each pair, rows i and i + n_rows / 2, is swapped or not."""
    half = n_rows // 2
    first = np.arange(half) + half * rng.integers(0, 2, size=half)
    return np.concatenate([first, (first + half) % n_rows])


def _eigenvalues(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.eigvalsh(matrix), dtype=np.float64)


def score_and_top(eigenvalues: FloatArray) -> tuple[float, float]:
    """Return the entropy of the positive eigenvalues, and the largest of them."""
    positive = eigenvalues[eigenvalues > EPSILON * len(eigenvalues)]
    return entropy(positive), float(positive.max(initial=0.0))


def _null(scores: FloatArray, n_test: int, n_reference: int, paired: bool) -> Null:
    """Make a null of the scores and largest eigenvalues of all labellings, the own one first."""
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


def low_rank_rows(problem: Problem, solution: Solution) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return coordinates and weights of all rows where a few columns of the kernel matrix explain them."""
    gram, rank = problem.gram, solution.rank
    if solution.method not in ("cholesky", "landmarks", "cosine") or solution.indefinite:
        return None
    if rank > _LOW_RANK or gram.n_rows * rank**2 > _PRODUCT:
        return None
    if 16 * gram.n_rows * _LOW_RANK > problem.memory_limit or not (
        problem.test_weights.all() and problem.reference_weights.all()
    ):
        return None
    factor = pivoted_factor(
        gram,
        problem.row_weights,
        rtol=max(problem.rtol, 1e-10),
        max_rank=min(rank + 1, gram.n_rows),
        executor=problem.executor,
    )
    return factor.values, problem.test_weights, problem.reference_weights


def _part(
    problem: Problem, null_rows: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return coordinates and weights of at most ``null_rows`` rows of each sample, fewer where memory is short."""
    fits = int((problem.memory_limit / _ROW_BYTES) ** 0.5) // 2
    rows, test, reference = draw_both(
        problem.test_weights,
        problem.reference_weights,
        max(2, min(null_rows, fits)),
        rng,
        paired=problem.paired,
    )
    whole = len(rows) == problem.gram.n_rows
    factor = dense_factor(problem.gram if whole else problem.gram.subset(rows), executor=problem.executor)
    return factor.values, test, reference
