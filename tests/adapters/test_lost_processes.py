"""Processes that die, stay away or stand outside the group, and killed workers of Dask: clear ends, nothing hangs."""

import datetime
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist

import oracles
from shiftmetrics import posterior_agreement
from shiftmetrics.adapters import distributed

pytestmark = pytest.mark.slow

PATIENCE = datetime.timedelta(seconds=6)


def dies_at_once(rank: int) -> None:
    if rank == 1:
        os._exit(3)


def dies_midway(rank: int) -> None:
    gather, calls = distributed._gather, []

    def gather_or_die(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            os._exit(3)
        return gather(*arguments)

    if rank == 1:
        distributed._gather = gather_or_die


def stays_away(rank: int) -> None:
    if rank == 1:
        time.sleep(2 * PATIENCE.total_seconds())
        os._exit(3)


def all_take_part(rank: int) -> None:
    del rank


def worker(rank: int, folder: str, what: Any, members: list[int] | None) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2, timeout=PATIENCE
    )
    group = None if members is None else dist.new_group(members, timeout=PATIENCE)
    what(rank)
    try:
        scores, reference = oracles.hard_pairs(1)
        rows = slice(0, 250) if rank == 0 else slice(250, None)
        found = distributed.distributed_agreement(
            scores[rows], reference[rows], scores.shape[1], group=group
        ).value
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    Path(folder, f"{rank}.txt").write_text(str(found))
    os._exit(0)  # the group may be broken


def answers_of_two(what: Any, members: list[int] | None = None) -> list[str | None]:
    """Return what each of two processes wrote; None where it wrote nothing. Fails if one does not end in time."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        processes = [context.Process(target=worker, args=(rank, folder, what, members)) for rank in range(2)]
        for process in processes:
            process.start()
        try:
            for process in processes:
                process.join(180.0)
            assert [process.is_alive() for process in processes] == [False, False]
        finally:
            for process in processes:
                process.kill()
        files = [Path(folder, f"{rank}.txt") for rank in range(2)]
        return [file.read_text() if file.exists() else None for file in files]


@pytest.mark.parametrize("what", [dies_at_once, dies_midway, stays_away])
def test_a_process_that_is_lost_ends_the_others_with_a_reason(what: Any) -> None:
    survivor, lost = answers_of_two(what)
    assert lost is None
    assert survivor is not None
    assert survivor.startswith("RuntimeError: Every process of the group must take part, but one ended")


def test_a_process_outside_the_group_is_told_so() -> None:
    member, outsider = answers_of_two(all_take_part, members=[0])
    alone = posterior_agreement(*(part[:250] for part in oracles.hard_pairs(1)))
    assert float(member or "nan") == pytest.approx(alone.value, abs=2e-6)
    assert outsider is not None
    assert outsider.startswith(
        "ValueError: group must be a group that this process belongs to, got another one."
    )


# --- Dask --------------------------------------------------------------------------------------------------


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
