"""Novelty: how long the whole answer takes, beside what else could be asked; and the routes to the score in nats.

``python benchmarks/novelty.py [--small | --million] [answer] [routes] [dense]``: ``--small`` cuts the sizes for a
try, ``--million`` adds a million rows of each sample to the answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from _machine import header, table

from shiftmetrics import Computing
from shiftmetrics.novelty import kernel_entropic_novelty

SIZES = ((1000, 50, 3.0), (5000, 512, 15.0))
"""Rows of each sample, columns, and the seconds that the answer may take on two quiet cores."""

MILLION = (1_000_000, 32, 180.0)

SMALL_SIZES = ((500, 20, 3.0), (20_000, 16, 15.0))
MOST_ROWS_OF_PEERS = 10_000


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--one"]:  # a process of its own: one method on one size
        print(json.dumps(one(arguments[1], int(arguments[2]), int(arguments[3]))))
        return
    small = "--small" in arguments
    parts: dict[str, Callable[[bool], None]] = {"answer": answer, "routes": routes, "dense": dense}
    print(header())
    for name in [name for name in parts if name in arguments] or list(parts):
        print()
        parts[name](small)


def clusters(n: int, d: int, seed: int, *, first: int = 0, last: int = 20) -> np.ndarray:
    """Rows around some of 20 centers, as embeddings lie: unit variance around centers of length 12."""
    centers = np.random.default_rng(99).normal(size=(20, d)) * 12.0 / np.sqrt(d)
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    rows += centers[rng.integers(first, last, size=n)]
    return rows


def seconds(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the seconds that passed, those that the processors worked for it, and what came out.

    On a machine that others use, the seconds that passed tell little; those of the processors tell the work.
    """
    start, work = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - start, time.process_time() - work, result


# The whole answer ---------------------------------------------------------------------------------


