"""Which partitions the workers of a cluster keep between passes, so that files are read once.

A measure passes over its rows ten times or more, and reading a partition of parquet costs more than most passes.
Where the rows that measures need take at most two fifths of the workers' memory, the workers keep them, as arrays,
until the measure is done. The rest of their memory is for what a pass needs, and for whatever else the cluster does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shiftmetrics._core.chunks import Chunks, dask, kept_bytes, lost_scheduler, quiet

PART_KEPT = 0.4
"""Part of the memory of all workers together that kept rows may take."""


def keep_on_workers(arrays: Iterable[Chunks]) -> None:
    """Have the workers keep the partitions of arrays from the next pass on, where there is room for all of them."""
    # Both sides of pairs are one array, which counts once.
    new = {id(array): array for array in map(_whole, arrays) if array.may_keep}
    if not new:
        return
    limit = _workers_memory(next(iter(new.values())).argument)
    if limit is None:
        return
    needed = sum(array.n_bytes for array in new.values())
    fits = kept_bytes() + needed <= PART_KEPT * limit
    for array in new.values():
        # Where there is no room now, later passes do not ask again.
        array.may_keep = False
        if fits:
            array.hold()


def _whole(array: Chunks) -> Chunks:
    """Return the array that is read: of one side of pairs, the pairs."""
    return array if array.pairs is None else array.pairs


def _workers_memory(argument: str) -> int | None:
    """Return the bytes that the workers of the active cluster may take; None without one, or if one has no limit."""
    client: Any = getattr(dask().base.get_scheduler(), "__self__", None)
    if not hasattr(client, "scheduler_info"):
        return None  # threads of this process
    with quiet():
        known = client.scheduler_info(n_workers=-1)
    if client.status != "running" or "workers" not in known:
        # Dask would go on in threads of this process, which may not hold what the workers hold.
        raise lost_scheduler(argument, "a client that has lost its own")
    workers = known["workers"].values()
    limits = [int(worker["memory_limit"] or 0) for worker in workers]
    return sum(limits) if limits and all(limits) else None
