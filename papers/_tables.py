"""Tables of people, and the classifiers of the stability paper's section 4 on them.

- "income": Adult (1994), in the place of ACS Income;
- "employment": ACS Employment, Massachusetts 2015 to 2018, in the place of ACS Public Coverage;
- "covid": the SIVEP-Gripe patients, as in the paper.

Words are one-hot encoded, and columns divided by their spread among the rows of training. AT and tilted ERM pick
their penalty by the accuracy on the rows of validation, as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from _experiment import data_folder
from _prices import AT, PAPER_PRICES, TILTED

from shiftmetrics import Perturbation, Search, feature_stability, model_stability
from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.learners import ERM, Adversarial, NetworkClassifier
from shiftmetrics_lab.learners.grid import PAPER_GRID, grid_search

FREE = Perturbation(cost="unit", bounds=None, integer=())
"""All columns slide without bounds, in units of their spread, as in the paper."""
_FEW_PENALTIES = (0.1, 0.3, 1.0)
"""Of four trainings a seed, which by ten penalties take 38 minutes of a core in place of 6."""
_RACES = {1: "White", 2: "Black", 3: "American Indian", 6: "Asian", 8: "other", 9: "several"}


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


@dataclass(frozen=True)
class Trained:
    """What was trained with each penalty, the accuracy of each on the rows of validation, and the one picked."""

    models: dict[float, NetworkClassifier]
    scores: dict[float, float]
    picked: float

    @property
    def model(self) -> NetworkClassifier:
        return self.models[self.picked]


def classifier(table: People, method: str, seed: int, **options: Any) -> NetworkClassifier:
    """Return what `trained` picks from the paper's ten penalties; from three where AT moves some features alone."""
    if options.get("features") is not None:
        options["penalties"] = _FEW_PENALTIES
    return trained(table, method, seed, **options).model


def trained(
    table: People,
    method: str,
    seed: int,
    *,
    penalties: Sequence[float] = PAPER_GRID,
    hidden: tuple[int, ...] = (16,),
    features: list[int] | None = None,
    n_steps: int = 20,
    quick: bool = False,
) -> Trained:
    """Train the paper's network (or a logistic regression) by ERM, AT of all features or some, or tilted ERM.

    AT climbs by ``n_steps`` steps, 20 in the paper.
    """
    X, y, _ = table.parts["train"]
    held_out = table.parts["validation"][:2]
    models: dict[float, NetworkClassifier] = {}

    def train(penalty: float) -> NetworkClassifier:
        objective: Any = {
            "ERM": lambda: ERM(),
            AT: lambda: Adversarial(penalty=penalty, features=features, n_steps=n_steps),
            TILTED: lambda: ERM(temperature=penalty),
        }[method]()
        model = NetworkClassifier(
            hidden_units=hidden, activation="elu", objective=objective, epochs=20 if quick else 120,
            standardize=False, random_state=seed,
        )  # fmt: skip
        models[penalty] = model.fit(X, y)
        return models[penalty]

    values = (0.0,) if method == "ERM" else penalties
    values = (*values[:1], *values[1:][-1:]) if quick else values
    found = grid_search(train, lambda model: model.score(*held_out), values, progress=False)
    scores = dict(zip(values, found.scores.tolist(), strict=True))
    return Trained(models, scores, found.value)


def prices(quick: bool) -> tuple[tuple[float, float], ...]:
    """Return the paper's prices; in the quick form those of moves alone and of weights alone."""
    return PAPER_PRICES[:: len(PAPER_PRICES) - 1] if quick else PAPER_PRICES


def price_names(found: Sequence[Any]) -> list[str]:
    """Return what to write below as many values as there are prices, of the full or the quick form."""
    shown = prices(quick=len(found) < len(PAPER_PRICES))
    return [f"{theta1:g}, {theta2:g}" for theta1, theta2 in shown]


def draw_values(ax: Any, values: Sequence[Sequence[float]], label: str) -> None:
    """Draw the median over seeds, and the quartiles, over the prices; what is out of reach stands at the top."""
    table = np.array([[np.inf if one is None else one for one in row] for row in values])
    low, middle, high = np.quantile(table, (0.25, 0.5, 0.75), axis=0, method="nearest")
    names = np.array(price_names(middle))
    there = np.isfinite(middle)
    low, middle, high = low[there], middle[there], high[there]
    ax.errorbar(
        names[there],
        middle,
        (middle - low, np.where(np.isfinite(high), high, middle) - middle),
        marker="o",
        capsize=3,
        label=label,
    )
    color = ax.lines[-1].get_color() if ax.lines else None
    for name in names[~there]:
        ax.annotate("out of reach", (name, 0.97), xycoords=("data", "axes fraction"), rotation=90,
                    ha="center", va="top", fontsize=7, color=color)  # fmt: skip


def stabilities(model: Any, X: np.ndarray, y: np.ndarray, *, quick: bool = False) -> list[Any]:
    """Return the stability at each of the paper's prices; a cross-entropy of 3 counts as broken, as there."""
    return [stability(model, X, y, price) for price in prices(quick)]


def stability(
    model: Any, X: np.ndarray, y: np.ndarray, price: tuple[float, float], *, seed: int = 0
) -> Any:
    """Return the stability at one price; ``seed`` is that of the search."""
    return model_stability(
        model, X, y, 3.0, theta1=price[0], theta2=price[1], loss="log_loss", perturbation=FREE,
        computing=Search(progress=False, rng=seed), resampling=None,
    )  # fmt: skip


def kept_value(found: Any) -> float | None:
    """Return R, or None where the threshold is out of reach."""
    return float(found.value) if np.isfinite(found.value) else None


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
