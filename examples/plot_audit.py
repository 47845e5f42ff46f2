"""
What changed in this table, and since when?
===========================================

Made-up records of a month, and of the month after it. From the middle of the second month on there are people with a
job that the first month did not know, and incomes are missing. Nobody says so: ``audit`` finds both, names the
columns and dates the beginning.
"""

import tempfile
from pathlib import Path

import pandas as pd

from shiftmetrics import audit_samples
from shiftmetrics.examples.records import write_records

with tempfile.TemporaryDirectory() as folder:
    reference, current = (pd.read_csv(file) for file in write_records(Path(folder)))
print(current.tail(4).to_string(index=False))

# %%
# The reference comes first, then what is now. ``time`` names the column that says when a row was taken: it dates the
# changes, and is not compared itself.
result = audit_samples(reference, current, time="day")
print(result.summary())

# %%
# How often each mode occurs, period by period, with the day on which it began.
result.plot(kind="modes")

# %%
# The rows of the first mode, to look at or to label.
mode = result.changes.new[0]
print(mode.description, "-", mode.n_members, "rows, the first of them:", mode.names[:5].tolist())

# %%
# The same without a change: the halves of the reference. A tool that is asked every day must be able to say no.
print(audit_samples(reference[::2], reference[1::2]).headline())
