"""Figures 17 and 18: APGD with the cross-entropy and the targeted DLR loss on models of 1,000 classes.

Synthetic: 1,000 classes of 8 by 8 pixels, each a Gaussian cloud, stand for ImageNet. A plain and an adversarially
trained network read them; the weak model is the plain one behind JPEG, with a reverse sigmoid after it. Powers
double as the paper's 2, 4 and 8 / 255 do; the largest leaves the plain model a sixth of its accuracy.
"""

import numpy as np
import torch
from _claims import WITHIN, Claim
from _experiment import run
from scipy import stats

from shiftmetrics import Computing, Resampling, posterior_agreement
from shiftmetrics.agreement import agreement_curves
from shiftmetrics.attacks import AttackOptions
from shiftmetrics_lab.attacks import apgd
from shiftmetrics_lab.learners import ERM, Adversarial, fit
from shiftmetrics_lab.published import posterior_agreement_adam
from shiftmetrics_lab.shifts.defences import JPEGDefence, ReverseSigmoid

CLASSES, SIDE = 1000, 8
SPREAD = 0.1
"""The standard deviation of a pixel of the centres around 1/2; within a class it is 0.7 of that."""
POWERS = (0.015, 0.03, 0.06)
RATIOS = np.linspace(0.0, 1.0, 6)
LOSSES = ("ce", "dlr-targeted")
NAMES = ("plain", "robust", "weak")
CLAIMS = {
    "separates": Claim(
        "Agreement tells the robust from the weak models under both attacks.",
        "agreement at ratio 1 and the largest power, robust minus plain and minus weak, in nats",
        ">",
        0.0,
    ),
    "falls": Claim(
        "It falls with the adversarial ratio for all models.",
        "mean rise from one ratio to the next at the largest power, in nats",
        "<",
        0.0,
    ),
    "weak_low": Claim(
        "At the lower powers JPEG with a reverse sigmoid behaves as the undefended model.",
        "agreement of weak minus plain at ratio 1 and the two smaller powers, in nats of log 1000 = 6.9",
        WITHIN,
        0.35,
    ),
    "weak_high": Claim(
        "At the highest power it resists.",
        "agreement of weak minus plain at ratio 1 and the largest power, in nats",
        ">",
        0.0,
    ),
    "aligned": Claim(
        "With all rows attacked agreement orders the models as AFR_T does.",
        "mean Kendall's tau of both over the three models, over attacks and powers",
        ">",
        0.5,
    ),
    "same_range": Claim(
        "With 1,000 classes the gradient search finds the maximum in 500 steps.",
        "certified maximum minus what Adam finds, plain model at ratio 1, in nats",
        "<",
        0.001,
    ),
}


def networks(seed: int, quick: bool):
    """Return the three models and the test pictures."""
    rng = np.random.default_rng(seed)
    centres = 0.5 + SPREAD * rng.normal(size=(CLASSES, 1, SIDE, SIDE))
    per_class = 6 if quick else 20
    labels = np.repeat(np.arange(CLASSES), per_class)
    rows = centres[labels] + 0.7 * SPREAD * rng.normal(size=(len(labels), 1, SIDE, SIDE))
    order = rng.permutation(len(labels))
    x = torch.tensor(rows[order].clip(0.0, 1.0), dtype=torch.float32)
    y = torch.tensor(labels[order])
    n_test = 100 if quick else 300
    worst = Adversarial(radius=POWERS[-1], n_steps=3, low=0.0, high=1.0)
    made = {}
    for name, objective in (("plain", ERM()), ("robust", worst)):
        torch.manual_seed(seed)
        model = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.BatchNorm1d(SIDE * SIDE), torch.nn.Linear(SIDE * SIDE, 256),
            torch.nn.ELU(), torch.nn.Linear(256, CLASSES))  # fmt: skip
        options = {"epochs": 3 if quick else 8, "batch_size": 256, "optimizer": 3e-3, "rng": seed}
        fit(model, x[n_test:], y[n_test:], objective=objective, progress=False, **options)
        made[name] = model.eval()
    made["weak"] = ReverseSigmoid(JPEGDefence(made["plain"]))
    return made, x[:n_test], y[:n_test]


def scores(model, x) -> np.ndarray:
    with torch.no_grad():
        return model(torch.as_tensor(x)).numpy().astype(float)


def measure(seed: int, quick: bool) -> dict:
    models, x, y = networks(seed, quick)
    options = {"n_steps": 10, "options": AttackOptions(bounds=(0, 1))}
    agreement, rate, kept = {}, {}, {}
    for loss in LOSSES:
        targets = {"n_targets": 3} if loss == "dlr-targeted" else {}
        for power in POWERS:
            for name, model in models.items():
                case = f"{loss} {power:g} {name}"
                made = apgd(model, x, y, strength=power, loss=loss, **options, **targets)
                kept[case] = scores(model, made.x_adv)
                frame = agreement_curves(
                    kept[case], scores(model, x), ratios=RATIOS, labels=y.numpy(),
                    perturbation_sizes=np.where(made.success, made.distance, np.inf),
                    resampling=Resampling(rng=seed), computing=Computing(progress=False),
                ).to_frame()  # fmt: skip
                agreement[case] = frame["agreement"].to_numpy()
                rate[case] = frame["afr_t"].to_numpy()

    def difference(loss: str, power: float, name: str, other: str) -> float:
        """Return the agreement of one model minus that of another, with all rows attacked."""
        ends = [agreement[f"{loss} {power:g} {model}"][-1] for model in (name, other)]
        return float(ends[0] - ends[1])

    orders = []
    for loss in LOSSES:
        for power in POWERS:
            cases = [f"{loss} {power:g} {name}" for name in NAMES]
            ends = [[of[case][-1] for case in cases] for of in (agreement, rate)]
            orders.append(stats.kendalltau(*ends).statistic)
    pair = kept[f"ce {POWERS[-1]:g} plain"], scores(models["plain"], x)
    searched = posterior_agreement_adam(*pair, computing=Computing(progress=False)).value
    return {
        "separates": {
            f"{name}, {loss}": difference(loss, POWERS[-1], "robust", name)
            for loss in LOSSES
            for name in ("plain", "weak")
        },
        "falls": {
            f"{name}, {loss}": float(np.diff(agreement[f"{loss} {POWERS[-1]:g} {name}"]).mean())
            for loss in LOSSES
            for name in NAMES
        },
        "weak_low": {
            f"{loss}, {power:g}": difference(loss, power, "weak", "plain")
            for loss in LOSSES
            for power in POWERS[:-1]
        },
        "weak_high": {loss: difference(loss, POWERS[-1], "weak", "plain") for loss in LOSSES},
        "aligned": float(np.nan_to_num(orders).mean()),
        "same_range": posterior_agreement(*pair).value - searched,
        "agreement": agreement,
        "rate": rate,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for ax, loss in zip(axes, LOSSES, strict=True):
        for i, name in enumerate(NAMES):
            for power, style in zip(POWERS, (":", "--", "-"), strict=True):
                curves = [one["agreement"][f"{loss} {power:g} {name}"] for one in runs]
                ax.plot(RATIOS, np.mean(curves, axis=0), style, color=f"C{i}")
        ax.set(xlabel="adversarial ratio", ylabel="agreement (nats)", title=f"APGD, {loss}")
    axes[0].legend(axes[0].lines[2::3], NAMES, title="power 0.015 (dotted) to 0.06")
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=6)
