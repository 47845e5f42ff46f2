"""Which model to take under a shift: criteria of agreement against simple rivals, judged by labels they do not see.

The intervals of the estimated accuracy are judged too: how many hold the true one, on tasks whose population stays
and on those whose population moves.

Each cell is one task under one shift, with sixteen models, four of them garbage. A criterion gives each model a
number. It is judged by the mean rank correlation with accuracy, balanced accuracy and macro F1 after the shift, by
what its choice loses of accuracy and of macro F1 to the best choice, and by how often its choice is garbage. Without
labels two, three or four of the models, drawn at random, are judged as well.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass, field

import numpy as np
from _agreement_tasks import Task, fitted, shifts, tasks
from _machine import header, table
from scipy.stats import spearmanr

from shiftmetrics import Computing, Resampling, compare_agreement
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.comparison import criteria

HALVES = ("balanced", "imbalanced")
POOLS = (2, 3, 4)
"""Sizes of small pools."""

SMALL = (
    "unchanged share",
    "kappa",
    "agreement, predicted prior",
    "agreement over its ceiling",
    "weighted vote",
)
"""Criteria of small pools."""

TRUTHS = {name: criteria.SCORES[name] for name in ("accuracy", "balanced_accuracy", "f1_macro")}


@dataclass
class Cell:
    """What one task under one shift says of each criterion."""

    task: Task
    n_models: int
    correlation: dict[str, float] = field(default_factory=dict)
    lost: dict[str, list[float]] = field(default_factory=dict)
    garbage: dict[str, float] = field(default_factory=dict)
    covered: dict[str, list[bool]] = field(default_factory=dict)
    shown: dict[str, list[bool]] = field(default_factory=dict)
    error: dict[str, list[float]] = field(default_factory=dict)


def main(*, quick: bool) -> None:
    """Print the tables of decisions: all cells, the balanced and the imbalanced ones."""
    warnings.simplefilter("ignore")
    chosen = tasks(quick=quick)
    cells = [cell for task in chosen for cell in cells_of(task, n_shifts=2 if quick else 8)]
    print(header())
    print(f"\n{len(chosen)} tasks, 16 models each: which model to take under a shift")
    whole = [cell for cell in cells if cell.n_models not in POOLS]
    halves = {
        name: [c for c in cells if c.task.imbalanced == (name == "imbalanced")] for name in HALVES
    }
    for name, half in halves.items():
        report(f"{name}: ", [cell for cell in half if cell.n_models not in POOLS])
    report("all: ", whole)
    report_intervals(whole)
    for size, (name, half) in itertools.product(POOLS, halves.items()):
        report(f"{size} models, {name}: ", [cell for cell in half if cell.n_models == size])


def report(name: str, cells: list[Cell]) -> None:
    """Print one table."""
    rows = []
    for criterion in cells[0].correlation if cells else ():
        lost = np.mean([cell.lost[criterion] for cell in cells], axis=0)
        rows.append(
            [
                criterion,
                f"{np.mean([cell.correlation[criterion] for cell in cells]):.2f}",
                *(f"{part:.3f}" for part in lost),
                f"{np.mean([cell.garbage[criterion] for cell in cells]):.2f}",
            ]
        )
    columns = ["criterion", "rank correlation", "accuracy lost", "F1 lost", "garbage chosen"]
    print("\n" + table(columns, rows, title=f"{name}{len(cells)} cells"))


def report_intervals(cells: list[Cell]) -> None:
    """Print how many 95 % intervals hold the true accuracy, and by how much the estimates err."""
    rows = []
    for estimate in cells[0].covered:
        for name, moved in (("stays", False), ("moves", True)):
            some = [cell for cell in cells if (cell.task.moved is not None) == moved]
            if some:
                covered = np.mean([hit for cell in some for hit in cell.covered[estimate]])
                shown = np.mean([has for cell in some for has in cell.shown[estimate]])
                error = np.mean([np.mean(np.abs(cell.error[estimate])) for cell in some])
                bias = np.mean([np.mean(cell.error[estimate]) for cell in some])
                figures = f"{shown:.3f}", f"{covered:.3f}", f"{error:.4f}", f"{bias:.4f}"
                rows.append([estimate, name, len(some), *figures])
    columns = ["from", "population", "cells", "shown", "covered of 95 %", "mean error", "bias"]
    print("\n" + table(columns, rows, title="estimated accuracy after the shift"))


def estimated(
    after: list[np.ndarray],
    before: list[np.ndarray],
    on_labelled: list[np.ndarray],
    labels: np.ndarray,
) -> dict[str, list[tuple[float, float, float]]]:
    """Return the estimates of each model's accuracy after the shift, with their ends, in the order of the models."""
    shifted, unshifted, known = (
        {f"{m}": part for m, part in enumerate(side)} for side in (after, before, on_labelled)
    )
    options = {
        "kind": "scores",
        "resampling": Resampling(n_resamples=100, rng=0),
        "computing": Computing(progress=False),
    }
    with_labels = {"labels": labels, "labelled_scores": known, **options}
    found = {
        "chained confusion": compare_agreement(
            shifted, unshifted, criterion="accuracy", **with_labels
        ),
        "vote and labelled rows": compare_agreement(shifted, **with_labels),
        "vote alone": compare_agreement(shifted, **options),
    }
    estimates = {}
    for name, comparison in found.items():
        key = "accuracy" if name == "chained confusion" else "estimated_accuracy"
        shown = {model.name: model.secondary_metrics for model in comparison.models}
        # Where a range would say nothing the table has none; without labels of these rows it has no number.
        ends = [
            tuple(part.get(end, np.nan) for end in (key, f"{key}_low", f"{key}_high"))
            for part in shown.values()
        ]
        places = np.argsort([int(model) for model in shown])
        estimates[name] = [ends[place] for place in places]
    return estimates


