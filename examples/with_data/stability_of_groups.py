"""
Whom does a model of income, or of employment, fail first?
==========================================================

Gradient boosting predicts the income of people in the Adult table, and employment in the American Community Survey of
Massachusetts. For each racial group: how little would break the model for it, with every column but the race free,
and does a flip of the race alone matter?

Set SHIFTMETRICS_DATA to a folder that holds ``tabular_fairness_classics`` and ``acs_employment_ma_2015_2018``.
Takes one or two minutes.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shiftmetrics import Perturbation, feature_stability
from shiftmetrics.views import plot

folder = os.environ.get("SHIFTMETRICS_DATA")
if not folder:
    sys.exit("Set SHIFTMETRICS_DATA to the folder that holds the two tables to run this example.")


def income():
    """Return the Adult table without the weight that the survey gives, the label, and the column of races."""
    table = pd.read_csv(
        Path(folder) / "tabular_fairness_classics" / "adult.csv.gz", skipinitialspace=True
    )
    label = (table.pop("income-per-year") == ">50K").astype(int).to_numpy()
    return table.drop(columns=["fnlwgt", "education"]), label, "race"


def employment():
    """Return the people of 2018 (the codes as words), whether they work, and the column of races."""
    table = pd.read_parquet(Path(folder) / "acs_employment_ma_2015_2018" / "employment.parquet")
    table = table[table["year"] == 2018]
    label = table["employed"].to_numpy().astype(int)
    table = table.drop(columns=["employed", "year", "prediction", "predicted_probability"])
    codes = [name for name in table if name not in ("AGEP", "SCHL")]
    races = {1: "White", 2: "Black", 6: "Asian"}
    table = table.assign(RAC1P=table["RAC1P"].map(races).fillna("other or several"))
    return table.astype(dict.fromkeys(codes, str)), label, "RAC1P"


# %%
# In each sample 3,000 people to evaluate, all races as often as they are. Whole numbers move by whole steps.
for title, load in (("income", income), ("employment", employment)):
    X, y, race = load()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=3000, random_state=0)
    words = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    numbers = [name for name in X if name not in words]
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
        remainder="passthrough",
    )
    model = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=60, random_state=0)).fit(
        X_train, y_train
    )
    print(f"\n=== {title}: accuracy {model.score(X_test, y_test):.3f}")

    # Alone and without reweighting: what can each column do, the race among them?
    alone = feature_stability(
        model, X_test, y_test, 0.4, theta2=float("inf"), perturbation=Perturbation(integer=numbers)
    )
    frame = alone.to_frame()
    frame["rank"] = range(1, len(frame) + 1)
    shown = frame[(frame["rank"] <= 5) | (frame["feature"] == race)]
    print(
        shown[["rank", "feature", "value", "kind", "changed_fraction"]]
        .round(5)
        .to_string(index=False)
    )

    # Within each racial group, all columns but the race free.
    found = feature_stability(
        model,
        X_test,
        y_test,
        0.4,
        perturbation=Perturbation(by=race, immutable=[race], integer=numbers, features=numbers),
    )
    columns = [
        "subgroup",
        "value",
        "lower_bound",
        "interval_low",
        "interval_high",
        "n_samples",
        "base_risk",
    ]
    print(found.subgroups_frame("all features")[columns].round(5).to_string(index=False))
    ax = plot(found, kind="subgroups")
    ax.set_title(f"Stability of a model of {title} at risk 0.4, by race", loc="left")
    plt.show()
