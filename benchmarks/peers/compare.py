"""`audit`, `diff` and `monitor` beside other libraries, on the same inputs.

``python benchmarks/peers/compare.py [FOLDER]``. Each peer gets a virtual environment of its own in FOLDER (a new
one, unless given) and is first installed beside the numpy, pandas and scikit-learn that are here. Where it does not
install or import there, it gets the versions that it needs. Needs a network, some 6 GB and an hour of two
cores, most of it for evidently; prints date, versions, and the lines of ``docs/peers.md``.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shiftmetrics.examples.records import write_records

HERE = Path(__file__).resolve().parent
STACK = [f"{name}=={version(name)}" for name in ("numpy", "pandas", "scikit-learn")]


class Peer(NamedTuple):
    """A library, what imports it, and what it takes where today's versions do not do."""

    package: str
    version: str
    imports: str
    needs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its function in tasks.py."""
        return self.package.replace("-", "_")


PEERS = [
    Peer("evidently", "0.7.23", "from evidently.presets import DataDriftPreset", ("pandas<3",)),
    Peer("nannyml", "0.13.1", "import nannyml", ("statsmodels",)),
    Peer("alibi-detect", "0.13.0", "import alibi_detect.cd"),
    Peer(
        "deepchecks",
        "0.19.1",
        "import deepchecks.tabular",
        ("scikit-learn<1.6", "numpy<2", "pandas<3", "setuptools<81"),
    ),
    Peer("skore", "0.28.0", "import skore"),
    Peer("inspect_ai", "0.3.285", "import inspect_ai.analysis"),
    Peer("lm-eval", "0.4.13", "import lm_eval"),
]
DECIDES = ("evidently", "nannyml", "alibi-detect", "deepchecks")
"""Those that answer one of the questions with yes or no."""


# --- the inputs ------------------------------------------------------------------------------------------


def write_pair(folder: Path, number: int, first: pd.DataFrame, second: pd.DataFrame) -> None:
    """Write one pair of tables."""
    folder.mkdir(parents=True, exist_ok=True)
    first.to_csv(folder / f"{number}_first.csv", index=False)
    second.to_csv(folder / f"{number}_second.csv", index=False)


def write_audits(folder: Path, draws: int) -> None:
    """Halves of the example's reference, and the same with 40 rows of its new mode among the 700 of the second."""
    reference, current = (pd.read_csv(path) for path in write_records(folder)[:2])
    columns = ["age", "job", "hours", "income", "married"]
    new = current.loc[current["job"] == "delivery rider", columns]
    for number in range(draws):
        rows = reference.sample(frac=1, random_state=number)[columns].reset_index(drop=True)
        half = len(rows) // 2
        first, second = rows[:half], rows[half:]
        write_pair(folder / "audit" / "nothing changed", number, first, second)
        riders = new.sample(40, random_state=number)
        mixed = pd.concat([second[40:], riders]).sample(frac=1, random_state=number)
        write_pair(folder / "audit" / "5 % of the rows are new", number, first, mixed)


def write_diffs(folder: Path, draws: int) -> None:
    """Answers of two models to 1,000 questions: as good with 6 % changed, and 4 points worse with 8 % changed."""
    for case, fixed, broken in (("as good", 30, 30), ("4 points worse", 20, 60)):
        for number in range(draws):
            rng = np.random.default_rng(number)
            label = rng.integers(0, 2, size=1000)
            order = rng.permutation(1000)
            wrong_before, wrong_after = order[:100], order[fixed : 100 + broken]
            sides = []
            for wrong in (wrong_before, wrong_after):
                answer = label.copy()
                answer[wrong] = 1 - answer[wrong]
                sides.append(pd.DataFrame({"label": label, "answer": answer}))
            write_pair(folder / "diff" / case, number, *sides)


