"""Rows that are not in memory: stored arrays, files and loaders give the number of memory, in little of it."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from optional import torch
from shiftmetrics import Computing, Resampling, posterior_agreement
from shiftmetrics._core.rows import of_batches
from shiftmetrics.agreement import prediction_rates

RNG = np.random.default_rng(0)
REFERENCE = 3.0 * RNG.normal(size=(5000, 4))
SCORES = REFERENCE + RNG.normal(size=REFERENCE.shape)
EXACT = posterior_agreement(SCORES, REFERENCE)


def of_hdf5(folder: Path, name: str, values: np.ndarray) -> object:
    h5py = pytest.importorskip("h5py", reason="needs h5py: pip install h5py")
    return h5py.File(folder / f"{name}.h5", "w").create_dataset("rows", data=values, chunks=(333, 4))


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
    monkeypatch.setattr("shiftmetrics._core.rows.PART_BYTES", 1 << 15)
    pair = store(tmp_path, "scores", SCORES), store(tmp_path, "reference", REFERENCE)
    result = posterior_agreement(*pair)
    assert result.value == pytest.approx(EXACT.value, rel=1e-12)
    np.testing.assert_allclose(result.per_sample, EXACT.per_sample, rtol=1e-9)
    assert prediction_rates(*pair).value == prediction_rates(SCORES, REFERENCE).value
    drawn = Resampling(n_draws=40, rng=0)
    interval = posterior_agreement(*pair, resampling=drawn).interval
    assert interval.low == pytest.approx(
        posterior_agreement(SCORES, REFERENCE, resampling=drawn).interval.low, rel=1e-9
    )


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
import sys, threading, time
import h5py, numpy as np
from shiftmetrics import posterior_agreement

def anonymous():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024

file = h5py.File(sys.argv[1])
small = posterior_agreement(np.ones((100, 10)), np.eye(10)[np.arange(100) % 10])
peak = before = anonymous()
done = threading.Event()

def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
result = posterior_agreement(file["scores"], file["reference"], beta=1.0)
done.set()
watcher.join()
print(peak - before, 8 * result.n_samples / 2**20)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="needs h5py: pip install h5py")
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        for name in ("scores", "reference"):
            rows = file.create_dataset(name, (2_000_000, 10), dtype="f4", chunks=(10_000, 10))
            for start in range(0, 2_000_000, 100_000):
                rows[start : start + 100_000] = RNG.normal(size=(100_000, 10))
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / "rows.h5")], capture_output=True, text=True, check=True
    )
    peak, per_row = map(float, done.stdout.split())
    assert peak < per_row + 100.0  # MiB, of 153 in the file: the agreement of each row, and a few parts
