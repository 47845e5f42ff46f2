"""Which column to fear: what rankings of columns say about the harm that another domain's values do.

A model is fitted in one domain (a region, a year, an age, a colour of wine). Then one column at a time takes the
values of another domain, and the errors on the first domain's rows grow or not: the values are drawn at random
("drawn", which breaks the column's ties with the others), or each row gets the value of its own rank there
("transported", which keeps them as far as possible). Rankings made in the first domain alone are compared with that
growth by Spearman's correlation over the columns, averaged over the tasks.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from _machine import header, table
from scipy.stats import spearmanr
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftmetrics import Computing, Perturbation, feature_stability

N_TRAIN, N_TEST, N_OTHER, N_DRAWS = 2000, 1000, 3000, 5
SCORES = (
    "R with reweighting, a change costs 1",
    "R",
    "values drawn anew, at worst",
    "the same, on average",
    "permutation importance of scikit-learn",
    "|coefficient|",
)
QUIET = Computing(progress=False)


class Task(NamedTuple):
    """Rows with their label, and which belong to the domain of the model and to the other one."""

    name: str
    rows: pd.DataFrame
    label: str
    source: np.ndarray
    target: np.ndarray


def tasks() -> Iterator[Task]:
    """Yield the tasks of the data that are there; without a folder, those of scikit-learn's sets."""
    folder = os.environ.get("SHIFTMETRICS_DATA")
    cancer = load_breast_cancer(as_frame=True).frame
    small = (cancer["mean texture"] < cancer["mean texture"].median()).to_numpy()
    yield Task("tumours, texture", cancer.drop(columns="mean texture"), "target", small, ~small)
    wine = load_wine(as_frame=True).frame
    pale = (wine["hue"] > wine["hue"].median()).to_numpy()
    yield Task("cultivars, hue", wine.drop(columns="hue"), "target", pale, ~pale)
    if folder:
        yield from _of_folder(Path(folder))


def _of_folder(folder: Path) -> Iterator[Task]:
    census = pd.read_parquet(folder / "acs_employment_ma_2015_2018" / "employment.parquet")
    year = census["year"].to_numpy()
    census = census.drop(columns=["prediction", "predicted_probability", "year"])
    coded = [name for name in census if name not in ("AGEP", "SCHL", "employed")]
    census = census.astype(dict.fromkeys(coded, str)).astype(dict.fromkeys(coded, "category"))
    white, men, young = census["RAC1P"] == "1", census["SEX"] == "1", census["AGEP"] < 45
    for name, source, left_out in (
        ("race", white, ["RAC1P"]),
        ("sex", men, ["SEX"]),
        ("age", young, []),
    ):
        yield Task(
            f"employment, {name}", census.drop(columns=left_out), "employed", source, ~source
        )
    yield Task("employment, year", census, "employed", year == 2015, year == 2018)
    patients = pd.read_csv(folder / "covid_sivep" / "covid_sivep.csv.gz")
    region = patients["Region"].to_numpy()
    patients = patients.drop(columns=["Days_hospital_to_outcome", "Region"]).astype(
        {"Ethnicity": "category"}
    )
    south, north = np.isin(region, [0, 3, 4]), np.isin(region, [1, 2])
    yield Task("patients, region", patients, "is_dead", south, north)
    old = patients["Age"] >= 60
    yield Task("patients, age", patients, "is_dead", ~old, old)
    classics = folder / "tabular_fairness_classics"
    adults = pd.read_csv(classics / "adult.csv.gz", skipinitialspace=True).drop(
        columns=["fnlwgt", "education"]
    )
    adults["rich"] = (adults.pop("income-per-year") == ">50K").astype(int)
    for name, here, there in (("sex", "Male", "Female"), ("race", "White", "Black")):
        yield _of_column("income", adults, "rich", name, here, there)
    defendants = pd.read_csv(classics / "compas_two_years.csv.gz")
    kept = ["sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count",
            "c_charge_degree", "two_year_recid"]  # fmt: skip
    yield _of_column(
        "recidivism", defendants[kept], "two_year_recid", "race", "African-American", "Caucasian"
    )
    loans = pd.read_csv(classics / "german_credit.csv.gz")
    first = (loans["age"] < 33).to_numpy()
    yield Task("credit, age", _with_categories(loans), "credit", first, ~first)
    with np.load(folder / "uci_beans_wine" / "wine.npz") as wines:
        bottles = pd.DataFrame(wines["X"].astype(float), columns=wines["feature_names"].astype(str))
        bottles["good"], red = (wines["quality"] >= 6).astype(int), wines["is_red"].astype(bool)
    yield Task("wine, white to red", bottles, "good", ~red, red)
    yield Task("wine, red to white", bottles, "good", red, ~red)


def _of_column(
    title: str, rows: pd.DataFrame, label: str, column: str, here: str, there: str
) -> Task:
    source, target = ((rows[column] == value).to_numpy() for value in (here, there))
    return Task(
        f"{title}, {column}", _with_categories(rows.drop(columns=column)), label, source, target
    )


def _with_categories(rows: pd.DataFrame) -> pd.DataFrame:
    words = [name for name in rows if not pd.api.types.is_numeric_dtype(rows[name])]
    return rows.astype(dict.fromkeys(words, "category"))


def models(rows: pd.DataFrame) -> dict[str, Any]:
    """Return one model of each kind, on the raw columns."""
    words = [name for name in rows if rows[name].dtype == "category"]
    lasts = {
        "logistic": LogisticRegression(max_iter=2000),
        "forest": RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    }
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return {
        name: make_pipeline(
            make_column_transformer((encoder, words), remainder=StandardScaler()), last
        )
        for name, last in lasts.items()
    }