def cells_of(task: Task, *, n_shifts: int) -> list[Cell]:
    """Train the models of a task, shift its pairs in several ways, and judge all criteria."""
    rng = np.random.default_rng(sum(map(ord, task.name)))
    train, labelled, pairs = task.parts(rng)
    models, useless = fitted(task.X[train], task.y[train], rng)
    n_classes, garbage = int(task.y.max()) + 1, np.array([name in useless for name in models])
    on_labelled = [scores(model, task.X[labelled], n_classes) for model in models.values()]
    before = [scores(model, task.X[pairs], n_classes) for model in models.values()]
    cells = []
    for shift in itertools.islice(shifts(task.X.shape[1]).values(), n_shifts):
        shifted = shift(task.X[pairs], rng)
        after = [scores(model, shifted, n_classes) for model in models.values()]
        values = criteria_of(after, before, on_labelled, task.y[labelled], n_classes)
        classes = [np.array([part.argmax(axis=1) for part in side]) for side in (after, before)]
        truth = truth_of(classes[0], task.y[pairs], n_classes)
        cells.append(judged(task, values, truth, garbage))
        for name, ends in estimated(after, before, on_labelled, task.y[labelled]).items():
            pairs_of = list(zip(ends, truth["accuracy"], strict=True))
            cells[-1].covered[name] = [
                low <= right <= high for (_, low, high), right in pairs_of if np.isfinite(low)
            ]
            cells[-1].shown[name] = [bool(np.isfinite(low)) for (_, low, _), _ in pairs_of]
            cells[-1].error[name] = [value - right for (value, _, _), right in pairs_of]
        for size in POOLS:
            pool = rng.choice(len(models), size, replace=False)
            known = {name: values[name][pool] for name in SMALL[: 4 if size == 2 else 5]}
            if size > 2:
                known["weighted vote"] = vote_of(*(side[pool] for side in classes), n_classes)
            some = {name: part[pool] for name, part in truth.items()}
            cells.append(judged(task, known, some, garbage[pool]))
    return cells


def vote_of(shifted: np.ndarray, original: np.ndarray, n_classes: int) -> np.ndarray:
    """Return each model's match with the weighted vote."""
    ones = np.ones(shifted.shape[1])
    vote, _ = criteria.weighted_vote(original, n_classes, ones)
    return np.array(
        [
            criteria.accuracy_and_f1(criteria.confusion(vote, part, n_classes, ones))
            for part in shifted
        ]
    )


def truth_of(shifted: np.ndarray, labels: np.ndarray, n_classes: int) -> dict[str, np.ndarray]:
    """Return what labels say of each model after the shift."""
    known = [criteria.confusion(labels, part, n_classes, np.ones(len(labels))) for part in shifted]
    return {name: np.array([score(part) for part in known]) for name, score in TRUTHS.items()}


