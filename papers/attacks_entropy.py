"""Table 4.2: how the entropy of the posteriors changes between beta = 1 and beta*, in bits.

The thesis takes the entropy of the mean posterior over the digits read rightly. Over balanced classes that mean is
uniform at every beta, whatever the model; the mean of the entropies of the rows is what changes.
"""

import numpy as np
from _claims import Claim
from _digit_models import NAMES, attacked, readers
from _experiment import run
from scipy.special import softmax
from scipy.stats import entropy

from shiftmetrics import posterior_agreement

PRINTED = -3.05
CLAIMS = {
    "printed": Claim(
        "The entropy of the mean posterior falls by bits (printed: up to 3.05) for models with beta* > 1.",
        "lowest change over the models, entropy of the mean posterior, in bits",
        "<",
        -0.2,
    ),
    "rows": Claim(
        "The mean entropy of the rows falls where beta* > 1 (what the table can mean).",
        "change for the weak model, mean entropy of the rows, in bits",
        "<",
        -0.2,
    ),
    "undefended": Claim(
        "It rises for the undefended model, whose beta* is below 1.",
        "change for the undefended model under FMN, mean entropy of the rows, in bits",
        ">",
        0.0,
    ),
    "possible": Claim(
        "A fall by 3.05 is possible in bits.",
        "log2 of the number of classes, the most that an entropy can fall",
        ">=",
        -PRINTED,
    ),
    "impossible": Claim(
        "It is possible in nats.",
        "log of the number of classes",
        ">=",
        -PRINTED,
    ),
}


def changes(scores: np.ndarray, beta: float) -> tuple[float, float]:
    """Return the change of the entropy of the mean posterior, and of the mean entropy of rows, in bits."""
    plain, tempered = softmax(scores, axis=1), softmax(beta * scores, axis=1)
    of_mean = entropy(tempered.mean(axis=0), base=2) - entropy(plain.mean(axis=0), base=2)
    of_rows = entropy(tempered, base=2, axis=1).mean() - entropy(plain, base=2, axis=1).mean()
    return float(of_mean), float(of_rows)


def measure(seed: int, quick: bool) -> dict:
    digits = readers(seed, quick)
    table = {}
    for attack, power in {"pgd": 16, "fmn": 0}.items():
        for name in NAMES:
            made = attacked(digits, name, attack, power)
            before = digits.scores(name)
            beta = posterior_agreement(digits.scores(name, made.x_adv), before).beta
            right = before.argmax(axis=1) == digits.labels
            counts = np.bincount(digits.labels[right], minlength=10)
            balanced = np.concatenate(
                [
                    np.flatnonzero(right & (digits.labels == digit))[: counts.min()]
                    for digit in range(10)
                ]
            )
            table[f"{attack} {name}"] = [*changes(before[balanced], min(beta, 1e6)), beta]
    return {
        "printed": min(of_mean for of_mean, _, beta in table.values() if beta > 1)
        if any(beta > 1 for *_, beta in table.values())
        else 0.0,
        "rows": table["pgd weak"][1],
        "undefended": table["fmn undefended"][1],
        "possible": float(np.log2(10)),
        "impossible": float(np.log(10)),
        "table": table,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained", sharey=True)
    places = np.arange(len(NAMES))
    for ax, attack in zip(axes, ("pgd", "fmn"), strict=True):
        table = np.array([[one["table"][f"{attack} {name}"][:2] for name in NAMES] for one in runs])
        for kind, label in enumerate(("of the mean posterior", "mean over rows")):
            heights, spread = table[:, :, kind].mean(axis=0), table[:, :, kind].std(axis=0)
            ax.bar(places + 0.36 * (kind - 0.5), heights, 0.34, yerr=spread, label=label)
        ax.axhline(0.0, color="0.4", linewidth=0.8)
        ax.set(title=attack.upper(), ylabel="change of entropy (bits)")
        ax.set_xticks(places, NAMES)
    axes[0].legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
