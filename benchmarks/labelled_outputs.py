"""Few labels for two regressions: rows sampled by what is at stake in them, and uniformly.

Five pairs of models on each of twelve tables (`_package_tables.py`). Printed are half the width of the interval of
the difference of the mean absolute errors, as a fraction of the old one, how many intervals hold the true difference
of these rows, and how many leave out 0, rightly and wrongly.

    python benchmarks/labelled_outputs.py [--labels 60] [--seeds 5]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from _machine import header, table
from _package_tables import numbers
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from shiftmetrics import diff_models
from shiftmetrics.decisions.labelling.anytime import mean_sequence

TRAIN, TEST = 700, 900

MODELS = {
    "linear": LinearRegression(),
    "ridge": Ridge(300.0),
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
    "boosting": HistGradientBoostingRegressor(max_iter=60, random_state=0),
    "more boosting": HistGradientBoostingRegressor(
        max_iter=100, min_samples_leaf=10, random_state=1
    ),
    "neighbours": KNeighborsRegressor(10),
}
PAIRS = (
    ("linear", "ridge"),
    ("linear", "tree"),
    ("boosting", "more boosting"),
    ("neighbours", "linear"),
    ("linear", "boosting"),
)


def pairs() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield old outputs, new outputs and true values."""
    for _, X, y in numbers():
        rows = slice(TRAIN, TRAIN + TEST)
        outputs = {
            name: model.fit(X[:TRAIN], y[:TRAIN]).predict(X[rows]) for name, model in MODELS.items()
        }
        for old, new in PAIRS:
            yield outputs[old], outputs[new], y[rows]


def planned(
    old: np.ndarray, new: np.ndarray, y: np.ndarray, n_labels: int, seed: int, mode: str
) -> tuple[float, float]:
    """Return the interval of a plan of rows sampled by size."""
    asked = "anytime" if mode == "anytime" else n_labels
    plan = diff_models(old, new, plan=asked, tolerance=0.0, rng=seed).plan
    labels = np.full(len(y), np.nan)
    rows = plan.order[:n_labels]
    labels[rows] = y[rows]
    found = diff_models(old, new, labels=labels, plan=plan, tolerance=0.0)
    assert found.interval.method == mode
    return found.interval.low, found.interval.high


def uniform(
    old: np.ndarray, new: np.ndarray, y: np.ndarray, n_labels: int, seed: int
) -> tuple[float, float]:
    """Return the interval of rows sampled uniformly, each of which may gain as much as the most extreme one."""
    changed = np.flatnonzero(old != new)
    gain = (np.abs(y - old) - np.abs(y - new))[changed]
    most = float(np.abs(new - old).max())
    drawn = np.random.default_rng(seed).permutation(len(changed))[:n_labels]
    values = 0.5 * (gain[drawn] / most + 1.0)
    low, high = mean_sequence(values, values, len(changed))
    scale = most * len(changed) / len(y)
    return scale * (2.0 * low[-1] - 1.0), scale * (2.0 * high[-1] - 1.0)


def normal(
    old: np.ndarray, new: np.ndarray, y: np.ndarray, n_labels: int, seed: int
) -> tuple[float, float]:
    """Return the normal interval of rows sampled uniformly, which promises nothing for few labels."""
    gain = np.abs(y - old) - np.abs(y - new)
    drawn = np.random.default_rng(seed).permutation(len(y))[:n_labels]
    error = gain[drawn].std(ddof=1) / np.sqrt(n_labels) * np.sqrt(1.0 - n_labels / len(y))
    return gain[drawn].mean() - 1.96 * error, gain[drawn].mean() + 1.96 * error


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    ways = {
        "by size, exact": lambda *given: planned(*given, "exact"),
        "by size, anytime": lambda *given: planned(*given, "anytime"),
        "uniform, anytime": uniform,
        "uniform, normal": normal,
    }
    judged: dict[str, list[tuple[float, bool, bool, bool]]] = {name: [] for name in ways}
    n_pairs = 0
    for old, new, y in pairs():
        n_pairs += 1
        before = float(np.mean(np.abs(y - old)))
        true = float(np.mean(np.abs(y - old) - np.abs(y - new)))
        for seed in range(asked.seeds):
            for name, way in ways.items():
                low, high = way(old, new, y, asked.labels, seed)
                decided = low > 0.0 or high < 0.0
                right = decided and (low > 0.0) == (true > 0.0)
                covered = low - 1e-12 <= true <= high + 1e-12
                judged[name].append((0.5 * (high - low) / before, covered, decided, right))
    lines = []
    for name, found in judged.items():
        half, covered, decided, right = np.array(found, dtype=float).T
        figures = [f"{half.mean():.3f}", f"{np.median(half):.3f}", f"{covered.mean():.3f}"]
        wrong = int(decided.sum() - right.sum())
        lines.append([name, *figures, f"{int(decided.sum())} of {len(found)}", wrong])
    columns = ["rows", "half width / MAE", "median", "covered", "decided", "wrongly"]
    print(header())
    print("\n" + table(columns, lines, title=f"{n_pairs} pairs, {asked.labels} labels"))


if __name__ == "__main__":
    main()
