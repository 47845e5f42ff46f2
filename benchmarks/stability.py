"""Stability: against a conic solver on the corrected programs of the paper, and how time and memory grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _machine import best_of, header, peak_memory_mib, table

from shiftmetrics.stability import (
    CandidateLoss,
    HingeLoss,
    LogisticLoss,
    Loss,
    SquaredLoss,
    StabilityResult,
    ZeroOneLoss,
    stability_criterion,
    worst_case_risk,
)

THETA1, THETA2 = 0.4, 0.4
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


def ten_million(n: int = 10_000_000) -> None:
    before = peak_memory_mib()
    margins = np.random.default_rng(0).normal(1.5, 1.0, n)
    rows = []
    for divergence, keep in (("kl", True), ("kl", False), ("chi2", True)):
        start = time.perf_counter()
        result = stability_criterion(HingeLoss(margins, 1.5), 1.0, divergence=divergence, keep_rows=keep)
        seconds = time.perf_counter() - start
        rows.append(
            [divergence, "yes" if keep else "no", result.n_passes, seconds, result.value, result.error_bound]
        )
    print(
        table(
            ["divergence", "rows kept", "passes", "seconds", "value", "error bound"],
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
            title=f"n = {n:,}, all rows kept; np.exp of {n:,} numbers takes {1e3 * unit:.2f} ms",
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


def against_conic(n: int = 2000, d: int = 76) -> None:
    rng = np.random.default_rng(2)
    features = rng.normal(size=(n, d))
    weights = rng.normal(size=d) / np.sqrt(d)
    labels = np.where(features @ weights + rng.normal(scale=0.5, size=n) > 0, 1.0, -1.0)
    norm, threshold = float(np.linalg.norm(weights)), 1.5
    rows = []
    for divergence in ("kl", "chi2"):
        ours: list[float] = []
        theirs: list[tuple[float, float]] = []

        def solve(divergence: Any = divergence, values: list[float] = ours) -> None:
            loss = HingeLoss(labels * (features @ weights), norm)
            values.append(stability_criterion(loss, threshold, divergence=divergence).value)

        def conic(divergence: str = divergence, values: list[tuple[float, float]] = theirs) -> None:
            values.append(corrected_program(labels * (features @ weights), norm, threshold, divergence))

        fast, slow = best_of(solve, repeats=20), best_of(conic, repeats=3)
        value = theirs[-1][0]
        alone = min(seconds for _, seconds in theirs)  # without the translation of the program
        times = [1e3 * fast, 1e3 * slow, slow / fast, 1e3 * alone, alone / fast]
        rows.append([divergence, *times, ours[-1], value, abs(ours[-1] - value)])
    columns = ["divergence", "ms", "ms conic", "times faster", "ms solver alone", "times faster"]
    print(
        table(
            [*columns, "value", "value conic", "difference"],
            rows,
            title=f"hinge loss, n = {n:,}, d = {d}, against cvxpy with CLARABEL (Theorems 2 and 3, corrected)",
        )
    )


def corrected_program(
    margins: np.ndarray, norm: float, threshold: float, divergence: str
) -> tuple[float, float]:
    """Solve Theorem 2 (KL) or 3 (chi2) of arXiv:2405.03198, corrected; return the value and the solver's seconds."""
    import cvxpy as cp

    n = len(margins)
    h, eta = cp.Variable(nonneg=True), cp.Variable(n)
    pieces = [eta >= 0, eta >= h * (1 - margins) + cp.square(h) * (norm**2 / (4 * THETA1))]
    if divergence == "kl":
        dual = h * threshold - THETA2 * (cp.log_sum_exp(eta / THETA2) - np.log(n))
    else:
        alpha = cp.Variable()
        excess = cp.pos(eta + alpha + 2 * THETA2)
        dual = h * threshold + alpha + THETA2 - cp.sum_squares(excess) / (4 * THETA2 * n)
    problem = cp.Problem(cp.Maximize(dual), pieces)
    value = float(problem.solve(solver=cp.CLARABEL))
    return value, float(problem.solver_stats.solve_time)


if __name__ == "__main__":
    main()
