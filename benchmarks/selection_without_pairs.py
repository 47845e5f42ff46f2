"""Which model to take for new samples that are no shifted copies: the vote, labels of other rows, and both.

Predictions on the new samples and on labelled rows from elsewhere are all that is known. The tasks, shifts and models
are those of `_agreement_tasks.py`, each task as it is and under eight shifts. Printed are the mean rank correlation
with the accuracy, and what the choice loses of accuracy and of macro F1.

    SHIFTMETRICS_DATA=... python benchmarks/selection_without_pairs.py [--quick]
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from _agreement_tasks import fitted, shifts, tasks
from _machine import header, table
from scipy.stats import spearmanr

from shiftmetrics.comparison import criteria

POOLS = (("16 models", 16), ("12 useful", 12), ("6 useful", 6), ("4 useful", 4))
DRAWS = 3
"""Random pools of each cell, where there is a choice."""


def votes_of_others(predictions: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the weighted vote of all models but one, for each of them."""
    _, trust = criteria.weighted_vote(predictions, n_classes, np.ones(predictions.shape[1]))
    votes = [
        criteria.vote_of(predictions, n_classes, trust, without=model)
        for model in range(len(predictions))
    ]
    return np.stack(votes)


def standardised(values: np.ndarray) -> np.ndarray:
    """Return z-scores; 0 where all are equal."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 0.0 else 0.0 * values


def values_of(home: np.ndarray, labels: np.ndarray, here: np.ndarray) -> dict[str, np.ndarray]:
    """Return the value of each criterion for each model."""
    n_classes = int(max(home.max(), here.max(), labels.max())) + 1
    ones = np.ones(here.shape[1])
    vote, _ = criteria.weighted_vote(here, n_classes, ones)
    match = np.array(
        [criteria.accuracy_and_f1(criteria.confusion(vote, part, n_classes, ones)) for part in here]
    )
    right = (home == labels).mean(axis=1)
    agreed = (votes_of_others(here, n_classes) == here).mean(axis=1)
    at_home = (votes_of_others(home, n_classes) == home).mean(axis=1)
    return {
        "vote": match,
        "labelled rows": right,
        "both, over their spreads": standardised(match) + standardised(right),
        "both, plain mean": match + right,
        "vote of others, worth": np.minimum(1.0, agreed * right / np.maximum(at_home, 1e-12)),
    }


def main() -> None:
    """Print a table for all cells, and one for those that are not shifted."""
    warnings.simplefilter("ignore")
    quick = "--quick" in sys.argv
    found: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}
    pool_rng = np.random.default_rng(0)
    for task in tasks(quick=quick):
        rng = np.random.default_rng(sum(map(ord, task.name)))
        train, labelled, pairs = task.parts(rng)
        models, useless = fitted(task.X[train], task.y[train], rng)
        useful = np.array([m for m, name in enumerate(models) if name not in useless])
        home = np.array([model.predict(task.X[labelled]) for model in models.values()])
        truth = task.y[pairs]
        for name, shift in {"none": None, **shifts(task.X.shape[1])}.items():
            rows = task.X[pairs] if shift is None else shift(task.X[pairs], rng)
            here = np.array([model.predict(rows) for model in models.values()])
            for pool, size in POOLS:
                draws = [np.arange(16)] if size == 16 else [useful]
                if size < 12:
                    draws = [pool_rng.choice(useful, size, replace=False) for _ in range(DRAWS)]
                for chosen in draws:
                    for criterion, judged in judged_of(
                        home[chosen], task.y[labelled], here[chosen], truth
                    ).items():
                        for cells in ("all", name):
                            found.setdefault((cells, pool, criterion), []).append(judged)
    print(header())
    for cells in ("all", "none"):
        rows = []
        for criterion in dict.fromkeys(key[2] for key in found):
            line = [criterion]
            for pool, _ in POOLS:
                figures = np.mean(found[cells, pool, criterion], axis=0)
                line.append(" / ".join(f"{figure:.3f}" for figure in figures))
            rows.append(line)
        title = f"shift: {cells}; rank correlation / accuracy lost / F1 lost"
        print("\n" + table(["criterion", *(pool for pool, _ in POOLS)], rows, title=title))


def judged_of(
    home: np.ndarray, labels: np.ndarray, here: np.ndarray, truth: np.ndarray
) -> dict[str, tuple[float, float, float]]:
    """Return the rank correlation with the accuracy, and what each choice loses of accuracy and macro F1."""
    n_classes = int(max(truth.max(), here.max())) + 1
    ones = np.ones(len(truth))
    accuracy = (here == truth).mean(axis=1)
    f1 = [criteria.f1_macro(criteria.confusion(truth, part, n_classes, ones)) for part in here]
    judged = {}
    for name, value in values_of(home, labels, here).items():
        varies = np.ptp(value) > 0.0 and np.ptp(accuracy) > 0.0
        order = float(spearmanr(value, accuracy).statistic) if varies else 0.0
        top = value >= value.max() - 1e-9
        lost = accuracy.max() - accuracy[top].mean()
        judged[name] = (order, float(lost), float(np.max(f1) - np.mean(np.array(f1)[top])))
    return judged


if __name__ == "__main__":
    main()