def write_batches(folder: Path, draws: int) -> None:
    """A reference of 1,000 rows and 20 batches of 100 like it; or with 10 % of the rows three deviations off."""
    for number in range(draws):
        rng = np.random.default_rng(number)
        reference, rows = (
            pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde")) for n in (1000, 2000)
        )
        write_pair(folder / "monitor" / "nothing changed", number, reference, rows)
        changed = rows.copy()
        changed.loc[rng.random(len(rows)) < 0.1, ["a", "b"]] += 3.0
        write_pair(folder / "monitor" / "10 % of the rows moved", number, reference, changed)


def write_inputs(folder: Path, draws: int = 20) -> None:
    """Write what all are asked about."""
    write_audits(folder, draws)
    write_diffs(folder, draws)
    write_batches(folder, draws // 2)


# --- the peers -------------------------------------------------------------------------------------------


def run(command: Sequence[object], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command with its output kept."""
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )


def installed(peer: Peer, folder: Path, beside: Sequence[str]) -> tuple[Path, str]:
    """Install a peer into an environment of its own; return its interpreter, and what went wrong."""
    python = folder / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", folder])
        found = run(
            [python, "-m", "pip", "install", "-q", f"{peer.package}=={peer.version}", *beside]
        )
        if found.returncode:
            cause = [line for line in found.stderr.splitlines() if line.startswith("ERROR")]
            return python, f"does not install: {cause[0][7:]}"
    found = run([python, "-W", "ignore", "-c", peer.imports])
    if found.returncode:
        return python, f"does not import: {found.stderr.strip().splitlines()[-1]}"
    return python, ""


def ready(peer: Peer, folder: Path) -> tuple[Path, str]:
    """Return an interpreter that has the peer, and what today's versions said."""
    python, fault = installed(peer, folder / f"{peer.package}-today", STACK)
    if not fault:
        return python, "yes"
    python, still = installed(peer, folder / f"{peer.package}-own", peer.needs)
    return python, f"no, {still or fault}"


def versions(python: Path) -> str:
    """Return the versions that a peer runs with, and how many packages came with it."""
    listed = json.loads(run([python, "-m", "pip", "list", "--format", "json"]).stdout)
    found = {each["name"].lower(): each["version"] for each in listed}
    shown = ", ".join(
        f"{name} {found[name]}" for name in ("numpy", "pandas", "scikit-learn") if name in found
    )
    return f"{shown}; {len(found)} packages"


def answers(python: Path, name: str, folder: Path) -> list[dict[str, Any]]:
    """Ask a peer everything."""
    quiet = {"NML_DISABLE_USAGE_LOGGING": "1", "DO_NOT_TRACK": "1", "PYTHONWARNINGS": "ignore"}
    environment = {**os.environ, **quiet, "OMP_NUM_THREADS": "1"}
    ran = run([python, HERE / "tasks.py", name, folder], env=environment)
    if ran.returncode:
        print(f"{name}: {ran.stderr.strip().splitlines()[-1]}", flush=True)
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{"task"')]


def lines(name: str, row: dict[str, Any]) -> list[str]:
    """Return a line for each answer of a peer: who, question, case, what it calls its answer, how often."""
    asked = {"watch": "monitor"}.get(row["task"], row["task"])
    took = f"{row['seconds']:.2g} s" if "seconds" in row else ""
    return [
        f"{name:<13} {asked:<8} {row['case']:<24} {answer:<23} {count:>3} of {row['of']:<3} {took}".rstrip()
        for answer, count in row["counts"].items()
    ]


def main(folder: Path) -> None:
    """Install, ask, and print."""
    inputs = folder / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    write_inputs(inputs)
    print(f"{datetime.date.today()}, Python {platform.python_version()}, {', '.join(STACK)}\n")
    rows = answers(Path(sys.executable), "shiftmetrics", inputs)
    for row in rows:
        print(*lines("shiftmetrics", row), sep="\n", flush=True)
    for peer in PEERS:
        python, beside = ready(peer, folder)
        print(f"{peer.package} {peer.version}: {beside}; {versions(python)}", flush=True)
        if peer.package in DECIDES:
            for row in answers(python, peer.name, inputs):
                print(*lines(peer.package, row), sep="\n", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))
