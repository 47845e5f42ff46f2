"""
Red wine among the white
========================

A reference of white wines, and a new sample in which one wine in five is red. Nobody says so: the table holds eleven
chemical measurements of each wine and no colour. Is there something new, and what is typical of it? The answer is a
report with the typical rows of each mode, and the rows of the reference that come nearest.

Needs ``uci_beans_wine`` (``wine.npz``: X, feature_names and is_red of UCI's wine quality): set SHIFTMETRICS_DATA to
the folder that holds it.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from shiftmetrics import kernel_entropic_novelty, write_report
from shiftmetrics.adapters.embeddings import embed, fit_encoder
from shiftmetrics.views import Context, Rows

table = Path(os.environ.get("SHIFTMETRICS_DATA", "")) / "uci_beans_wine" / "wine.npz"
if not table.is_file():
    sys.exit("Set SHIFTMETRICS_DATA to the folder that holds uci_beans_wine to run this example.")
with np.load(table) as arrays:
    wines = pd.DataFrame(arrays["X"], columns=[str(name) for name in arrays["feature_names"]])
    colour = np.where(arrays["is_red"], "red", "white")

# %%
# The samples, and their features: each column on one scale, learned from both.
order = np.random.default_rng(0).permutation(len(wines))
white, red = order[colour[order] == "white"], order[colour[order] == "red"]
reference, test = white[:1000], np.concatenate([white[1000:1800], red[:200]])
both = wines.iloc[np.concatenate([test, reference])]
encoder = fit_encoder("table", both)
features, reference_features = (
    embed(wines.iloc[rows], encoder=encoder) for rows in (test, reference)
)

# %%
# The score, and the modes that stand out from relabelled rows.
result = kernel_entropic_novelty(features, reference_features)
print(result.summary())
mode = result.new[0]
members = test[mode.members()]
print(
    f"{len(members)} members of the first mode; {np.mean(colour[members] == 'red'):.0%} of them are red"
)
print(f"the 50 most typical: {np.mean(colour[test[mode.top(50)]] == 'red'):.0%} red")

# %%
# The report: what sets the mode apart (volatile acidity, little sulfur dioxide), and its typical rows.
rows = Rows(
    table=wines.iloc[test].reset_index(drop=True), reference_table=wines.iloc[reference].reset_index(drop=True),
    labels=colour[test], reference_labels=colour[reference],
)  # fmt: skip
context = Context(description="Wines against 1,000 white ones.", rows={"wines": rows})
path = write_report({"wines": result}, "wine_report.html", title="New wines", context=context)
print(f"{path}: {Path(path).stat().st_size / 1e3:.0f} kB")
