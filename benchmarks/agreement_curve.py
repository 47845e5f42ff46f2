"""Curves of agreement: 11 ratios, 5 powers, 6 models, in one call against separate calls."""

from __future__ import annotations

import time

import numpy as np
from _machine import header, table

from shiftmetrics import Computing
from shiftmetrics.agreement import agreement_curves, posterior_agreement, prediction_rates

RATIOS = np.linspace(0.0, 1.0, 11)


def main(n: int = 10_000, k: int = 10, n_models: int = 6, n_powers: int = 5) -> None:
    print(header())
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    reference = {
        f"model {m}": 2 * rng.normal(size=(n, k)) + (2 + m) * np.eye(k)[labels] for m in range(n_models)
    }
    scores = {
        name: {power + 1: part + (power + 1) * rng.normal(size=(n, k)) for power in range(n_powers)}
        for name, part in reference.items()
    }
    sizes = rng.random(n)
    start = time.perf_counter()
    curves = agreement_curves(scores, reference, ratios=RATIOS, labels=labels, perturbation_sizes=sizes)
    together = time.perf_counter() - start
    order = np.argsort(sizes)
    start = time.perf_counter()
    n_evaluations, largest = 0, 0.0
    for m, (name, by_power) in enumerate(scores.items()):
        for p, shifted in enumerate(by_power.values()):
            for j, ratio in enumerate(RATIOS):
                sample = reference[name].copy()
                rows = order[: round(ratio * n)]
                sample[rows] = shifted[rows]
                result = posterior_agreement(sample, reference[name], computing=Computing(atol=1e-5))
                prediction_rates(sample, reference[name], labels)
                n_evaluations += result.n_evaluations
                largest = max(largest, abs(result.value - float(curves.agreement[m, p, j])))
    apart = time.perf_counter() - start
    print(
        table(
            ["route", "seconds", "betas evaluated", "times slower"],
            [
                ["one call", together, curves.n_evaluations, 1.0],
                ["separate calls", apart, n_evaluations, apart / together],
            ],
            title=f"{n_models} models, {n_powers} powers, {len(RATIOS)} ratios, N = {n:,}, K = {k}",
        )
    )
    print(f"largest difference of an agreement: {largest:.1e} nats")


if __name__ == "__main__":
    main()
