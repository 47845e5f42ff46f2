"""A program whose scheduler is killed while a measure runs: ``python lost_scheduler.py FOLDER`` prints how it ends.

The scheduler and a worker are processes of their own. The rows kill the scheduler when they are first read.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def start(*arguments: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a scheduler or a worker, whose log goes to a file."""
    log = (folder / f"{arguments[0]}.log").open("wb")
    command = [sys.executable, "-m", "dask", *arguments]
    return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)


def main(folder: Path) -> None:
    import dask.array as da
    from distributed import Client

    from shiftmetrics import posterior_agreement

    address = folder / "scheduler.json"
    options = ["--no-dashboard", "--scheduler-file", str(address)]
    scheduler = start("scheduler", "--port", "0", *options, folder=folder)
    while not address.exists():
        time.sleep(0.1)
    worker = start("worker", "--no-nanny", "--nthreads", "1", *options, folder=folder)
    client = Client(scheduler_file=str(address))
    client.wait_for_workers(1)
    pid = scheduler.pid

    def deadly(block: Any) -> Any:
        if block.size:  # Dask looks at the type of the result
            os.kill(pid, signal.SIGKILL)
            time.sleep(30.0)
        return block

    rows = np.random.default_rng(0).normal(size=(400, 3))
    scores = da.from_array(rows, chunks=(100, 3)).map_blocks(deadly, meta=rows[:0])
    print("measuring", file=sys.stderr, flush=True)
    try:
        posterior_agreement(scores, da.from_array(rows, chunks=(100, 3)))
    except ConnectionError as error:
        print(f"ConnectionError: {error}", flush=True)
    worker.kill()
    # a client without a scheduler would wait for it when it is closed
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
