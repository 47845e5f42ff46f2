"""How many different things a sample shows: effective numbers of modes, by kernels of features or by classes."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import (
    Array,
    FloatArray,
    directions,
    entropy,
    float64_rows,
    to_float64,
)
from shiftmetrics._core.blocks import map_reduce, one_blas_thread, row_blocks
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.neighbours import TILE_POINTS, distance_blocks
from shiftmetrics._core.options import Computing, check_memory, check_memory_limit, computing_of
from shiftmetrics._core.probabilities import check_probabilities
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.validation import (
    check_choice,
    check_directions,
    check_integer,
    check_matrix,
    check_number,
    check_rng,
)
from shiftmetrics.novelty.bandwidth import choose_bandwidth
from shiftmetrics.novelty.score.kernels import EPSILON, CosineKernel, GaussianKernel, Kernel
from shiftmetrics.novelty.score.spectrum import entropy_slack
from shiftmetrics_lab.distances.features import mean_row
from shiftmetrics_lab.distances.inputs import Kind, distributions
from shiftmetrics_lab.result import COMPUTED, LabResult

KernelName = Literal["gaussian", "cosine"]


def vendi_score(
    features: Any,
    *,
    order: float = 1.0,
    kernel: KernelName = "gaussian",
    bandwidth: float | Literal["auto"] = "auto",
    rng: Any = None,
    computing: Computing | None = None,
) -> LabResult:
    """Vendi score: the exponential of the entropy of the eigenvalues of the kernel matrix, divided by n.

    An effective number of modes: as many equal and separate ones would score the same. Higher is more diverse.

    Parameters
    ----------
    features : array of shape (n_samples, n_columns)
        The sample: any array of the Python array API, or a table.
    order : float, default 1.0
        Order of the Renyi entropy: 1 is Shannon's, inf gives the inverse of the largest eigenvalue. Order 2 is the
        Renyi kernel entropy (RKE), ``1 / mean k(x, x')^2`` over all pairs of rows, which needs no matrix.
    kernel : {"gaussian", "cosine"}, default "gaussian"
        Similarity of two rows.
    bandwidth : float or "auto", default "auto"
        Bandwidth of the Gaussian kernel, in units of the features; "auto" is that of
        `shiftmetrics.novelty.choose_bandwidth`. Compare only numbers of one bandwidth.
    rng : int or Generator, optional
        Draws the rows of the bandwidth's rule. Default: a fixed seed.
    computing : Computing, optional
        Threads, and the memory limit of the kernel matrix.

    Returns
    -------
    LabResult
        Its ``parts``: ``entropy`` in nats, and the ``bandwidth`` of the Gaussian kernel or None.

    Raises
    ------
    ValueError
        If there are fewer than two rows, values are not finite, or an option is out of range.
    TypeError
        If the features are not numbers.
    MemoryError
        If the kernel matrix needs more than the memory limit.

    Notes
    -----
    Friedman and Dieng (arXiv:2210.02410); RKE: Jalali, Li and Farnia, "An Information-Theoretic Evaluation of
    Generative Models in Learning Multi-modal Distributions", NeurIPS 2023. With the cosine kernel and fewer columns
    than rows the problem has the size of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> modes = np.repeat([[0.0], [50.0], [100.0]], 4, axis=0)
    >>> round(vendi_score(modes, bandwidth=1.0).value, 12), vendi_score(modes, order=2, bandwidth=1.0).value
    (3.0, 3.0)
    """
    order = check_number(order, "order", low=0.0, open_low=True, allow_inf=True)
    options = computing_of(computing, memory_limit=None)
    sample, similarity, width = _prepare(features, kernel, bandwidth, rng)
    n_rows, n_columns = int(sample.shape[0]), int(sample.shape[1])
    if order == 2.0:
        mean = _mean_square(sample, similarity, options.executor)
        value, nats = 1.0 / mean, -math.log(mean) + 0.0
        error_bound = 64 * EPSILON * n_columns / mean
    else:
        direct = kernel == "cosine" and n_columns < n_rows
        size = n_columns if direct else n_rows
        check_memory(
            24 * size**2,
            check_memory_limit(options.memory_limit),
            f"features of shape {(n_rows, n_columns)}",
            "Take fewer rows, or order=2, which needs no matrix.",
        )
        with np.errstate(under="ignore"):
            eigenvalues = np.linalg.eigvalsh(
                _cosine_moment(sample) if direct else _gram(sample, similarity)
            )
        shares = np.maximum(eigenvalues, 0.0)
        nats = _renyi(shares / shares.sum(), order)
        value = math.exp(nats)
        change = 16 * EPSILON * size
        slack = entropy_slack(change, size) if order >= 1.0 else change**order * size
        error_bound = value * slack
    return LabResult(
        title="Vendi score" if order == 1.0 else f"Vendi score of order {order:g}",
        higher_is_better=True,
        unit="effective modes",
        value=value,
        error_bound=error_bound,
        status=COMPUTED,
        n_samples=n_rows,
        parts={"entropy": nats, "bandwidth": width},
        remark=f"Among {n_rows} rows.",
        settings=settings_of(
            order=order, kernel=kernel, bandwidth=bandwidth, rng=0 if rng is None else rng
        ),
    )


def inception_score(
    scores: Any, *, kind: Kind = "scores", n_splits: int = 1, rng: Any = None
) -> LabResult:
    """Inception score, on the outputs of whatever classifier: the exponential of the information on the class.

    ``exp(mean KL(p_i || mean p))``, from 1 (all outputs equal) to the number of classes (confident and balanced).

    Parameters
    ----------
    scores : array of shape (n_samples, n_classes)
        Scores (logits) of a classifier on the sample.
    kind : {"scores", "probabilities"}, default "scores"
        Probabilities are scaled to sum 1 in each row.
    n_splits : int, default 1
        Parts into which the rows are split; the value is their mean. Papers take 10. Small parts score lower.
    rng : int or Generator, optional
        Deals the rows when there are several splits.

    Returns
    -------
    LabResult
        Its ``parts``: ``entropy`` in nats, and ``spread``, the standard deviation over the splits, None for one.

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
    check_choice(kind, "kind", ("scores", "probabilities"))
    array = check_matrix(scores, "scores", min_columns=2)
    if kind == "probabilities":
        check_probabilities((array, "scores"), floor=None)
    n_rows, n_classes = int(array.shape[0]), int(array.shape[1])
    n_splits = check_integer(n_splits, "n_splits", low=1)
    if n_splits > n_rows:
        raise ArgumentValueError("n_splits", f"at most the number of rows, {n_rows}", n_splits)
    # Rows are split by number, so that the array itself stays where it is.
    part_of = (
        check_rng(rng).permutation(np.arange(n_rows) % n_splits)
        if n_splits > 1
        else np.zeros(n_rows, int)
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
    value = float(values.mean())
    return LabResult(
        title="Inception score",
        higher_is_better=True,
        unit="effective modes",
        value=value,
        error_bound=64 * EPSILON * n_classes * value,
        status=COMPUTED,
        n_samples=n_rows,
        parts={
            "entropy": math.log(value),
            "spread": float(values.std(ddof=1)) if n_splits > 1 else None,
        },
        remark=f"Among {n_rows} rows.",
        settings=settings_of(kind=kind, n_splits=n_splits, rng=rng),
    )


def _mean_square(sample: Array, similarity: Kernel, executor: Executor | None) -> float:
    """Return the mean of the squared kernel over all pairs of rows."""
    n_rows = int(sample.shape[0])

    def squares(rows: slice) -> float:
        block = float64_rows(sample, rows)
        total = 0.0
        for tile in row_blocks(n_rows, 1, block_bytes=TILE_POINTS):
            values = similarity(block, float64_rows(sample, tile))
            total += float(np.einsum("ij,ij->", values, values))
        return total

    with one_blas_thread():
        return map_reduce(squares, distance_blocks(sample), executor=executor) / n_rows**2


def _prepare(
    features: Any, kernel: str, bandwidth: Any, rng: Any
) -> tuple[Array, Kernel, float | None]:
    """Return the checked sample, its kernel, and the bandwidth."""
    sample = check_matrix(features, "features", min_rows=2)
    if check_choice(kernel, "kernel", ("gaussian", "cosine")) == "cosine":
        if bandwidth != "auto":
            raise ArgumentValueError("bandwidth", "left out with kernel='cosine'", value=bandwidth)
        check_directions(sample, "features")
        return sample, CosineKernel(), None
    if isinstance(bandwidth, str):
        check_choice(bandwidth, "bandwidth", ("auto",))
        width = choose_bandwidth(sample, rng=rng).value
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
