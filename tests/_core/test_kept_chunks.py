"""Workers keep the partitions that fit, so that each is read once; what does not fit is read in each pass."""

import gc

import numpy as np
import pytest

from shiftmetrics import posterior_agreement
from shiftmetrics._core import kept_chunks
from shiftmetrics._core.chunk_readers import chunks_of
from shiftmetrics._core.chunks import kept_bytes
from shiftmetrics.stability import FixedLoss, stability_criterion

dask = pytest.importorskip("dask", reason="needs dask: pip install 'shiftmetrics[dask]'")
da = pytest.importorskip("dask.array")
dataframe = pytest.importorskip("dask.dataframe")


class Counter:
    """Counts how often blocks with rows are read."""

    def __init__(self) -> None:
        self.readings = 0

    def __call__(self, block: np.ndarray) -> np.ndarray:
        self.readings += bool(block.size)
        return block

    def of(self, array: np.ndarray, size: int = 100) -> object:
        split = da.from_array(array, chunks=(size, *array.shape[1:]))
        return split.map_blocks(self, meta=array[:0])


@pytest.fixture
def scores() -> np.ndarray:
    rng = np.random.default_rng(0)
    reference = 3.0 * rng.normal(size=(600, 4))
    return np.stack([reference + rng.normal(size=reference.shape), reference])


def _give_workers(monkeypatch: pytest.MonkeyPatch, memory: float | None) -> None:
    monkeypatch.setattr(kept_chunks, "_workers_memory", lambda _: memory)


@pytest.mark.parametrize(("part", "readings"), [(1.01, 12), (0.51, 6 + 6 * 16)])
def test_what_fits_is_read_once(
    scores: np.ndarray, monkeypatch: pytest.MonkeyPatch, part: float, readings: int
) -> None:
    """With room for one of two samples the other is read in each of some sixteen passes."""
    _give_workers(monkeypatch, part * scores.nbytes / kept_chunks.PART_KEPT)
    counter = Counter()
    with dask.config.set(scheduler="synchronous"):
        result = posterior_agreement(*map(counter.of, scores))
    assert result.value == pytest.approx(posterior_agreement(*scores).value, rel=1e-12)
    assert counter.readings == pytest.approx(readings, rel=0.3)
    assert readings > 12 or counter.readings == 12


@pytest.mark.parametrize("memory", [None, 0.0])
def test_without_a_limit_or_room_nothing_is_kept(
    scores: np.ndarray, monkeypatch: pytest.MonkeyPatch, memory: float | None
) -> None:
    _give_workers(monkeypatch, memory)
    counter = Counter()
    losses = np.abs(scores[0, :, 0])
    with dask.config.set(scheduler="synchronous"):
        result = stability_criterion(FixedLoss(counter.of(losses)), 4.0)
    assert result.value == pytest.approx(stability_criterion(FixedLoss(losses), 4.0).value)
    assert counter.readings > 60
    assert kept_bytes() == 0


def test_rows_are_let_go_with_the_array_and_said_in_results(
    scores: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    _give_workers(monkeypatch, 1e9)
    losses = np.abs(scores[0, :, 0])
    with dask.config.set(scheduler="synchronous"):
        loss = FixedLoss(da.from_array(losses, chunks=100))
        result = stability_criterion(loss, 4.0)
    assert kept_bytes() == losses.nbytes
    assert result.settings["kept_on_workers"] == losses.nbytes
    del loss, result
    gc.collect()
    assert kept_bytes() == 0
    assert "kept_on_workers" not in stability_criterion(FixedLoss(losses), 4.0).settings


def test_kept_rows_are_checked_once_with_their_positions(
    scores: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    _give_workers(monkeypatch, 1e9)
    losses = np.abs(scores[0, :, 0])
    losses[417] = np.nan
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match=r"losses must be finite.*417"),
    ):
        stability_criterion(FixedLoss(da.from_array(losses, chunks=100)), 4.0)


def test_columns_of_frames_are_kept_alone_and_counted_by_one(
    scores: np.ndarray, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    _give_workers(monkeypatch, 1e9)
    folders = []
    for number, part in enumerate(scores):
        frame = pd.DataFrame(part, columns=list("abcd")).assign(note="text")
        folders.append(tmp_path / str(number))
        folders[-1].mkdir()
        for start in range(0, 600, 150):
            frame[start : start + 150].to_parquet(folders[-1] / f"{start:03}.parquet")
    with dask.config.set(scheduler="synchronous"):
        frames = [dataframe.read_parquet(folder)[list("abcd")] for folder in folders]
        chunks = chunks_of(frames[0], "scores")
        assert chunks is not None
        assert len(chunks.counted) == len(chunks.delayed) == 4
        assert list(dask.compute(chunks.counted[0])[0].columns) == ["a"]
        np.testing.assert_array_equal(chunks.edges, [0, 150, 300, 450, 600])
        result = posterior_agreement(*frames)
    assert result.value == pytest.approx(posterior_agreement(*scores).value, rel=1e-12)
    assert result.settings["kept_on_workers"] == scores.nbytes


def test_what_users_keep_is_not_kept_twice(
    scores: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    _give_workers(monkeypatch, 1e9)

    class Future:
        """As those of distributed are called."""

    split = da.from_array(scores[0], chunks=(100, 4))
    held = chunks_of(split, "scores")
    assert held is not None
    assert held.may_keep
    monkeypatch.setattr(type(split), "dask", property(lambda _: {"part": Future()}))
    held = chunks_of(split, "scores")
    assert held is not None
    assert not held.may_keep
