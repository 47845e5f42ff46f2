"""
Who would be hurt first? A mortality model for COVID-19 patients
================================================================

Three models predict the death of hospital patients in Brazil (SIVEP-Gripe), from raw columns with region and
ethnicity as words. How little would break each, over thresholds and along the line on which moving and reweighting
trade their prices; whom is the worst case about; and what would move?

Set SHIFTMETRICS_DATA to a folder that holds ``covid_sivep``. The same from the command line::

    shiftmetrics stability patients.csv --model model.joblib --trust --target is_dead --threshold 0.5
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import Computing
from shiftmetrics.models import Perturbation, model_stability
from shiftmetrics.stability import (
    column_changes,
    most_sensitive_sample,
    stability_curve,
    trade_off,
)
from shiftmetrics.views import plot

if not os.environ.get("SHIFTMETRICS_DATA"):
    sys.exit("Set SHIFTMETRICS_DATA to a folder that holds covid_sivep.")

# %%
# Raw columns: two of words, the others numbers or 0/1. The days to the outcome would give it away.
table = pd.read_csv(Path(os.environ["SHIFTMETRICS_DATA"], "covid_sivep", "covid_sivep.csv.gz"))
table = table.drop(columns="Days_hospital_to_outcome").sample(frac=1, random_state=0)
regions = np.array(["Central-West", "North", "Northeast", "South", "Southeast"])
ethnicities = np.array(["Mixed", "White", "Black", "East Asian", "Indigenous"])
table = table.assign(Region=regions[table["Region"]], Ethnicity=ethnicities[table["Ethnicity"]])
train, test = table[:3441], table[3441:]
X, y = test.drop(columns="is_dead"), test["is_dead"]
words = ["Region", "Ethnicity"]
one_hot = make_column_transformer((OneHotEncoder(), words), remainder=StandardScaler())
codes = make_column_transformer((OrdinalEncoder(), words), remainder="passthrough")
models = {
    "logistic regression": make_pipeline(one_hot, LogisticRegression(max_iter=2000)),
    "tree": make_pipeline(codes, DecisionTreeClassifier(max_depth=5, random_state=0)),
    "gradient boosting": make_pipeline(
        codes, HistGradientBoostingClassifier(max_iter=50, random_state=0)
    ),
}

# %%
# Only age may move as a number; symptoms and comorbidities are there or not.
numbers = ["Age"]
yes_or_no = [name for name in X.columns if name not in (*numbers, *words)]
results = {}
for name, model in models.items():
    model.fit(train.drop(columns="is_dead"), train["is_dead"])
    results[name] = model_stability(
        model,
        X,
        y,
        0.5,
        perturbation=Perturbation(
            categorical=yes_or_no, immutable=["Sex", *words], bounds={"Age": (0, 110)}
        ),
        computing=Computing(progress=False),
    )
    print(
        f"{name} ({results[name].search.route}, {results[name].kind}): {results[name].headline()}"
    )

# %%
# Stability over the thresholds, and along the prices at one of them.
figure, axes = plt.subplots(2, 3, figsize=(13, 7), layout="constrained")
for (upper, lower), (name, result) in zip(axes.T, results.items(), strict=True):
    plot(stability_curve(result.loss, np.linspace(0.25, 0.7, 19)), upper, threshold=0.5)
    upper.set_title(name, loc="left")
    over_prices = trade_off(result.loss, 0.5, cheapness=np.linspace(0.0, 1.0, 11))
    plot(over_prices, lower)
    print(f"{name}: {over_prices.headline()}")
plt.show()

# %%
# Whom the worst case of the logistic regression is about, and what moves.
result = results["logistic regression"]
print(column_changes(result).head(6).to_string())
sample = most_sensitive_sample(result, splits="heaviest")
print(sample.loc[sample["changed"], ["weight", "distance", "Age", "Age change"]].head().to_string())
print(result.plan.excess_risk.to_frame())
plot(result, labels=np.where(y == 1, "died", "survived"), max_rows=400, kind="sample")
plt.show()
