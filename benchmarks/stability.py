"""Stability: against conic programs and the gradient steps of the paper, and how time and memory grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from _machine import best_of, header, peak_memory_mib, table
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression

from shiftmetrics import Computing, Perturbation, feature_stability, model_stability
from shiftmetrics.stability import (
    CandidateLoss,
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
    StabilityResult,
    ZeroOneLoss,
    stability_criterion,
    stability_curve,
    worst_case_risk,
)
from shiftmetrics.stability.losses import Loss
from shiftmetrics_lab.published import stability_criterion_adam, stability_criterion_conic
from shiftmetrics_lab.published.adam import AdamSteps

DIVERGENCES: tuple[Literal["kl", "chi2"], ...] = ("kl", "chi2")
LOSSES: dict[str, tuple[Callable[[np.ndarray], Loss], float]] = {
    "hinge": (lambda margins: HingeLoss(margins, 1.5), 1.0),
    "0/1": (lambda margins: ZeroOneLoss(np.maximum(margins, 0.0) / 1.5), 0.3),
    "squared": (lambda margins: SquaredLoss(margins, 1.5), 6.0),
    "logistic": (lambda margins: LogisticLoss(margins, 1.5), 0.7),
}


def main() -> None:
    print(header())
    # Largest first: the peak of a process never falls.
    ten_million()
    print()
    hundred_thousand()
    print()
    against_conic()
    print()
    one_sweep()
    print()
    against_published()
    print()
    against_permutation()
    print()
    against_enumeration()


def ten_million(n: int = 10_000_000) -> None:
    before = peak_memory_mib()
    margins = np.random.default_rng(0).normal(1.5, 1.0, n)
    rows = []
    for divergence in DIVERGENCES:
        start = time.perf_counter()
        result = stability_criterion(HingeLoss(margins, 1.5), 1.0, divergence=divergence)
        seconds = time.perf_counter() - start
        rows.append([divergence, result.n_passes, seconds, result.value, result.error_bound])
    print(
        table(
            ["divergence", "passes", "seconds", "value", "error bound"],
            rows,
            title=f"hinge loss, n = {n:,}, in blocks",
        )
    )
    print(
        f"peak memory {peak_memory_mib():,.0f} MiB, of which {before:,.0f} before the data and {n * 8 / 2**20:,.0f} "
        "the margins themselves"
    )


def hundred_thousand(n: int = 100_000) -> None:
    rng = np.random.default_rng(1)
    margins = rng.normal(1.5, 1.0, n)
    unit = best_of(lambda: np.exp(margins), repeats=20)
    losses, distances = rng.random((n, 6)), rng.uniform(0.1, 2.0, (n, 6))
    distances[:, 0] = 0.0
    samples = [(name, make(margins), threshold) for name, (make, threshold) in LOSSES.items()]
    samples.append(("6 candidates", CandidateLoss(losses, distances), 0.8))
    rows = [_row(*sample, divergence, unit) for sample in samples for divergence in ("kl", "chi2")]
    print(
        table(
            [
                "loss",
                "divergence",
                "passes",
                "ms",
                "ms inverse",
                "times np.exp",
                "value",
                "error bound",
            ],
            rows,
            title=f"n = {n:,}; np.exp of {n:,} numbers takes {1e3 * unit:.2f} ms",
        )
    )


def _row(name: str, loss: Loss, threshold: float, divergence: Any, unit: float) -> list[object]:
    kept: list[StabilityResult] = []
    seconds = best_of(
        lambda: kept.append(stability_criterion(loss, threshold, divergence=divergence)), repeats=7
    )
    result = kept[-1]
    inverse = best_of(lambda: worst_case_risk(loss, result.value, divergence=divergence), repeats=5)
    times = [1e3 * seconds, 1e3 * inverse, seconds / unit]
    return [name, divergence, result.n_passes, *times, result.value, result.error_bound]


def linear_sample(n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels of -1 and 1, and the weights of a linear score that predicts most of them."""
    rng = np.random.default_rng(2)
    features = rng.normal(size=(n, d))
    weights = rng.normal(size=d) / np.sqrt(d)
    labels = np.where(features @ weights + rng.normal(scale=0.5, size=n) > 0, 1.0, -1.0)
    return features, labels, weights


