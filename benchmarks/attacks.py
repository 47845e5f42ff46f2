"""Attacks against foolbox on one batch of digits: time as a ratio, success and median norm side by side.

Rivals take turns, and the shortest CPU time of each counts: attacks are long enough for neighbours to disturb.
Foolbox is optional here: ``pip install foolbox`` (extra ``bench``).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from _machine import header, table
from sklearn.datasets import load_digits

from shiftmetrics.attacks import AttackOptions, nearest_error
from shiftmetrics_lab.attacks import apgd, pgd, run_attack

N_ROWS = 200
BOX = {"options": AttackOptions(bounds=(0.0, 1.0), batch_size=N_ROWS)}


def as_function(peer: object, strength: float | None = None) -> Callable[..., torch.Tensor]:
    """Return an attack of foolbox as a function for `run_attack`."""
    import foolbox

    def attack(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        wrapped = foolbox.PyTorchModel(model, bounds=(0, 1))
        return peer(wrapped, x, foolbox.criteria.Misclassification(y), epsilons=strength)[1]

    return attack


def network() -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    """Train a small convolutional network on digits in seconds; return it with rows held out."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    x = torch.tensor(data.images[order][:, None] / 16.0, dtype=torch.float32)
    y = torch.tensor(data.target[order])
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, padding=1, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(32 * 16, 10),
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(500):
        rows = torch.randint(N_ROWS, len(x), (128,))
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimiser.step()
    return model.eval(), x[:N_ROWS], y[:N_ROWS]


def cpu_times(*calls: Callable[[], Any], repeats: int) -> list[float]:
    """Return the shortest CPU time of each call, the calls taking turns."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, known in zip(calls, times, strict=True):
            start = time.process_time()
            call()
            known.append(time.process_time() - start)
    return [min(known) for known in times]


def main() -> None:
    print(header("foolbox"))
    model, x, y = network()
    print(
        f"digits, {N_ROWS} rows in one batch, accuracy {(model(x).argmax(1) == y).double().mean():.3f}\n"
    )
    try:
        import foolbox
    except ImportError:
        print("foolbox is not installed, so there is nothing to compare with: pip install foolbox")
        sys.exit(0)
    peers = foolbox.attacks
    on_model = foolbox.PyTorchModel(model, bounds=(0, 1))
    criterion = foolbox.criteria.Misclassification(y)

    rows = []
    for norm, strength, peer in (
        ("linf", 0.1, peers.LinfPGD(steps=40)),
        ("l2", 0.5, peers.L2PGD(steps=40)),
    ):
        options = {"strength": strength, "norm": norm, **BOX}
        own = {
            "pgd 40": partial(pgd, model, x, y, n_steps=40, **options),
            "pgd 40, early stop": partial(pgd, model, x, y, n_steps=40, early_stop=True, **options),
            "apgd 40": partial(apgd, model, x, y, n_steps=40, **options),
        }
        theirs = partial(peer, on_model, x, criterion, epsilons=strength)
        seconds = cpu_times(theirs, *own.values(), repeats=7)
        results = [run_attack(as_function(peer, strength), model, x, y, norm=norm, **BOX)]
        results += [attack() for attack in own.values()]
        for name, spent, result in zip(["foolbox PGD 40", *own], seconds, results, strict=True):
            rows.append([name, norm, strength, spent / seconds[0], float(result.success.mean())])
    print(
        table(
            ["attack", "norm", "strength", "time / foolbox PGD", "success"],
            rows,
            title="given strength",
        )
    )

    rows = []
    theirs_by_norm = {
        "l2": (peers.L2FMNAttack(steps=100), peers.DDNAttack(steps=100), peers.L2DeepFoolAttack()),
        "linf": (peers.LInfFMNAttack(steps=100), peers.LinfDeepFoolAttack()),
    }
    for norm, others in theirs_by_norm.items():
        starts = {"nearest error": 5, "nearest error, one start": 1}
        own = {name: partial(nearest_error, restarts=n, norm=norm) for name, n in starts.items()}
        seconds = cpu_times(
            *(partial(peer, on_model, x, criterion, epsilons=None) for peer in others),
            *(partial(attack, model, x, y, **BOX) for attack in own.values()),
            repeats=3,
        )
        results = [run_attack(as_function(peer), model, x, y, norm=norm, **BOX) for peer in others]
        results += [attack(model, x, y, **BOX) for attack in own.values()]
        names = [f"foolbox {type(peer).__name__}" for peer in others] + list(own)
        for name, spent, result in zip(names, seconds, results, strict=True):
            rows.append(
                [
                    name,
                    norm,
                    spent / seconds[0],
                    float(result.success.mean()),
                    float(np.median(result.distance_to_error)),
                ]
            )
    print(
        table(
            ["attack", "norm", "time / foolbox FMN", "success", "median norm"],
            rows,
            title="minimum norm",
        )
    )


if __name__ == "__main__":
    main()
