"""
What breaks a network, and what a logistic regression
=====================================================

Two models predict the death of COVID-19 patients equally well: logistic regression, and a network with one hidden
layer of 16 units. How little it takes to break each is found exactly for the first; for the network it is bracketed
between points that gradients find and a bound from its layers. Then the five features through which each breaks most
easily (the stability paper's figure 9a), and how the search converges (its figures 5 and 6b).

Needs the SIVEP-Gripe extract of Baqui et al. (2020): set SHIFTMETRICS_DATA to the folder that holds ``covid_sivep``.
Takes about a minute.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from shiftmetrics.lab.datasets import load
from shiftmetrics.lab.learners import NetworkClassifier
from shiftmetrics.models import Moves, feature_stability, model_stability
from shiftmetrics.views import plot

folder = os.environ.get("SHIFTMETRICS_DATA")
if not folder:
    sys.exit("Set SHIFTMETRICS_DATA to the folder that holds covid_sivep to run this example.")
data = load("sivep", Path(folder) / "covid_sivep")
print(data)

# %%
# Half of the patients to train on, 2000 others to evaluate. The network standardises its columns itself.
order = np.random.default_rng(0).permutation(len(data))
train, test = order[: len(data) // 2], order[len(data) // 2 :][:2000]
X, y = data.X.iloc[test], data.y[test]
models = {
    "logistic regression": NetworkClassifier(hidden_units=(), epochs=100, random_state=0),
    "network": NetworkClassifier(epochs=100, random_state=0),
}
for name, model in models.items():
    model.fit(data.X.iloc[train], data.y[train])
    print(f"{name}: accuracy {model.score(X, y):.3f}")

# %%
# The least cost of a shift that makes half of the predictions wrong. The regression's is exact. The network's cannot
# be higher than its value, whose moved patients it does misclassify, nor lower than its certified bound.
for name, model in models.items():
    print(f"\n{name}\n{model_stability(model, X, y, 0.5).summary()}")

# %%
# Through one feature alone, every column sliding without bounds as in the paper, and rows reweighted.
free = Moves(bounds=None, integer=())
features = {
    name: feature_stability(model, X, y, 0.5, theta2=0.4, moves=free) for name, model in models.items()
}
for name, found in features.items():
    print(f"\n{name}")
    print(found.to_frame().head(5)[["feature", "value", "standard_error", "kind", "share_moved"]].to_string())
fig, axes = plt.subplots(1, 2, figsize=(11, 3.6))
for ax, (name, found) in zip(axes, features.items(), strict=True):
    plot(found, ax, top=5)
    ax.set_title(name, loc="left")
fig.tight_layout()

# %%
# But an illness is there or not, and a patient lives in one region. As whole changes, as dear as those of two random
# patients, and without reweighting, they rank by what they can do at worst.
groups = {name: [column for column in X if column.startswith(f"{name}_")] for name in ("Ethnicity", "Region")}
grouped = [column for group in groups.values() for column in group]
flips = [column for column in X if column not in grouped and set(np.unique(data.X[column])) <= {0.0, 1.0}]
for name, model in models.items():
    found = feature_stability(model, X, y, 0.5, moves=Moves(categorical=flips, one_hot=groups))
    print(f"\n{name}")
    print(
        found.to_frame()
        .head(3)[["feature", "worst_case_risk", "permutation_importance", "value", "kind"]]
        .to_string()
    )

# %%
# With the log loss the network's worst cases are searched by column generation: the plan is solved exactly among the
# points that are known, at whose dual price gradients look for better ones. The risk at that price comes to the
# threshold, whatever the prices of moving and of reweighting.
prices = [(0.2, np.inf), (0.25, 1.0), (0.4, 0.4), (1.0, 0.25)]  # 1/theta1 + 1/theta2 = 5
searches = {
    f"prices {theta1:g} and {theta2:g}": model_stability(
        models["network"], X, y, 3.0, loss="log_loss", theta1=theta1, theta2=theta2
    )
    for theta1, theta2 in prices
}
table = pd.DataFrame(
    {
        name: {
            "stability": found.value,
            "lower bound": found.lower_bound,
            "ratio": found.value / found.lower_bound,
            "rounds": len(found.trace.values),
            "gap of the last search": found.trace.gaps[-2],
        }
        for name, found in searches.items()
    }
).T
print(table.to_string(float_format="{:.4g}".format))
fig, ax = plt.subplots(figsize=(6.5, 4))
plot(searches, ax, kind="search")
fig.tight_layout()
plt.show()
