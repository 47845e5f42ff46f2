"""`diff_models` of two tables on a cluster of small workers beside Dask's own merge of them: CPU, and each peak.

Ten probabilities and an id in parquet files of a hundred thousand rows; the new model's rows are in another order.
Two workers of one gigabyte and one thread read them. Each run is a fresh process, so that peaks are its own. Of
100,000 rows (all of them, where there are no more) the answer must be that of tables in memory. With ``kill`` a
worker is ended, by its id, while the rows are joined.

    python benchmarks/cluster_diff.py [rows] [kill]
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _machine import header, peak_memory_mib, table
from cluster import used

CLASSES, ROWS_OF_FILE, COMPARED = 10, 100_000, 100_000
KILLED_AFTER = 0.5
"""Part of the time of an undisturbed run after which a worker is ended."""


def main() -> None:
    n_rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    print(header("dask", "distributed", "pandas", "pyarrow"))
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "whole", n_rows)
        write(Path(folder) / "part", min(n_rows, COMPARED))
        asked("check", f"{folder}/part")
        runs = [asked("merge", f"{folder}/whole"), asked("diff", f"{folder}/whole")]
        if "kill" in sys.argv:
            runs.append(asked("diff", f"{folder}/whole", KILLED_AFTER * runs[1]["s"]))
            assert runs[2]["found"] == runs[1]["found"]
            runs[2]["name"] = "diff, a worker killed"
        lines = [
            [found["name"], f"{n_rows:,} x {CLASSES}", found["cpu"], found["cpu"] / runs[0]["cpu"],
             found["s"], found["s"] / runs[0]["s"], max(found["workers"]), found["peak"]]
            for found in runs
        ]  # fmt: skip
    names = ["", "rows", "CPU s", "over merge", "s", "over merge", "worker: MiB", "client: MiB"]
    print(table(names, lines, title="two workers of 1 GB"))


def write(folder: Path, n_rows: int) -> None:
    """Write what two models say of the rows, those of the new one in a random order."""
    names = [f"class {number}" for number in range(CLASSES)]
    order = np.random.default_rng(0).permutation(n_rows)
    for part in ("old", "new"):
        (folder / part).mkdir(parents=True)
    for number in range(-(-n_rows // ROWS_OF_FILE)):
        places = slice(number * ROWS_OF_FILE, (number + 1) * ROWS_OF_FILE)
        for part, ids in (("old", np.arange(n_rows)[places]), ("new", order[places])):
            scores = 9.0 * noise(ids, 2)
            if part == "new":
                scores += 0.9 * noise(ids, 2 + CLASSES)
            terms = np.exp(scores)
            rows = pd.DataFrame(terms / terms.sum(axis=1, keepdims=True), columns=names)
            rows.insert(0, "id", ids)
            rows.to_parquet(folder / part / f"{number:05}.parquet")


def noise(ids: np.ndarray, start: int) -> np.ndarray:
    """Return numbers from 0 to 1 that depend on the id alone, so that rows can be made in any order."""
    waves = np.sin((ids[:, None] + 1.0) * np.sqrt(np.arange(start, start + CLASSES)) * 12.9898)
    waves *= 43758.5453
    return waves - np.floor(waves)


def check(folder: str) -> None:
    """Compare the answer in partitions with that in memory."""
    import dask.dataframe as dd

    from shiftmetrics import diff_models

    paths = [f"{folder}/{part}" for part in ("old", "new")]
    held = diff_models(*map(pd.read_parquet, paths), rng=0)
    found = diff_models(*map(dd.read_parquet, paths), rng=0)
    assert found.summary() == held.summary()
    frames = found.to_frame(), held.to_frame()
    pd.testing.assert_frame_equal(*frames, check_dtype=False, rtol=1e-12)


def asked(name: str, folder: str, killed_after: float = 0.0) -> dict[str, Any]:
    """Run this file again for one of both, and return what it prints."""
    done = subprocess.run(
        [sys.executable, __file__, "run", name, folder, str(killed_after)],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(name: str, folder: str, killed_after: str) -> None:
    if name == "check":
        check(folder)
        print("{}")
        return
    import dask.dataframe as dd
    import distributed

    from shiftmetrics import diff_models

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=None
        ) as started,
        distributed.Client(started) as client,
    ):
        client.run(lambda: __import__("shiftmetrics").diff_models)  # imports are no part of it
        peaks: dict[str, int] = {}
        stop = threading.Event()
        watch = threading.Thread(target=watched, args=(client, peaks, stop))
        if float(killed_after):
            one = min(client.run(os.getpid).values())
            threading.Timer(float(killed_after), os.kill, (one, signal.SIGKILL)).start()
        before, cpu, start = client.run(used), used(), time.perf_counter()
        watch.start()
        old, new = (dd.read_parquet(f"{folder}/{part}") for part in ("old", "new"))
        if name == "merge":
            found = int(old.merge(new, on="id").map_partitions(len).compute().sum())
        else:
            found = diff_models(old, new, rng=0).changes.n_changed
        seconds = time.perf_counter() - start
        stop.set()
        watch.join()
        # What a killed worker used is not known.
        spent = sum(value - before.get(key, 0.0) for key, value in client.run(used).items())
        found = {"name": name, "found": found, "cpu": used() - cpu + spent, "s": seconds,
                 "workers": list(peaks.values()), "peak": peak_memory_mib()}  # fmt: skip
    print(json.dumps(found))


def watched(client: Any, peaks: dict[str, int], stop: threading.Event) -> None:
    """Keep the peak of each worker, also of one that is lost."""
    while not stop.wait(1.0):
        for key, peak in client.run(peak_memory_mib, on_error="ignore").items():
            peaks[key] = max(peak, peaks.get(key, 0))


if __name__ == "__main__":
    run(*sys.argv[2:]) if sys.argv[1:2] == ["run"] else main()
