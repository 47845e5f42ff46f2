"""Readers of rows that are not in memory: each gives the numbers of memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from optional import torch
from shiftmetrics import Computing, Resampling, kernel_entropic_novelty, posterior_agreement
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
