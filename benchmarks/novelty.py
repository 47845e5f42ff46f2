"""Novelty: the exact routes against Cholesky with jitter, and the routes for many rows against their products alone.

``python benchmarks/novelty.py [--small] [dense] [fourier] [million] [routes]``: ``--small`` cuts the sizes for a try.
"""

from __future__ import annotations

import contextlib
import sys
import time
import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg
from _machine import header, peak_memory_mib, table

from shiftmetrics import Computing
from shiftmetrics.novelty import (
    FourierMap,
    NoveltyResampling,
    gram,
    kernel_entropic_novelty,
    routes,
    solution,
)
from shiftmetrics.novelty.inputs import make_gram
from shiftmetrics.novelty.kernels import GaussianKernel
from shiftmetrics.novelty.maps import FourierFeatures
from shiftmetrics.novelty.spectrum import SUM_BYTES, moments_of

QUIET: dict[str, Any] = {
    "resampling": NoveltyResampling(n_permutations=0),
    "computing": Computing(progress=False),
}


def main(arguments: list[str]) -> None:
    small = "--small" in arguments
    # Smallest first, so that the peaks of memory, which never fall, are those of each part.
    parts: dict[str, Callable[[bool], None]] = {
        "million": million,
        "routes": all_routes,
        "fourier": fourier,
        "dense": dense,
    }
    chosen = [name for name in parts if name in arguments] or list(parts)
    print(header())
    for name in chosen:
        print()
        parts[name](small)


def clusters(n: int, d: int, seed: int, kinds: int = 20, first: int = 0) -> np.ndarray:
    """Rows around some of ``kinds`` centers, as embeddings lie: unit variance around centers of length 12."""
    centers = np.random.default_rng(99).normal(size=(kinds, d)) * 12.0 / np.sqrt(d)
    rng = np.random.default_rng(seed)
    return centers[rng.integers(first, kinds, size=n)] + rng.normal(size=(n, d))


