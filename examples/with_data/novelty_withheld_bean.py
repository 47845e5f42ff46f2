"""
A variety of beans that the reference lacks
===========================================

Sixteen measurements of the shape of dry beans, of seven varieties. Each variety in turn is taken out of a
reference: is it found in a sample that holds all of them, and how pure is what is found?

Needs ``uci_beans_wine`` (``beans.npz``: X and y of UCI's dry beans): set SHIFTMETRICS_DATA to the folder that holds
it. Takes a minute.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics.views.drawings.style import TEST, style

table = Path(os.environ.get("SHIFTMETRICS_DATA", "")) / "uci_beans_wine" / "beans.npz"
if not table.is_file():
    sys.exit("Set SHIFTMETRICS_DATA to the folder that holds uci_beans_wine to run this example.")
varieties = np.array(["Seker", "Barbunya", "Bombay", "Cali", "Horoz", "Sira", "Dermason"])
with np.load(table) as arrays:
    shapes, variety = arrays["X"].astype(np.float64), varieties[arrays["y"]]
shapes = (shapes - shapes.mean(axis=0)) / shapes.std(axis=0)

# %%
# A thousand beans of all varieties, against a thousand of all but one: what is new, how much, and in which rows?
order = np.random.default_rng(0).permutation(len(shapes))
test, others = order[:1000], order[1000:]
rows, spread = [], {}
for withheld in varieties:
    reference = others[variety[others] != withheld][:1000]
    result = kernel_entropic_novelty(shapes[test], shapes[reference])
    members = variety[test[result.new[0].members()]] if result.new else np.empty(0, dtype=str)
    spread[withheld] = [np.sum(members == name) for name in varieties]
    rows.append(
        {
            "withheld": withheld,
            "truly new": np.mean(variety[test] == withheld),
            "fraction": result.fraction,
            "p": result.p_value,
            "modes": len(result.new),
            "members": len(members),
            "purity": np.mean(members == withheld) if len(members) else np.nan,
            "recall": np.sum(members == withheld) / np.sum(variety[test] == withheld),
        }
    )
print(pd.DataFrame(rows).round(3).to_string(index=False))

# %%
# Which varieties the members of the first mode are.
with style():
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    left = np.zeros(len(varieties))
    for place, name in enumerate(varieties):
        counts = np.array([spread[withheld][place] for withheld in varieties])
        own = varieties == name
        ax.barh(varieties[own], counts[own], left=left[own], color=TEST)
        ax.barh(varieties[~own], counts[~own], left=left[~own], color="#b8c0c7")
        left += counts
    ax.set(xlabel="members of the first mode", ylabel="withheld")
    ax.set_title("The withheld variety (colour) among what is new")
plt.show()
