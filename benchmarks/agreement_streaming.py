"""Streaming agreement: the time of a batch against its own exponentials, and memory that does not grow."""

from __future__ import annotations

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from _machine import best_of, header, table

from shiftmetrics import Computing, posterior_agreement
from shiftmetrics.adapters.torchmetrics import PosteriorAgreement
from shiftmetrics.agreement import PosteriorAgreementResult
from shiftmetrics.agreement.grid import BETA_RANGE, grid_betas, grid_result, grid_statistic
from shiftmetrics.agreement.scores import prepare_pairs

GRID = grid_betas(*BETA_RANGE)
CHUNK = 1 << 13
"""Numbers at a time for the rival: they stay in the cache, as the blocks of the measure do."""


def main() -> None:
    print(header("torchmetrics"))
    batches()
    print()
    constant_memory()
    print()
    against_the_solver()


def sample(n: int, k: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    reference = scale * rng.normal(size=(n, k))
    return reference + 0.5 * scale * rng.normal(size=(n, k)), reference


def batches() -> None:
    rows = []
    for n, k in ((50_000, 2), (10_000, 10), (2_000, 100), (200, 1000)):
        for scale in (1.0, 10.0):
            scores, reference = sample(n, k, scale)
            pairs = prepare_pairs(scores, reference)
            numbers = np.stack([scores, reference])
            numbers = (numbers - numbers.max(axis=2, keepdims=True)).ravel()
            with ThreadPoolExecutor(1) as one:
                own = best_of(
                    lambda pairs=pairs, one=one: grid_statistic(pairs, GRID, executor=one)
                )
            metric = PosteriorAgreement(k, exact=False, prior="uniform")
            tensors = torch.from_numpy(scores), torch.from_numpy(reference)
            update = best_of(lambda metric=metric, tensors=tensors: metric.update(*tensors))
            rival = best_of(lambda numbers=numbers: exponentials(numbers))
            rows.append([f"{n:,} x {k}", scale, 1e3 * rival, 1e3 * own, own / rival, 1e3 * update])
    print(
        table(
            ["batch", "scale", "ms exp", "ms sums", "ratio", "ms metric.update, all threads"],
            rows,
            title=f"one batch on {len(GRID)} betas against np.exp(beta * score) for both samples, one thread",
        )
    )


def exponentials(numbers: np.ndarray) -> None:
    out = np.empty(CHUNK)
    for start in range(0, len(numbers), CHUNK):
        part = numbers[start : start + CHUNK]
        for beta in GRID:
            np.multiply(part, beta, out=out[: len(part)])
            np.exp(out[: len(part)], out=out[: len(part)])


def constant_memory(n: int = 2_000, k: int = 10) -> None:
    batch = tuple(torch.from_numpy(part) for part in sample(n, k, 1.0))
    rows = []
    for exact in (False, True):
        metric = PosteriorAgreement(k, exact=exact, prior="uniform")
        metric.update(*batch)
        tracemalloc.start()
        for updates in (10, 100):
            while metric.update_count < updates:
                metric.update(*(part.clone() for part in batch))
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            rows.append(
                ["exact" if exact else "grid", updates, len(pickle.dumps(metric)) / 2**10, peak]
            )
        tracemalloc.stop()
    print(
        table(
            ["metric", "batches", "KiB of state", "MiB peak of NumPy"],
            rows,
            title=f"state after batches of {n:,} x {k}",
        )
    )


def against_the_solver(n: int = 100_000, k: int = 10) -> None:
    scores, reference = sample(n, k, 1.0)
    exact = posterior_agreement(scores, reference, computing=Computing(atol=1e-9))
    pairs = prepare_pairs(scores, reference)

    def once() -> PosteriorAgreementResult:
        return grid_result(grid_statistic(pairs, GRID), GRID, pairs.prior, uniform=True)

    streamed = once()
    solver = best_of(lambda: posterior_agreement(scores, reference))
    stream = best_of(once)
    print(
        f"n = {n:,}, {k} classes: streamed {streamed.value:.12f}, certified {exact.value:.12f} nats, "
        f"difference {streamed.value - exact.value:.1e}; {stream / solver:.1f} times the time of the solver"
    )


if __name__ == "__main__":
    main()
