"""Three readers of handwritten digits (MNIST), in the place of the papers' networks for CIFAR-10, and of photographs.

- "undefended": plain training;
- "adversarial": trained on its own worst cases within a ball;
- "weak": the undefended network behind JPEG compression, with a reverse sigmoid after it, which hides its confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from _cache import kept
from _fab import fab
from _mnist import mnist

from shiftmetrics import Computing, Resampling
from shiftmetrics.agreement import agreement_curves
from shiftmetrics.attacks import AttackOptions, AttackResult
from shiftmetrics.attacks.nearest import fmn, search_nearest
from shiftmetrics.attacks.search import run_search
from shiftmetrics_lab.attacks import apgd, pgd
from shiftmetrics_lab.learners import ERM, Adversarial, fit
from shiftmetrics_lab.shifts.defences import JPEGDefence, ReverseSigmoid

NAMES = ("undefended", "adversarial", "weak")
POWERS = (8, 16, 32, 64)
"""Bounds of the attacks on a pixel, in 255ths: digits have few pixels with a high contrast."""
RATIOS = np.linspace(0.0, 1.0, 11)
OPTIONS = AttackOptions(bounds=(0, 1))
NEAREST = {"fmn": fmn, "fab": fab}
KINDS = {"agreement": "agreement (nats)", "afr_t": "AFR_T", "afr_p": "AFR_P"}


@dataclass(frozen=True)
class Readers:
    """The models of one seed, with the digits that took no part in training."""

    seed: int
    quick: bool
    models: dict[str, Any]
    x: torch.Tensor
    y: torch.Tensor
    data: str = "digits"

    @property
    def key(self) -> str:
        return f"{self.data}-{self.seed}-{'quick' if self.quick else 'full'}"

    @property
    def labels(self) -> np.ndarray:
        return self.y.numpy()

    def scores(self, name: str, x: torch.Tensor | None = None) -> np.ndarray:
        """Return a model's scores on the digits, or on others."""
        with torch.no_grad():
            return self.models[name](self.x if x is None else x).numpy().astype(float)


def readers(seed: int, quick: bool) -> Readers:
    """Return the models of one seed, trained once for all experiments; the quick form has fewer epochs."""
    images, labels = mnist()
    n_test, n_train = (100, 500) if quick else (500, 3000)
    order = np.random.default_rng(seed).permutation(len(labels))[: n_test + n_train]
    x = torch.tensor(images[order].reshape(-1, 1, 28, 28), dtype=torch.float32)
    y = torch.tensor(labels[order])
    training = Training(
        _network,
        epochs=5 if quick else 30,
        worst=Adversarial(radius=0.15, n_steps=5, low=0.0, high=1.0),
    )
    return trained("digits", seed, quick, (x, y), n_test, training)


@dataclass(frozen=True)
class Training:
    """How the networks of one kind of pictures are made."""

    network: Callable[[int], torch.nn.Sequential]
    epochs: int
    worst: Adversarial
    rate: float = 3e-3


def trained(
    data: str,
    seed: int,
    quick: bool,
    rows: tuple[torch.Tensor, torch.Tensor],
    n_test: int,
    training: Training,
) -> Readers:
    """Train the two networks on all but the first rows, or load what an earlier experiment kept."""
    x, y = rows
    plain, robust = training.network(seed), training.network(seed)

    def train() -> list[dict[str, torch.Tensor]]:
        for model, objective in ((plain, ERM()), (robust, training.worst)):
            fit(
                model, x[n_test:], y[n_test:], objective=objective, epochs=training.epochs, batch_size=128,
                optimizer=training.rate, rng=seed, progress=False,
            )  # fmt: skip
        return [model.state_dict() for model in (plain, robust)]

    models = {
        "undefended": plain,
        "adversarial": robust,
        "weak": ReverseSigmoid(JPEGDefence(plain)),
    }
    made = Readers(seed, quick, models, x[:n_test], y[:n_test], data)
    for model, state in zip((plain, robust), kept(made.key, train, __file__), strict=True):
        model.load_state_dict(state)
    return made


def attacked(digits: Readers, name: str, kind: str, power: int = 0) -> AttackResult:
    """Attack a model: "pgd", "apgd-ce" or "apgd-dlr" within a bound, "fmn" or "fab" to the nearest error."""
    model, x, y = digits.models[name], digits.x, digits.y

    def attack() -> AttackResult:
        if kind in ("fmn", "fab"):
            search = search_nearest(NEAREST[kind], n_steps=8 if digits.quick else 30)
            return run_search(
                search, model, x, y, name=kind, norm="linf", options=OPTIONS, push=True
            )
        within = {"strength": power / 255, "n_steps": 8 if digits.quick else 20, "options": OPTIONS}
        if kind == "pgd":
            return pgd(model, x, y, **within)
        return apgd(model, x, y, loss=kind.removeprefix("apgd-"), **within)

    return kept(f"{digits.key}-{name.replace(' ', '-')}-{kind}-{power}", attack, __file__)


def sizes(attack: AttackResult) -> np.ndarray:
    """Return how far an attack moved each digit, by the largest change of a pixel; inf where it failed."""
    return np.where(attack.success, attack.distance, np.inf)


def ratio_curves(
    digits: Readers, kind: str, power: int = 0, ratios: Sequence[float] = RATIOS
) -> dict[str, dict[str, np.ndarray]]:
    """Attack every model; return agreement, AFR_T and AFR_P over the adversarial ratio, by measure and model."""
    made = {name: attacked(digits, name, kind, power) for name in digits.models}
    frames = {}
    for name, one in made.items():
        frames[name] = agreement_curves(
            digits.scores(name, one.x_adv),
            digits.scores(name),
            ratios=ratios,
            labels=digits.labels,
            perturbation_sizes=sizes(one),
            resampling=Resampling(rng=digits.seed),  # the order of rows that were moved equally far
            computing=Computing(progress=False),
        ).to_frame()
    return {
        measure: {name: frame[measure].to_numpy() for name, frame in frames.items()}
        for measure in KINDS
    }


def draw_ratios(
    ax: Any,
    curves: Sequence[dict[str, Sequence[float]]],
    label: str,
    ratios: Sequence[float] = RATIOS,
) -> None:
    """Draw the mean over seeds of each model's curve; the stand-ins beside the three readers are dashed."""
    for name in curves[0]:
        style = "-" if name in NAMES else "--"
        ax.plot(ratios, np.mean([one[name] for one in curves], axis=0), style, label=name)
    ax.set(xlabel="adversarial ratio", ylabel=label)


def _network(seed: int) -> torch.nn.Sequential:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(784, 128), torch.nn.ELU(), torch.nn.Linear(128, 10)
    )
