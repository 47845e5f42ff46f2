"""How many different things a sample shows: effective numbers of modes, by kernels of features or by classes."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows, to_float64
from shiftmetrics._core.blocks import map_reduce, row_blocks
from shiftmetrics._core.memory import check_memory, check_memory_limit
from shiftmetrics._core.neighbours import TILE_POINTS, distance_blocks
from shiftmetrics._core.numerics import directions, entropy
from shiftmetrics._core.probabilities import check_probabilities
from shiftmetrics._core.record import StatusEnum as Status
from shiftmetrics._core.result import Result, format_number, settings_of
from shiftmetrics._core.threads import one_blas_thread
from shiftmetrics._core.validation import (
    check_choice,
    check_directions,
    check_integer,
    check_matrix,
    check_number,
    check_rng,
    describe,
)
from shiftmetrics.lab.distances.features import mean_row
from shiftmetrics.lab.distances.inputs import Kind, distributions
from shiftmetrics.novelty.bandwidth import median_bandwidth, variance_bandwidth
from shiftmetrics.novelty.kernels import EPSILON, CosineKernel, GaussianKernel, Kernel
from shiftmetrics.novelty.spectrum import entropy_slack

KernelName = Literal["gaussian", "cosine"]


class DiversityStatus(Status):
    """How the computation of a diversity ended."""

    computed = ("computed", True, "The number is exact up to rounding.")


@dataclass(frozen=True, eq=False, kw_only=True)
class Diversity(Result):
    """An effective number of modes: as many equal and separate ones would score the same.

    Attributes
    ----------
    value : float
        The number, at least 1: the exponential of ``entropy``. Higher is more diverse.
    name : str
        Which score.
    entropy : float
        Entropy in nats.
    bandwidth : float or None
        Bandwidth of the Gaussian kernel.
    spread : float or None
        Standard deviation over the splits of the inception score.
    """

    measure: ClassVar[str] = "novelty.diversity"
    title: ClassVar[str] = "Diversity"
    unit: ClassVar[str] = "modes"
    higher_is_better: ClassVar[bool] = True

    status: DiversityStatus
    name: str
    entropy: float
    bandwidth: float | None = None
    spread: float | None = None

    def headline(self) -> str:
        """Return one sentence with the number and what it is out of."""
        return f"{self.name}: {format_number(self.value)} effective modes among {self.n_samples} rows."


def rke_score(
    features: Any,
    *,
    kernel: KernelName = "gaussian",
    bandwidth: float | Literal["auto", "median"] = "auto",
    rng: Any = None,
    executor: Executor | None = None,
) -> Diversity:
    """Renyi kernel entropy of order 2, as a number of modes: ``1 / mean k(x, x')^2`` over all pairs of rows.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        The sample: any array of the Python array API, or a table.
    kernel : {"gaussian", "cosine"}, default "gaussian"
        Similarity of two rows.
    bandwidth : float, "auto" or "median", default "auto"
        Bandwidth of the Gaussian kernel, in units of the features; "auto" is `variance_bandwidth` and "median"
        `median_bandwidth`. Compare only numbers of one bandwidth.
    rng : int or Generator, optional
        Draws the rows of the bandwidth's rule. Default: a fixed seed.
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks of rows. Default: one for each CPU.

    Returns
    -------
    Diversity

    Raises
    ------
    ValueError
        If there are fewer than two rows, values are not finite, or an option is out of range.
    TypeError
        If the features are not numbers.

    Notes
    -----
    Jalali, Li and Farnia, "An Information-Theoretic Evaluation of Generative Models in Learning Multi-modal
    Distributions", NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> rke_score(np.repeat([[0.0], [50.0], [100.0]], 4, axis=0), bandwidth=1.0).value
    3.0
    """
    sample, similarity, width = _prepare(features, kernel, bandwidth, rng)
    n_rows = int(sample.shape[0])

    def squares(rows: slice) -> float:
        block = float64_rows(sample, rows)
        total = 0.0
        for tile in row_blocks(n_rows, 1, block_bytes=TILE_POINTS):
            values = similarity(block, float64_rows(sample, tile))
            total += float(np.einsum("ij,ij->", values, values))
        return total

    with one_blas_thread():
        mean = map_reduce(squares, distance_blocks(sample), executor=executor) / n_rows**2
    return Diversity(
        name="Renyi kernel entropy",
        value=1.0 / mean,
        error_bound=64 * EPSILON * int(sample.shape[1]) / mean,
        status=DiversityStatus.computed,
        n_samples=n_rows,
        entropy=-math.log(mean) + 0.0,
        bandwidth=width,
        settings=settings_of(kernel=kernel, bandwidth=bandwidth, rng=0 if rng is None else rng),
    )


def vendi_score(
    features: Any,
    *,
    order: float = 1.0,
    kernel: KernelName = "gaussian",
    bandwidth: float | Literal["auto", "median"] = "auto",
    memory_limit: int | None = None,
    rng: Any = None,
) -> Diversity:
    """Vendi score: the exponential of the entropy of the eigenvalues of the kernel matrix, divided by n.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        The sample: any array of the Python array API, or a table.
    order : float, default 1.0
        Order of the Renyi entropy: 1 is Shannon's, 2 gives `rke_score`, inf the inverse of the largest eigenvalue.
    kernel, bandwidth, rng
        As for `rke_score`.
    memory_limit : int, optional
        Bytes that the kernel matrix may take. Default: half of what is free.

    Returns
    -------
    Diversity

    Raises
    ------
    ValueError
        If there are fewer than two rows, values are not finite, or an option is out of range.
    TypeError
        If the features are not numbers.
    MemoryError
        If the kernel matrix needs more than ``memory_limit``.

    Notes
    -----
    Friedman and Dieng (arXiv:2210.02410). With the cosine kernel and fewer columns than rows the problem has the size
    of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> round(vendi_score(np.repeat([[0.0], [50.0], [100.0]], 4, axis=0), bandwidth=1.0).value, 12)
    3.0
    """
    order = check_number(order, "order", low=0.0, open_low=True, allow_inf=True)
    limit = check_memory_limit(memory_limit)
    sample, similarity, width = _prepare(features, kernel, bandwidth, rng)
    n_rows, n_columns = int(sample.shape[0]), int(sample.shape[1])
    direct = kernel == "cosine" and n_columns < n_rows
    size = n_columns if direct else n_rows
    check_memory(
        24 * size**2,
        limit,
        f"features of shape {(n_rows, n_columns)}",
        "Take fewer rows, or rke_score, which needs no matrix.",
    )
    with np.errstate(under="ignore"):
        eigenvalues = np.linalg.eigvalsh(_cosine_moment(sample) if direct else _gram(sample, similarity))
    shares = np.maximum(eigenvalues, 0.0)
    shares = shares / shares.sum()
    value = _renyi(shares, order)
    slack = entropy_slack(16 * EPSILON * size, size) if order >= 1.0 else math.inf
    return Diversity(
        name="Vendi score" if order == 1.0 else f"Vendi score of order {order:g}",
        value=math.exp(value),
        error_bound=math.exp(value) * slack
        if order >= 1.0
        else math.exp(value) * (16 * EPSILON * size) ** order * size,
        status=DiversityStatus.computed,
        n_samples=n_rows,
        entropy=value,
        bandwidth=width,
        settings=settings_of(order=order, kernel=kernel, bandwidth=bandwidth, rng=0 if rng is None else rng),
    )


def inception_score(scores: Any, *, kind: Kind = "scores", n_splits: int = 1, rng: Any = None) -> Diversity:
    """Inception score, on the outputs of whatever classifier: the exponential of the information on the class.

    ``exp(mean KL(p_i || mean p))``, from 1 (all outputs equal) to the number of classes (confident and balanced).

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
        Scores (logits) of a classifier on the sample.
    kind : {"scores", "probabilities"}, default "scores"
        Probabilities are scaled to sum 1 in each row.
    n_splits : int, default 1
        Parts into which the rows are dealt; the value is their mean, and ``spread`` their standard deviation. Papers
        take 10. Small parts score lower.
    rng : int or Generator, optional
        Deals the rows when there are several splits.

    Returns
    -------
    Diversity

    Raises
    ------
    ValueError
        If values are not finite, probabilities are none, or there are fewer rows than splits.
    TypeError
        If the scores are not numbers.

    Notes
    -----
    Salimans et al. (arXiv:1606.03498).

    Examples
    --------
    >>> import numpy as np
    >>> round(inception_score(np.eye(5), kind="probabilities").value, 12)
    5.0
    """
    kind = (
        "scores" if check_choice(kind, "kind", ("scores", "probabilities")) == "scores" else "probabilities"
    )
    array = check_matrix(scores, "scores", min_columns=2)
    if kind == "probabilities":
        check_probabilities((array, "scores"), floor=None)
    n_rows, n_classes = int(array.shape[0]), int(array.shape[1])
    n_splits = check_integer(n_splits, "n_splits", low=1)
    if n_splits > n_rows:
        raise ValueError(describe("n_splits", f"at most the number of rows, {n_rows}", n_splits))
    # Rows are dealt by number, so that the array itself stays where it is.
    part_of = (
        check_rng(rng).permutation(np.arange(n_rows) % n_splits) if n_splits > 1 else np.zeros(n_rows, int)
    )

    def sums(rows: slice) -> FloatArray:
        p, log_p = (to_float64(part) for part in distributions(array, rows, kind=kind))
        with np.errstate(invalid="ignore"):
            negative_entropy = np.where(p > 0.0, p * log_p, 0.0).sum(axis=1)
        total = np.zeros((n_splits, n_classes + 1))
        np.add.at(total, part_of[rows], np.column_stack([p, negative_entropy]))
        return total

    totals = map_reduce(sums, row_blocks(n_rows, 8 * n_classes)) / np.bincount(part_of)[:, None]
    information = [max(0.0, float(total[-1]) + entropy(total[:-1])) for total in totals]
    values = np.exp(information)
    return Diversity(
        name="Inception score",
        value=float(values.mean()),
        error_bound=64 * EPSILON * n_classes * float(values.mean()),
        status=DiversityStatus.computed,
        n_samples=n_rows,
        entropy=math.log(float(values.mean())),
        spread=float(values.std(ddof=1)) if n_splits > 1 else None,
        settings=settings_of(kind=kind, n_splits=n_splits, rng=rng),
    )


def _prepare(features: Any, kernel: str, bandwidth: Any, rng: Any) -> tuple[Array, Kernel, float | None]:
    """Return the checked sample, its kernel, and the bandwidth."""
    sample = check_matrix(features, "features", min_rows=2)
    if check_choice(kernel, "kernel", ("gaussian", "cosine")) == "cosine":
        if bandwidth != "auto":
            raise ValueError(describe("bandwidth", "left out with kernel='cosine'", repr(bandwidth)))
        check_directions(sample, "features")
        return sample, CosineKernel(), None
    if isinstance(bandwidth, str):
        rule = check_choice(bandwidth, "bandwidth", ("auto", "median"))
        width = (variance_bandwidth if rule == "auto" else median_bandwidth)(sample, rng=rng).value
    else:
        width = check_number(bandwidth, "bandwidth", low=0.0, open_low=True)
    return sample, GaussianKernel(width, mean_row(sample)), width


def _gram(sample: Array, similarity: Kernel) -> FloatArray:
    n_rows = int(sample.shape[0])
    matrix = np.empty((n_rows, n_rows))
    tiles = row_blocks(n_rows, 1, block_bytes=TILE_POINTS)
    for rows in tiles:
        block = float64_rows(sample, rows)
        for tile in tiles:
            matrix[rows, tile] = similarity(block, float64_rows(sample, tile))
    matrix /= n_rows
    return matrix


def _cosine_moment(sample: Array) -> FloatArray:
    """Return the second moment of the directions of the rows, which has the spectrum of the kernel matrix."""

    def moment(rows: slice) -> FloatArray:
        block = to_float64(directions(float64_rows(sample, rows)))
        return np.asarray(block.T @ block)

    n_rows = int(sample.shape[0])
    total: FloatArray = map_reduce(moment, row_blocks(n_rows, 8 * int(sample.shape[1])))
    return total / n_rows


def _renyi(shares: FloatArray, order: float) -> float:
    """Return the Renyi entropy of a distribution, in nats."""
    if order == 1.0:
        return entropy(shares)
    if math.isinf(order):
        return -math.log(float(shares.max())) + 0.0
    return math.log(float((shares[shares > 0.0] ** order).sum())) / (1.0 - order) + 0.0
