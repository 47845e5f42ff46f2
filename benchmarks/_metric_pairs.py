"""Real pairs of models with all labels, for the coverage of the intervals of metrics."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MOST_ROWS = 12_000
N_TRAIN = 4_000


@dataclass(frozen=True)
class MetricPair:
    """True values and what both models predict: probabilities of each class, outputs, or a column for each label."""

    name: str
    kind: Literal["two classes", "classes", "grades", "values", "sets"]
    y: np.ndarray
    old: np.ndarray
    new: np.ndarray

    @property
    def changed(self) -> float:
        """Fraction of rows whose answer changes."""
        if self.kind == "values":
            return float((self.old != self.new).mean())
        if self.kind == "sets":
            return float((self.old != self.new).any(axis=1).mean())
        return float((self.old.argmax(axis=1) != self.new.argmax(axis=1)).mean())


def metric_pairs() -> Iterator[MetricPair]:
    """Yield pairs on the sets of scikit-learn, and on tables of a folder where there is one."""
    yield from _small_sets()
    folder = os.environ.get("SHIFTMETRICS_DATA")
    if folder:
        yield from _tables(Path(folder))
        yield from _networks(Path(folder))


def _small_sets() -> Iterator[MetricPair]:
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    weak = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=2000))
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    X, y = load_breast_cancer(return_X_y=True)
    y = 1 - y  # malignant
    yield _crossed("tumours: logistic > forest", "two classes", X, y, logistic, forest)
    yield _crossed("tumours: logistic, weaker", "two classes", X, y, logistic, weak)
    X, y = load_digits(return_X_y=True)
    yield _crossed("digits: logistic > forest", "classes", X, y, logistic, forest)
    yield _crossed("digits: logistic, weaker", "classes", X, y, logistic, weak)
    X, y = load_wine(return_X_y=True)
    yield _crossed("cultivars: logistic > forest", "classes", X, y, logistic, forest)
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0)
    yield _crossed("diabetes: ridge > forest", "values", X, y, Ridge(), forest)
    yield _crossed("diabetes: ridge, weaker", "values", X, y, Ridge(0.1), Ridge(1.0))


def _crossed(name: str, kind: Any, X: Any, y: Any, old: Any, new: Any) -> MetricPair:
    """Predict each row by a model of the other folds."""
    method = "predict" if kind == "values" else "predict_proba"
    parts = [cross_val_predict(model, X, y, cv=5, method=method) for model in (old, new)]
    return MetricPair(name, kind, y, parts[0], parts[1])


def _tables(folder: Path) -> Iterator[MetricPair]:
    classics = folder / "tabular_fairness_classics"
    adults = pd.read_csv(classics / "adult.csv.gz", skipinitialspace=True)
    y = (adults.pop("income-per-year") == ">50K").to_numpy().astype(int)
    adults = adults.drop(columns=["fnlwgt", "education"])
    yield from _fitted("income", adults, y)
    rare = _with_rate(y, 0.05)
    yield from _fitted("rare income", adults.iloc[rare], y[rare])
    hours = adults.pop("hours-per-week").to_numpy().astype(float)
    yield from _regressed("hours", adults, hours)
    defendants = pd.read_csv(classics / "compas_two_years.csv.gz")
    y = defendants.pop("two_year_recid").to_numpy()
    names = ["sex", "age", "race", "juv_fel_count", "juv_misd_count", "priors_count"]
    yield from _fitted("recidivism", defendants[names], y)
    patients = pd.read_csv(folder / "covid_sivep" / "covid_sivep.csv.gz")
    y = patients.pop("is_dead").to_numpy()
    patients = patients.drop(columns="Days_hospital_to_outcome")
    yield from _of_sets("symptoms", patients, list(patients.columns[4:12]))
    yield from _of_sets("diseases", patients, list(patients.columns[12:]))
    rare = _with_rate(y, 0.03)
    yield from _fitted("rare deaths", patients.iloc[rare], y[rare])
    with np.load(folder / "uci_beans_wine" / "beans.npz") as stored:
        yield from _fitted("beans", pd.DataFrame(stored["X"]), stored["y"].astype(int))
    with np.load(folder / "uci_beans_wine" / "wine.npz") as stored:
        X = pd.DataFrame(stored["X"])
        grades = np.clip(stored["quality"].astype(int), 4, 8) - 4
        yield from _fitted("wine grades", X, grades, kind="grades")
        yield from _regressed("wine", X, stored["quality"].astype(float))


def _with_rate(y: np.ndarray, rate: float) -> np.ndarray:
    """Return rows of which so many are positive."""
    rng = np.random.default_rng(0)
    negative = np.flatnonzero(y == 0)
    positive = rng.permutation(np.flatnonzero(y == 1))[: int(rate * len(negative) / (1.0 - rate))]
    return np.sort(np.concatenate([negative, positive]))


def _split(X: Any) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(0).permutation(len(X))
    n_train = min(N_TRAIN, len(X) // 3)
    return order[:n_train], order[n_train : n_train + MOST_ROWS]


def _encoded(X: pd.DataFrame, model: Any) -> Any:
    words = [column for column in X if X[column].dtype.kind not in "biuf"]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(
        make_column_transformer((encoder, words), remainder=StandardScaler()), model
    )


def _fitted(name: str, X: pd.DataFrame, y: np.ndarray, kind: Any = None) -> Iterator[MetricPair]:
    """Yield logistic > boosting, and boosting > the same with the other scores in a fifth of the rows."""
    train, test = _split(X)
    kind = kind or ("two classes" if y.max() == 1 else "classes")
    models = (
        LogisticRegression(max_iter=2000),
        HistGradientBoostingClassifier(max_iter=60, random_state=0),
    )
    found = [
        _encoded(X, model).fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
        for model in models
    ]
    yield MetricPair(f"{name}: logistic > boosting", kind, y[test], *found)
    # The other model answers a fifth of the rows, as where one of five regions gets it first.
    fifth = np.random.default_rng(1).random(len(test)) < 0.2
    patched = np.where(fifth[:, None], found[0], found[1])
    yield MetricPair(f"{name}: boosting, a fifth new", kind, y[test], found[1], patched)


def _regressed(name: str, X: pd.DataFrame, y: np.ndarray) -> Iterator[MetricPair]:
    train, test = _split(X)
    models = (Ridge(), HistGradientBoostingRegressor(max_iter=60, random_state=0))
    found = [
        _encoded(X, model).fit(X.iloc[train], y[train]).predict(X.iloc[test]) for model in models
    ]
    yield MetricPair(f"{name}: ridge > boosting", "values", y[test], *found)
    some = np.random.default_rng(1).random(len(test)) < 0.04
    yield MetricPair(
        f"{name}: boosting, 4 % new",
        "values",
        y[test],
        found[1],
        np.where(some, found[0], found[1]),
    )


def _of_sets(name: str, table: pd.DataFrame, labels: list[str]) -> Iterator[MetricPair]:
    """Yield models that give each row several labels, each of them above one threshold."""
    everyone = np.random.default_rng(0).permutation(len(table))[: 3 * N_TRAIN]
    table = table.iloc[everyone].reset_index(drop=True)
    train, test = _split(table)
    X = StandardScaler().fit_transform(table.drop(columns=labels))
    y = table[labels].to_numpy() == 1
    models = (LogisticRegression(max_iter=2000), HistGradientBoostingClassifier(max_iter=40))
    found = []
    for model in models:
        columns = [model.fit(X[train], part).predict_proba(X[test])[:, 1] for part in y[train].T]
        found.append(np.stack(columns, axis=1) > 0.3)
    yield MetricPair(f"{name}: logistic > boosting", "sets", y[test], *found)
    some = np.random.default_rng(1).random(len(test)) < 0.04
    patched = np.where(some[:, None], found[0], found[1])
    yield MetricPair(f"{name}: boosting, 4 % new", "sets", y[test], found[1], patched)


def _networks(folder: Path) -> Iterator[MetricPair]:
    with np.load(folder / "cifar10_logit_zoo" / "logits.npz") as stored:
        y = stored["labels"].astype(int)
        scores = dict(
            zip(stored["model_names"].tolist(), stored["logits"].astype(float), strict=True)
        )
    step = np.abs(scores["resnet56"]).max() / 31.0
    scores["6 bits"] = np.round(scores["resnet56"] / step) * step
    for old, new in (("resnet20", "resnet56"), ("resnet56", "6 bits")):
        yield MetricPair(
            f"CIFAR-10: {old} > {new}",
            "classes",
            y,
            softmax(scores[old], axis=1),
            softmax(scores[new], axis=1),
        )