def scores(model: object, X: np.ndarray, n_classes: int) -> np.ndarray:
    """Return log probabilities of all classes, also of those that the model has not seen."""
    full = np.full((len(X), n_classes), 1e-6)
    full[:, model.classes_] = np.maximum(model.predict_proba(X), 1e-6)
    return np.log(full / full.sum(axis=1, keepdims=True))


def criteria_of(
    after: list[np.ndarray],
    before: list[np.ndarray],
    on_labelled: list[np.ndarray],
    labels: np.ndarray,
    n_classes: int,
) -> dict[str, np.ndarray]:
    """Return the value of each criterion for each model; higher is better."""
    ones, ones_labelled = np.ones(len(after[0])), np.ones(len(labels))
    shifted, original = (
        np.array([part.argmax(axis=1) for part in side]) for side in (after, before)
    )
    moved = [
        criteria.confusion(o, s, n_classes, ones) for o, s in zip(original, shifted, strict=True)
    ]
    vote, _ = criteria.weighted_vote(original, n_classes, ones)
    known = [
        criteria.confusion(labels, part.argmax(axis=1), n_classes, ones_labelled)
        for part in on_labelled
    ]
    chained = [criteria.chained_confusion(k, m) for k, m in zip(known, moved, strict=True)]
    uniform = [posterior_agreement(a, b) for a, b in zip(after, before, strict=True)]
    predicted = [
        posterior_agreement(a, b, prior="predicted") for a, b in zip(after, before, strict=True)
    ]
    of_classes = 1e3 * np.eye(n_classes)[vote]  # at such a scale a class, whatever beta
    with_vote = [posterior_agreement(part, of_classes, prior="predicted") for part in after]
    values = {
        "unchanged share": [criteria.accuracy(part) for part in moved],
        "kappa": [criteria.kappa(part) for part in moved],
        "agreement, uniform prior": [result.value for result in uniform],
        "agreement, predicted prior": [result.value for result in predicted],
        "agreement over its ceiling": [result.normalized for result in predicted],
        "weighted vote": vote_of(shifted, original, n_classes),
        "agreement with the vote": [result.value for result in with_vote],
        "V: accuracy": [criteria.accuracy(part) for part in known],
        "V: macro F1": [criteria.f1_macro(part) for part in known],
        "V: chained accuracy": [criteria.accuracy(part) for part in chained],
        "V: chained balanced accuracy": [criteria.balanced_accuracy(part) for part in chained],
        "V: chained F1": [criteria.f1_macro(part) for part in chained],
        "V: chained mean": [criteria.accuracy_and_f1(part) for part in chained],
        "V: DoC": [doc(a, v, labels) for a, v in zip(after, on_labelled, strict=True)],
        "V: ATC": [atc(a, v, labels) for a, v in zip(after, on_labelled, strict=True)],
    }
    return {name: np.asarray(part) for name, part in values.items()}


def doc(after: np.ndarray, labelled: np.ndarray, labels: np.ndarray) -> float:
    """Difference of confidences (Guillory et al., arXiv:2107.03315): accuracy on V and the change of confidence."""
    confidence = [np.exp(part.max(axis=1)).mean() for part in (after, labelled)]
    return float(np.mean(labelled.argmax(axis=1) == labels) + confidence[0] - confidence[1])


def atc(after: np.ndarray, labelled: np.ndarray, labels: np.ndarray) -> float:
    """Average thresholded confidence (Garg et al., arXiv:2201.04234), by negative entropy."""
    after_certainty, certainty = ((np.exp(part) * part).sum(axis=1) for part in (after, labelled))
    threshold = np.quantile(certainty, np.mean(labelled.argmax(axis=1) != labels))
    return float(np.mean(after_certainty >= threshold))


def judged(
    task: Task, values: dict[str, np.ndarray], truth: dict[str, np.ndarray], garbage: np.ndarray
) -> Cell:
    """Judge criteria by the truth; equal values are chosen among by chance, so their mean counts."""
    cell = Cell(task, len(garbage))
    for name, value in values.items():
        ranked = [
            spearmanr(value, one).statistic if np.ptp(value) > 0.0 and np.ptp(one) > 0.0 else 0.0
            for one in truth.values()
        ]
        cell.correlation[name] = float(np.mean(ranked))
        top = value >= value.max() - 1e-9
        cell.lost[name] = [
            truth[one].max() - truth[one][top].mean() for one in ("accuracy", "f1_macro")
        ]
        cell.garbage[name] = float(np.mean(garbage[top]))
    return cell
