"""Each measure against the number of rows, in memory by one and two threads, out of core, and by workers of Dask.

CPU time is that of the whole process, threads of Dask included: its quotient by that of one thread in memory is the
overhead. The distance to the limit is CPU time over reading the input once (a sum), and over one exponential of each
entry. ``python benchmarks/scaling.py [largest power of 10]``, by default 6.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import h5py
import numpy as np
from _machine import header, table

from shiftmetrics import Computing, posterior_agreement
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion

ONE, TWO = ThreadPoolExecutor(1), ThreadPoolExecutor(2)
COLUMNS = ["rows", "columns", "where", "s", "CPU s", "over one thread", "over a sum", "over exp"]


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    print(header("dask", "h5py"))
    for title, lines in (
        ("posterior_agreement", agreement(most)),
        ("stability_criterion, 0/1 loss", stability(ZeroOneLoss, most)),
        ("stability_criterion, fixed losses", stability(FixedLoss, most)),
        ("kernel_entropic_novelty, all defaults", novelty(min(most, 4))),
    ):
        print()
        print(table(COLUMNS, list(lines), title=title), flush=True)


def agreement(most: int) -> Iterator[list[Any]]:
    sizes = [(10**power, 10) for power in range(3, most + 1)] + [(10**5, 2), (10**4, 100), (10**3, 1000)]
    for n, k in sizes:
        rng = np.random.default_rng(0)
        reference = 3.0 * rng.normal(size=(n, k))
        pair = reference + rng.normal(size=(n, k)), reference
        yield from everywhere(
            pair, lambda first, second, **options: posterior_agreement(first, second, **options)
        )


def stability(loss: Callable[[Any], Any], most: int) -> Iterator[list[Any]]:
    for power in range(3, most + 1):
        values = np.maximum(np.random.default_rng(0).exponential(size=10**power) - 0.1, 0.0)
        threshold = 0.4 if loss is ZeroOneLoss else 1.2

        def measure(rows: Any, threshold: float = threshold, **options: Any) -> Any:
            return stability_criterion(loss(rows), threshold, resampling=None, **options)

        yield from everywhere((values,), measure)


def novelty(most: int) -> Iterator[list[Any]]:
    for n, d in [(10**power, 16) for power in range(3, most + 1)] + [(2_500, 512)]:
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(20, d))
        pair = tuple(centers[rng.integers(0, kinds, n)] + 0.5 * rng.normal(size=(n, d)) for kinds in (20, 18))
        yield from everywhere(
            pair, lambda first, second, **options: kernel_entropic_novelty(first, second, **options)
        )


def everywhere(arrays: tuple[np.ndarray, ...], measure: Callable[..., Any]) -> Iterator[list[Any]]:
    """Time a measure on the same rows in each place."""
    n, shape = len(arrays[0]), arrays[0].shape
    limits = [
        cpu(lambda: [part.sum() for part in arrays])[1],
        cpu(lambda: [np.exp(-np.abs(part)) for part in arrays])[1],
    ]
    alone = None
    with tempfile.TemporaryDirectory() as folder, h5py.File(Path(folder) / "rows.h5", "w") as file:
        stored = [file.create_dataset(str(k), data=part, chunks=True) for k, part in enumerate(arrays)]
        split = [da.from_array(part, chunks=(-(-n // 8), *part.shape[1:])) for part in arrays]
        places: dict[str, Callable[[], Any]] = {
            "memory, 1 thread": lambda: measure(*arrays, computing=Computing(executor=ONE)),
            "memory, 2 threads": lambda: measure(*arrays, computing=Computing(executor=TWO)),
            "HDF5, 2 threads": lambda: measure(*stored, computing=Computing(executor=TWO)),
            "Dask, 1 worker": lambda: of_dask(lambda: measure(*split), 1),
            "Dask, 2 workers": lambda: of_dask(lambda: measure(*split), 2),
        }
        for place, call in places.items():
            wall, spent = cpu(call)
            alone = alone or spent
            over = [spent / max(limit, 1e-6) for limit in limits]
            yield [n, shape[1] if len(shape) > 1 else 1, place, wall, spent, spent / alone, *over]


def of_dask(call: Callable[[], Any], workers: int) -> Any:
    with dask.config.set(scheduler="threads", num_workers=workers):
        return call()


def cpu(call: Callable[[], Any]) -> tuple[float, float]:
    """Return the wall time and the CPU time of the second of two calls, in seconds; of one, where it is long."""
    for _ in range(2):
        wall, spent = time.perf_counter(), time.process_time()
        call()
        wall, spent = time.perf_counter() - wall, time.process_time() - spent
        if wall > 5.0:
            break
    return wall, spent


if __name__ == "__main__":
    main()
