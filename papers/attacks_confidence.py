"""How sure the models are of right, wrong and misled digits, and the beta of agreement, under PGD and FMN.

The mean posterior probability of the predicted class at beta = 1: of digits read rightly and wrongly before the
attack, and of attacked digits that a model read rightly before and misreads after it.
"""

import numpy as np
from _claims import Claim
from _digit_models import NAMES, attacked, readers
from _experiment import run
from scipy.special import softmax

from shiftmetrics import posterior_agreement

ATTACKS = {"pgd": 16, "fmn": 0}
GROUPS = ("right", "wrong", "misled")
CLAIMS = {
    "overlap": Claim(
        "The undefended model is as sure of digits that PGD makes it misread as of those that it reads rightly.",
        "confidence of misled minus right digits, undefended, PGD; margin 0.1",
        "within",
        0.1,
    ),
    "overlap_weak": Claim(
        "The weak model is as sure of misled digits as of right ones.",
        "confidence of misled minus right digits, weak, PGD; margin 0.1",
        "within",
        0.1,
    ),
    "robust_lower": Claim(
        "The robust model is less sure of misled digits than of right ones.",
        "confidence of misled minus right digits, robust, PGD",
        "<",
        -0.1,
    ),
    "beta_below": Claim(
        "The undefended model is overconfident: its beta* under PGD is below 1.",
        "log beta* of the undefended model, PGD",
        "<",
        0.0,
    ),
    "beta_above": Claim(
        "The robust model has beta* above 1.",
        "log beta* of the robust model, PGD",
        ">",
        0.0,
    ),
    "beta_fmn": Claim(
        "beta* is lower under FMN than under PGD, for the robust model.",
        "log beta* under FMN minus under PGD, robust",
        "<",
        0.0,
    ),
    "weak_outlier": Claim(
        "The weak model has the largest beta*: it understates what its features tell.",
        "log beta* of the weak model minus that of each other, PGD",
        ">",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    digits = readers(seed, quick)
    confidence, beta = {}, {}
    for attack, power in ATTACKS.items():
        for name in NAMES:
            made = attacked(digits, name, attack, power)
            before, after = digits.scores(name), digits.scores(name, made.x_adv)
            right = before.argmax(axis=1) == digits.labels
            misled = right & (after.argmax(axis=1) != digits.labels)
            sure, sure_after = (
                softmax(before, axis=1).max(axis=1),
                softmax(after, axis=1).max(axis=1),
            )
            groups = (sure[right], sure[~right], sure_after[misled])
            confidence[f"{attack} {name}"] = [
                float(group.mean()) if len(group) else 0.0 for group in groups
            ]
            beta[f"{attack} {name}"] = posterior_agreement(after, before).beta
    log_beta = {name: float(np.log(max(value, 1e-6))) for name, value in beta.items()}
    gap = {name: confidence[f"pgd {name}"][2] - confidence[f"pgd {name}"][0] for name in NAMES}
    return {
        "overlap": gap["undefended"],
        "overlap_weak": gap["weak"],
        "robust_lower": gap["adversarial"],
        "beta_below": log_beta["pgd undefended"],
        "beta_above": log_beta["pgd adversarial"],
        "beta_fmn": log_beta["fmn adversarial"] - log_beta["pgd adversarial"],
        "weak_outlier": {
            name: log_beta["pgd weak"] - log_beta[f"pgd {name}"] for name in NAMES[:2]
        },
        "confidence": confidence,
        "log_beta": log_beta,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
    places = np.arange(len(NAMES))
    for attack, left, right in (("pgd", axes[0], axes[1]), ("fmn", axes[2], axes[3])):
        cases = [f"{attack} {name}" for name in NAMES]
        table = np.array([[one["confidence"][case] for case in cases] for one in runs])
        for group, label in enumerate(GROUPS):
            heights, spread = table[:, :, group].mean(axis=0), table[:, :, group].std(axis=0)
            left.bar(places + 0.27 * (group - 1), heights, 0.25, yerr=spread, label=label)
        betas = np.exp([[one["log_beta"][case] for case in cases] for one in runs])
        right.bar(places, np.exp(np.log(betas).mean(axis=0)), 0.5)
        right.axhline(1.0, color="0.4", linestyle="--")
        left.set(ylabel="mean confidence", title=attack.upper(), ylim=(0, 1.25))
        right.set(ylabel="beta*", title=attack.upper(), yscale="log")
        for ax in (left, right):
            ax.set_xticks(places, NAMES, fontsize=8)
    axes[0].legend(ncols=3, fontsize=8, loc="upper left")
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
