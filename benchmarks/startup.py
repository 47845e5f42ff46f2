"""Time to start: imports and `shiftmetrics --help` as ratios to `import numpy`, in fresh processes.

They take turns, and the shortest CPU time of each counts. At most 1.5 for a measure and 3 for the help are the aim,
with compiled modules: PYTHONDONTWRITEBYTECODE doubles the first.
"""

from __future__ import annotations

import os
import subprocess
import sys

from _machine import header, table

ROUNDS = 9
COMMANDS = {
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import shiftmetrics": [sys.executable, "-c", "import shiftmetrics"],
    "import a measure": [sys.executable, "-c", "from shiftmetrics import posterior_agreement"],
    "shiftmetrics --help": [sys.executable, "-m", "shiftmetrics", "--help"],
}


def cpu_seconds(command: list[str]) -> float:
    """Return the CPU time of a process and its children."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system


def main() -> None:
    print(header())
    times = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            times[name].append(cpu_seconds(command))
    best = {name: min(found) for name, found in times.items()}
    rows = [
        (name, f"{seconds:.3f}", f"{seconds / best['import numpy']:.2f}")
        for name, seconds in best.items()
    ]
    print(table(("start", "CPU seconds", "times numpy"), rows))


if __name__ == "__main__":
    main()
