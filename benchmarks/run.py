"""Run every benchmark in a process of its own, one after the other: ``python benchmarks/run.py [name ...]``.

Each ``benchmarks/<name>.py`` has a ``main()`` that prints plain-text tables of ratios between rivals timed in
the same run. Nothing here is a test: times depend on the machine, and are never asserted.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from _machine import header

FOLDER = Path(__file__).resolve().parent


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("[!_]*.py") if path.stem != "run")


def main(chosen: list[str]) -> int:
    unknown = sorted(set(chosen) - set(names()))
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; there are {', '.join(names())}", file=sys.stderr)
        return 2
    print(header(), flush=True)
    failed = []
    for name in chosen or names():
        print(f"\n=== {name} " + "=" * (96 - len(name)), flush=True)
        start = time.perf_counter()
        ended = subprocess.run([sys.executable, str(FOLDER / f"{name}.py")], check=False)
        if ended.returncode:
            failed.append(name)
        print(f"({name}: {time.perf_counter() - start:.0f} s)", flush=True)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
