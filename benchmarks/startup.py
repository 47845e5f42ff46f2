"""Time to start: imports and commands in fresh processes, as ratios to `import numpy` and to what they must import.

They take turns; the shortest CPU and wall times of each count, and the ratio of medians beside them. At most 1.5 for
a measure and 3 for the help are the aim against numpy, and 1.4 for a comparison of two small csv files against an
interpreter that imports numpy, pandas and scipy.special. With compiled modules: PYTHONDONTWRITEBYTECODE doubles it.

    python benchmarks/startup.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _machine import cpu_of_process, header, table

ROWS = 2_000
PYTHON = [sys.executable, "-c"]
PROGRAM = [sys.executable, "-m", "shiftmetrics"]
IMPORTS = {
    "import numpy": [*PYTHON, "import numpy"],
    "import shiftmetrics": [*PYTHON, "import shiftmetrics"],
    "import a measure": [*PYTHON, "from shiftmetrics import posterior_agreement"],
    "shiftmetrics --help": [*PROGRAM, "--help"],
}
BARE = "import numpy, pandas, scipy.special"
COMMANDS = {
    BARE: [*PYTHON, BARE],
    "diff": [*PROGRAM, "diff", "old.csv", "new.csv"],
    "diff with labels": [*PROGRAM, "diff", "old.csv", "new.csv", "--label", "label"],
    "agreement": [*PROGRAM, "agreement", "new.csv", "old.csv"],
    "compare": [*PROGRAM, "compare", "old.csv", "new.csv"],
}


def write_files(folder: Path) -> None:
    """Write predictions of two models for the same rows."""
    import pandas as pd

    rng = np.random.default_rng(0)
    logits = 2.0 * rng.normal(size=(ROWS, 3))
    labels = np.array(["cat", "dog", "fox"])[logits.argmax(axis=1)]
    for name in ("old", "new"):
        terms = np.exp(logits)
        terms /= terms.sum(axis=1, keepdims=True)
        frame = pd.DataFrame(terms, columns=["cat", "dog", "fox"])
        frame.insert(0, "id", [f"r{place}" for place in range(ROWS)])
        frame["label"] = labels
        frame.to_csv(folder / f"{name}.csv", index=False)
        logits = logits + 0.3 * rng.normal(size=logits.shape)


def seconds_of(command: list[str], folder: Path) -> tuple[float, float]:
    """Return the CPU time of a process and its children, and the time on the clock."""
    start = time.perf_counter()
    spent, _ = cpu_of_process(command, cwd=folder)
    return spent, time.perf_counter() - start


def take_turns(commands: dict[str, list[str]], rounds: int, folder: Path) -> str:
    """Return a table of all commands, as ratios to the first."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(seconds_of(command, folder))
    first = next(iter(commands))
    rows = []
    for name, found in times.items():
        cells = [name]
        for place in (0, 1):
            ours = [pair[place] for pair in found]
            rivals = [pair[place] for pair in times[first]]
            middle = statistics.median(ours) / statistics.median(rivals)
            cells += [f"{min(ours):.3f}", f"{min(ours) / min(rivals):.2f}", f"{middle:.2f}"]
        rows.append(tuple(cells))
    names = ("start", "CPU seconds", "ratio", "of medians", "wall seconds", "ratio", "of medians")
    return table(names, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    print(header())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        print(take_turns(IMPORTS, rounds, folder))
        print(f"\ntwo csv files of {ROWS:,} rows:\n{take_turns(COMMANDS, rounds, folder)}")


if __name__ == "__main__":
    main()
