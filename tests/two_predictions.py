"""Predictions of two models and their labels, as scores, prices and chances of rare events."""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shiftmetrics.decisions import DiffResult

Labels = npt.NDArray[Any]


def scores_of(n: int = 400, n_classes: int = 4, seed: int = 0) -> tuple[Any, Any, Labels]:
    """Return the probabilities of two models, and labels."""
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n, n_classes))
    old = np.exp(logits)
    new = np.exp(logits + 0.5 * rng.normal(size=logits.shape))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return old / old.sum(axis=1, keepdims=True), new / new.sum(axis=1, keepdims=True), labels


OLD, NEW, LABELS = scores_of()
CHANGED = OLD.argmax(axis=1) != NEW.argmax(axis=1)
GAINS = (NEW.argmax(axis=1) == LABELS).astype(int) - (OLD.argmax(axis=1) == LABELS)


def filled(result: DiffResult, n: int, labels: Labels = LABELS) -> pd.DataFrame:
    """Return the table of changed rows with the labels of the first n."""
    table = result.to_frame()
    table["label"] = table["label"].astype(object)
    table.loc[: n - 1, "label"] = labels[table["id"].to_numpy()[:n]]
    return table


def numbers(text: str) -> list[float]:
    return [float(part.replace(",", "")) for part in re.findall(r"[-+]?\d[\d,]*\.?\d*", text)]


def prices(n: int = 300) -> tuple[Labels, Labels, Labels]:
    rng = np.random.default_rng(0)
    truth = rng.lognormal(5.0, 0.5, size=n)
    old = truth * np.exp(0.1 * rng.normal(size=n))
    new = np.where(rng.random(n) < 0.3, old * np.exp(0.05 * rng.normal(size=n)), old)
    return truth, old, new


def rare(n: int = 4000) -> tuple[Labels, Labels, Labels]:
    rng = np.random.default_rng(1)
    chance = rng.beta(0.6, 12.0, size=n).clip(0.001, 0.45)
    labels = (rng.random(n) < chance).astype(int)
    noisy = (chance * np.exp(0.8 * rng.normal(size=n))).clip(0.001, 0.45)
    return labels, chance, noisy
