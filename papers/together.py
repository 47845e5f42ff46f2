"""One story: a model of employment is attacked, its records are corrupted, its people age, and a new kind comes in.

A logistic regression learns from 3,000 people of 16 and over of Massachusetts in 2015 who is employed. 200 others are
attacked (each moves by 1 in units of the columns' spread, as the model fears most), or a tenth of their cells are
swapped with those of others, or they are taken from 2018, or a fifth of them are children, whom the model never saw.
"""

from functools import cache

import numpy as np
import pandas as pd
import torch
from _claims import Claim
from _experiment import data_folder, run

from shiftmetrics import Perturbation, kernel_entropic_novelty, model_stability, posterior_agreement
from shiftmetrics_lab.attacks import pgd
from shiftmetrics_lab.learners import NetworkClassifier

RISK, CHILDREN = 0.4, 0.2
SAMPLES = ("as they are", "attacked", "corrupted", "aged", "with children")
COLUMNS = ("errors", "agreement", "stability", "new")
CLAIMS = {
    "agreement_attack": Claim(
        "Agreement sees the attack,",
        "agreement over its ceiling, attacked minus corrupted",
        "<",
        0.0,
    ),
    "agreement_corrupted": Claim(
        "and the corruption.", "agreement over its ceiling, corrupted", "<", 0.95
    ),
    "bound": Claim(
        "Stability is known before any attack: none reaches its errors at a lower cost.",
        "mean squared move of the attack over R at the errors it reached",
        ">=",
        1.0,
    ),
    "left": Claim(
        "It says how little is left: the attack uses the reserve up.",
        "R of the attacked people over R of the same as they are",
        "<",
        0.5,
    ),
    "stability_children": Claim(
        "It misses the new kind: with children the model seems no less stable.",
        "log of R with children over R as they are",
        ">=",
        0.0,
    ),
    "novelty_children": Claim(
        "Novelty sees the new kind, and how large it is.",
        "|share called new - share of children|",
        "<",
        0.1,
    ),
    "novelty_attack": Claim("It misses the attack.", "share called new, attacked", "<", 0.05),
    "novelty_aged": Claim(
        "Three years pass unseen by it, as they do by the errors.",
        "share called new, aged",
        "<",
        0.05,
    ),
    "errors_aged": Claim(
        "Three years cost the model little.", "error rate of 2018 minus that of 2015", "<", 0.05
    ),
}


@cache
def table() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the people with words as columns of 0 and 1, whether they are employed, their years and ages."""
    frame = pd.read_parquet(data_folder("acs_employment_ma_2015_2018") / "employment.parquet")
    frame = frame.drop(columns=["prediction", "predicted_probability"])
    employed, year = frame.pop("employed").to_numpy().astype(int), frame.pop("year").to_numpy()
    codes = [name for name in frame if name not in ("AGEP", "SCHL")]
    X = pd.get_dummies(frame.astype(dict.fromkeys(codes, str)), dtype=float)
    return X.to_numpy(), employed, year, X["AGEP"].to_numpy()


def measure(seed: int, quick: bool) -> dict:
    n, rng = 100 if quick else 200, np.random.default_rng(seed)
    X, y, year, age = table()
    grown = {
        when: rng.permutation(np.flatnonzero((year == when) & (age >= 16))) for when in (2015, 2018)
    }
    train, known, rows = np.split(grown[2015][: 3000 + 2 * n], [3000, 3000 + n])
    centre, spread = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - centre) / np.where(spread > 0, spread, 1.0)
    options = {"hidden_units": (), "epochs": 100, "standardize": False, "random_state": seed}
    model = NetworkClassifier(**options).fit(X[train], y[train])

    people = {SAMPLES[0]: (X[rows], y[rows])}
    tensors = torch.tensor(X[rows]), torch.tensor(y[rows])
    attack = pgd(model.module_, *tensors, strength=1.0, norm="l2", n_steps=10)
    moved = np.asarray(attack.x_adv)
    swapped = rng.random(X[rows].shape) < 0.1
    others = np.stack([rng.permutation(column) for column in X[rows].T], axis=1)
    people["attacked"] = (moved, y[rows])
    people["corrupted"] = (np.where(swapped, others, X[rows]), y[rows])
    people["aged"] = (X[grown[2018][:n]], y[grown[2018][:n]])
    children = rng.choice(
        np.flatnonzero((year == 2015) & (age < 16)), round(CHILDREN * n), replace=False
    )
    mixed = np.concatenate([children, rows[: n - len(children)]])
    people["with children"] = (X[mixed], y[mixed])

    free = Perturbation(cost="unit", bounds=None, integer=())
    prices = {"theta1": 1.0, "theta2": np.inf, "perturbation": free, "resampling": None}
    scores = model.decision_function(X[rows])
    found = {}
    for name, (sample, truth) in people.items():
        paired = name in SAMPLES[:3]  # agreement needs the same people twice
        found[name] = {
            "errors": float((model.predict(sample) != truth).mean()),
            "agreement": posterior_agreement(model.decision_function(sample), scores).normalized
            if paired
            else -1.0,
            "stability": model_stability(model, sample, truth, RISK, **prices).value,
            "new": kernel_entropic_novelty(sample, X[known]).fraction,
        }
    base = found["as they are"]
    reached = model_stability(model, X[rows], y[rows], found["attacked"]["errors"], **prices).value
    return {
        "agreement_attack": found["attacked"]["agreement"] - found["corrupted"]["agreement"],
        "agreement_corrupted": found["corrupted"]["agreement"],
        "bound": float(((moved - X[rows]) ** 2).sum(axis=1).mean() / reached),
        "left": found["attacked"]["stability"] / base["stability"],
        "stability_children": float(
            np.log(found["with children"]["stability"] / base["stability"])
        ),
        "novelty_children": abs(found["with children"]["new"] - CHILDREN),
        "novelty_attack": found["attacked"]["new"],
        "novelty_aged": found["aged"]["new"],
        "errors_aged": found["aged"]["errors"] - base["errors"],
        "table": [[found[name][column] for column in COLUMNS] for name in SAMPLES],
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    values = np.mean([one["table"] for one in runs], axis=0)
    titles = (
        "error rate (needs labels)",
        "agreement over its ceiling",
        "stability R at 40 % errors",
        "share that is new",
    )
    figure, axes = pyplot.subplots(1, 4, figsize=(13, 3), layout="constrained", sharey=True)
    for ax, title, column in zip(axes, titles, values.T, strict=True):
        shown = np.maximum(column, 0.0)
        ax.barh(SAMPLES, shown)
        for place, (height, value) in enumerate(zip(shown, column, strict=True)):
            ax.text(
                height,
                place,
                " cannot say" if value < 0 else f" {value:.2g}",
                va="center",
                fontsize=9,
            )
        ax.set(title=title, xlim=(0, 1.25 * max(shown.max(), 0.04)))
    axes[0].invert_yaxis()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
