"""What `audit` costs: beside the least that tests all columns, with many columns, and with many rows.

The least is a process that imports pandas and scipy.special, reads both csv files, and tests column by column: the
Kolmogorov-Smirnov statistic of numbers and times, Pearson's chi-square of words, gaps as a level of their own. CPU
time of whole processes, the smaller of two; nothing is planted.

    python benchmarks/audit_speed.py [--rows 2000] [--many-columns 300,1200] [--many-rows 1000000]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from _machine import PRINT_PEAK, cpu_of_process, header

TESTS = """
import sys
import numpy as np, pandas as pd
from scipy import special

def numbers(one, two):
    one, two = np.sort(one[np.isfinite(one)]), np.sort(two[np.isfinite(two)])
    every = np.concatenate([one, two])
    below = [np.searchsorted(part, every, side="right") / len(part) for part in (one, two)]
    room = np.sqrt(len(one) * len(two) / len(every))
    return special.kolmogorov(room * np.abs(below[0] - below[1]).max())

def levels(one, two):
    counts = pd.concat([one.fillna("").value_counts(), two.fillna("").value_counts()], axis=1).fillna(0).to_numpy()
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    return special.chdtrc(len(counts) - 1, ((counts - expected) ** 2 / expected).sum())

one, two = [pd.read_csv(path) for path in sys.argv[1:]]
found = {}
for name in one:
    parts = [one[name], two[name]]
    if name == "day":
        parts = [pd.to_datetime(part).astype("int64") for part in parts]
    if parts[0].dtype.kind in "iuf":
        found[name] = numbers(*(part.to_numpy() for part in parts))
    else:
        found[name] = levels(*parts)
"""
COMMAND = """
from shiftmetrics.cli import main
try:
    main()
except SystemExit as ended:
    assert ended.code in (0, 1), ended.code
"""
LEVELS = np.array(["north", "south", "east", "west", "none of these"])


def mixed(rng: np.random.Generator, n_rows: int, n_columns: int) -> pd.DataFrame:
    """Return a table of which half are numbers, a third words, and the rest counts; a day, and gaps."""
    columns: dict[str, object] = {
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(90, size=n_rows), "D")
    }
    for number in range(1, n_columns):
        kind = number % 6
        if kind < 3:
            values: object = np.where(rng.random(n_rows) < 0.03, np.nan, rng.normal(size=n_rows))
        elif kind < 5:
            values = LEVELS[rng.choice(5, size=n_rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])]
        else:
            values = rng.poisson(3.0, size=n_rows)
        columns[f"x{number}"] = values
    return pd.DataFrame(columns)


def write(folder: Path, n_rows: int, n_columns: int) -> list[str]:
    """Write a reference and a current sample of one distribution, and return their paths."""
    rng = np.random.default_rng(0)
    paths = [str(folder / f"{name}_{n_rows}_{n_columns}.csv") for name in ("reference", "current")]
    for path in paths:
        mixed(rng, n_rows, n_columns).to_csv(path, index=False)
    return paths


def cpu_seconds(arguments: list[str], n_times: int = 2) -> tuple[float, float]:
    """Return the smallest CPU time of a program with arguments, and the peak of memory in MB."""
    code, *paths = arguments
    program = [sys.executable, "-c", code + PRINT_PEAK, *paths]
    found = []
    for _ in range(n_times):
        spent, printed = cpu_of_process(program, stderr=subprocess.DEVNULL)
        found.append((spent, int(printed.split()[-1]) * 1024 / 1e6))
    return min(found)


def audit(paths: list[str], n_times: int = 2) -> tuple[float, float]:
    """Return CPU seconds and the peak of memory in MB of the command."""
    return cpu_seconds([COMMAND, "audit", *paths], n_times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--many-columns", default="300,1200")
    parser.add_argument("--many-rows", type=int, default=1_000_000)
    options = parser.parse_args()
    print(header())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write(folder, options.rows, 15)
        least, _ = cpu_seconds([TESTS, *paths])
        ours, peak = audit(paths)
        print(
            f"{options.rows:,} x 15: audit {ours:.2f} s, least {least:.2f} s: {ours / least:.1f} times; {peak:.0f} MB"
        )
        before = None
        for n_columns in map(int, options.many_columns.split(",")):
            paths = write(folder, 1_500, n_columns)
            ours, peak = audit(paths, 1)
            line = f"1,500 x {n_columns:,}: audit {ours:.1f} s; {peak:.0f} MB"
            if before:
                line += f"; {ours / before[1]:.1f} times for {n_columns / before[0]:.1f} times the columns"
            print(line)
            before = (n_columns, ours)
        if options.many_rows:
            paths = write(folder, options.many_rows, 15)
            least, _ = cpu_seconds([TESTS, *paths], 1)
            ours, peak = audit(paths, 1)
            print(
                f"{options.many_rows:,} x 15: audit {ours:.1f} s, least {least:.1f} s; {peak:.0f} MB"
            )


if __name__ == "__main__":
    main()
