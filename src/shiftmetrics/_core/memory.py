"""Memory: how much there is, and a refusal in words before an allocation that would not fit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from shiftmetrics._core.validation import check_number

_CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Return the bytes that this process may still take, as far as the system tells (4 GiB where it does not)."""
    candidates = [_meminfo(), _cgroup()]
    known = [size for size in candidates if size is not None]
    if known:
        return max(0, min(known))
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def check_memory_limit(value: Any) -> int:
    """Return a limit in bytes: ``value``, or half of what is available when it is None."""
    if value is None:
        return available_memory() // 2
    return int(check_number(value, "memory_limit", low=0.0, open_low=True, high=2.0**63))


def check_memory(needed: float, limit: int, what: str, remedy: str) -> None:
    """Raise a MemoryError in words when ``needed`` bytes exceed ``limit``.

    Parameters
    ----------
    needed : float
        Bytes at the peak.
    limit : int
        Bytes allowed.
    what : str
        The argument and what it asks for: the subject of the sentence.
    remedy : str
        What to do instead.

    Raises
    ------
    MemoryError
        With both figures and the remedy.
    """
    if needed > limit:
        raise MemoryError(
            f"{what} needs {format_bytes(needed)} of memory, got a limit of {format_bytes(limit)}. {remedy}"
        )


def format_bytes(size: float) -> str:
    """Format a number of bytes for people: ``1.5 GiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} TiB"


def _meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _cgroup() -> int | None:
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        if limit == "max":
            return None
        used = int((_CGROUP / "memory.current").read_text())
        # Pages of files count as used but are given back when they are needed.
        for line in (_CGROUP / "memory.stat").read_text().splitlines():
            if line.startswith("inactive_file "):
                used -= int(line.split()[1])
        return int(limit) - used
    except (OSError, ValueError, IndexError):
        return None