def against_conic(n: int = 2000, d: int = 76) -> None:
    features, labels, weights = linear_sample(n, d)
    norm = float(np.linalg.norm(weights))
    rows = []
    for divergence in ("kl", "chi2"):
        ours, theirs = [], []

        def solve(solver: Any, kept: list[StabilityResult], divergence: Any = divergence) -> None:
            loss = HingeLoss(labels * (features @ weights), norm)
            kept.append(solver(loss, 1.5, divergence=divergence))

        fast = best_of(lambda kept=ours: solve(stability_criterion, kept), repeats=20)
        slow = best_of(lambda kept=theirs: solve(stability_criterion_conic, kept), repeats=3)
        apart = abs(ours[-1].value - theirs[-1].value)
        rows.append(
            [
                divergence,
                1e3 * fast,
                1e3 * slow,
                slow / fast,
                ours[-1].value,
                theirs[-1].value,
                apart,
            ]
        )
    print(
        table(
            ["divergence", "ms", "ms conic", "times faster", "value", "value conic", "difference"],
            rows,
            title=f"hinge loss, n = {n:,}, d = {d}, against cvxpy with CLARABEL (Theorems 2 and 3, corrected)",
        )
    )


def one_sweep(n: int = 100_000, n_points: int = 25) -> None:
    """The curve over thresholds in one sweep, against one call for each threshold."""
    margins = np.random.default_rng(0).normal(1.5, 1.0, n)
    rows = []
    for name, (make, _) in LOSSES.items():
        loss = make(margins)
        for divergence in ("kl", "chi2"):
            start = time.perf_counter()
            curve = stability_curve(loss, n_points=n_points, divergence=divergence)
            middle = time.perf_counter()
            alone = [
                stability_criterion(loss, float(r), divergence=divergence)
                for r in curve.points.threshold
            ]
            seconds, others = middle - start, time.perf_counter() - middle
            apart = max(
                abs(a.value - b)
                for a, b in zip(alone, curve.points.stability, strict=True)
                if np.isfinite(b)
            )
            passes = sum(result.n_passes for result in alone)
            rows.append(
                [name, divergence, curve.n_passes, passes, seconds, others / seconds, apart]
            )
    print(
        table(
            [
                "loss",
                "divergence",
                "passes",
                "passes alone",
                "seconds",
                "ratio",
                "largest difference",
            ],
            rows,
            title=f"{n_points} thresholds in one sweep, n = {n:,}",
        )
    )


