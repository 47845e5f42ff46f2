"""Run the experiments, one after the other: ``python papers/run.py [name ...] [--quick] [--again]``.

What an earlier run finished is kept: an interrupted run goes on where it stopped. Each experiment is a script that
runs alone as well; `index.py` lists which figure or table of which document it reproduces.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
import time

from _experiment import NO_DATA
from index import ENTRIES, FOLDER


def names() -> list[str]:
    """Return the names of all experiments, in the order of the index."""
    return list(dict.fromkeys(entry.script for entry in ENTRIES if entry.script))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="experiments, such as agreement_noise; all by default")
    parser.add_argument("--quick", action="store_true", help="the reduced form of each")
    parser.add_argument("--again", action="store_true", help="forget what earlier runs kept")
    options = parser.parse_args()
    known = names()
    for name in options.names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            parser.error(f"unknown experiment {name!r}. {hint}There are: {', '.join(known)}")
    flags = [f"--{flag}" for flag in ("quick", "again") if getattr(options, flag)]
    ended: dict[str, list[str]] = {"failed": [], "skipped": []}
    chosen = options.names or known
    for count, name in enumerate(chosen, start=1):
        start = time.perf_counter()
        command = [sys.executable, str(FOLDER / f"{name}.py"), *flags]
        done = subprocess.run(command, env={"OMP_NUM_THREADS": "1", **os.environ}, check=False)
        if done.returncode:
            ended["skipped" if done.returncode == NO_DATA else "failed"].append(name)
        print(f"[{count}/{len(chosen)}] {name}: {time.perf_counter() - start:.0f} s", flush=True)
    for how, which in ended.items():
        if which:
            print(f"{how}: {', '.join(which)}", file=sys.stderr)
    return 1 if ended["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
