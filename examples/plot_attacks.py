"""
Attacks: how far is the nearest error?
======================================

A small network reads digits, and gets 97 of 100 right. How far must a digit be moved before it is misread, what
does an attack of a given strength leave, and does a defence that merely hides the confidence help?
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from shiftmetrics import ZeroOneLoss, posterior_agreement, stability_criterion
from shiftmetrics.attacks import AttackOptions, nearest_error
from shiftmetrics_lab.attacks import noise, pgd, run_attack
from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.learners import ERM, Adversarial, fit
from shiftmetrics_lab.shifts.defences import JPEGDefence, ReverseSigmoid

digits = load("digits")
order = np.random.default_rng(0).permutation(len(digits.y))
X, y = digits.X.reshape(-1, 1, 8, 8).astype(np.float32)[order], digits.y[order]
train, test = slice(200, None), slice(0, 200)


def network(seed=0):
    """Return a small seeded convolutional network."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.ELU(),
        torch.nn.Conv2d(16, 32, 3, padding=1, stride=2),
        torch.nn.ELU(),
        torch.nn.Flatten(),
        torch.nn.Linear(512, 10),
    )


# %%
# Three models: plain training, adversarial training within a ball, and the plain one behind two defences, JPEG
# compression before it and a reverse sigmoid after it, which lowers the confidence everywhere.
options = {"epochs": 30, "batch_size": 128, "optimizer": 3e-3, "rng": 0, "progress": False}
plain, robust = network(), network()
fit(plain, X[train], y[train], objective=ERM(), **options)
fit(
    robust,
    X[train],
    y[train],
    objective=Adversarial(radius=0.15, n_steps=5, low=0.0, high=1.0),
    **options,
)
x_test, y_test = torch.tensor(X[test]), torch.tensor(y[test])
models = {"plain": plain, "robust": robust, "weak": ReverseSigmoid(JPEGDefence(plain))}

# %%
# The nearest error of each digit, in pixels that run from 0 to 1: the figure shows the move for eight digits of
# the plain and the robust network. What fools the robust one begins to look like another digit.
box = {"options": AttackOptions(bounds=(0, 1))}
nearest = {name: nearest_error(models[name], x_test, y_test, **box) for name in ("plain", "robust")}
for name, result in nearest.items():
    print(f"{name:7s}", result)

figure, axes = plt.subplots(3, 8, figsize=(8, 3.4))
for column in range(8):
    pictures = (
        x_test[column, 0],
        nearest["plain"].x_adv[column, 0],
        nearest["robust"].x_adv[column, 0],
    )
    for axis, picture in zip(axes[:, column], pictures, strict=True):
        axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
        axis.set(xticks=[], yticks=[])
for axis, label in zip(axes[:, 0], ("digit", "plain misreads", "robust misreads"), strict=True):
    axis.set_ylabel(label, rotation=0, ha="right", va="center")
figure.tight_layout()

# %%
# Stability asks for the least shift of the whole sample that raises the error rate to 30 percent. It needs only
# the distance of each row to its nearest error; that of an attack is an upper bound.
for name in ("plain", "robust"):
    print(
        name,
        stability_criterion(
            ZeroOneLoss(nearest_error(models[name], x_test, y_test, **box).distance_to_error), 0.3
        ).headline(),
    )

# %%
# Attacks of a given strength leave an accuracy; noise that is as long leaves more. By this accuracy the weak model is
# the best of all. But its scores only send the attack the wrong way: moves found on the plain model behind it fool
# it, too. Posterior agreement, which compares how sure the predictions were before and after, is not misled.
strengths = np.array([0.0, 0.05, 0.1, 0.15, 0.2, 0.3])


def scores(model, x):
    """Return the scores of a model as an array."""
    with torch.no_grad():
        return model(x).numpy()


def borrowed(strength):
    """Return an attack on any model that moves rows as PGD on the plain model does."""
    return lambda model, x, y: pgd(plain, x, y, strength=strength, **box)


attacks = {
    name: [pgd(model, x_test, y_test, strength=strength, **box) for strength in strengths]
    for name, model in models.items()
}
agreement = {
    name: [
        posterior_agreement(scores(model, attack.x_adv), scores(model, x_test)).value
        for attack in attacks[name]
    ]
    for name, model in models.items()
}
attacks["weak, moves of plain"] = [
    run_attack(borrowed(strength), models["weak"], x_test, y_test, **box) for strength in strengths
]
attacks["plain, noise"] = [
    noise(plain, x_test, y_test, strength=strength, **box) for strength in strengths
]
accuracy = {name: [attack.robust_accuracy for attack in made] for name, made in attacks.items()}

figure, axes = plt.subplots(1, 2, figsize=(8, 3.8))
for axis, curves, label in (
    (axes[0], accuracy, "accuracy under attack"),
    (axes[1], agreement, "posterior agreement (nats)"),
):
    for name, values in curves.items():
        axis.plot(strengths, values, marker="o", ls="--" if "," in name else "-", label=name)
    axis.set(xlabel="strength of PGD (largest change of a pixel)", ylabel=label)
figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small"
)
figure.tight_layout(rect=(0, 0.08, 1, 1))
plt.show()
