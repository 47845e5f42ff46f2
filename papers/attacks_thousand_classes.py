"""Figures 17 and 18: APGD with the cross-entropy and the targeted DLR loss on a model of 1,000 classes.

Synthetic: 1,000 classes in 64 dimensions, each a Gaussian cloud, stand for ImageNet; a plain and an adversarially
trained network read them.
"""

import numpy as np
import torch
from _claims import Claim
from _experiment import run

from shiftmetrics import Computing, Resampling, posterior_agreement
from shiftmetrics.agreement import agreement_curves
from shiftmetrics.lab.attacks import apgd
from shiftmetrics.lab.learners import ERM, Adversarial, fit
from shiftmetrics.lab.published import posterior_agreement_adam

CLASSES, COLUMNS, RADIUS = 1000, 64, 0.25
RATIOS = np.linspace(0.0, 1.0, 6)
LOSSES = ("ce", "dlr-targeted")
CLAIMS = {
    "separates": Claim(
        "Agreement tells the robust from the plain model under both attacks.",
        "smaller difference of agreement at ratio 1, robust minus plain, in nats",
        ">",
        0.0,
    ),
    "falls": Claim(
        "It falls with the adversarial ratio for both models.",
        "largest mean rise from one ratio to the next, in nats",
        "<",
        0.0,
    ),
    "same_range": Claim(
        "With 1,000 classes the gradient search finds the maximum in 500 steps.",
        "certified maximum minus what Adam finds, plain model at ratio 1, in nats",
        "<",
        0.001,
    ),
}


def networks(seed: int, quick: bool):
    """Return both trained networks and the test rows."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(CLASSES, COLUMNS))
    per_class = 6 if quick else 20
    labels = np.repeat(np.arange(CLASSES), per_class)
    rows = centres[labels] + 0.7 * rng.normal(size=(len(labels), COLUMNS))
    order = rng.permutation(len(labels))
    x, y = torch.tensor(rows[order], dtype=torch.float32), torch.tensor(labels[order])
    n_test = 100 if quick else 300
    made = {}
    for name, objective in (("plain", ERM()), ("robust", Adversarial(radius=RADIUS, n_steps=3))):
        torch.manual_seed(seed)
        model = torch.nn.Sequential(
            torch.nn.Linear(COLUMNS, 256), torch.nn.ELU(), torch.nn.Linear(256, CLASSES)
        )
        options = {"epochs": 3 if quick else 8, "batch_size": 256, "optimizer": 3e-3, "rng": seed}
        fit(model, x[n_test:], y[n_test:], objective=objective, progress=False, **options)
        made[name] = model
    return made, x[:n_test], y[:n_test]


def scores(model, x) -> np.ndarray:
    with torch.no_grad():
        return model(torch.as_tensor(x)).numpy().astype(float)


def measure(seed: int, quick: bool) -> dict:
    models, x, y = networks(seed, quick)
    curves, kept = {}, {}
    for loss in LOSSES:
        for name, model in models.items():
            options = {"n_targets": 3} if loss == "dlr-targeted" else {}
            made = apgd(model, x, y, strength=RADIUS, loss=loss, n_steps=10, **options)
            sizes = np.where(made.success, made.distance, np.inf)
            kept[loss, name] = scores(model, made.x_adv)
            curves[f"{loss} {name}"] = agreement_curves(
                kept[loss, name],
                scores(model, x),
                ratios=RATIOS,
                labels=y.numpy(),
                perturbation_sizes=sizes,
                resampling=Resampling(rng=seed),
                computing=Computing(progress=False),
            ).to_frame()["agreement"]
    ends = {case: curve.iloc[-1] for case, curve in curves.items()}
    pair = kept["ce", "plain"], scores(models["plain"], x)
    searched = posterior_agreement_adam(*pair, computing=Computing(progress=False)).value
    return {
        "separates": min(ends[f"{loss} robust"] - ends[f"{loss} plain"] for loss in LOSSES),
        "falls": max(float(np.diff(curve).mean()) for curve in curves.values()),
        "same_range": posterior_agreement(*pair).value - searched,
        "curves": {case: curve.tolist() for case, curve in curves.items()},
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(8.5, 3.3), layout="constrained", sharey=True)
    for ax, loss in zip(axes, LOSSES, strict=True):
        for name in ("plain", "robust"):
            table = np.array([one["curves"][f"{loss} {name}"] for one in runs])
            ax.errorbar(
                RATIOS, table.mean(axis=0), table.std(axis=0), marker="o", capsize=2, label=name
            )
        ax.set(xlabel="adversarial ratio", ylabel="agreement (nats)", title=f"APGD, {loss}")
    axes[0].legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
