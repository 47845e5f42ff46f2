"""Run the experiments: ``python papers/run.py [name ...] [--jobs N] [--quick] [--again] [--older] [--confirm]``.

What an earlier run finished is kept: an interrupted run goes on where it stopped. Each experiment is a script that
runs alone as well; `index.py` lists which figure or table of which document it reproduces. Experiments of one family,
such as all attacks, share networks and attacked rows, and run one after the other; families run side by side.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from _cache import sources
from _experiment import NO_DATA
from _provenance import older
from index import ENTRIES, FOLDER


def names() -> list[str]:
    """Return the names of all experiments, in the order of the index."""
    return list(dict.fromkeys(entry.script for entry in ENTRIES if entry.script))


def families(chosen: Sequence[str]) -> list[list[str]]:
    """Return names by what stands before the first underscore, the family that took longest first."""
    found: dict[str, list[str]] = {}
    for name in chosen:
        found.setdefault(name.partition("_")[0], []).append(name)
    return sorted(found.values(), key=lambda family: -sum(map(seconds, family)))


def seconds(name: str) -> float:
    """Return how long an experiment took when it ran last, 0 where it never did."""
    kept = FOLDER / "results" / f"{name}.json"
    return float(json.loads(kept.read_text(encoding="utf-8"))["seconds"]) if kept.is_file() else 0.0


def older_names(chosen: Sequence[str]) -> list[str]:
    """Return the experiments whose results are older than the code that they use."""
    found = []
    for name in chosen:
        kept = FOLDER / "results" / f"{name}.json"
        record = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {"parts": {}}
        if older(record, FOLDER / f"{name}.py"):
            found.append(name)
    return found


def missing_folders(chosen: Sequence[str]) -> list[str]:
    """Return the data folders that the experiments read and that are not there."""
    root = os.environ.get("SHIFTMETRICS_DATA", "")
    texts = {
        path.read_text(encoding="utf-8")
        for name in chosen
        for path in sources(FOLDER / f"{name}.py")
    }
    named = {name for text in texts for name in re.findall(r'data_folder\("(\w+)"\)', text)}
    return sorted(name for name in named if not (root and (Path(root) / name).is_dir()))


def run_all(family: Sequence[str], flags: Sequence[str]) -> dict[str, int]:
    """Run experiments one after the other; return their exit statuses."""
    statuses = {}
    for name in family:
        start = time.perf_counter()
        command = [sys.executable, str(FOLDER / f"{name}.py"), *flags]
        statuses[name] = subprocess.run(
            command, env={"OMP_NUM_THREADS": "1", **os.environ}, check=False
        ).returncode
        print(f"{name}: ended after {time.perf_counter() - start:.0f} s", flush=True)
    return statuses


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", help="experiments, such as agreement_noise; all by default"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="families that run side by side; 1 by default"
    )
    parser.add_argument("--quick", action="store_true", help="the reduced form of each")
    parser.add_argument("--again", action="store_true", help="forget what earlier runs kept")
    parser.add_argument(
        "--confirm", action="store_true", help="compute the first seed of each again and compare"
    )
    parser.add_argument(
        "--older", action="store_true", help="only those older than the code that they use"
    )
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {options.jobs}")
    known = names()
    for name in options.names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            parser.error(f"unknown experiment {name!r}. {hint}There are: {', '.join(known)}")
    flags = [f"--{flag}" for flag in ("quick", "again", "confirm") if getattr(options, flag)]
    chosen = options.names or known
    if options.older:
        chosen = older_names(chosen)
        print(f"older than the code they use: {', '.join(chosen) or 'none'}", flush=True)
        if not options.confirm:
            flags.append("--again")
    if missing := missing_folders(chosen):
        print(
            f"not in SHIFTMETRICS_DATA: {', '.join(missing)}. papers/DATA.md says what they are; "
            "the experiments that read them are skipped.",
            file=sys.stderr,
        )
    statuses: dict[str, int] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for ended in pool.map(lambda family: run_all(family, flags), families(chosen)):
            statuses |= ended
    failed = [name for name, status in statuses.items() if status not in (0, NO_DATA)]
    skipped = [name for name, status in statuses.items() if status == NO_DATA]
    for how, which in (("failed", failed), ("skipped", skipped)):
        if which:
            print(f"{how}: {', '.join(which)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
