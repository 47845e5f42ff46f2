"""Tables of people, and the classifiers of the stability paper's section 4 on them.

- "income": Adult (1994), in the place of ACS Income;
- "employment": ACS Employment, Massachusetts 2015 to 2018, in the place of ACS Public Coverage;
- "covid": the SIVEP-Gripe patients, as in the paper.

Words are one-hot encoded, and columns divided by their spread among the rows of training. AT and tilted ERM pick
their penalty from three of the paper's ten values, by the accuracy on the rows of validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from _experiment import data_folder

from shiftmetrics import Perturbation, Search, feature_stability, model_stability
from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.learners import ERM, Adversarial, NetworkClassifier
from shiftmetrics_lab.learners.grid import grid_search

METHODS = ("ERM", "AT", "tilted")
PRICES = ((0.2, np.inf), (0.25, 1.0), (0.4, 0.4), (1.0, 0.25), (100.0, 0.2))
"""theta1 and theta2 with 1/theta1 + 1/theta2 = 5; 100 stands for infinity, as in the paper."""
FREE = Perturbation(cost="unit", bounds=None, integer=())
"""All columns slide without bounds, in units of their spread, as in the paper."""
_RACES = {1: "White", 2: "Black", 3: "American Indian", 6: "Asian", 8: "other", 9: "several"}
_PENALTIES = (0.1, 0.3, 1.0)


@dataclass(frozen=True)
class People:
    """Rows of one table, split at random: X and y by the name of the part, and what group a row is of.

    ``parts`` maps "train", "validation", "evaluation" and "test" (all others) to X, y and groups.
    """

    columns: list[str]
    parts: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]


def people(name: str, seed: int, *, n_train: int = 2000, n_evaluation: int = 2000) -> People:
    """Return a table of people; the groups are races, or ages for covid patients."""
    X, y, groups = {"income": _income, "employment": _employment, "covid": _covid}[name]()
    encoded = pd.get_dummies(X, dtype=float)
    order = np.random.default_rng(seed).permutation(len(y))
    ends = np.cumsum([n_train, n_train // 4, n_evaluation])
    values = encoded.to_numpy()
    train = values[order[:n_train]]
    spread = train.std(axis=0)
    values = (values - train.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    names = ("train", "validation", "evaluation", "test")
    parts = zip(names, np.split(order, ends), strict=True)
    return People(
        list(encoded), {part: (values[rows], y[rows], groups[rows]) for part, rows in parts}
    )


def classifier(
    table: People,
    method: str,
    seed: int,
    *,
    hidden: tuple[int, ...] = (16,),
    features: list[int] | None = None,
    n_steps: int = 20,
    quick: bool = False,
) -> NetworkClassifier:
    """Train the paper's network (or a logistic regression) by ERM, AT of all features or some, or tilted ERM.

    AT climbs by ``n_steps`` steps, 20 in the paper.
    """
    X, y, _ = table.parts["train"]
    held_out = table.parts["validation"][:2]

    def train(penalty: float) -> NetworkClassifier:
        objective: Any = {
            "ERM": lambda: ERM(),
            "AT": lambda: Adversarial(penalty=penalty, features=features, n_steps=n_steps),
            "tilted": lambda: ERM(temperature=penalty),
        }[method]()
        model = NetworkClassifier(
            hidden_units=hidden, activation="elu", objective=objective, epochs=20 if quick else 120,
            standardize=False, random_state=seed,
        )  # fmt: skip
        return model.fit(X, y)

    if method == "ERM":
        return train(0.0)
    values = _PENALTIES[:1] if quick else _PENALTIES
    return grid_search(train, lambda model: model.score(*held_out), values, progress=False).model


def prices(quick: bool) -> tuple[tuple[float, float], ...]:
    """Return the prices; in the quick form those of moves alone and of weights alone."""
    return PRICES[:: len(PRICES) - 1] if quick else PRICES


def price_names(found: Sequence[Any]) -> list[str]:
    """Return what to write below as many values as there are prices, of the full or the quick form."""
    return [f"{theta1:g}, {theta2:g}" for theta1, theta2 in prices(quick=len(found) < len(PRICES))]


def draw_values(ax: Any, values: Sequence[Sequence[float]], label: str) -> None:
    """Draw the geometric mean over seeds, and the spread of the logs, over the prices."""
    logs = np.log(values)
    low, middle, high = np.exp([logs.mean(axis=0) + k * logs.std(axis=0) for k in (-1, 0, 1)])
    ax.errorbar(
        price_names(middle),
        middle,
        (middle - low, high - middle),
        marker="o",
        capsize=3,
        label=label,
    )


def stabilities(model: Any, X: np.ndarray, y: np.ndarray, *, quick: bool = False) -> list[Any]:
    """Return the stability at each of the prices; the cross-entropy of 3 counts as broken, as in the paper."""
    search = Search(progress=False)
    options = {"loss": "log_loss", "perturbation": FREE, "computing": search, "resampling": None}
    return [
        model_stability(model, X, y, 3.0, theta1=theta1, theta2=theta2, **options)
        for theta1, theta2 in prices(quick)
    ]


def sensitivities(model: Any, table: People, *, quick: bool = False) -> list[tuple[str, float]]:
    """Return the stability by each column alone, the most sensitive first.

    40 % errors count as broken, at theta = (1, 0.25), as in the paper. The quick form takes every twentieth
    column, and those of race.
    """
    X, y, _ = table.parts["evaluation"]
    races = ("race_", "RAC1P_")
    columns = [
        f"x{i}"
        for i, name in enumerate(table.columns)
        if not quick or i % 20 == 0 or name.startswith(races)
    ]
    found = feature_stability(
        model, X, y, 0.4, theta1=1.0, theta2=0.25, perturbation=replace(FREE, features=columns),
        computing=Search(progress=False), resampling=None,
    ).to_frame()  # fmt: skip
    pairs = zip(found["feature"], found["value"], strict=True)
    return sorted(
        ((table.columns[int(key[1:])], value) for key, value in pairs), key=lambda pair: pair[1]
    )


def _income() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    frame = pd.read_csv(
        data_folder("tabular_fairness_classics") / "adult.csv.gz", skipinitialspace=True
    )
    y = (frame.pop("income-per-year") == ">50K").to_numpy().astype(int)
    frame["native-country"] = np.where(frame["native-country"] == "United-States", "US", "other")
    return frame.drop(columns=["fnlwgt", "education"]), y, frame["race"].to_numpy()


def _employment() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    frame = pd.read_parquet(data_folder("acs_employment_ma_2015_2018") / "employment.parquet")
    frame = frame.drop(columns=["year", "prediction", "predicted_probability"])
    y = frame.pop("employed").to_numpy().astype(int)
    frame["RAC1P"] = frame["RAC1P"].map(_RACES).fillna("other")
    codes = [name for name in frame if name not in ("AGEP", "SCHL")]
    return frame.astype(dict.fromkeys(codes, str)), y, frame["RAC1P"].to_numpy()


def _covid() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    data = load("sivep", data_folder("covid_sivep"))
    ages = np.where(
        data.X["Age"] < 40, "under 40", np.where(data.X["Age"] >= 70, "70 and over", "40 to 69")
    )
    return data.X, data.y, ages
