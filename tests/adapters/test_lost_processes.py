"""Killed workers and schedulers of Dask, and rows that kill them: clear ends, nothing hangs."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracles
from shiftmetrics import posterior_agreement

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Any]:
    """Return a client of two worker processes."""
    daskd = pytest.importorskip("distributed")
    with (
        daskd.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0,
            local_directory=tmp_path,
        ) as cluster,
        daskd.Client(cluster) as client,
    ):  # fmt: skip
        yield client


def dask_pairs(chunks: int = 30) -> list[Any]:
    array = pytest.importorskip("dask.array")
    return [array.from_array(part, chunks=(chunks, -1)) for part in oracles.hard_pairs(1)]


def test_a_killed_worker_costs_time_and_no_row(cluster: Any) -> None:
    exact = posterior_agreement(*oracles.hard_pairs(1))
    pairs = [part.persist() for part in dask_pairs()]
    assert posterior_agreement(*pairs).value == pytest.approx(exact.value, abs=2e-6)
    (first, _) = cluster.run(os.getpid).values()
    os.kill(first, 9)  # with half of the partitions
    result = posterior_agreement(*pairs)
    assert result.n_samples == exact.n_samples
    assert result.value == pytest.approx(exact.value, abs=2e-6)


def test_rows_that_kill_every_worker_end_with_an_error(cluster: Any) -> None:
    def deadly(block: Any) -> Any:
        if len(block) and multiprocessing.parent_process() is not None:
            os._exit(1)
        return block

    first, second = dask_pairs(150)
    first = first.map_blocks(deadly, dtype=np.float64, meta=np.empty((0, 0)))
    cluster.cluster.scheduler.allowed_failures = 1
    with pytest.raises(ConnectionError, match="of which several workers died"):
        posterior_agreement(first, second)


def test_bad_rows_on_a_worker_are_named(cluster: Any) -> None:
    first, second = dask_pairs()
    with pytest.raises(ValueError, match="scores must be finite"):
        posterior_agreement(first + np.nan, second)


# Agreement reads four partitions in each of eleven passes. Diff reads four in each of five, of which the fifth joins
# the tables. With 0 the scheduler is lost before anything is asked of it.
@pytest.mark.parametrize(
    ("what", "argument", "read"),
    [("agreement", "scores", 6), ("agreement", "scores", 0), ("diff", "old", 18)],
)
def test_a_lost_scheduler_is_one_error_without_its_log(
    what: str, argument: str, read: int, tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("dask.dataframe")
    program = Path(__file__).parents[1] / "lost_scheduler.py"
    command = [sys.executable, str(program), str(tmp_path), what, str(read)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.startswith(f"ConnectionError: {argument} must be on a scheduler that"), done
    assert "Start the cluster again" in done.stdout
    # nothing but the line that the program itself writes before it measures
    assert done.stderr.splitlines()[-1] == "measuring", done.stderr
