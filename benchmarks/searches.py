"""Searches that only predict: the stability that they find over that of brute force, at several budgets."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from _machine import table
from scipy.spatial import cKDTree
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from shiftmetrics import Computing, model_stability
from shiftmetrics.models import Search
from shiftmetrics.stability import CandidateLoss, ZeroOneLoss, stability_criterion

N_QUERIES = (500, 5000)
QUIET = Computing(progress=False)
Problem = tuple[Any, np.ndarray, np.ndarray]


def main() -> None:
    warnings.simplefilter("ignore")
    lines = []
    for name, problem, loss, threshold in (
        ("15 neighbours, 2 columns, 0/1 loss", neighbours, "zero_one", 0.4),
        ("15 neighbours, 2 columns, log loss", neighbours, "log_loss", 2.0),
        ("support vectors, 8 columns, 0/1 loss", support_vectors, "zero_one", 0.4),
    ):
        for seed in range(3):
            model, X, y = problem(seed)
            options: dict[str, Any] = {"loss": loss, "theta2": np.inf, "resampling": None}
            if problem is neighbours:
                known = on_a_grid(model, X, y, loss)
                least = stability_criterion(
                    known, threshold, theta2=np.inf, resampling=None, computing=QUIET
                ).value
            else:
                search = Search(n_queries=40_000, rng=1, progress=False)
                least = model_stability(model, X, y, threshold, computing=search, **options).value
            line: list[object] = [name, seed, least]
            for n_queries in N_QUERIES:
                start = time.perf_counter()
                search = Search(n_queries=n_queries, progress=False)
                found = model_stability(model, X, y, threshold, computing=search, **options)
                line += [
                    found.value / least,
                    found.search.n_queries / len(X),
                    time.perf_counter() - start,
                ]
            lines.append(line)
    heads = ["model", "seed", "R, reference"]
    for n_queries in N_QUERIES:
        heads += [f"R / it, {n_queries}", "queries a sample", "s"]
    print(table(heads, lines))


def neighbours(seed: int) -> Problem:
    X, y = make_moons(400, noise=0.35, random_state=seed)
    return KNeighborsClassifier(15).fit(X[80:], y[80:]), X[:80], y[:80]


def support_vectors(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 8))
    score = X[:, 0] * X[:, 1] + X[:, 2] ** 2 - X[:, 3] + 0.3 * rng.normal(size=500)
    y = (score > 0.6).astype(int)
    return SVC(gamma=0.15, C=10).fit(X[40:], y[40:]), X[:40], y[:40]


def on_a_grid(model: Any, X: np.ndarray, y: np.ndarray, loss: str, size: int = 700) -> Any:
    """Return the loss of all points of a fine grid within the data, as candidates."""
    sides = [np.linspace(X[:, k].min(), X[:, k].max(), size) for k in (0, 1)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    unit = X.std(axis=0)
    votes = np.rint(model.predict_proba(grid) * 15).astype(int)
    if loss == "zero_one":
        predicted = model.predict(grid)
        distances = np.zeros(len(X))
        for label in (0, 1):
            errors = cKDTree(grid[predicted != label] / unit)
            distances[y == label] = errors.query(X[y == label] / unit)[0]
        distances[model.predict(X) != y] = 0.0
        return ZeroOneLoss(distances)
    least = np.finfo(np.float64).eps
    own = model.predict_proba(X)[np.arange(len(X)), y]
    losses = [-np.log(np.maximum(own, least))]
    apart = [np.zeros(len(X))]
    for count in range(16):
        nearest = np.full(len(X), np.inf)
        for label in (0, 1):
            points = grid[votes[:, label] == count]
            if len(points):
                nearest[y == label] = cKDTree(points / unit).query(X[y == label] / unit)[0]
        losses.append(np.full(len(X), -np.log(max(count / 15, least))))
        apart.append(np.maximum(nearest, 1e-12))
    return CandidateLoss(np.stack(losses, axis=1), np.stack(apart, axis=1))


if __name__ == "__main__":
    main()