def answer(small: bool) -> None:
    """What is new, how much, which rows: the whole answer, each in a process of its own that tells its memory."""
    rows = []
    sizes = SMALL_SIZES if small else (*SIZES, MILLION) if "--million" in sys.argv else SIZES
    for n, d, target in sizes:
        for name in ("shiftmetrics", *(PEERS if n <= MOST_ROWS_OF_PEERS else ())):
            command = [sys.executable, __file__, "--one", name, str(n), str(d)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode:
                raise SystemExit(ended.stderr)
            found = json.loads(ended.stdout.splitlines()[-1])
            aim = f"{target:g} s" if name == "shiftmetrics" else "-"
            rows.append([f"{n:,} x {d}", name, *found, aim])
    columns = [
        "rows of each, columns",
        "method",
        "seconds",
        "CPU seconds",
        "MiB above the rows",
        "CPU seconds with row scores",
        "found",
        "aim",
    ]
    print(table(columns, rows, title="the whole answer: one kind of 20 is new, 10 % of the sample"))


PEERS = ("MMD, kernel witness", "neighbour share", "boosted classifier")


def one(name: str, n: int, d: int) -> list[object]:
    """Run one method on one size, from memory maps of single precision; return what it took, and what it found."""
    with tempfile.TemporaryDirectory() as folder:
        sample, reference = (
            stored(Path(folder) / f"{place}.npy", n, d, place) for place in range(2)
        )
        if name == "shiftmetrics":
            call: Callable[[], Any] = lambda: kernel_entropic_novelty(  # noqa: E731 (one expression for each method)
                sample, reference, computing=Computing(progress=False)
            )
        else:
            from _novelty_rivals import RIVALS
            from _novelty_tasks import Case

            case = Case(
                "clusters", np.asarray(sample), np.asarray(reference), np.arange(n) < n // 10
            )
            call = lambda: RIVALS[name](case, 0)  # noqa: E731
        (took, work, result), memory = watched(lambda: seconds(call))
        more = seconds(lambda: result.row_scores)[1] if name == "shiftmetrics" else 0.0
        said = f"p = {result.p_value:.2g}, fraction {result.fraction:.3f}"
        return [took, work, memory, work + more, said]


def stored(path: Path, n: int, d: int, place: int) -> np.ndarray:
    """Return a memory map of rows: of the sample (place 0) a tenth is of a kind that the reference lacks."""
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    new = n // 10 if place == 0 else 0
    for number, start in enumerate(range(0, n, 100_000)):
        stop = min(start + 100_000, n)
        rows[start:stop] = clusters(stop - start, d, 2 * number + place, first=1)
        known = max(start, new)
        if start < known:
            rows[start : min(known, stop)] = clusters(
                min(known, stop) - start, d, 10_000 + number, last=1
            )
    rows.flush()
    return np.load(path, mmap_mode="r")


def watched(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and how far the anonymous memory of the process rose (Linux), in MiB."""
    held, ended = [anonymous()], threading.Event()

    def watch() -> None:
        while not ended.wait(0.01):
            held.append(anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        return call(), max(held) - held[0]
    finally:
        ended.set()
        watcher.join()


def anonymous() -> float:
    """Return the memory of this process that no file backs, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


# The score ----------------------------------------------------------------------------------------


def routes(small: bool) -> None:
    """All routes to the score on the data that they are for."""
    ring = np.c_[np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)]
    rng = np.random.default_rng(0)
    n = 2000 if small else 50_000
    x, y = (ring[rng.integers(low, 8, n)] + 0.1 * rng.normal(size=(n, 2)) for low in (0, 2))
    rows = [route(f"ring, n = m = {n:,}, d = 2", x, y, name, 0.4) for name in ("landmarks", "auto")]
    few = 500 if small else 3000
    x, y = clusters(few, 128, 0), clusters(few, 128, 1, first=5)
    rows += [
        route(f"kinds, n = m = {few:,}, d = 128", x, y, name, 12.0)
        for name in ("landmarks", "dense")
    ]
    x, y = clusters(n, 64, 0), clusters(n, 64, 1, first=5)
    rows.append(route(f"kinds, n = m = {n:,}, d = 64", x, y, "cosine", None))
    columns = ["data", "method", "seconds", "nats", "error bound", "first eigenvalue", "rank"]
    print(table(columns, rows, title="the answer and the score, by the route to the score"))


def route(
    data: str, x: np.ndarray, y: np.ndarray, method: str, bandwidth: float | None
) -> list[object]:
    """Return the line of one route."""
    kernel: dict[str, Any] = {"kernel": "cosine"} if bandwidth is None else {"bandwidth": bandwidth}
    quiet = Computing(progress=False)
    took, _, result = seconds(
        lambda: kernel_entropic_novelty(x, y, method=method, computing=quiet, **kernel)
    )
    name = method if method == result.method else f"{method} ({result.method})"
    return [
        data,
        name,
        took,
        result.value,
        result.error_bound,
        float(result.score.eigenvalues[0]),
        result.score.rank,
    ]


def dense(small: bool) -> None:
    """Our answer with its exact score, against what the paper's code does for the score alone."""
    n, d, bandwidth = (1000 if small else 5000), 512, 25.0
    x, y = clusters(n, d, 0), clusters(n, d, 1, first=5)
    quiet = Computing(progress=False)
    usual, usual_work, value = seconds(lambda: jittered(x, y, bandwidth))
    took, work, found = seconds(
        lambda: kernel_entropic_novelty(x, y, bandwidth=bandwidth, method="dense", computing=quiet)
    )
    rows = [
        ["dense: answer and exact score, float64", took, work, found.value, found.error_bound],
        ["score alone, float32 with jitter", usual, usual_work, value, abs(value - found.value)],
    ]
    columns = ["work", "seconds", "CPU seconds", "nats", "error"]
    print(
        table(columns, rows, title=f"exact score, n = m = {n:,}, d = {d}, bandwidth {bandwidth:g}")
    )


def jittered(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """Score all eigenvalues of L' J L, with the Cholesky factor of the jittered kernel matrix in single precision."""
    joint = np.concatenate([x, y]).astype(np.float32)
    norms = (joint * joint).sum(axis=1)
    kernel = joint @ joint.T
    kernel *= 2.0
    kernel -= norms[:, None]
    kernel -= norms
    kernel *= np.float32(0.5 / bandwidth**2)
    np.exp(kernel, out=kernel)
    root = np.sqrt(np.r_[np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y))]).astype(
        np.float32
    )
    kernel *= root[:, None]
    kernel *= root
    kernel[np.diag_indices_from(kernel)] += np.float32(1e-7)
    factor = scipy.linalg.cholesky(kernel, lower=True, overwrite_a=True, check_finite=False)
    signed = factor.copy()
    signed[len(x) :] *= -1.0
    found = scipy.linalg.eigvalsh(factor.T @ signed, overwrite_a=True, check_finite=False).astype(
        np.float64
    )
    positive = found[found > 0.0]
    return float(positive @ (np.log(positive.sum()) - np.log(positive)))


if __name__ == "__main__":
    main(sys.argv[1:])