def against_published(n: int = 2000, d: int = 76, n_steps: int = 300, n_inner: int = 20) -> None:
    features, labels, weights = linear_sample(n, d)
    norm = float(np.linalg.norm(weights))

    def loss(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        odds = np.exp(-labels * (points @ weights))
        return np.log1p(odds), (-labels * odds / (1.0 + odds))[:, None] * weights

    rows = []
    for algorithm, divergence in ((1, "kl"), (2, "chi2")):
        ours: list[StabilityResult] = []

        def solve(kept: list[StabilityResult] = ours, divergence: Any = divergence) -> None:
            exact = LogisticLoss(labels * (features @ weights), norm)
            kept.append(stability_criterion(exact, 0.9, divergence=divergence))

        fast = best_of(solve, repeats=10)
        start = time.perf_counter()
        steps = stability_criterion_adam(
            loss, features, 0.9, divergence=divergence, steps=AdamSteps(n_steps=n_steps, n_inner=n_inner),
            exact=LogisticLoss(labels * (features @ weights), norm),
        )  # fmt: skip
        slow = time.perf_counter() - start
        best = ours[-1]
        rows.append(
            [
                algorithm,
                1e3 * fast,
                slow,
                slow / fast,
                best.value,
                best.error_bound,
                steps.error_bound,
            ]
        )
    print(
        table(
            [
                "algorithm",
                "ms",
                "seconds Adam",
                "times faster",
                "value",
                "certified gap",
                "gap Adam",
            ],
            rows,
            title=f"logistic loss, n = {n:,}, d = {d}, against Algorithms 1 and 2, corrected: {n_steps} x {n_inner} "
            "Adam steps (NumPy)",
        )
    )


def against_permutation(n: int = 2000, d: int = 76) -> None:
    """All columns of a model: the worst moves and the average shuffle, against scikit-learn's shuffles alone."""
    X, y = make_classification(
        2 * n, d, n_informative=20, n_redundant=10, flip_y=0.05, random_state=0
    )
    rows = []
    for model in (LogisticRegression(max_iter=500), HistGradientBoostingClassifier(random_state=0)):
        model.fit(X[:n], y[:n])
        start = time.perf_counter()
        ours = feature_stability(model, X[n:], y[n:], 0.4, computing=Computing(progress=False))
        middle = time.perf_counter()
        theirs = permutation_importance(
            model, X[n:], y[n:], n_repeats=5, random_state=0
        ).importances_mean
        seconds, others = middle - start, time.perf_counter() - middle
        by_column = {part.feature: part.permutation_importance for part in ours.features}
        apart = max(abs(theirs[k] - by_column[f"x{k}"]) for k in range(d))
        rows.append([type(model).__name__, seconds, others, others / seconds, apart])
    print(
        table(
            ["model", "seconds", "permutation_importance", "times faster", "largest difference"],
            rows,
            title=f"feature_stability of {d} columns, {n:,} rows, against 5 shuffles by scikit-learn",
        )
    )


def against_enumeration(n: int = 60, d: int = 3) -> None:
    """The nearest errors of small forests, against the model's predictions in every box between its thresholds."""
    X, y = make_classification(400 + n, d, n_informative=3, n_redundant=0, random_state=0)
    rows = []
    for n_trees in (1, 3, 6):
        model = RandomForestClassifier(n_trees, max_depth=3, random_state=0).fit(X[:400], y[:400])
        points, labels = X[400:], y[400:]
        start = time.perf_counter()
        result = model_stability(model, points, labels, 0.5, perturbation=Perturbation(bounds=None))
        middle = time.perf_counter()
        edges = [
            np.unique(
                [
                    t
                    for tree in model.estimators_
                    for t in tree.tree_.threshold[tree.tree_.feature == k]
                ]
            )
            for k in range(d)
        ]
        nearest = np.full(n, np.inf)
        for row, (point, label) in enumerate(zip(points, labels, strict=True)):
            # In each cell of a column the nearest place: the row's own, or just beyond an edge in the trees' float32.
            below, above = (
                [
                    np.nextafter(np.float32(held[side(held, point[k])]), end)
                    for k, held in enumerate(edges)
                ]
                for side, end in (
                    (np.less, np.float32(-np.inf)),
                    (np.greater_equal, np.float32(np.inf)),
                )
            )
            places = [[point[k], *below[k], *above[k]] for k in range(d)]
            grid = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, d)
            wrong = grid[model.predict(grid) != label]
            if len(wrong):
                nearest[row] = np.linalg.norm((wrong - point) / points.std(axis=0), axis=1).min()
        seconds, others = middle - start, time.perf_counter() - middle
        found = np.asarray(result.loss.distances)
        apart = np.abs(found - nearest)[np.isfinite(nearest)].max()
        rows.append([n_trees, sum(map(len, edges)), seconds, others, others / seconds, apart])
    print(
        table(
            ["trees", "thresholds", "seconds", "enumeration", "times faster", "largest difference"],
            rows,
            title=f"nearest errors of forests, n = {n}, d = {d}, against enumeration of all boxes",
        )
    )


if __name__ == "__main__":
    main()
