"""
Hospital records with typing errors
===================================

A logistic regression predicts the death of COVID-19 patients. How well do its predictions survive what happens to
real tables: ages entered in months, regions swapped, symptoms left blank, measurements with noise, another mix of
regions?

Needs the SIVEP-Gripe extract of Baqui et al. (2020): set SHIFTMETRICS_DATA to the folder that holds ``covid_sivep``.
"""

import os
import sys
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftmetrics import posterior_agreement
from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.shifts import (
    CategorySwap,
    ColumnNoise,
    MissingValues,
    SubgroupReweighting,
    UnitError,
    apply_shift,
)

folder = os.environ.get("SHIFTMETRICS_DATA")
if not folder:
    sys.exit("Set SHIFTMETRICS_DATA to the folder that holds covid_sivep to run this example.")
data = load("sivep", Path(folder) / "covid_sivep", one_hot=False)
train, test = (data.take(rows) for rows in train_test_split(np.arange(len(data)), random_state=0))

# %%
# The model takes codes as categories, and the rest as numbers.
codes = ["Region", "Ethnicity"]
symptoms = [name for name in data.X.columns if name not in (*codes, "Age")]
model = make_pipeline(
    make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), codes), (StandardScaler(), ["Age", *symptoms])
    ),
    LogisticRegression(),
).fit(train.X, train.y)
reference = model.decision_function(test.X)
print(f"{len(test)} patients, accuracy {model.score(test.X, test.y):.3f} before any shift\n")

# %%
# Each shift on a tenth and on half of the cells (noise: of the standard deviation). The pairs stay aligned, so
# agreement needs no label.
shifts = {
    "age in months": UnitError(["Age"], factor=12),
    "noise in age": ColumnNoise(["Age"]),
    "regions and ethnicities swapped": CategorySwap(codes),
    "symptoms left blank (coded 0)": MissingValues(symptoms, fill=0),
    "all three errors": UnitError(["Age"], factor=12).at(0.5)
    >> CategorySwap(codes).at(1.0)
    >> MissingValues(symptoms, fill=0).at(1.0),
}
print(f"{'':34s}strength  agreement  accuracy")
for name, shift in shifts.items():
    for strength in (0.1, 0.5):
        pair = apply_shift(shift, test.X, strength=strength, rng=0)
        agreement = posterior_agreement(model.decision_function(pair.sample), reference).normalized
        print(f"{name:34s}{strength:8g}{agreement:11.3f}{model.score(pair.sample, test.y):10.3f}")

# %%
# Another mix of regions is no error in any row: the predictions stay, and what changes is how often each of them is
# right. Weights say the same as drawing rows, without the noise of drawing.
mix = SubgroupReweighting("Region", {1: 0.5, 2: 0.5})  # North and Northeast alone
pair = apply_shift(mix, test.X, strength=1.0, rng=0)
right = model.predict(test.X) == test.y
print(
    f"\nNorth and Northeast alone: {pair.rows.size} rows drawn, accuracy {right[pair.rows].mean():.3f}"
)
print(f"the same by weights: {np.average(right, weights=mix.weights(test.X, strength=1.0)):.3f}")
