"""Rows that are not in memory: stored arrays, files and loaders give the number of memory, in little of it."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shiftmetrics._core.chunk_readers import of_batches

RNG = np.random.default_rng(0)
REFERENCE = 3.0 * RNG.normal(size=(5000, 4))
SCORES = REFERENCE + RNG.normal(size=REFERENCE.shape)


def test_blocks_come_from_any_place_in_any_order() -> None:
    ends = [0, 10, 10, 700, 5000]
    parts = of_batches([SCORES[start:stop] for start, stop in itertools.pairwise(ends)], "rows")
    for start, stop in ((0, 5), (5, 800), (3, 4), (4999, 5000), (690, 701), (700, 700), (0, 5000)):
        np.testing.assert_array_equal(parts[start:stop], SCORES[start:stop])
    positions = np.array([4999, 0, 10, 9, 700])
    np.testing.assert_array_equal(parts[positions], SCORES[positions])
    np.testing.assert_array_equal(parts[::1000], SCORES[::1000])
    np.testing.assert_array_equal(np.asarray(parts), SCORES)


MEASURE = """
import sys, threading
import h5py, numpy as np
from shiftmetrics import Computing, ZeroOneLoss, posterior_agreement, stability_criterion

def anonymous():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024

file = h5py.File(sys.argv[1])
posterior_agreement(np.ones((100, 10)), np.eye(10)[np.arange(100) % 10])
stability_criterion(ZeroOneLoss(np.linspace(0.0, 2.0, 100)), 0.4)
peak = before = anonymous()
done = threading.Event()

def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
computing = Computing(memory_limit=int(float(sys.argv[3]) * 2**20))
try:
    if sys.argv[2] == "agreement":
        posterior_agreement(file["scores"], file["reference"], beta=1.0, computing=computing)
    else:
        stability_criterion(ZeroOneLoss(file["distances"]), 0.4, computing=computing)
except MemoryError as error:
    print(error)
else:
    print("done")
done.set()
watcher.join()
print(peak - before)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two million rows: 153 MiB of scores, and 8 MiB of distances."""
    h5py = pytest.importorskip("h5py", reason="needs h5py: pip install h5py")
    path = tmp_path_factory.mktemp("large") / "rows.h5"
    with h5py.File(path, "w") as file:
        for name in ("scores", "reference"):
            rows = file.create_dataset(name, (2_000_000, 10), dtype="f4", chunks=(10_000, 10))
            for start in range(0, 2_000_000, 100_000):
                rows[start : start + 100_000] = RNG.normal(size=(100_000, 10))
        file.create_dataset(
            "distances", data=RNG.exponential(size=2_000_000).astype("f4"), chunks=True
        )
    return path


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
@pytest.mark.parametrize("measure", ["agreement", "stability"])
def test_memory_stays_within_its_limit_or_is_refused(large: Path, measure: str) -> None:
    def run(mib: float) -> tuple[str, float]:
        arguments = [sys.executable, "-c", MEASURE, str(large), measure, str(mib)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        words, peak = done.stdout.splitlines()
        return words, float(peak)

    refused, _ = run(10.0)
    words = (
        r"of 2000000 rows read by \d+ threads, needs ([\d.]+) MiB of memory, got a limit of 10 MiB"
    )
    found = re.search(words, refused)
    assert found, refused
    needed = float(found[1]) + 0.1
    assert run(needed - 1.0)[0].startswith(("scores, of", "loss, of"))
    answer, peak = run(needed)  # no limit that is let through is lower
    assert answer == "done"
    assert peak < needed


INTERRUPTED = """
import os, signal
import numpy as np
from shiftmetrics import posterior_agreement

rng = np.random.default_rng(0)
reference = rng.normal(size=(200_000, 10))
scores = reference + rng.normal(size=reference.shape)

class Stored:
    chunks, shape, dtype, ndim, readings = (4096, 10), scores.shape, scores.dtype, 2, 0

    def __getitem__(self, rows):
        Stored.readings += 1
        if Stored.readings == READING:
            os.kill(os.getpid(), signal.SIGINT)
        return scores[rows]

class Batches:
    def __iter__(self):
        return (Stored()[slice(start, start + 4096)] for start in range(0, len(scores), 4096))

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    posterior_agreement(ROWS(), [reference[:100_000], reference[100_000:]] if ROWS is Batches else reference)
except KeyboardInterrupt:
    print("ended at", Stored.readings)
small = slice(0, 5000)
print(posterior_agreement(scores[small], reference[small]).status.ok)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("rows", "reading"), [("Stored", 70), ("Batches", 130)])
def test_an_interrupt_ends_a_run_in_the_middle_and_the_next_one_works(
    rows: str, reading: int
) -> None:
    code = INTERRUPTED.replace("READING", str(reading)).replace("ROWS", rows)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    ended, fine = done.stdout.splitlines()
    assert (
        reading <= int(ended.split()[-1]) < reading + 50
    )  # a pass has 49 parts, and there are about ten
    assert fine == "True"
