"""All measures on a cluster of two processes, one of which is killed in the middle: the answer of one machine."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shiftmetrics import kernel_entropic_novelty, model_stability, posterior_agreement
from shiftmetrics._core import kept_chunks, placement
from shiftmetrics._core.chunks import computed
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion

distributed = pytest.importorskip(
    "distributed", reason="needs distributed: pip install 'shiftmetrics[dask]'"
)
da = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=str(tmp_path_factory.mktemp("workers")),
        ) as started,
        distributed.Client(started) as client,
    ):
        yield client


class Killer:
    """Ends the process that reads rows for the n-th time, once."""

    def __init__(self, folder: Path, reading: int) -> None:
        self.folder, self.reading = folder, reading
        folder.mkdir(exist_ok=True)

    def readings(self) -> int:
        return (self.folder / "readings").stat().st_size

    def __call__(self, block: np.ndarray) -> np.ndarray:
        if not block.size:  # Dask looks at the type of the result
            return block
        with (self.folder / "readings").open("a") as file:
            file.write("x")
        if self.readings() == self.reading:
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    def of(self, array: np.ndarray) -> object:
        return da.from_array(array, chunks=(1100, *array.shape[1:])).map_blocks(
            self, meta=array[:0]
        )


@pytest.mark.slow
def test_agreement_outlives_a_worker(cluster: object, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    reference = 3.0 * rng.normal(size=(5000, 8))
    scores = reference + rng.normal(size=reference.shape)
    killer = Killer(tmp_path, 8)
    result = posterior_agreement(killer.of(scores), killer.of(reference))
    assert result.value == pytest.approx(posterior_agreement(scores, reference).value, rel=1e-12)
    assert killer.readings() > 8


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
def test_a_worker_lost_in_a_later_pass_takes_no_rows_with_it(
    cluster: object, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """What a lost worker kept is read again; where the rows do not fit, every pass reads them."""
    if not kept:
        monkeypatch.setattr(kept_chunks, "PART_KEPT", 0.0)
    rng = np.random.default_rng(0)
    reference = 3.0 * rng.normal(size=(5000, 8))
    scores = reference + rng.normal(size=reference.shape)
    passes = []

    def lose_one(tasks: list[object], argument: str) -> object:
        passes.append(len(tasks))
        if len(passes) == 6:
            os.kill(min(cluster.run(os.getpid).values()), signal.SIGKILL)
        return computed(tasks, argument)

    monkeypatch.setattr(placement, "computed", lose_one)
    result = posterior_agreement(
        *(da.from_array(part, chunks=(1100, 8)) for part in (scores, reference))
    )
    assert result.value == pytest.approx(posterior_agreement(scores, reference).value, rel=1e-12)
    assert result.settings.get("kept_on_workers", 0) == (2 * scores.nbytes if kept else 0)
    assert len(passes) > 6


@pytest.mark.slow
def test_stability_outlives_a_worker(cluster: object, tmp_path: Path) -> None:
    distances = np.random.default_rng(0).exponential(size=5000) - 0.1
    distances = np.maximum(distances, 0.0)
    for kind, reading in ((ZeroOneLoss, 3), (FixedLoss, 4)):
        killer = Killer(tmp_path / kind.__name__, reading)
        result = stability_criterion(kind(killer.of(distances)), 1.2 if kind is FixedLoss else 0.4)
        exact = stability_criterion(kind(distances), 1.2 if kind is FixedLoss else 0.4)
        assert result.value == pytest.approx(exact.value, rel=1e-12)
        assert result.interval.low == pytest.approx(exact.interval.low, rel=1e-6)
        assert killer.readings() > reading


@pytest.mark.slow
def test_a_model_outlives_a_worker(cluster: object, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5000, 4))
    labels = (rows @ [1.0, 0.5, 0.0, -1.0] + rng.normal(size=5000) > 0.0).astype(int)
    model = LogisticRegression().fit(rows, labels)
    for loss, threshold, reading in (("zero_one", 0.4, 3), ("log_loss", 0.9, 4)):
        killer = Killer(tmp_path / loss, reading)
        parts = killer.of(rows), da.from_array(labels, chunks=1100)
        result = model_stability(model, *parts, threshold, loss=loss)
        exact = model_stability(model, rows, labels, threshold, loss=loss)
        assert result.value == pytest.approx(exact.value, rel=1e-12)
        assert result.interval.low == pytest.approx(exact.interval.low, rel=1e-6)
        assert killer.readings() > reading


@pytest.mark.slow
def test_novelty_outlives_a_worker(cluster: object, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features, reference = rng.normal(size=(2, 4000, 4))
    features[:500] += 4.0
    killer = Killer(tmp_path / "novelty", 2)
    parts = killer.of(features), da.from_array(reference, chunks=(1300, 4))
    result = kernel_entropic_novelty(*parts, method="landmarks")
    exact = kernel_entropic_novelty(features, reference, method="landmarks")
    assert result.value == pytest.approx(exact.value, rel=1e-12)
    assert result.p_value == exact.p_value
    assert killer.readings() > 4
