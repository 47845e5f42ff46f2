"""
Through which column does a mortality model break, and for which age?
=====================================================================

A logistic regression, a decision tree and gradient boosting predict the death of COVID-19 patients from raw columns.
The five columns through which each breaks most easily (the stability paper's figure 9a, arXiv:2405.03198), and then
for whom: accuracy and macro F1 by age group as in its figure 9b, beside the stability of each group.

Needs the SIVEP-Gripe extract of Baqui et al. (2020): set SHIFTMETRICS_DATA to the folder that holds ``covid_sivep``.
Takes about a minute.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import Moves, feature_stability
from shiftmetrics.lab.datasets import load
from shiftmetrics.views import plot

folder = os.environ.get("SHIFTMETRICS_DATA")
if not folder:
    sys.exit("Set SHIFTMETRICS_DATA to the folder that holds covid_sivep to run this example.")
data = load("sivep", Path(folder) / "covid_sivep", one_hot=False)
X_train, X_test, y_train, y_test = train_test_split(
    data.X, data.y, train_size=2000, test_size=2000, random_state=0
)
words = ["Ethnicity", "Region"]
encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder=StandardScaler())
models = {
    "logistic regression": LogisticRegression(max_iter=1000),
    "decision tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "gradient boosting": GradientBoostingClassifier(random_state=0),
}
for name, last in models.items():
    models[name] = make_pipeline(encode, last).fit(X_train, y_train)
    print(f"{name}: accuracy {models[name].score(X_test, y_test):.3f}")

# %%
# The paper's threshold. Ages move by whole years; columns of yes or no change, as regions and ethnicities do. Rows
# are not reweighted first, so that every column shows what it can do alone.
flags = [name for name in X_test if name not in words and X_test[name].isin([0, 1]).all()]
moves = Moves(categorical=flags, integer=["Age"])
fig, axes = plt.subplots(1, 3, figsize=(13, 3.4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    found = feature_stability(model, X_test, y_test, 0.4, moves=moves)
    shown = found.to_frame().head(5)[
        ["feature", "worst_case_risk", "permutation_importance", "value", "kind", "share_moved"]
    ]
    print(f"\n{name}, rows may only move\n{shown.round(5).to_string(index=False)}")
    plot(found, ax, top=5)
    ax.set_title(name, loc="left")
plt.show()

# %%
# With reweighting at the paper's prices, by age group: the groups about which a model is least certain are the least
# stable, and a low macro F1 beside a high stability says that most of a group are told the same.
age = pd.cut(
    X_test["Age"], [0, 40, 50, 60, 70, 200], right=False, labels=["-40", "40-50", "50-60", "60-70", "70-"]
)
fig, axes = plt.subplots(1, 3, figsize=(13, 2.8), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    found = feature_stability(
        model, X_test, y_test, 0.4, theta1=1.0, theta2=0.25, moves=replace(moves, by=age)
    )
    print(f"\n{name}\n{found.summary()}")
    told = pd.Series(model.predict(X_test), index=X_test.index)
    groups = found.subgroups_frame("all features").set_index("subgroup")
    for group, rows in age.groupby(age, observed=True):
        truth, prediction = pd.Series(y_test, index=X_test.index)[rows.index], told[rows.index]
        groups.loc[f"Age = {group}", "accuracy"] = (truth == prediction).mean()
        groups.loc[f"Age = {group}", "macro_f1"] = f1_score(truth, prediction, average="macro")
    columns = ["value", "interval_low", "interval_high", "kind", "accuracy", "macro_f1", "n_samples"]
    print(groups[columns].round(4).to_string())
    plot(found, ax, kind="subgroups")
    ax.set_title(name, loc="left")
plt.show()
