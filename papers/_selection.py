"""Early stopping by several criteria in one run, on MNIST digits under control of their factors.

For experiments 6 and 7. The thesis trains a ResNet18 for 100 epochs on 30,000 pictures of 128 pixels, and reports the
optimiser that did best on the test sets. Here a network of four convolutions with batch normalisation reads 1,200
pictures of 32 pixels for ten epochs, with one optimiser. Trained at the upper left and the lower right it reads 98 %
of centred digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from _cache import kept
from _factor_models import EPOCHS, PENALTY, Sample, as_sample, joined, mnist, network
from scipy.special import softmax
from torch import nn

from shiftmetrics import posterior_agreement
from shiftmetrics.agreement import pair_samples
from shiftmetrics_lab.learners import ERM, IRM, LISA, EarlyStopping, fit
from shiftmetrics_lab.learners.selection import predict_scores
from shiftmetrics_lab.published import posterior_agreement_adam
from shiftmetrics_lab.shifts.factors.designs import DESIGNS, co_occurrence_samples
from shiftmetrics_lab.shifts.factors.environments import split_instances

FACTORS = ("hue", "position")
CRITERIA = ("accuracy", "afr_p", "published", "agreement", "predicted", "last", "oracle")
"""Accuracy and AFR_P on the validation pairs; agreement as the papers compute it (uniform prior, Adam), exact, and
exact with the prior of the predictions; the last epoch; and the best epoch by the test sets, which bounds what any
criterion can gain."""


def paired(first: Sample, second: Sample, seed: int) -> tuple[Sample, Sample]:
    """Return the rows of two samples that pair digits of one class."""
    pairs = pair_samples(
        first[1], second[1], method="label", labels=first[1], reference_labels=second[1], rng=seed
    )
    rows, others = np.array(pairs.rows), np.array(pairs.reference_rows)
    return (first[0][rows], first[1][rows]), (second[0][others], second[1][others])


def accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    return float((scores.argmax(axis=1) == labels).mean())


def mean_accuracy(model: nn.Module, samples: Sequence[Sample]) -> float:
    return float(np.mean([accuracy(predict_scores(model, x), y) for x, y in samples]))


def criteria_of(first: np.ndarray, second: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return the criteria that validation pairs give; ``labels`` are those of both samples, one after the other."""
    adam = posterior_agreement_adam(second, first, epochs=500, rng=0)
    return {
        "accuracy": accuracy(np.concatenate([first, second]), labels),
        "afr_p": accuracy(second, first.argmax(axis=1)),
        "published": adam.value,
        "agreement": posterior_agreement(second, first).value,
        "predicted": posterior_agreement(second, first, prior="predicted").value,
    }


@dataclass
class Watch:
    """The criteria of each epoch; all of them share the predictions of its network."""

    pairs: Mapping[str, tuple[Sample, Sample]]
    tests: Sequence[Sample]
    epoch: int = 0
    seen: Any = None
    found: dict[str, float] = field(default_factory=dict)

    def criteria(self) -> dict[str, Any]:
        """Return what `EarlyStopping` watches, by "pair criterion"."""
        return {
            f"{pair} {name}": partial(self.score, f"{pair} {name}")
            for pair in self.pairs
            for name in CRITERIA
        }

    def score(self, name: str, model: nn.Module) -> float:
        weights = model[-1].weight.detach().clone()
        if self.seen is None or not torch.equal(weights, self.seen):
            self.seen = weights
            self.epoch += 1
            always = {"last": self.epoch, "oracle": mean_accuracy(model, self.tests)}
            for pair, (first, second) in self.pairs.items():
                scores = [predict_scores(model, x) for x, _ in (first, second)]
                labels = np.concatenate([first[1], second[1]])
                by_criterion = {**criteria_of(*scores, labels), **always}
                self.found.update({f"{pair} {key}": value for key, value in by_criterion.items()})
        return self.found[name]


def stopped(
    sources: Sequence[Sample],
    pairs: Mapping[str, tuple[Sample, Sample]],
    tests: Sequence[Sample],
    method: str,
    seed: int,
    epochs: int,
) -> tuple[nn.Module, dict[str, Any]]:
    """Train on two sources; return the network, and the best of each criterion by "pair criterion"."""
    model = network(seed)
    x, y = joined(sources)
    result = fit(
        model, x, torch.from_numpy(y),
        objective=IRM(penalty=PENALTY, warmup=epochs // 3) if method == "IRM" else ERM(),
        transform=LISA(n_classes=10) if method == "LISA" else None,
        domain=np.repeat([0, 1], [len(labels) for _, labels in sources]),
        stopping=EarlyStopping(score=Watch(pairs, tests).criteria(), patience=epochs),
        epochs=epochs, batch_size=32, optimizer=3e-3, rng=seed, progress=False,
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
            at_epoch[one.epoch] = [100.0 * mean_accuracy(model, [test]) for test in tests]
    return {name: at_epoch[one.epoch] for name, one in best.items()}


def overlap(seed: int, quick: bool) -> dict[str, dict[str, Any]]:
    """Run experiment 7 once for all scripts: by "factor design method", what each criterion selected and how it does.

    ``tests`` holds for each criterion the accuracies on test sets 0 to 5, in points; ``confidence``, ``beta`` and
    ``agreement`` are between the two sources of test set 1, of the network that exact agreement selected. The oracle
    chooses by test set 1.
    """
    designs = ("2-CGO", "ZSO") if quick else tuple(DESIGNS)
    cases = [(factor, design) for factor in FACTORS for design in designs]
    return {
        f"{factor} {design} {method}": found
        for factor, design in cases
        for method, found in kept(
            f"overlap-{factor}-{design}-{seed}-{quick}",
            partial(_overlap, factor, design, seed, quick),
            __file__,
        ).items()
    }


def _overlap(factor: str, design: str, seed: int, quick: bool) -> dict[str, dict[str, Any]]:
    images, labels = mnist()
    sizes = {"train": 1200, "val": 700, "test": 500}
    if quick:
        sizes = {"train": 300, "val": 100, "test": 60}
    parts = split_instances(labels, sizes, shape=(4, 7, 9), rng=seed)

    def both(part: str, environment: int = 0, same: bool = False) -> tuple[Sample, Sample]:
        options = {"learning_factor": factor, "environment": environment, "instances": parts[part]}
        samples = co_occurrence_samples(
            images,
            labels,
            design,
            same_instances=same,
            size=32,
            rng=seed,
            progress=False,
            **options,
        )
        return as_sample(samples[0]), as_sample(samples[1])

    train, validation = both("train"), both("val")
    tests = [both("test", environment, same=True) for environment in range(6)]
    found = {}
    for method in ("ERM", "IRM"):
        model, best = stopped(
            train, {"ID": validation}, tests[1], method, seed, 2 if quick else EPOCHS
        )
        accuracies = tested(model, best, [joined(pair) for pair in tests])
        model.load_state_dict(best["ID agreement"].state)
        first, second = (predict_scores(model, x) for x, _ in tests[1])
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
