"""White noise of growing size on all pictures, and of one size on a share of them (experiment 2).

A network reads digits, in the place of a network for CIFAR-10. A noise of bound eps has a standard deviation of
eps / 3 (printed the other way round), so that nearly all of it lies within the bound.
"""

import numpy as np
import torch
from _claims import Claim
from _digit_models import readers
from _experiment import run
from scipy.stats import spearmanr

from shiftmetrics import posterior_agreement

BOUNDS = (0, 16, 32, 64, 96, 128, 192)
RATIOS = np.linspace(0.0, 1.0, 11)
CLAIMS = {
    "falls": Claim(
        "Agreement falls as the noise grows.",
        "Spearman correlation of agreement with the bound of the noise",
        "<",
        -0.9,
    ),
    "sensitive": Claim(
        "Agreement is more sensitive to noise than accuracy.",
        "loss of agreement over log 10 minus loss of accuracy, at 64/255",
        ">",
        0.0,
    ),
    "nonlinear": Claim(
        "Robustness and task performance are not linearly related.",
        "squared correlation of agreement with accuracy over the bounds",
        "<",
        0.98,
    ),
    "infinite": Claim(
        "Without noise beta grows without bound; with noise on any share of the pictures it is finite.",
        "share of the ratios above 0 at which beta is infinite",
        "<=",
        0.0,
    ),
    "flattens": Claim(
        "Agreement falls less from noise on a further picture the more of them are noisy already.",
        "fall of agreement from ratio 0.5 to 1 over that from 0 to 0.5, at 128/255",
        "<",
        1.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    digits = readers(seed, quick)
    before = digits.scores("undefended")
    generator = torch.Generator().manual_seed(seed)
    draws = torch.randn(digits.x.shape, generator=generator)
    noisy = {
        bound: digits.scores("undefended", (digits.x + bound / 255 / 3 * draws).clamp(0, 1))
        for bound in BOUNDS
    }
    results = [posterior_agreement(noisy[bound], before) for bound in BOUNDS]
    accuracy = [float((noisy[bound].argmax(axis=1) == digits.labels).mean()) for bound in BOUNDS]
    agreement = np.array([result.value for result in results])
    order = np.random.default_rng(seed).permutation(len(before))
    over_ratio = []
    for ratio in RATIOS:
        mixed = before.copy()
        rows = order[: round(ratio * len(order))]
        mixed[rows] = noisy[128][rows]
        over_ratio.append(posterior_agreement(mixed, before))
    values = [result.value for result in over_ratio]
    middle = BOUNDS.index(64)
    lost = (agreement[0] - agreement) / np.log(10)
    return {
        "falls": float(spearmanr(agreement, BOUNDS).statistic),
        "sensitive": float(lost[middle] - (accuracy[0] - accuracy[middle])),
        "nonlinear": float(np.corrcoef(agreement, accuracy)[0, 1] ** 2),
        "infinite": float(np.mean([not np.isfinite(result.beta) for result in over_ratio[1:]])),
        "flattens": (values[5] - values[-1]) / (values[0] - values[5]),
        "agreement": agreement,
        "accuracy": accuracy,
        "over_ratio": values,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    for ax, kind, label in (
        (left, "agreement", "agreement (nats)"),
        (middle, "accuracy", "accuracy"),
    ):
        table = np.array([one[kind] for one in runs])
        ax.errorbar(BOUNDS, table.mean(axis=0), table.std(axis=0), marker="o", capsize=2)
        ax.set(xlabel="bound of the noise (255ths)", ylabel=label)
    table = np.array([one["over_ratio"] for one in runs])
    right.errorbar(RATIOS, table.mean(axis=0), table.std(axis=0), marker="o", capsize=2)
    right.set(xlabel="share of noisy pictures, 128/255", ylabel="agreement (nats)")
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
