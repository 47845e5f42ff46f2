"""Each measure against the number of rows, in memory by one and two threads, out of core, and by workers of Dask.

CPU time is that of the whole process, threads of Dask included: its quotient by that of one thread in memory is the
overhead. The distance to the limit is CPU time over reading the input once (a sum), and over one exponential of each
entry. All these are of the value alone, ``resampling=None``; the last two columns are of ``resampling=0.95``, with an
interval, which is the default of stability and an option of agreement. Novelty is timed with its defaults.
``python benchmarks/scaling.py [largest power of 10 [smallest]]``, by default 6 and 3; from 7 on rows lie in
float32 memory maps, and ``7 7`` takes these alone.
"""

from __future__ import annotations

import functools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
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
MAPPED = 10**7
"""Rows from which on arrays are memory maps of float32, and each call is timed once."""
COLUMNS = [
    *("rows", "columns", "where", "s", "CPU s", "over one thread", "over a sum", "over exp"),
    *("with interval: s", "CPU s"),
]


def main() -> None:
    most, least = (int(text) for text in (*sys.argv[1:3], *("6", "3")[len(sys.argv) - 1 :]))
    powers = range(least, most + 1)
    print(header("dask", "h5py"))
    for title, lines in (
        ("posterior_agreement", agreement(powers)),
        ("stability_criterion, 0/1 loss", stability(ZeroOneLoss, powers)),
        ("stability_criterion, fixed losses", stability(FixedLoss, powers)),
        (
            "kernel_entropic_novelty, all defaults",
            novelty([power for power in powers if power < 5]),
        ),
    ):
        if rows := list(lines):
            print(f"\n{table(COLUMNS, rows, title=title)}", flush=True)


def agreement(powers: Sequence[int]) -> Iterator[list[Any]]:
    wider = [(10**5, 2), (10**4, 100), (10**3, 1000)] if 3 in powers else []
    for n, k in [(10**power, 10) for power in powers] + wider:
        rng = np.random.default_rng(0)
        dtype = "f4" if n >= MAPPED else "f8"
        reference = 3 * rng.standard_normal((n, k), dtype=dtype)
        pair = reference + rng.standard_normal((n, k), dtype=dtype), reference
        yield from everywhere(
            pair, lambda first, second, **options: posterior_agreement(first, second, **options)
        )


def stability(loss: Callable[[Any], Any], powers: Sequence[int]) -> Iterator[list[Any]]:
    for power in powers:
        drawn = np.random.default_rng(0).standard_exponential(10**power)
        values = np.maximum(drawn - 0.1, 0.0).astype("f4" if len(drawn) >= MAPPED else "f8")
        threshold = 0.4 if loss is ZeroOneLoss else 1.2

        def measure(rows: Any, threshold: float = threshold, **options: Any) -> Any:
            return stability_criterion(loss(rows), threshold, **options)

        yield from everywhere((values,), measure)


def novelty(powers: Sequence[int]) -> Iterator[list[Any]]:
    for n, d in [(10**power, 16) for power in powers] + ([(2_500, 512)] if powers else []):
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(20, d))
        pair = tuple(
            centers[rng.integers(0, kinds, n)] + 0.5 * rng.normal(size=(n, d)) for kinds in (20, 18)
        )
        yield from everywhere(
            pair,
            lambda first, second, **options: kernel_entropic_novelty(first, second, **options),
            has_interval=False,
        )


def everywhere(
    arrays: tuple[np.ndarray, ...], measure: Callable[..., Any], *, has_interval: bool = True
) -> Iterator[list[Any]]:
    """Time a measure on the same rows in each place, without an interval and with one."""
    n, shape = len(arrays[0]), arrays[0].shape
    alone = None
    with tempfile.TemporaryDirectory() as folder, h5py.File(Path(folder) / "rows.h5", "w") as file:
        stored, where = list[Any](), "memory"
        if n >= MAPPED:
            arrays, where = (
                tuple(mapped(part, Path(folder) / f"{k}.npy") for k, part in enumerate(arrays)),
                "map",
            )
        else:
            stored = [
                file.create_dataset(str(k), data=part, chunks=True) for k, part in enumerate(arrays)
            ]
        split = [da.from_array(part, chunks=(-(-n // 8), *part.shape[1:])) for part in arrays]
        one, two = ({"computing": Computing(executor=executor)} for executor in (ONE, TWO))
        places: dict[str, Callable[..., Any]] = {
            f"{where}, 1 thread": lambda **more: measure(*arrays, **one, **more),
            f"{where}, 2 threads": lambda **more: measure(*arrays, **two, **more),
            "HDF5, 2 threads": lambda **more: measure(*stored, **two, **more),
            "Dask, 1 worker": lambda **more: of_dask(lambda: measure(*split, **more), 1),
            "Dask, 2 workers": lambda **more: of_dask(lambda: measure(*split, **more), 2),
        }
        limits = [
            cpu(lambda: [part.sum() for part in arrays])[1],
            cpu(lambda: [np.exp(-np.abs(part)) for part in arrays])[1],
        ]
        for place, call in places.items():
            if place.startswith("HDF5") and not stored:
                continue
            options = {"resampling": None} if has_interval else {}
            wall, spent = cpu(functools.partial(call, **options))
            alone = alone or spent
            over = [spent / max(limit, 1e-6) for limit in limits]
            more: tuple[Any, Any] = ("", "")
            if has_interval:
                more = cpu(functools.partial(call, resampling=0.95))
            width = shape[1] if len(shape) > 1 else 1
            yield [n, width, place, wall, spent, spent / alone, *over, *more]


def mapped(part: np.ndarray, path: Path) -> np.ndarray:
    np.save(path, part)
    return np.load(path, mmap_mode="r")


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
