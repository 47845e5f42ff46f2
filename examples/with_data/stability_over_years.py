"""
Does a model of employment stay as stable as it was?
====================================================

A logistic regression learns in 2015 who is employed, from sixteen columns of the American Community Survey of
Massachusetts, fourteen of them codes that go through a one-hot encoder. For each year: the least shift of its people
to an error rate of 40 percent, in whole years of age and whole steps of schooling.

Set SHIFTMETRICS_DATA to a folder that holds ``acs_employment_ma_2015_2018`` (80,000 people, 20,000 a year).
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftmetrics import Perturbation, model_stability
from shiftmetrics.stability import column_changes

folder = os.environ.get("SHIFTMETRICS_DATA")
if not folder:
    sys.exit(
        "Set SHIFTMETRICS_DATA to the folder that holds acs_employment_ma_2015_2018 to run this example."
    )
people = pd.read_parquet(Path(folder) / "acs_employment_ma_2015_2018" / "employment.parquet")
X = people.drop(columns=["employed", "year", "prediction", "predicted_probability"])
y, year = people["employed"].to_numpy(), people["year"].to_numpy()

# %%
# The model of the even rows of 2015.
steps = ["AGEP", "SCHL"]  # age and schooling are numbers, all others codes
codes = [name for name in X if name not in steps]
encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), codes), (StandardScaler(), steps)
)
first = (year == 2015) & (people.index % 2 == 0)
model = make_pipeline(encode, LogisticRegression(max_iter=3000)).fit(X[first], y[first])

# %%
# One unit of distance is a standard deviation among the people of 2015, for all years, so that the years compare.
cost = {name: 1.0 / X.loc[first, name].std(ddof=0) ** 2 for name in steps}
moves = Perturbation(cost=cost, integer=steps, bounds={"AGEP": (0, 99), "SCHL": (0, 24)})
results = {}
for this in sorted(set(year)):
    rows = (year == this) & ~first
    results[this] = model_stability(model, X[rows], y[rows], 0.4, perturbation=moves)
table = pd.concat(
    [result.to_frame() for result in results.values()], keys=results, names=["year", ""]
)
print(
    table[
        [
            "value",
            "interval_low",
            "interval_high",
            "kind",
            "base_risk",
            "rms_distance",
            "changed_fraction",
        ]
    ].round(5)
)

# %%
# What moves in the least shift of 2018.
print(column_changes(results[2018]).head(6).round(4))

# %%
# The intervals overlap: no year is less stable than another.
figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
values = pd.Series({this: result.value for this, result in results.items()})
reach = [(r.value - r.interval.low, r.interval.high - r.value) for r in results.values()]
ax.errorbar(values.index, values, yerr=list(zip(*reach, strict=True)), fmt="o", capsize=3)
ax.set(
    xticks=values.index,
    ylim=(0, None),
    ylabel="stability R (cost of the least shift)",
    xlabel="year",
)
plt.show()
