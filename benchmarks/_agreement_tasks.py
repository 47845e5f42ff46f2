"""Classification tasks for decisions about agreement: real tables and pictures, models good and useless, shifts.

Rows are split in three: to train on, labelled rows V that stay as they are, and pairs, whose features are shifted.
Where the population moves too (`moved`), the pairs come from elsewhere: another year, region, age or kind of wine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

TRAIN, LABELLED, PAIRS = 1500, 400, 800
"""Most rows of each part."""

Shift = Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Task:
    """Rows of one task; columns are standardised. ``moved`` tells the rows that only pairs may come from."""

    name: str
    X: np.ndarray
    y: np.ndarray
    moved: np.ndarray | None = None

    @property
    def imbalanced(self) -> bool:
        """Whether one class holds more than 65 % of the rows."""
        return bool(np.bincount(self.y).max() > 0.65 * len(self.y))

    def parts(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Return the rows to train on, the labelled ones, and those of the pairs."""
        order = rng.permutation(len(self.y))
        moved = np.zeros(len(order), dtype=bool) if self.moved is None else self.moved[order]
        home, away = order[~moved], order[moved]
        n = len(home) if self.moved is not None else 2 * len(home) // 3
        train = home[: min(TRAIN, 3 * n // 4)]
        labelled = home[len(train) : n][:LABELLED]
        return [train, labelled, (away if self.moved is not None else home[n:])[:PAIRS]]


def tasks(*, quick: bool) -> list[Task]:
    """Return the tasks: scikit-learn's, and, where SHIFTMETRICS_DATA says where they are, larger ones."""
    found = list(_of_scikit_learn())
    folder = os.environ.get("SHIFTMETRICS_DATA")
    if folder and not quick:
        found += _of_files(Path(folder))
    found = found[:4] if quick else found
    return [
        Task(task.name, StandardScaler().fit_transform(task.X), task.y, task.moved)
        for task in found
    ]


def _of_scikit_learn() -> Iterator[Task]:
    X, y = load_digits(return_X_y=True)
    yield Task("digits", X, y)
    yield Task("digits, 8 or not", X, (y == 8).astype(int))
    X, y = load_breast_cancer(return_X_y=True)
    yield Task("tumours", X, y)
    yield _rare("tumours, few malignant", X, 1 - y, 0.1)
    X, y = load_wine(return_X_y=True)
    yield Task("wine growers", X, y)


def _of_files(folder: Path) -> Iterator[Task]:
    beans = np.load(folder / "uci_beans_wine" / "beans.npz")
    yield Task("beans", beans["X"], beans["y"])
    yield Task("beans, Bombay or not", beans["X"], (beans["y"] == 2).astype(int))
    wine = np.load(folder / "uci_beans_wine" / "wine.npz")
    good = (wine["quality"] >= 6).astype(int)
    yield Task("wine, white to red", wine["X"], good, wine["is_red"] == 1)
    yield Task("wine, excellent or not", wine["X"], (wine["quality"] >= 8).astype(int))
    codes = np.load(folder / "mnist_vae_codes" / "vae_codes.npz")
    yield Task("codes of digits", codes["codes20"], codes["labels20"].astype(int))
    mnist = np.load(folder / "mnist_test" / "mnist_t10k.npz")
    pixels = mnist["images"].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(-1, 196)
    pixels, digit = pixels[:4000], mnist["labels"][:4000].astype(int)
    yield Task("MNIST", pixels, digit)
    yield Task("MNIST, 5 or not", pixels, (digit == 5).astype(int))
    tables = folder / "tabular_fairness_classics"
    adult = pd.read_csv(tables / "adult.csv.gz")
    X, y = _table(adult, list(adult.columns[-1:]))
    yield Task("income, young to old", X, y, adult["age"].to_numpy() >= 50)
    yield Task("income", X, y)
    yield _rare("income, few rich", X, y, 0.06)
    compas = pd.read_csv(tables / "compas_two_years.csv.gz")
    yield Task("recidivism", *_table(compas, ["two_year_recid"]))
    german = pd.read_csv(tables / "german_credit.csv.gz")
    yield Task("credit", *_table(german, ["credit"]))
    covid = pd.read_csv(folder / "covid_sivep" / "covid_sivep.csv.gz")
    X, y = _table(covid, ["is_dead", "Days_hospital_to_outcome"])
    yield Task("patients, south to north", X, y, covid["Region"].isin([1, 2]).to_numpy())
    yield _rare("patients, few dead", X, y, 0.08)
    acs = pd.read_parquet(folder / "acs_employment_ma_2015_2018" / "employment.parquet")
    acs = acs[acs["year"].isin([2015, 2018])].reset_index(drop=True)
    later = (acs["year"] == 2018).to_numpy()
    X, y = _table(acs, ["employed", "year", "prediction", "predicted_probability"])
    yield Task("employment, 2015 to 2018", X, y, later)


def _table(frame: pd.DataFrame, target: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns as numbers, words as indicators of their values, and the first target as classes."""
    X = frame.drop(columns=target)
    few = [name for name in X if X[name].nunique() <= 20 or pd.api.types.is_numeric_dtype(X[name])]
    X = pd.get_dummies(X[few]).fillna(0.0).astype(float)
    return X.loc[:, X.std() > 0.0].to_numpy(), np.unique(frame[target[0]], return_inverse=True)[1]


def _rare(name: str, X: np.ndarray, y: np.ndarray, share: float) -> Task:
    """Keep so many rows of class 1 that it has this share."""
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y != 1)
    ones = np.random.default_rng(0).permutation(ones)[: int(share / (1 - share) * len(zeros))]
    rows = np.sort(np.concatenate([ones, zeros]))
    return Task(name, X[rows], y[rows])


def shifts(n_columns: int) -> dict[str, Shift]:
    """Return shifts of standardised columns, each of a mild and a strong version."""

    def noise(size: float) -> Shift:
        return lambda X, rng: X + size * rng.normal(size=X.shape)

    def some(share: float, rng: np.random.Generator) -> np.ndarray:
        chosen = rng.random(n_columns) < share
        if not chosen.any():  # a sample that stays as it is would be no shift
            chosen[rng.integers(n_columns)] = True
        return chosen

    def missing(share: float) -> Shift:
        return lambda X, rng: np.where(some(share, rng), 0.0, X)

    def scale(factor: float) -> Shift:
        return lambda X, rng: X * np.where(some(0.3, rng), factor, 1.0)

    def offset(size: float) -> Shift:
        return lambda X, rng: X + size * some(0.3, rng)

    makers = {
        "noise": (noise, 0.3, 1.0),
        "missing": (missing, 0.15, 0.5),
        "scale": (scale, 1.5, 4.0),
    }
    makers["offset"] = (offset, 0.7, 2.0)
    return {
        f"{name} {size:g}": make(size) for name, (make, *sizes) in makers.items() for size in sizes
    }


def fitted(
    X: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[dict[str, object], set[str]]:
    """Return models trained on these rows by name, and the names of those that are garbage."""
    half = np.flatnonzero(rng.random(X.shape[1]) < 0.5)
    useful = {
        "logistic": LogisticRegression(max_iter=500),
        "logistic, flat": LogisticRegression(C=1e-3, max_iter=500),
        "logistic, half": make_pipeline(
            FunctionTransformer(_Columns(half)), LogisticRegression(max_iter=500)
        ),
        "Bayes": GaussianNB(),
        "discriminant": LinearDiscriminantAnalysis(),
        "neighbours 3": KNeighborsClassifier(3),
        "neighbours 30": KNeighborsClassifier(30),
        "stump": DecisionTreeClassifier(max_depth=2, random_state=0),
        "tree": DecisionTreeClassifier(min_samples_leaf=3, random_state=0),
        "forest": RandomForestClassifier(60, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=40, random_state=0),
        "network": MLPClassifier((32,), max_iter=80, early_stopping=True, random_state=0),
    }
    counts = np.bincount(y)
    garbage = {
        "most frequent": DummyClassifier(strategy="most_frequent"),
        "rarest": DummyClassifier(
            strategy="constant", constant=int(np.flatnonzero(counts)[counts[counts > 0].argmin()])
        ),
        "shuffled tree": DecisionTreeClassifier(max_depth=6, random_state=0),
        "shuffled logistic": LogisticRegression(max_iter=500),
    }
    models = {name: model.fit(X, y) for name, model in useful.items()}
    for name, model in garbage.items():
        models[name] = model.fit(X, rng.permutation(y) if name.startswith("shuffled") else y)
    return models, set(garbage)


@dataclass(frozen=True)
class _Columns:
    """Takes some columns."""

    columns: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return X[:, self.columns]