def seconds(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the seconds that passed, those that the processors worked for it, and what came out.

    On a machine that others use, the seconds that passed tell little; those of the processors tell the work.
    """
    start, work = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - start, time.process_time() - work, result


PARTS = ("kernel matrix", "factor", "difference", "eigenvalues")


class Clock:
    """Seconds, and seconds of the processors, that the parts of a dense exact score take."""

    def __init__(self) -> None:
        self.taken = {part: [0.0, 0.0] for part in PARTS}

    def run(self, part: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return what ``function`` returns; its time counts for ``part``."""
        *took, found = seconds(lambda: function(*args, **options))
        self.taken[part] = [before + now for before, now in zip(self.taken[part], took, strict=True)]
        return found

    @contextlib.contextmanager
    def on(self, part: str, holder: object, name: str) -> Iterator[None]:
        """Count each call of the function ``name`` of ``holder`` for ``part``."""
        function = getattr(holder, name)

        def counted(*args: Any, **options: Any) -> Any:
            return self.run(part, function, *args, **options)

        with unittest.mock.patch.object(holder, name, counted):
            yield


def dense(small: bool) -> None:
    """Dense exact against what the paper's code does: float32, jitter on the diagonal, Cholesky, all eigenvalues."""
    n, d, bandwidth = (1000 if small else 5000), 512, 25.0
    x, y = clusters(n, d, 0), clusters(n, d, 1, first=5)
    names = ("float64", "float32, jitter")
    clocks = {name: Clock() for name in names}
    usual, usual_work, value = seconds(lambda: jittered(x, y, bandwidth, clocks[names[1]]))
    took, work, found = seconds(lambda: exact(x, y, bandwidth, clocks[names[0]]))
    rows = [
        [names[0], took, usual / took, work, usual_work / work, *found],
        [names[1], usual, 1.0, usual_work, 1.0, value, abs(value - found[0])],
    ]
    columns = ["route", "seconds", "times faster", "CPU seconds", "times less", "nats", "error"]
    print(table(columns, rows, title=f"dense exact score, n = m = {n:,}, d = {d}, bandwidth {bandwidth:g}"))
    parts = [[name, *(taken for part in PARTS for taken in clocks[name].taken[part])] for name in names]
    columns = ["route", *(text for part in PARTS for text in (part, "CPU"))]
    print(table(columns, parts, title="seconds of each part, and those of the processors"))


def exact(x: np.ndarray, y: np.ndarray, bandwidth: float, clock: Clock) -> tuple[float, float]:
    """Score by the dense route without modes, and count the time of its parts: the value and its error bound."""
    shares = [np.full(len(rows), 1.0 / len(rows)) for rows in (x, y)]
    problem = solution.Problem(
        gram=make_gram(x, y, "gaussian", bandwidth),
        test_weights=shares[0],
        reference_weights=shares[1],
        eta=1.0,
        rtol=1e-12,
        memory_limit=1 << 40,
        progress=False,
    )
    with (
        clock.on("kernel matrix", gram.Gram, "dense"),
        clock.on("factor", routes, "dense_factor"),
        clock.on("difference", solution, "difference"),
        clock.on("eigenvalues", solution, "eigenvalues_and_vectors"),
    ):
        found = routes.solve(problem, "dense", n_vectors=0)
    within = zip(clock.taken["factor"], clock.taken["kernel matrix"], strict=True)
    clock.taken["factor"] = [both - kernel for both, kernel in within]
    return found.score(len(x))[:2]


def jittered(x: np.ndarray, y: np.ndarray, bandwidth: float, clock: Clock) -> float:
    """Score all eigenvalues of L' J L, with the Cholesky factor of the jittered kernel matrix in single precision."""
    kernel = clock.run("kernel matrix", jittered_kernel, x, y, bandwidth)
    factor = clock.run(
        "factor", scipy.linalg.cholesky, kernel, lower=True, overwrite_a=True, check_finite=False
    )
    signed = factor.copy()
    signed[len(x) :] *= -1.0
    matrix = clock.run("difference", np.matmul, factor.T, signed)
    del kernel, factor, signed
    found = clock.run("eigenvalues", scipy.linalg.eigvalsh, matrix, overwrite_a=True, check_finite=False)
    found = found.astype(np.float64)
    positive = found[found > 0.0]
    return float(positive @ (np.log(positive.sum()) - np.log(positive)))


def jittered_kernel(x: np.ndarray, y: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return the weighted kernel matrix of both samples in single precision, with jitter on its diagonal."""
    joint = np.concatenate([x, y]).astype(np.float32)
    norms = (joint * joint).sum(axis=1)
    kernel = joint @ joint.T
    kernel *= 2.0
    kernel -= norms[:, None]
    kernel -= norms
    kernel *= np.float32(0.5 / bandwidth**2)
    np.exp(kernel, out=kernel)
    root = np.sqrt(np.r_[np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y))]).astype(np.float32)
    kernel *= root[:, None]
    kernel *= root
    kernel[np.diag_indices_from(kernel)] += np.float32(1e-7)
    return kernel


def fourier(small: bool) -> None:
    """Sums of random features against one matrix product of each block, and against one outer product of each row."""
    n, d, n_frequencies, slice_rows = (5000, 64, 250, 50) if small else (50_000, 64, 1000, 100)
    x, y = clusters(n, d, 0), clusters(n, d, 1, first=5)
    both = gram.Gram(x, y, GaussianKernel(8.0))
    feature_map = FourierFeatures(both, n_frequencies, np.random.default_rng(0))
    weights = np.full(n, 1.0 / n)
    blocks_of = both.blocks(8 * feature_map.size, block_bytes=SUM_BYTES)
    features, _ = feature_map.coordinates(blocks_of[0])
    samples = [[rows for rows in blocks_of if (rows.start < n) == test] for test in (True, False)]

    def moments() -> list[Any]:
        return [moments_of(feature_map.coordinates, weights, rows, feature_map.size) for rows in samples]

    blocks = 2 * n / len(features)
    alone, ours = [], []
    for _ in range(3):  # in turns, and the least of each: others may use the machine too
        alone.append(seconds(lambda: [features.T @ features for _ in range(round(blocks))])[:2])
        ours.append(seconds(moments)[:2])
    total = np.zeros((feature_map.size, feature_map.size))

    def one_by_one() -> None:
        for row in features[:slice_rows]:
            np.add(total, np.outer(row, row), out=total)

    single = [part * 2 * n / slice_rows for part in seconds(one_by_one)[:2]]
    best = [min(part) for part in zip(*ours, strict=True)]
    product = [min(part) for part in zip(*alone, strict=True)]
    rows = [
        [name, took, took / best[0], work, work / best[1]]
        for name, (took, work) in (
            ("sums of random features, all of it", best),
            ("one matrix product of each block, alone", product),
            (f"one outer product of each row (from {slice_rows} rows)", single),
        )
    ]
    title = f"random features, n = m = {n:,}, d = {d}, {n_frequencies:,} frequencies, float64"
    print(table(["work", "seconds", "times ours", "CPU seconds", "times ours"], rows, title=title))
    print(f"ours takes {best[1] / product[1]:.2f} of the CPU seconds of the products alone")


def million(small: bool) -> None:
    """A million rows of each sample that never stand in memory together."""
    n, d, n_frequencies, block = (20_000, 64, 500, 10_000) if small else (1_000_000, 64, 500, 20_000)
    before = peak_memory_mib()
    test, reference = Blocks(n, d, block, 0), Blocks(n, d, block, 5)
    took, _, result = seconds(
        lambda: kernel_entropic_novelty(
            test,
            reference,
            bandwidth=8.0,
            method=FourierMap(n_frequencies),
            computing=Computing(progress=False),
        )
    )
    first = [f"{mode.eigenvalue:.4f}" for mode in result.modes[:6]]
    rows = [[took, test.passes, peak_memory_mib() - before, 2 * n * d * 8 / 2**20]]
    columns = ["seconds", "passes over the rows", "MiB above the start", "MiB that all rows would take"]
    print(table(columns, rows, title=f"batches, n = m = {n:,}, d = {d}, {n_frequencies} frequencies"))
    print(f"first eigenvalues {', '.join(first)}; 5 of 20 kinds are new; {result.headline()}")


class Blocks:
    """Batches of rows that are made anew each time that they are read."""

    def __init__(self, n: int, d: int, block: int, first: int) -> None:
        self.n, self.d, self.block, self.first, self.passes = n, d, block, first, 0

    def __iter__(self) -> Iterator[np.ndarray]:
        self.passes += 1
        for number in range(self.n // self.block):
            yield clusters(self.block, self.d, 2 * number + (self.first > 0), first=self.first)


def all_routes(small: bool) -> None:
    """All routes on the data that they are for."""
    ring = np.c_[np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)]
    rng = np.random.default_rng(0)
    n = 2000 if small else 50_000
    x, y = (ring[rng.integers(low, 8, n)] + 0.1 * rng.normal(size=(n, 2)) for low in (0, 2))
    rows = [
        _route(f"ring, n = m = {n:,}, d = 2", x, y, name, 0.4) for name in ("cholesky", "landmarks", "auto")
    ]
    few = 500 if small else 3000
    x, y = clusters(few, 128, 0), clusters(few, 128, 1, first=5)
    rows += [_route(f"kinds, n = m = {few:,}, d = 128", x, y, name, 12.0) for name in ("fourier", "dense")]
    x, y = clusters(n, 64, 0), clusters(n, 64, 1, first=5)
    rows.append(_route(f"kinds, n = m = {n:,}, d = 64", x, y, "cosine", None))
    columns = ["data", "method", "seconds", "nats", "error bound", "first eigenvalue", "rank"]
    print(table(columns, rows, title="routes"))


def _route(data: str, x: np.ndarray, y: np.ndarray, method: str, bandwidth: float | None) -> list[object]:
    kernel: dict[str, Any] = {"kernel": "cosine"} if bandwidth is None else {"bandwidth": bandwidth}
    took, _, result = seconds(lambda: kernel_entropic_novelty(x, y, method=method, **QUIET, **kernel))
    name = method if method == result.method else f"{method} ({result.method})"
    return [data, name, took, result.value, result.error_bound, float(result.eigenvalues[0]), result.rank]


if __name__ == "__main__":
    main(sys.argv[1:])
