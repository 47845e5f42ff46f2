"""Alarms over 24 monthly batches of a yearly cycle, by passports with and without seasons: none changed, and changed.

``python benchmarks/monitor_seasons.py [--runs 30]``. The reference is a year in random order of 100 rows a month, a
batch is one month of 200. From batch 13 on some rows change; the delay of the first alarm then is in batches. At a
level of 5 % at most one monitor in twenty may ever alarm without a change.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
from _machine import header, table

from shiftmetrics.decisions import MonitorState, make_passport

FIRST = 13
"""The batch from which on a change is there."""
N_BATCHES = 24
N_ROWS = 200
WORLDS = {"levels and spread": (1.0, 1.0), "levels": (1.0, 0.0), "nothing": (0.0, 0.0)}
"""What follows the year, and how far."""
CHANGES = {
    "none": {},
    "half of the rows by 1.5 spreads": {"fraction": 0.5, "by": 1.5},
    "one in five rows by 3 spreads": {"fraction": 0.2, "by": 3.0},
    "months as half a year later": {"months_off": 6},
}


def month_of(rng, month, year, n, world, *, fraction=0.0, by=0.0, months_off=0):
    """Return the rows of one month: two columns and a category follow the year, two columns do not."""
    level, varying = world
    cold = np.cos(2.0 * np.pi * (month + months_off) / 12.0)
    days = pd.to_timedelta(rng.integers(0, 28, n), "D")
    frame = pd.DataFrame(
        {
            "day": pd.Timestamp(year=year, month=month, day=1) + days,
            "temperature": 12.0 - level * 10.0 * cold,
            "demand": 50.0 + level * 20.0 * cold,
            "age": rng.normal(40.0, 12.0, n),
            "income": rng.lognormal(3.0, 0.5, n),
            "heating": np.where(rng.random(n) < 0.5 + 0.4 * level * cold, "on", "off"),
        }
    )
    frame["temperature"] += rng.normal(0.0, 4.0 * (1.0 + 0.5 * varying * cold), n)
    frame["demand"] += rng.normal(0.0, 10.0 * (1.0 + 0.8 * varying * cold), n)
    moved = rng.random(n) < fraction
    frame.loc[moved, "age"] += by * 12.0
    frame.loc[moved, "demand"] += by * 10.0
    return frame


def first_alarm(rng, passport, world, change):
    """Return the batch of the first alarm; 0 for none."""
    state = MonitorState.start(passport)
    for number in range(1, N_BATCHES + 1):
        month = (number - 1) % 12 + 1
        options = change if number >= FIRST else {}
        year = 2023 + (number - 1) // 12
        state = state.update(passport.count(month_of(rng, month, year, N_ROWS, world, **options)))
        if state.samples_changed:
            return number
    return 0


def line_of(named_world, n, named_change, season, n_runs):
    """Measure one setting: the same data with and without seasons."""
    world, change = WORLDS[named_world], CHANGES[named_change]
    first = []
    for run in range(n_runs):
        rng = np.random.default_rng(run)
        year = [month_of(rng, month, 2022, n, world) for month in range(1, 13)]
        reference = pd.concat(year).sample(frac=1.0, random_state=run)
        passport = make_passport(reference, time="day", rng=run, season=season)
        first.append(first_alarm(rng, passport, world, change))
    n_early = sum(0 < number < FIRST for number in first)
    found = [number - FIRST + 1 for number in first if number >= FIRST]
    delay = f"{np.median(found):g}" if found else ""
    with_or_without = season or "without"
    return [named_world, named_change, with_or_without, n_early, len(found), delay]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--rows", type=int, default=100, help="of the reference, a month")
    asked = parser.parse_args()
    started = time.process_time()
    lines = []
    for world in WORLDS:
        for change in CHANGES:
            if world == "nothing" and "months_off" in CHANGES[change]:
                continue
            for season in (None, "month"):
                lines.append(line_of(world, asked.rows, change, season, asked.runs))
                print(lines[-1], flush=True)
    print(header())
    columns = [
        "follows the year",
        "change from batch 13",
        "season",
        "before 13",
        "from 13",
        "delay",
    ]
    print(table(columns, lines, title=f"first alarms in {asked.runs} runs"))
    print(f"{time.process_time() - started:.0f} s of processor time")


if __name__ == "__main__":
    main()
