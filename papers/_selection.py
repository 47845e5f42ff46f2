"""Early stopping by several criteria in one run, on digits under control of their factors (experiments 6 and 7).

The thesis trains a ResNet18 for 100 epochs on pictures of 128 pixels, and reports the optimiser that did best on the
test sets. Here a network of three convolutions reads pictures of 16 pixels, with one optimiser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from _cache import kept
from _factor_models import DIGITS, Sample, as_sample, joined, network
from scipy.special import softmax
from torch import nn

from shiftmetrics import posterior_agreement
from shiftmetrics.agreement import pair_samples
from shiftmetrics.lab.learners import ERM, IRM, LISA, EarlyStopping, fit
from shiftmetrics.lab.shifts.factors.designs import DESIGNS, co_occurrence_samples
from shiftmetrics.lab.shifts.factors.environments import split_instances

FACTORS = ("hue", "position")
CRITERIA = ("accuracy", "afr_p", "agreement")
LEARNT = 0.6
"""Share of the training digits that a network must read before an epoch counts.

A network that still gives one answer agrees with itself perfectly; a ResNet18 is past that after its first epoch.
"""


def paired(first: Sample, second: Sample, seed: int) -> tuple[Sample, Sample]:
    """Return the rows of two samples that pair digits of one class."""
    pairs = pair_samples(
        first[1], second[1], method="label", labels=first[1], reference_labels=second[1], rng=seed
    )
    rows, others = np.array(pairs.rows), np.array(pairs.reference_rows)
    return (first[0][rows], first[1][rows]), (second[0][others], second[1][others])


def outputs(model: nn.Module, x: torch.Tensor) -> np.ndarray:
    with torch.no_grad():
        return model(x).numpy().astype(float)


def accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    return float((scores.argmax(axis=1) == labels).mean())


@dataclass
class Validation:
    """The criteria on pairs of validation samples; all share the model's predictions of the epoch."""

    train: Sample
    pairs: Mapping[str, tuple[Sample, Sample]]
    enough: float
    seen: Any = None
    scores: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    learnt: bool = False

    def criteria(self) -> dict[str, Any]:
        """Return what `EarlyStopping` watches, by "pair criterion"."""
        return {
            f"{pair} {name}": partial(self.score, pair, name)
            for pair in self.pairs
            for name in CRITERIA
        }

    def score(self, pair: str, criterion: str, model: nn.Module) -> float:
        state = model[-1].weight.detach().clone()
        if self.seen is None or not torch.equal(state, self.seen):
            self.seen = state
            self.learnt = accuracy(outputs(model, self.train[0]), self.train[1]) >= self.enough
            self.scores = {
                name: tuple(outputs(model, x) for x, _ in samples)
                for name, samples in self.pairs.items()
            }
        if not self.learnt:
            return -np.inf
        first, second = self.scores[pair]
        if criterion == "agreement":
            return float(posterior_agreement(second, first).value)
        if criterion == "afr_p":
            return accuracy(second, first.argmax(axis=1))
        labels = [y for _, y in self.pairs[pair]]
        return accuracy(np.concatenate([first, second]), np.concatenate(labels))


def stopped(
    sources: Sequence[Sample],
    pairs: Mapping[str, tuple[Sample, Sample]],
    method: str,
    seed: int,
    epochs: int,
    learnt: float = LEARNT,
) -> tuple[nn.Module, dict[str, Any]]:
    """Train on two sources; return the network, and the best of each criterion by "pair criterion"."""
    model = network(seed, width=8)
    x, y = joined(sources)
    result = fit(
        model, x, torch.from_numpy(y),
        objective=IRM(penalty=1.0, warmup=epochs // 2) if method == "IRM" else ERM(),
        transform=LISA(n_classes=10) if method == "LISA" else None,
        domain=np.repeat([0, 1], [len(labels) for _, labels in sources]),
        stopping=EarlyStopping(score=Validation((x, y), pairs, learnt).criteria(), patience=epochs),
        epochs=epochs, batch_size=20, optimizer=8e-3, rng=seed, progress=False,
    )  # fmt: skip
    return model, result.best


def tested(
    model: nn.Module, best: Mapping[str, Any], tests: Sequence[Sample]
) -> dict[str, list[float]]:
    """Return the test accuracies, in points, of the network that each criterion kept."""
    at_epoch: dict[int, list[float]] = {}
    for one in best.values():
        if one.epoch not in at_epoch:
            model.load_state_dict(one.state)
            at_epoch[one.epoch] = [100.0 * accuracy(outputs(model, x), y) for x, y in tests]
    return {name: at_epoch[one.epoch] for name, one in best.items()}


def overlap(seed: int, quick: bool) -> dict[str, dict[str, Any]]:
    """Run experiment 7 once for all scripts: by "factor design method", what each criterion selected and how it does.

    ``tests`` holds for each criterion the accuracies on test sets 0 to 5, in points; ``confidence``, ``beta`` and
    ``agreement`` are between the two sources of test set 1, of the network that agreement selected.
    """
    designs = ("2-CGO", "ZSO") if quick else tuple(DESIGNS)
    cases = [(factor, design) for factor in FACTORS for design in designs]
    return {
        f"{factor} {design} {method}": found
        for factor, design in cases
        for method, found in kept(
            f"overlap-{factor}-{design}-{seed}-{quick}",
            partial(_overlap, factor, design, seed, quick),
        ).items()
    }


def _overlap(factor: str, design: str, seed: int, quick: bool) -> dict[str, dict[str, Any]]:
    sizes = {"train": 300, "val": 100, "test": 60 if quick else 130}
    parts = split_instances(DIGITS.y, sizes, shape=(4, 7, 9), rng=seed)

    def both(part: str, environment: int = 0, same: bool = False) -> tuple[Sample, Sample]:
        options = {"learning_factor": factor, "environment": environment, "instances": parts[part]}
        samples = co_occurrence_samples(
            DIGITS.X,
            DIGITS.y,
            design,
            same_instances=same,
            size=32,
            rng=seed,
            progress=False,
            **options,
        )
        return as_sample(samples[0]), as_sample(samples[1])

    pairs = {"ID": both("val")}
    tests = [both("test", environment, same=True) for environment in range(6)]
    found = {}
    for method in ("ERM", "IRM"):
        model, best = stopped(both("train"), pairs, method, seed, 2 if quick else 16)
        accuracies = tested(model, best, [joined(pair) for pair in tests])
        model.load_state_dict(best["ID agreement"].state)
        first, second = (outputs(model, x) for x, _ in tests[1])
        result = posterior_agreement(second, first)
        found[method] = {
            "tests": {name: accuracies[f"ID {name}"] for name in CRITERIA},
            "confidence": float(
                softmax(np.concatenate([first, second]), axis=1).max(axis=1).mean()
            ),
            "beta": result.beta,
            "agreement": result.value,
        }
    return found