def transported(here: pd.Series, there: pd.Series, rng: np.random.Generator) -> pd.Series:
    """Return the column with the other domain's distribution, as few values changed, or as little, as need be."""
    n = len(here)
    if here.dtype != "category":
        order = np.lexsort([rng.random(n), here.to_numpy()])
        values = here.to_numpy().copy()
        values[order] = np.quantile(there, (np.arange(n) + 0.5) / n, method="nearest")
        return pd.Series(values, index=here.index)
    shares = [
        part.value_counts(normalize=True).reindex(here.cat.categories).fillna(0.0)
        for part in (here, there)
    ]
    surplus, codes = shares[0] - shares[1], here.cat.codes.to_numpy().copy()
    wanted = np.maximum(-surplus.to_numpy(), 0.0)
    for code, excess in enumerate(surplus):
        if excess > 0.0 and wanted.sum() > 0.0:
            rows = np.flatnonzero(here.cat.codes.to_numpy() == code)
            moved = rng.choice(rows, min(len(rows), round(excess * n)), replace=False)
            codes[moved] = rng.choice(len(wanted), len(moved), p=wanted / wanted.sum())
    return pd.Series(pd.Categorical.from_codes(codes, dtype=here.dtype), index=here.index)


def harm(model: Any, X: pd.DataFrame, y: np.ndarray, other: pd.DataFrame) -> pd.DataFrame:
    """Return by how much errors grow when a column takes the other domain's values, drawn and transported."""
    base, lines = np.mean(model.predict(X) != y), {}
    for name in X:
        grown = []
        for seed in range(N_DRAWS):
            rng = np.random.default_rng(seed)
            drawn = other[name].iloc[rng.integers(len(other), size=len(X))].set_axis(X.index)
            columns = (drawn, transported(X[name], other[name], rng))
            grown.append(
                [
                    np.mean(model.predict(X.assign(**{name: column})) != y) - base
                    for column in columns
                ]
            )
        lines[name] = np.mean(grown, axis=0)
    return pd.DataFrame(lines, index=["drawn", "transported"]).T


def rankings(model: Any, X: pd.DataFrame, y: np.ndarray) -> pd.DataFrame:
    """Return a score of each column by each ranking, high where it says that the column does harm."""
    base = np.mean(model.predict(X) != y)
    threshold = min(1.5 * base + 0.02, 0.95)
    words = dict.fromkeys([name for name in X if X[name].dtype == "category"], 1.0)
    freely = Perturbation(cost=words or "std", bounds=None, integer=())
    once = feature_stability(
        model, X, y, threshold, theta2=0.4, perturbation=freely, resampling=None, computing=QUIET
    ).to_frame()
    now = feature_stability(model, X, y, threshold, resampling=None, computing=QUIET).to_frame()
    now = now.set_index("feature")
    found = pd.DataFrame(index=now.index)
    found[SCORES[0]] = -once.set_index("feature")["value"].round(9)
    found[SCORES[1]] = -now["value"].clip(upper=1e9)
    found[SCORES[2]] = now["worst_case_risk"].round(9)
    found[SCORES[3]] = now["permutation_importance"].round(9)
    theirs = permutation_importance(model, X, y, n_repeats=5, random_state=0).importances_mean
    found[SCORES[4]] = pd.Series(theirs, index=X.columns)
    last = model[-1]
    if hasattr(last, "coef_"):
        encoded = model[0].transform(X)
        sizes = np.abs(last.coef_).max(axis=0) * encoded.std(axis=0)
        names = [name.split("__", 1)[1] for name in model[0].get_feature_names_out()]
        found[SCORES[5]] = [
            max(
                size
                for name, size in zip(names, sizes, strict=True)
                if name == c or name.startswith(f"{c}_")
            )
            for c in found.index
        ]
    return found


def main(*, quick: bool) -> None:
    """Print the table of decisions."""
    warnings.simplefilter("ignore")
    print(header())
    print()
    chosen = list(tasks())
    chosen = chosen[:3] if quick else chosen
    size = 400 if quick else N_TRAIN
    lines = []
    for task in chosen:
        rng = np.random.default_rng(1)
        source, target = (
            rng.permutation(np.flatnonzero(part)) for part in (task.source, task.target)
        )
        n_train = min(size, len(source) // 2)
        train, test = source[:n_train], source[n_train : n_train + min(N_TEST, size)]
        X, y = task.rows.drop(columns=task.label), task.rows[task.label].to_numpy()
        for name, model in models(X).items():
            model.fit(X.iloc[train], y[train])
            truth = harm(model, X.iloc[test], y[test], X.iloc[target[:N_OTHER]])
            for score, values in rankings(model, X.iloc[test], y[test]).items():
                for kind in truth:
                    rho = spearmanr(values, truth.loc[values.index, kind]).statistic
                    lines.append((score, kind, name, 0.0 if math.isnan(rho) else rho))
    found = pd.DataFrame(lines, columns=["score", "values", "model", "rho"])
    means = found.groupby(["score", "values", "model"])["rho"].mean().unstack(["values", "model"])
    kinds = [
        (kind, name)
        for kind in ("drawn", "transported")
        for name in ("logistic", "forest", "boosting")
    ]
    print(
        table(
            ["ranking", *(f"{kind}, {name}" for kind, name in kinds)],
            [
                [score, *(means.loc[score].get(kind, math.nan) for kind in kinds)]
                for score in SCORES
            ],
            title=f"Spearman correlation with the growth of errors, mean over {len(chosen)} pairs of domains",
        )
    )
    print(
        "'R with reweighting, a change costs 1' lets numbers move without bounds and by fractions."
    )
