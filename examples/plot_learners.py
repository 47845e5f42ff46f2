"""
Training for the shift
======================

Three shortcuts that plain training takes, and the learners that avoid them: a feature that misleads where it flips,
a ground that goes with the label, and many small measurements that predict well and break easily.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from shiftmetrics import LogisticLoss, stability_criterion
from shiftmetrics_lab.datasets import load, make_spurious_feature
from shiftmetrics_lab.learners import (
    ERM,
    IRM,
    LISA,
    Adversarial,
    NetworkClassifier,
    ValidationScore,
    fit,
)
from shiftmetrics_lab.learners.selection import predict_scores


def network(n_inputs, seed):
    """Return a seeded two-layer network."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(n_inputs, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)
    )


# %%
# A feature that gives the label in 90 and 70 of 100 rows of two training domains, and contradicts it in 90 of
# 100 test rows; the causal feature is right in 75 of 100 everywhere. Invariant risk minimisation (IRM) finds
# the latter.


def accuracy_where_it_flips(seed, objective):
    """Return the test accuracy of a network trained on two domains."""
    train = make_spurious_feature(1000, flips=(0.1, 0.3), rng=seed)
    test = make_spurious_feature(2000, flips=(0.9,), rng=100 + seed)
    model, options = (
        network(2, seed),
        {"epochs": 150, "optimizer": 0.02, "rng": seed, "progress": False},
    )
    fit(model, train.X, train.y, domain=train.domain, objective=objective, **options)
    return ValidationScore(criterion="accuracy", X=test.X, y=test.y)(model)


flipped = {
    "ERM": [accuracy_where_it_flips(seed, ERM()) for seed in range(5)],
    "IRM": [accuracy_where_it_flips(seed, IRM(penalty=300.0, warmup=30)) for seed in range(5)],
}

# %%
# Digits below five against the others, on a dark or a grey ground that goes with the label in 95 of 100
# training rows and tells nothing in the test rows. Mixing digits of one label on two grounds, and of two
# labels on one ground (LISA), washes the ground out.
digits = load("digits")
label = (digits.y >= 5).astype(int)


def on_grounds(rows, share, rng):
    """Put digits on a grey ground, which agrees with the label in a share of the rows."""
    ground = np.where(rng.random(len(rows)) < share, label[rows], 1 - label[rows])
    return 0.7 * digits.X[rows].reshape(len(rows), -1) + 0.3 * ground[:, None], ground


def worst_group_accuracy(seed, transform):
    """Train on the grounds and return the accuracy in the worst of the four groups of label and ground."""
    rng = np.random.default_rng(seed)
    train, test = np.split(rng.permutation(len(digits)), [1000])
    X, ground = on_grounds(train, 0.95, rng)
    X_test, ground_test = on_grounds(test, 0.5, rng)
    model, options = (
        network(64, seed),
        {"epochs": 40, "batch_size": 100, "optimizer": 5e-3, "rng": seed},
    )
    fit(model, X, label[train], transform=transform, domain=ground, progress=False, **options)
    right = predict_scores(model, X_test).argmax(axis=1) == label[test]
    return min(
        right[(label[test] == a) & (ground_test == b)].mean() for a in (0, 1) for b in (0, 1)
    )


grounds = {
    "ERM": [worst_group_accuracy(seed, None) for seed in range(5)],
    "LISA": [worst_group_accuracy(seed, LISA(n_classes=2)) for seed in range(5)],
}

figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained", sharey=True)
for ax, title, results in zip(
    axes, ("A feature that flips", "Digits, worst group"), (flipped, grounds), strict=True
):
    for place, values in enumerate(results.values()):
        ax.scatter([place] * 5, values, s=28, alpha=0.8, color=f"C{place}")
        ax.hlines(np.mean(values), place - 0.2, place + 0.2, color=f"C{place}")
    ax.set_xticks(range(2), list(results))
    ax.set(title=title, xlim=(-0.5, 1.5), ylim=(0, 1))
axes[0].set_ylabel("accuracy, five seeds and their mean")
plt.show()

# %%
# One sturdy measurement of scale 1, and ten fragile ones of scale 0.2 that together predict better. Every
# point is a model on test data: further left is a lower loss, further up a more stable model. The line is
# plain training, stopped after more and more epochs; the dots are trained by penalty (WRM) at prices from 0.2
# to 2.
rng = np.random.default_rng(0)


def draw(n_samples):
    """Draw the sturdy and the fragile measurements of two classes."""
    y = rng.integers(0, 2, n_samples)
    X = rng.standard_normal((n_samples, 11))
    X[:, 0] += 2 * y - 1
    X[:, 1:] = 0.2 * X[:, 1:] + 0.1 * (2 * y - 1)[:, None]
    return X, y


(X, y), (X_test, y_test) = draw(400), draw(2000)


def risk_and_stability(**options):
    """Train a logistic regression and return its loss on test data and its stability at a risk of 1."""
    model = NetworkClassifier(
        hidden_units=(), learning_rate=0.02, standardize=False, random_state=0, **options
    ).fit(X, y)
    margins = np.where(y_test == 1, 1, -1) * model.decision_function(X_test)
    result = stability_criterion(LogisticLoss(margins, float(np.linalg.norm(model.coef_))), 1.0)
    return np.logaddexp(0, -margins).mean(), result.value


plain = [risk_and_stability(epochs=epochs) for epochs in (2, 5, 10, 20, 30, 45, 60, 90, 130, 200)]
robust = [
    risk_and_stability(epochs=200, objective=Adversarial(penalty=penalty, n_steps=10))
    for penalty in (0.2, 0.3, 0.5, 1.0, 2.0)
]
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.plot(*zip(*plain, strict=True), marker=".", label="plain, stopped early")
ax.plot(*zip(*robust, strict=True), "o", label="by penalty (WRM)")
ax.set(
    xlabel="log loss on test data (nats)",
    ylabel="stability R",
    title="More stable at the same clean risk",
)
ax.legend(frameon=False)
plt.show()
