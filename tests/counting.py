"""Numbers of the command line counted again, row by row, and the awkward inputs on which they are."""

import re

import numpy as np
import pandas as pd

CLASSES = np.array(["cat", "dog", "eel"])
N = 500


def numbers(text: str, before: str = "", after: str = "") -> list[float]:
    """Return the numbers of a text that stand between two patterns."""
    found = re.findall(rf"{before}([-+]?\d[\d,]*(?:\.\d+)?){after}", text)
    return [float(number.replace(",", "")) for number in found]


def rounds_to(printed: str, exact: float) -> bool:
    """Return True if a printed number is this one, rounded to the digits that it shows."""
    decimals = len(printed.partition(".")[2])
    return abs(float(printed.replace(",", "")) - exact) <= 0.501 * 10.0**-decimals


def answer(row) -> int:
    """Return the first of the largest scores."""
    best = 0
    for place, score in enumerate(row):
        if score > row[best]:
            best = place
    return best


def write(path, scores, **columns) -> None:
    """Write a csv file of scores with ids, in an order of its own."""
    names = CLASSES if np.ndim(scores) == 2 else ["score"]
    table = pd.DataFrame(np.reshape(scores, (N, -1)), columns=list(names))
    for name, values in columns.items():
        table[name] = values
    table.insert(0, "image_id", [f"image-{i}" for i in range(N)])
    table.sample(frac=1, random_state=len(path.name)).to_csv(path, index=False)


def two_models(seed: int):
    """Draw probabilities of two models that often agree, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, N)
    old = rng.dirichlet([1, 1, 1], N) + 0.8 * np.eye(3)[labels]
    new = old + 0.4 * rng.dirichlet([1, 1, 1], N)
    return [scores / scores.sum(axis=1, keepdims=True) for scores in (old, new)], labels


def quantised(scores, bits: int):
    levels = 2**bits - 1
    return np.round(np.asarray(scores) * levels) / levels


EDGES = {
    "probabilities": lambda scores: scores,
    "4 bits": lambda scores: quantised(scores, 4),
    "8 bits": lambda scores: quantised(scores, 8),
    "percentages": lambda scores: 100.0 * scores,
    "log-probabilities": np.log,
    "one class": lambda scores: scores * [1.0, 0.01, 0.01],
}


def counted(old, new, labels) -> dict[str, int]:
    """Count by a loop over the rows."""
    counts = dict.fromkeys(("changed", "fixed", "broken", "old_right", "new_right"), 0)
    for before, after, label in zip(old, new, labels, strict=True):
        counts["changed"] += before != after
        counts["fixed"] += before != label and after == label
        counts["broken"] += before == label and after != label
        counts["old_right"] += before == label
        counts["new_right"] += after == label
    return counts
