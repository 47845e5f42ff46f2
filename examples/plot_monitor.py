"""
Watching batch after batch
==========================

A monitor looks at every batch, and a test at level 0.05 that is repeated every day raises an alarm soon, whatever
happens. This monitor allows for looking every time: at most 5 % of monitors ever raise an alarm without a change,
however long they run. Here a month of made-up records is the reference, and the next month comes in ten batches; its
second half has something new.
"""

import tempfile
from pathlib import Path

import pandas as pd

from shiftmetrics.decisions import make_passport, monitor_batch
from shiftmetrics.examples.records import write_records

with tempfile.TemporaryDirectory() as folder:
    reference, current = (pd.read_csv(file) for file in write_records(Path(folder)))

# %%
# The passport is a small file that holds no row of the reference. Dates and names of rows are left out: those of
# later samples are later, which is no change.
passport = make_passport(reference, time="day")
print(f"{len(passport.text) / 1000:.0f} kB, {len(passport.tests)} tests")

# %%
# The state carries a few numbers from batch to batch.
state = None
for day, start in enumerate(range(0, len(current), 150), start=1):
    result = monitor_batch(passport, current[start : start + 150], state=state)
    state = result.state
    print(f"batch {day:2}: {result.headline()}")
    if result.verdict != "NO ALARM":
        break

# %%
# Each count against the rate that the reference allows.
result.plot()
