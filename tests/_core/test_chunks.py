"""Rows that are not in memory: stored arrays, files and loaders give the number of memory, in little of it."""

import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from optional import torch
from shiftmetrics import (
    Computing,
    Resampling,
    kernel_entropic_novelty,
    posterior_agreement,
)
from shiftmetrics._core.chunk_readers import of_batches
from shiftmetrics._core.chunks import Chunks

RNG = np.random.default_rng(0)
REFERENCE = 3.0 * RNG.normal(size=(5000, 4))
SCORES = REFERENCE + RNG.normal(size=REFERENCE.shape)
EXACT = posterior_agreement(SCORES, REFERENCE)


def of_hdf5(folder: Path, name: str, values: np.ndarray) -> object:
    h5py = pytest.importorskip("h5py", reason="needs h5py: pip install h5py")
    return h5py.File(folder / f"{name}.h5", "w").create_dataset(
        "rows", data=values, chunks=(333, 4)
    )


def of_zarr(folder: Path, name: str, values: np.ndarray) -> object:
    zarr = pytest.importorskip("zarr", reason="needs zarr: pip install zarr")
    zarr.save_array(str(folder / name), values)
    return zarr.open_array(str(folder / name), mode="r")


def of_parquet(folder: Path, name: str, values: np.ndarray) -> object:
    dataset = pytest.importorskip(
        "pyarrow.dataset", reason="needs pyarrow: pip install 'shiftmetrics[parquet]'"
    )
    (folder / name).mkdir()
    frame = pd.DataFrame(values, columns=list("abcd"))
    frame[:3000].to_parquet(folder / name / "0.parquet", row_group_size=700)
    frame[3000:].to_parquet(folder / name / "1.parquet", row_group_size=2000)
    return dataset.dataset(str(folder / name))


def of_map(folder: Path, name: str, values: np.ndarray) -> object:
    np.save(folder / f"{name}.npy", values)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


@pytest.mark.parametrize("store", [of_hdf5, of_zarr, of_parquet, of_map])
def test_files_give_the_number_of_memory(
    store: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiftmetrics._core.chunk_readers.CHUNK_BYTES", 1 << 15)
    pair = store(tmp_path, "scores", SCORES), store(tmp_path, "reference", REFERENCE)
    result = posterior_agreement(*pair)
    assert result.value == pytest.approx(EXACT.value, rel=1e-12)
    np.testing.assert_allclose(result.per_sample, EXACT.per_sample, rtol=1e-9)
    drawn = Resampling(n_resamples=40, rng=0)
    interval = posterior_agreement(*pair, resampling=drawn).interval
    assert interval.low == pytest.approx(
        posterior_agreement(SCORES, REFERENCE, resampling=drawn).interval.low, rel=1e-9
    )


@pytest.mark.parametrize("side", [0, 1])
def test_one_sample_may_be_in_a_file_and_the_other_in_memory(tmp_path: Path, side: int) -> None:
    pair = [SCORES, REFERENCE]
    pair[side] = of_hdf5(tmp_path, "rows", pair[side])
    assert posterior_agreement(*pair).value == pytest.approx(EXACT.value, rel=1e-12)


def test_a_loader_of_torch_is_read_again_and_again() -> None:
    data = torch.utils.data.TensorDataset(torch.tensor(SCORES), torch.tensor(REFERENCE))
    loader = torch.utils.data.DataLoader(data, batch_size=300, shuffle=True)
    result = posterior_agreement(loader, computing=Computing(atol=1e-9))
    assert result.value == pytest.approx(EXACT.value, abs=1e-6)


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


# --- ends ---------------------------------------------------------------------------------------------------


def test_a_partition_of_another_width_is_named() -> None:
    dask = pytest.importorskip("dask", reason="needs dask: pip install 'shiftmetrics[dask]'")
    da = pytest.importorskip("dask.array")
    told = [
        da.from_delayed(dask.delayed(part), shape=(1000, 4), dtype=float)
        for part in (SCORES[:1000], SCORES[1000:2000, :3], SCORES[2000:3000])
    ]
    with pytest.raises(
        ValueError, match=r"scores must be of shape \(1000, 4\) in chunk 1, got \(1000, 3\)"
    ):
        posterior_agreement(da.concatenate(told), da.from_array(REFERENCE[:3000], chunks=(1000, 4)))


def test_a_broken_file_of_parquet_is_named(tmp_path: Path) -> None:
    reference = of_parquet(tmp_path, "reference", REFERENCE)
    scores = of_parquet(tmp_path, "scores", SCORES)
    file = tmp_path / "scores" / "1.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:-200])
    with pytest.raises(
        ValueError, match=r"scores must be parquet files .* got '.*scores/1\.parquet'"
    ):
        posterior_agreement(scores, reference)
    file.write_bytes(
        whole[:4] + bytes(2000) + whole[2004:]
    )  # its footer is whole, its numbers are not
    with pytest.raises(
        ValueError, match=r"scores must be parquet files .* got '.*scores/1\.parquet'"
    ):
        posterior_agreement(scores, reference)


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


def test_row_groups_are_counted_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'shiftmetrics[parquet]'")
    stored = of_parquet(tmp_path, "constant", np.ones((5000, 4)))
    monkeypatch.setattr("shiftmetrics._core.options.available_memory", lambda: 100_000)
    with pytest.raises(MemoryError, match="scores, a row group of 2000 rows, needs"):
        posterior_agreement(stored, stored)


@pytest.mark.parametrize("measure", [posterior_agreement, kernel_entropic_novelty])
def test_a_limit_that_is_given_is_kept_before_a_row_group_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measure: Callable[..., Any]
) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'shiftmetrics[parquet]'")
    stored = of_parquet(tmp_path, "constant", np.ones((5000, 4)))
    monkeypatch.setattr(Chunks, "_chunk", lambda *_: pytest.fail("a row group was read"))
    with pytest.raises(MemoryError, match=r"of 5000 rows .* got a limit of"):
        measure(stored, stored, computing=Computing(memory_limit=int(16.1 * 2**20)))
