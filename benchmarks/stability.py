"""Stability: against conic programs and the gradient steps of the paper, and how time and memory grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from _machine import best_of, header, peak_memory_mib, table

from shiftmetrics.lab.published import stability_criterion_adam, stability_criterion_conic
from shiftmetrics.lab.published.adam import AdamSteps
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
            ["loss", "divergence", "passes", "ms", "ms inverse", "times np.exp", "value", "error bound"],
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
            [divergence, 1e3 * fast, 1e3 * slow, slow / fast, ours[-1].value, theirs[-1].value, apart]
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
            alone = [stability_criterion(loss, float(r), divergence=divergence) for r in curve.thresholds]
            seconds, others = middle - start, time.perf_counter() - middle
            apart = max(
                abs(a.value - b) for a, b in zip(alone, curve.stability, strict=True) if np.isfinite(b)
            )
            passes = sum(result.n_passes for result in alone)
            rows.append([name, divergence, curve.n_passes, passes, seconds, others / seconds, apart])
    print(
        table(
            ["loss", "divergence", "passes", "passes alone", "seconds", "ratio", "largest difference"],
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
            [algorithm, 1e3 * fast, slow, slow / fast, best.value, best.error_bound, steps.error_bound]
        )
    print(
        table(
            ["algorithm", "ms", "seconds Adam", "times faster", "value", "certified gap", "gap Adam"],
            rows,
            title=f"logistic loss, n = {n:,}, d = {d}, against Algorithms 1 and 2, corrected: {n_steps} x {n_inner} "
            "Adam steps (NumPy)",
        )
    )


if __name__ == "__main__":
    main()
