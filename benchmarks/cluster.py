"""A measure on a cluster of small workers beside the same measure in memory: CPU, and the peak of each process.

The rows lie in parquet files of a folder each; two workers of one gigabyte and one thread read them. ``memory`` reads
the same files by pandas first, which counts. Every run is a fresh process, so that peaks are its own.

    python benchmarks/cluster.py [rows]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _machine import header, peak_memory_mib, table

COLUMNS, ROWS_OF_FILE = 10, 100_000
MEASURES = ("agreement", "stability")


def main() -> None:
    n_rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 4_000_000
    print(header("dask", "distributed", "pandas", "pyarrow"))
    columns = {"agreement": 2 * COLUMNS, "stability": 1}
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), n_rows)
        for measure in MEASURES:
            memory, cluster = (asked(measure, where, folder) for where in ("memory", "cluster"))
            assert abs(cluster["value"] - memory["value"]) <= 1e-12 * abs(memory["value"])
            lines.append(
                [measure, f"{n_rows:,} x {columns[measure]}", memory["cpu"], cluster["cpu"],
                 cluster["cpu"] / memory["cpu"], memory["s"], cluster["s"], max(cluster["workers"]), cluster["peak"]]
            )  # fmt: skip
    names = [
        "measure",
        "rows",
        "memory: CPU s",
        "cluster: CPU s",
        "ratio",
        "memory: s",
        "cluster: s",
    ]
    print(table([*names, "worker: MiB", "client: MiB"], lines, title="two workers of 1 GB"))


def write(folder: Path, n_rows: int) -> None:
    """Write scores, reference scores and losses, a file for every hundred thousand rows."""
    rng = np.random.default_rng(0)
    names = [f"class {number}" for number in range(COLUMNS)]
    for part in ("scores", "reference", "losses"):
        (folder / part).mkdir()
    for number in range(-(-n_rows // ROWS_OF_FILE)):
        size = min(ROWS_OF_FILE, n_rows - number * ROWS_OF_FILE)
        reference = 3.0 * rng.standard_normal((size, COLUMNS))
        tables = {
            "reference": pd.DataFrame(reference, columns=names),
            "scores": pd.DataFrame(reference + rng.standard_normal(reference.shape), columns=names),
            "losses": pd.DataFrame({"loss": rng.exponential(size=size)}),
        }
        for part, rows in tables.items():
            rows.to_parquet(folder / part / f"{number:05}.parquet")


def asked(measure: str, where: str, folder: str) -> dict[str, Any]:
    """Run this file again for one measure in one place, and return what it prints."""
    run = subprocess.run(
        [sys.executable, __file__, "run", measure, where, folder],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def run(measure: str, where: str, folder: str) -> None:
    parts = ("scores", "reference") if measure == "agreement" else ("losses",)
    paths = [f"{folder}/{part}" for part in parts]
    found = in_memory(measure, paths) if where == "memory" else on_cluster(measure, paths)
    print(json.dumps({**found, "peak": peak_memory_mib()}))


def in_memory(measure: str, paths: list[str]) -> dict[str, Any]:
    call = of(measure)
    cpu, start = used(), time.perf_counter()
    value = call(*(pd.read_parquet(path) for path in paths))
    return {"value": value, "cpu": used() - cpu, "s": time.perf_counter() - start}


def on_cluster(measure: str, paths: list[str]) -> dict[str, Any]:
    import dask.dataframe as dd
    import distributed

    call = of(measure)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=None
        ) as started,
        distributed.Client(started) as client,
    ):
        client.run(of, measure)  # imports are no part of a measure
        before, cpu, start = sum(client.run(used).values()), used(), time.perf_counter()
        value = call(*(dd.read_parquet(path) for path in paths))
        seconds = time.perf_counter() - start
        spent = used() - cpu + sum(client.run(used).values()) - before
        return {"value": value, "cpu": spent, "s": seconds,
                "workers": list(client.run(peak_memory_mib).values())}  # fmt: skip


def of(measure: str) -> Callable[..., float]:
    from shiftmetrics import posterior_agreement
    from shiftmetrics.stability import FixedLoss, stability_criterion

    def stability(losses: Any) -> float:
        return stability_criterion(FixedLoss(losses["loss"]), 1.4).value

    return stability if measure == "stability" else lambda *both: posterior_agreement(*both).value


def used() -> float:
    """Return the CPU seconds of this process so far."""
    times = resource.getrusage(resource.RUSAGE_SELF)
    return times.ru_utime + times.ru_stime


if __name__ == "__main__":
    run(*sys.argv[2:]) if sys.argv[1:2] == ["run"] else main()
