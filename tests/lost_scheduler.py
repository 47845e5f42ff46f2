"""A program whose scheduler is killed while something is computed: ``python lost_scheduler.py FOLDER WHAT READ``.

WHAT is ``agreement`` or ``diff``, and READ the number of the partition, as they are read, that kills the scheduler;
of 0 it is lost before anything is read.
The program prints how it ends. The scheduler and a worker are processes of their own.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS = np.random.default_rng(0).dirichlet(np.ones(3), 400)


def start(*arguments: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a scheduler or a worker, whose log goes to a file."""
    log = (folder / f"{arguments[0]}.log").open("wb")
    command = [sys.executable, "-m", "dask", *arguments]
    return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)


def agreement(deadly: Callable[[Any], Any]) -> None:
    """Measure rows of which a worker reads each part by a function."""
    import dask.array as da

    from shiftmetrics import posterior_agreement

    scores = da.from_array(ROWS, chunks=(100, 3)).map_blocks(deadly, meta=ROWS[:0])
    posterior_agreement(scores, da.from_array(ROWS, chunks=(100, 3)))


def diff(deadly: Callable[[Any], Any]) -> None:
    """Compare tables, of which a worker reads each part of the first by a function."""
    import dask.dataframe as dd
    import pandas as pd

    from shiftmetrics import diff_models

    table = pd.DataFrame(ROWS, columns=["cat", "dog", "eel"])
    table.insert(0, "id", np.arange(len(table)))
    old = dd.from_pandas(table, npartitions=4, sort=False).map_partitions(deadly, meta=table[:0])
    new = dd.from_pandas(table[::-1], npartitions=4, sort=False)
    diff_models(old, new, rng=0)


def main(folder: Path, what: str, read: int) -> None:
    from distributed import Client

    address = folder / "scheduler.json"
    options = ["--no-dashboard", "--scheduler-file", str(address)]
    # Without a limit of its memory the worker keeps no rows: they are read in each pass.
    unlimited = ["--memory-limit", "0"]
    scheduler = start("scheduler", "--port", "0", *options, folder=folder)
    while not address.exists():
        time.sleep(0.1)
    worker = start("worker", "--no-nanny", "--nthreads", "1", *unlimited, *options, folder=folder)
    # the timeout is also how long the client looks for a scheduler that is gone
    client = Client(scheduler_file=str(address), timeout="10s")
    client.wait_for_workers(1)
    pid = scheduler.pid
    counted = folder / "reads"

    def deadly(block: Any) -> Any:
        if len(block):  # Dask looks at the type of the result
            with counted.open("a") as file:
                file.write(".")
            if counted.stat().st_size == read:
                os.kill(pid, signal.SIGKILL)
                time.sleep(30.0)
        return block

    if not read:
        scheduler.kill()
    print("measuring", file=sys.stderr, flush=True)
    try:
        {"agreement": agreement, "diff": diff}[what](deadly)
        print(f"nothing was lost in {counted.stat().st_size} reads", flush=True)
    except ConnectionError as error:
        print(f"ConnectionError: {error}", flush=True)
    finally:
        worker.kill()
        scheduler.kill()
    # a client without a scheduler would wait for it when it is closed
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
