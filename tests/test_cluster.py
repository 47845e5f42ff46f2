"""All measures on a cluster of two processes, one of which is killed in the middle: the answer of one machine."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shiftmetrics import posterior_agreement

distributed = pytest.importorskip("distributed", reason="needs distributed: pip install 'shiftmetrics[dask]'")
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

    def __call__(self, block: np.ndarray) -> np.ndarray:
        if not block.size:  # Dask looks at the type of the result
            return block
        with (self.folder / "readings").open("a") as file:
            file.write("x")
        if (self.folder / "readings").stat().st_size == self.reading:
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    def of(self, array: np.ndarray) -> object:
        return da.from_array(array, chunks=(1100, *array.shape[1:])).map_blocks(self, meta=array[:0])


@pytest.mark.slow
def test_agreement_outlives_a_worker(cluster: object, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    reference = 3.0 * rng.normal(size=(5000, 8))
    scores = reference + rng.normal(size=reference.shape)
    killer = Killer(tmp_path, 8)
    result = posterior_agreement(killer.of(scores), killer.of(reference))
    assert result.value == pytest.approx(posterior_agreement(scores, reference).value, rel=1e-12)
    assert (tmp_path / "readings").stat().st_size > 8
