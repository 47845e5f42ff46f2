"""Pools of models that err on their own, together in camps, and more and more under a shift."""

import numpy as np


def one_hot(predicted, n_classes=2):
    return 3.0 * np.eye(n_classes)[predicted]


def spoiled(rng, classes, share, n_classes):
    """Draw a share of the classes anew."""
    return np.where(
        rng.random(len(classes)) < share, rng.integers(n_classes, size=len(classes)), classes
    )


def pool(seed=0, n=300, n_classes=4, wrong=(0.1, 0.2, 0.4, 0.6), moved=(0.1, 0.1, 0.2, 0.5)):
    """Models that err, and that a shift moves, more and more: labels, predictions before and after."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    before = np.stack([spoiled(rng, labels, share, n_classes) for share in wrong])
    after = np.stack(
        [spoiled(rng, row, share, n_classes) for row, share in zip(before, moved, strict=True)]
    )
    return labels, before, after


def as_models(rows, n_classes=4):
    return {f"model {m}": one_hot(row, n_classes) for m, row in enumerate(rows)}


def camps(seed=0, n=600):
    """Four models that know the labels, in part, and three alarm models that agree on calling a third of all rows."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.15).astype(int)
    alarm = (rng.random(n) < 0.35).astype(int)
    good = [np.where(rng.random(n) < 0.12, 1 - labels, labels) for _ in range(4)]
    loud = [np.where(rng.random(n) < 0.03, 1 - alarm, alarm) for _ in range(3)]
    return labels, np.array(good + loud)


def models_of(rows):
    """References that differ from the scores, so that the pairs are no copies."""
    return {f"model {m}": 2.0 * one_hot(row) for m, row in enumerate(rows)}
