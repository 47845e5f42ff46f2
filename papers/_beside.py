"""The first seed of an experiment by the sources that made its kept result, computed on this machine.

Networks that are trained on another processor differ in their last digits at first and in their predictions at the
end. Whether changed sources give other numbers can then be told only where both compute on one machine.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[1]
PROGRAM = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
from _experiment import _plain
measure = importlib.import_module(sys.argv[2]).measure
print("\\n" + json.dumps(_plain(measure(0, False))))
"""
"""What a process of its own runs: nothing that is imported here may be mixed with the earlier sources."""


def commit_that_made(name: str) -> str | None:
    """Return the commit that brought the kept seeds of an experiment; None where there is none."""
    kept = f"papers/results/{name}.json"
    commits = _git("log", "--format=%h", "--abbrev=10", "--", kept).decode().split()
    if not commits:
        return None
    made = None
    runs = _runs(Path(TOP / kept).read_text(encoding="utf-8"))
    for commit in commits:  # the newest first
        if _runs(_git("show", f"{commit}:{kept}").decode() or "{}") != runs:
            break
        made = commit
    return made


def first_seed_by(commit: str, name: str) -> dict[str, Any]:
    """Return what the first seed of an experiment gives by the sources of a commit.

    Raises
    ------
    RuntimeError
        If these sources do not run here.
    """
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(
            fileobj=io.BytesIO(_git("archive", commit, "papers", *_sources(commit)))
        ) as packed:
            packed.extractall(folder, filter="data")
        there = Path(folder)
        # What several experiments share is kept by a digest of its sources, so that both may look in one place.
        (TOP / "papers" / ".cache").mkdir(exist_ok=True)
        (there / "papers" / ".cache").symlink_to(TOP / "papers" / ".cache")
        paths = os.pathsep.join(str(there / place) for place in ("src", "lab/src"))
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(there / "papers"), name],
            env={**os.environ, "PYTHONPATH": paths}, cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise RuntimeError(f"{name} at {commit} does not run here: {reason[0]}")
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def _sources(commit: str) -> list[str]:
    """Return the folders of a commit that hold the library and, from when it stood alone on, the laboratory."""
    names = _git("ls-tree", "--name-only", commit).decode().split()
    return [name for name in ("src", "lab") if name in names]


def _runs(text: str) -> Any:
    return json.loads(text).get("runs")


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, check=False).stdout
