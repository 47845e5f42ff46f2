"""What a timing depends on: machine, cores, threads, versions; and the clock that all benchmarks share."""

from __future__ import annotations

import datetime
import gc
import importlib.metadata
import os
import platform
import re
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PACKAGES = ("shiftmetrics", "numpy", "scipy", "scikit-learn", "torch", "cvxpy", "clarabel")


def header(*packages: str) -> str:
    """Return the lines that stand above every table; ``packages`` adds to the versions shown."""
    versions = ", ".join(
        f"{name} {_version(name)}" for name in (*PACKAGES, *packages) if _version(name)
    )
    threads = os.environ.get("OMP_NUM_THREADS") or "not limited"
    return "\n".join(
        [
            f"machine   {_processor()}, {_cores()} cores usable, {_memory_gib():.0f} GiB, {platform.system()}",
            f"threads   OMP_NUM_THREADS {threads}",
            f"versions  python {platform.python_version()}, {versions}",
            f"date      {datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d %H:%M} UTC",
        ]
    )


def best_of(call: Callable[[], Any], *, repeats: int = 3) -> float:
    """Return the shortest of ``repeats`` times of ``call``, in seconds: the one that others disturbed least."""
    return min(_times(call, repeats))


def median_of(call: Callable[[], Any], *, repeats: int = 5) -> float:
    """Return the median of ``repeats`` times of ``call``, in seconds."""
    return statistics.median(_times(call, repeats))


PRINT_PEAK = """
import re
from pathlib import Path
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
"""Last lines of a program, to print the KiB that it held at most; `ru_maxrss` may be that of who began it."""


def cpu_of_process(command: Sequence[str], **options: Any) -> tuple[float, str]:
    """Return the CPU seconds of a process with its children, and what it printed; options as `subprocess.run`."""
    before = os.times()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options)
    after = os.times()
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system, done.stdout


def peak_memory_mib() -> float:
    """Return the largest memory that this process has held so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if platform.system() == "Darwin" else peak / 2**10


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "") -> str:
    """Lay out a plain-text table: texts to the left, numbers to the right."""
    cells = [[_text(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(columns), *cells]) for i in range(len(columns))]
    right = [all(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]

    def line(parts: Sequence[str]) -> str:
        padded = [
            p.rjust(w) if r else p.ljust(w) for p, w, r in zip(parts, widths, right, strict=True)
        ]
        return "  ".join(padded).rstrip()

    ruler = "  ".join("-" * width for width in widths)
    return "\n".join(
        [*([title] if title else []), line(columns), ruler, *(line(row) for row in cells)]
    )


def _times(call: Callable[[], Any], repeats: int) -> list[float]:
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def _text(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.3g}" if abs(cell) < 1000 else f"{cell:.0f}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.is_file() else None
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


if __name__ == "__main__":
    print(header())
