"""Posterior agreement: ``python benchmarks/agreement.py [part ...]``, all parts by default.

Evaluations on hard inputs, time against Adam with autograd, memory, sizes, a training loss against a cross-entropy,
the metric of a training loop, and peers.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from _agreement_decisions import criteria_of, scores
from _agreement_tasks import fitted, shifts, tasks
from _machine import header, table
from scipy.stats import spearmanr

from shiftmetrics import Computing
from shiftmetrics.adapters.torch import AgreementLoss, agreement_loss
from shiftmetrics.adapters.torchmetrics import PosteriorAgreement
from shiftmetrics.agreement import PosteriorAgreementResult, posterior_agreement
from shiftmetrics.agreement.scores import prepare_pairs
from shiftmetrics.agreement.statistic import evaluator

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import oracles

Pairs = tuple[np.ndarray, np.ndarray]

EPOCHS, STEP = 500, 0.1
PEERS = (
    "unchanged share", "kappa", "agreement, predicted prior", "agreement over its ceiling", "weighted vote",
    "V: accuracy", "V: chained accuracy", "V: DoC", "V: ATC",
)  # fmt: skip
TURNS, EPOCHS_IN_TURN = 7, 3


def main() -> None:
    parts = {
        part.__name__: part
        for part in (hard_inputs, against_adam, memory, sizes, training, metric, peers)
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"among {', '.join(parts)}")
    chosen = parser.parse_args().parts or list(parts)
    unknown = sorted(set(chosen) - set(parts))
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(parts)}")
    print(header())
    for name in chosen:
        print()
        parts[name]()


def noisy(n: int, k: int, seed: int = 0) -> Pairs:
    rng = np.random.default_rng(seed)
    reference = 3 * rng.standard_normal((n, k), dtype=np.float32)
    return reference + 2 * rng.standard_normal((n, k), dtype=np.float32), reference


def hard_inputs() -> None:
    """Several maxima, ties, one contradiction, mixed scales: 5 seeds of each."""
    rows = []
    for seed in range(20):
        scores, reference = oracles.hard_pairs(seed)
        kind = ("several maxima", "ties", "one contradiction", "mixed scales")[seed % 4]
        result = posterior_agreement(scores, reference, computing=Computing(atol=1e-6))
        spread = max(np.ptp(scores, axis=1).max(), np.ptp(reference, axis=1).max())
        grid = (
            oracles.agreement(scores, reference, beta)
            for beta in np.geomspace(1e-3, 1e6, 150) / spread
        )
        rows.append(
            [
                kind,
                scores.shape[1],
                result.search.n_evaluations,
                result.search.n_passes,
                result.value,
                result.error_bound,
                max(grid) - result.value,
            ]
        )
    rows.sort(key=lambda row: (row[0], row[1]))
    columns = [
        "input",
        "classes",
        "evaluations",
        "passes",
        "value",
        "error bound",
        "dense grid less value",
    ]
    print(
        table(columns, rows, title="20 seeded hard inputs of 300 pairs, error bound 1e-6 asked for")
    )
    print(f"most evaluations: {max(row[2] for row in rows)}")


def against_adam(n: int = 10_000, k: int = 1000) -> None:
    """Adam with autograd on all rows, log-sum-exps in float32, beta the only parameter, from beta = 1."""
    scores, reference = noisy(n, k)
    result = posterior_agreement(scores, reference)
    a, b = torch.from_numpy(scores), torch.from_numpy(reference)
    epoch = adam_epochs(a, b)
    times: dict[str, list[tuple[float, float]]] = {"solve": [], "epoch": []}
    epoch()  # warm up
    for _ in range(
        TURNS
    ):  # in turns, so that whatever else runs on the machine disturbs both alike
        times["solve"].append(clocks(lambda: posterior_agreement(scores, reference)))
        for _ in range(EPOCHS_IN_TURN):
            times["epoch"].append(clocks(epoch))
    (solve, solve_cpu), (one, one_cpu) = (
        np.median(times[name], axis=0) for name in ("solve", "epoch")
    )
    adam_value, adam_beta = adam_result(scores, reference)
    rows = [
        ["shiftmetrics", solve, solve_cpu, result.value, result.beta],
        [f"Adam, {EPOCHS} epochs", EPOCHS * one, EPOCHS * one_cpu, adam_value, adam_beta],
        ["ratio", EPOCHS * one / solve, EPOCHS * one_cpu / solve_cpu, "", ""],
    ]
    print(
        table(
            ["solver", "seconds", "CPU seconds", "value", "beta"],
            rows,
            title=f"n = {n:,}, K = {k:,}, float32, {torch.get_num_threads()} threads; medians of {TURNS} solves and "
            f"of {TURNS * EPOCHS_IN_TURN} epochs, these scaled to {EPOCHS}",
        )
    )
    print(
        f"{result.search.n_evaluations} evaluations in {result.search.n_passes} passes, "
        f"error bound {result.error_bound:.0e}"
    )
    print(f"value less Adam's: {result.value - adam_value:.2e} nats")
    print()
    traps = {
        "100 margins of 100, 60 of 1, 4 of -10": ((100, 100, 100), (60, 1, 1), (4, -10, 10)),
        "100 margins of 0.09, 1 of -1": ((100, 0.09, 0.09), (1, -1, 1)),
        "100 margins of 50, 60 of 1, 1 of -10": ((100, 50, 50), (60, 1, 1), (1, -10, 10)),
    }
    rows = []
    for name, groups in traps.items():
        first = oracles.binary_scores(*((count, margin) for count, margin, _ in groups))
        second = oracles.binary_scores(*((count, margin) for count, _, margin in groups))
        value, beta = adam_result(first, second)
        best = posterior_agreement(first, second)
        rows.append([name, best.value, best.beta, value, beta])
    print(
        table(
            ["pairs", "value", "beta", "Adam's value", "Adam's beta"],
            rows,
            title=f"beta = 0 is a stationary point, and there are several maxima ({EPOCHS} epochs from beta = 1)",
        )
    )


def clocks(call: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that a call takes, by the clock on the wall and by that of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - processor


def adam_epochs(a: torch.Tensor, b: torch.Tensor) -> Callable[[], None]:
    """Return a function that runs one epoch."""
    beta = torch.tensor(1.0, requires_grad=True)
    optimiser = torch.optim.Adam([beta], lr=STEP)

    def epoch() -> None:
        optimiser.zero_grad()
        pair, first, second = (torch.logsumexp(beta * part, dim=1) for part in (a + b, a, b))
        loss = -(pair - first - second).mean()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            beta.clamp_(min=0.0)

    return epoch


def adam_result(scores: np.ndarray, reference: np.ndarray) -> tuple[float, float]:
    """Where all epochs of Adam end: the same steps, with gradients from the statistic instead of autograd."""
    evaluate = evaluator(prepare_pairs(scores, reference))
    beta = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([beta], lr=STEP)
    for _ in range(EPOCHS):
        beta.grad = torch.tensor(-evaluate([beta.item()]).slope[0])
        optimiser.step()
        with torch.no_grad():
            beta.clamp_(min=0.0)
    return posterior_agreement(scores, reference, beta=beta.item()).value, beta.item()


def memory() -> None:
    """Memory that a call takes beside its input, at its peak."""
    rows = []
    for n, k in ((1_000, 1000), (10_000, 1000), (40_000, 1000), (1_000_000, 10)):
        scores, reference = noisy(n, k)
        posterior_agreement(
            scores[:2], reference[:2]
        )  # what is imported late is no memory of the call
        tracemalloc.start()
        posterior_agreement(scores, reference)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        rows.append([n, k, (scores.nbytes + reference.nbytes) / 2**20, peak, 8 * n / 2**20])
    columns = ["pairs", "classes", "input MiB", "extra MiB", "of which per_sample"]
    print(table(columns, rows, title="memory beside a float32 input, at its peak (tracemalloc)"))


def sizes() -> None:
    rows = []
    for n, k in (
        (1_000, 10),
        (10_000, 10),
        (1_000_000, 2),
        (1_000_000, 10),
        (10_000, 1000),
        (100_000, 1000),
    ):
        scores, reference = noisy(n, k)
        start = time.perf_counter()
        result = posterior_agreement(scores, reference)
        seconds = time.perf_counter() - start
        exponentials = 2 * n * k * result.search.n_evaluations
        rows.append(
            [
                n,
                k,
                seconds,
                result.search.n_evaluations,
                result.search.n_passes,
                1e9 * seconds / exponentials,
                result.error_bound,
            ]
        )
        assert math.isfinite(result.value)
    columns = [
        "pairs",
        "classes",
        "seconds",
        "evaluations",
        "passes",
        "ns per exponential",
        "error bound",
    ]
    print(table(columns, rows, title="float32 input, error bound 1e-6 asked for"))


def training(steps: int = 80) -> None:
    """Forward and backward of the loss against a cross-entropy on the same scores, in turns: CPU time."""
    rows = []
    for n, k in ((256, 1000), (64, 100)):
        generator = torch.Generator().manual_seed(0)
        truth = torch.randint(k, (n,), generator=generator)
        centre = 3.0 * torch.randn(n, k, generator=generator)
        centre[torch.arange(n), truth] += 9.0
        loss = AgreementLoss()
        seconds: dict[str, list[float]] = {}
        for _ in range(steps):
            shifted, clean = (
                (centre + size * torch.randn(n, k, generator=generator)).requires_grad_()
                for size in (1.2, 0.5)
            )
            calls: dict[str, Callable[[], torch.Tensor]] = {
                "cross-entropy": lambda x=shifted, y=truth: torch.nn.functional.cross_entropy(x, y),
                "AgreementLoss": lambda x=shifted, r=clean, loss=loss: loss(x, r),
                "agreement_loss": lambda x=shifted, r=clean: agreement_loss(x, r),
            }
            for name, call in calls.items():
                start = time.thread_time()
                call().backward()
                seconds.setdefault(name, []).append(time.thread_time() - start)
        entropy, warm, cold = (
            1e3 * float(np.mean(part[steps // 10 :])) for part in seconds.values()
        )
        rows.append([n, k, entropy, warm, cold, warm / entropy, cold / entropy])
    columns = [
        "batch",
        "classes",
        "cross-entropy ms",
        "AgreementLoss ms",
        "agreement_loss ms",
        "ratio",
        "ratio of the function",
    ]
    print(
        table(
            columns, rows, title=f"means of {steps} steps forward and backward, float32, CPU time"
        )
    )


def metric(n: int = 10_000, k: int = 1000, size: int = 500) -> None:
    """The torchmetrics metric fed in batches, on sums and exact, against arrays in memory: CPU time."""
    scores, reference = noisy(n, k)
    batches = [
        tuple(torch.from_numpy(side[i : i + size]) for side in (scores, reference))
        for i in range(0, n, size)
    ]

    def fed(**options: bool) -> PosteriorAgreementResult:
        fed = PosteriorAgreement(k, **options, prior="uniform")
        for batch in batches:
            fed.update(*batch)
        return fed.result()

    rows = []
    for name, call in {
        "arrays in memory": lambda: posterior_agreement(scores, reference),
        "metric, exact": lambda: fed(exact=True),
        "metric, sums": lambda: fed(exact=False),
    }.items():
        start = time.process_time()
        result = call()
        rows.append(
            [
                name,
                time.process_time() - start,
                result.value,
                result.error_bound,
                result.search.n_passes,
            ]
        )
    print(
        table(
            ["route", "CPU seconds", "value", "error bound", "passes"],
            rows,
            title=f"n = {n:,}, K = {k:,}",
        )
    )


def peers() -> None:
    """What else a user would look at, on digits with noise: numbers of each model beside its accuracy, and times."""
    task = tasks(quick=True)[0]
    rng = np.random.default_rng(0)
    train, labelled, pairs = task.parts(rng)
    models, _ = fitted(task.X[train], task.y[train], rng)
    shifted = shifts(task.X.shape[1])["noise 1"](task.X[pairs], rng)
    sides = [
        [scores(model, X, 10) for model in models.values()]
        for X in (shifted, task.X[pairs], task.X[labelled])
    ]
    start = time.perf_counter()
    values = criteria_of(*sides, task.y[labelled], 10)
    seconds = time.perf_counter() - start
    truth = [float(np.mean(part.argmax(axis=1) == task.y[pairs])) for part in sides[0]]
    rows = [
        [name, truth[m], *(float(values[peer][m]) for peer in PEERS)]
        for m, name in enumerate(models)
    ]
    correlation = [
        "rank correlation",
        "",
        *(float(spearmanr(values[peer], truth).statistic) for peer in PEERS),
    ]
    columns = ["model", "accuracy after", *PEERS]
    title = f"digits with noise, {len(pairs)} pairs, {len(labelled)} labelled rows V; all of it in {seconds:.2g} s"
    print(table(columns, [*rows, correlation], title=title))


if __name__ == "__main__":
    main()
