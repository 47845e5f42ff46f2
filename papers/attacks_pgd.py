"""PGD over the adversarial ratio and the power of the attack: agreement, AFR_T and the loss of accuracy.

Three readers of 500 digits stand for the networks of the papers. At ratio alpha the rows under the alpha quantile of
the distance are attacked, the others are as they were. Bounds are in 255ths (printed once as 225ths).
"""

import numpy as np
import pandas as pd
from _claims import Claim
from _digit_models import NAMES, POWERS, RATIOS, attacked, readers, sizes
from _experiment import run

from shiftmetrics import Computing, Resampling
from shiftmetrics.agreement import agreement_curves

CLAIMS = {
    "separates": Claim(
        "Agreement tells the robust from the undefended model at every power, with all rows attacked.",
        "smallest difference of agreement over the powers, robust minus undefended, in nats",
        ">",
        0.0,
    ),
    "ratio": Claim(
        "Agreement falls with the adversarial ratio.",
        "mean rise of agreement from one ratio to the next for the undefended model at 16/255, in nats",
        "<",
        0.0,
    ),
    "power": Claim(
        "Agreement falls with the power of the attack.",
        "mean rise of agreement from one power to the next for the undefended model, in nats",
        "<",
        0.0,
    ),
    "early": Claim(
        "AFR_T overrates the undefended model where the attack is weak: agreement has fallen further by then.",
        "agreement minus AFR_T, each over its value without attack, undefended, 8/255",
        "<",
        0.0,
    ),
    "weak": Claim(
        "The weak defence, JPEG with a reverse sigmoid, scores below the robust model in agreement at every power.",
        "smallest difference of agreement over the powers, robust minus weak, in nats",
        ">",
        0.0,
    ),
    "misled": Claim(
        "AFR_T overrates the weak defence more than agreement does.",
        "AFR_T of weak minus robust, less the same in agreement over log 10, at 32/255",
        ">",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    digits = readers(seed, quick)
    frames = {}
    for name in NAMES:
        made = {power: attacked(digits, name, "pgd", power) for power in POWERS}
        frames[name] = agreement_curves(
            {power: digits.scores(name, one.x_adv) for power, one in made.items()},
            digits.scores(name),
            ratios=RATIOS,
            labels=digits.labels,
            perturbation_sizes={power: sizes(one) for power, one in made.items()},
            resampling=Resampling(rng=seed),  # the order of rows that were moved equally far
            computing=Computing(progress=False),
        ).to_frame()
    curves = pd.concat(frames, names=["model"])
    curves = curves.set_index(["power", "ratio"], append=True).droplevel(1).sort_index()
    full = {name: curves.loc[name].xs(1.0, level="ratio") for name in NAMES}
    agreement = {name: full[name]["agreement"].to_numpy() for name in NAMES}
    afr = {name: full[name]["afr_t"].to_numpy() for name in NAMES}
    ratios = curves.loc[("undefended", 16)]["agreement"].to_numpy()
    unattacked = float(curves.loc[("undefended", 8, 0.0)]["afr_t"])
    share = {name: agreement[name] / np.log(10) for name in NAMES}
    return {
        "separates": float((agreement["adversarial"] - agreement["undefended"]).min()),
        "ratio": float(np.diff(ratios).mean()),
        "power": float(np.diff(agreement["undefended"]).mean()),
        "early": float(share["undefended"][0] - afr["undefended"][0] / unattacked),
        "weak": float((agreement["adversarial"] - agreement["weak"]).min()),
        "misled": float(
            (afr["weak"] - afr["adversarial"] - share["weak"] + share["adversarial"])[2]
        ),
        "agreement": {
            name: [curves.loc[(name, p)]["agreement"].tolist() for p in POWERS] for name in NAMES
        },
        "afr_t": {
            name: [curves.loc[(name, p)]["afr_t"].tolist() for p in POWERS] for name in NAMES
        },
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        2, len(POWERS), figsize=(11, 5), layout="constrained", sharey="row"
    )
    for row, (kind, label) in enumerate((("agreement", "agreement (nats)"), ("afr_t", "AFR_T"))):
        for column, power in enumerate(POWERS):
            ax = axes[row, column]
            for name in NAMES:
                ax.plot(
                    RATIOS, np.mean([one[kind][name][column] for one in runs], axis=0), label=name
                )
            ax.set(xlabel="adversarial ratio", title=f"PGD, {power}/255" if row == 0 else "")
        axes[row, 0].set_ylabel(label)
    axes[1, 0].legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
