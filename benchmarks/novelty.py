"""Kernel entropic novelty: the pivoted route against dense ones, in time and memory, and the dense one against SciPy.

The ring is that of figure 1 of the paper (arXiv:2402.17287): 4 Gaussian modes in each sample, none shared. The last
table has the shape of embeddings: 20 Gaussians in 512 dimensions, a kernel matrix of full rank.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.linalg
from _machine import best_of, header, peak_memory_mib, table
from scipy.spatial.distance import cdist

from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.novelty.factor import pivoted_factor
from shiftmetrics.novelty.gram import FeatureGram
from shiftmetrics.novelty.kernels import GaussianKernel

ANGLES = np.arange(8) * np.pi / 4
BANDWIDTH = 0.4
LARGE = 50_000
DENSE = 1_500
EMBEDDED = 1_000


def main() -> None:
    print(header())
    print()
    pivoted_against_dense()
    print()
    blocks_against_columns()
    print()
    dense_against_scipy()


def ring(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centers = np.c_[np.cos(ANGLES), np.sin(ANGLES)]
    return tuple(  # type: ignore[return-value]
        centers[rng.choice(modes, n)] + rng.normal(size=(n, 2)) * 0.031
        for modes in ([1, 3, 5, 7], [0, 2, 4, 6])
    )


def embeddings(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(20, 512)) * 0.5
    return tuple(  # type: ignore[return-value]
        centers[rng.integers(low, high, size=n)] + rng.normal(size=(n, 512)) * 0.5
        for low, high in ((0, 20), (0, 15))
    )


def timed(work: Callable[[], object], repeats: int = 3) -> tuple[float, object]:
    """Return the shortest of several times, and the last outcome."""
    outcomes: list[object] = []
    seconds = best_of(lambda: outcomes.append(work()), repeats=repeats)
    return seconds, outcomes[-1]


def pivoted_against_dense() -> None:
    """Time the pivoted route at full size, and dense routes at a size that they can take, scaled up."""
    x, y = ring(LARGE, 0)
    quick, result = timed(lambda: kernel_entropic_novelty(x, y, bandwidth=BANDWIDTH, progress=False))
    a, b = ring(DENSE, 0)
    whole, exact = timed(
        lambda: kernel_entropic_novelty(a, b, bandwidth=BANDWIDTH, method="dense", progress=False)
    )
    jitter, (value, _) = timed(lambda: float32_jitter(a, b, BANDWIDTH), repeats=1)
    short = kernel_entropic_novelty(a, b, bandwidth=BANDWIDTH, method="cholesky", progress=False)
    scale = LARGE / DENSE
    print(
        table(
            ["route", "n = m", "seconds", f"at {LARGE}", "ratio", "novelty", "error"],
            [
                [f"pivoted, rank {result.rank}", LARGE, quick, quick, 1.0, result.value, result.error_bound],
                # The matrix alone has N^2 entries: growth by N^2 is the least that a dense route can do.
                [
                    "dense, grown by N^2",
                    DENSE,
                    whole,
                    whole * scale**2,
                    whole * scale**2 / quick,
                    exact.value,
                    0.0,
                ],
                [
                    "float32 + jitter, grown by N^3",
                    DENSE,
                    jitter,
                    jitter * scale**3,
                    jitter * scale**3 / quick,
                    value,
                    abs(value - exact.value),
                ],
                ["pivoted at that size", DENSE, "", "", "", short.value, abs(short.value - exact.value)],
            ],
        )
    )
    peak = float(subprocess.run([sys.executable, __file__, "--peak"], capture_output=True, check=True).stdout)
    print(f"peak memory of the pivoted route, interpreter and libraries included: {peak:.0f} MiB")
    print(f"the dense route would need {8 * (2 * LARGE) ** 2 / 2**30:.0f} GiB for the kernel matrix alone")


def print_peak() -> None:
    """Run the large case alone in this process, and print the peak memory."""
    x, y = ring(LARGE, 0)
    kernel_entropic_novelty(x, y, bandwidth=BANDWIDTH, progress=False)
    print(peak_memory_mib())


def blocks_against_columns() -> None:
    """Time pivots in rounds and matrix products against one pivot at a time."""
    rng = np.random.default_rng(0)
    cases = (
        ("ring, 2 columns", *ring(LARGE, 0), BANDWIDTH, 1e-12, 1000),
        ("Gaussian, 16 columns", *rng.normal(size=(2, 10_000, 16)), 4.0, 0.0, 1000),
    )
    rows = []
    for name, x, y, bandwidth, rtol, most in cases:
        joint = np.concatenate([x, y])
        gram = FeatureGram(x, y, GaussianKernel(bandwidth))
        weights = np.full(len(joint), 1 / len(joint))
        blocks, factor = timed(partial(pivoted_factor, gram, weights, rtol=rtol, max_rank=most))
        columns, (rank, left) = timed(partial(greedy_columns, joint, bandwidth, rtol, most))
        found = factor.rank, float(factor.residual.mean()), blocks
        rows.append([name, len(joint), *found, rank, left, columns, columns / blocks])
    titles = ["rows", "n + m", "rank", "left out", "in rounds", "rank", "left out", "one by one", "ratio"]
    print(table(titles, rows))


def greedy_columns(rows: np.ndarray, bandwidth: float, rtol: float, most: int) -> tuple[int, float]:
    """Textbook pivoted Cholesky: the row with the largest residual is next, one column at a time."""
    residual = np.ones(len(rows))
    factor = np.empty((most, len(rows)))
    norms = (rows**2).sum(axis=1)
    rank = 0
    while rank < most and residual.mean() > rtol:
        pivot = int(residual.argmax())
        column = np.exp((2 * rows @ rows[pivot] - norms - norms[pivot]) / (2 * bandwidth**2))
        column -= factor[:rank, pivot] @ factor[:rank]
        factor[rank] = column / np.sqrt(residual[pivot])
        residual = np.maximum(residual - factor[rank] ** 2, 0.0)
        residual[pivot] = 0.0
        rank += 1
    return rank, float(residual.mean())


def dense_against_scipy() -> None:
    """Time the dense route against float32 with jitter, kernel matrix included, where the rank is full."""
    rows = []
    for eta in (1.0, 10.0):
        x, y = embeddings(EMBEDDED)
        ours, result = timed(
            lambda eta=eta, x=x, y=y: kernel_entropic_novelty(
                x, y, bandwidth=12.0, eta=eta, method="dense", progress=False
            )
        )
        theirs, (value, failed) = timed(lambda eta=eta, x=x, y=y: float32_jitter(x, y, 12.0, eta))
        rows.append([f"{eta:g}", ours, result.value, theirs, "failed" if failed else value, theirs / ours])
    print(table(["eta", "dense float64", "novelty", "float32 + jitter", "novelty", "ratio"], rows))
    print(f"n = m = {EMBEDDED}, d = 512; the dense route also returns 10 modes and the reverse direction")


def float32_jitter(x: np.ndarray, y: np.ndarray, bandwidth: float, eta: float = 1.0) -> tuple[float, bool]:
    """What is usual: single precision, something on the diagonal, Cholesky, symmetric eigenvalues."""
    joint = np.concatenate([x, y]).astype(np.float32)
    root = np.sqrt(np.repeat([1 / len(x), eta / len(y)], [len(x), len(y)])).astype(np.float32)
    signs = np.repeat([1, -1], [len(x), len(y)]).astype(np.float32)
    kernel = np.exp(cdist(joint, joint, "sqeuclidean").astype(np.float32) / np.float32(-2 * bandwidth**2))
    matrix = root[:, None] * kernel * root
    for jitter in (1e-7, 1e-6, 1e-5, 1e-4, 1e-3):
        try:
            upper = scipy.linalg.cholesky(matrix + np.float32(jitter) * np.eye(len(joint), dtype=np.float32))
        except scipy.linalg.LinAlgError:
            continue
        eigenvalues = scipy.linalg.eigvalsh((upper * signs) @ upper.T)
        positive = eigenvalues[eigenvalues > 0].astype(np.float64)
        return float(positive @ np.log(positive.sum() / positive)), False
    return float("nan"), True


if __name__ == "__main__":
    if sys.argv[1:] == ["--peak"]:
        print_peak()
    else:
        main()
