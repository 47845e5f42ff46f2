"""Figure 2: samples that are novel yet less diverse: novelty beside the scores of diversity and of single samples.

The reference holds five kinds of animals of CIFAR-10, the new kinds are one to three vehicles. A share alpha of the
sample is new. 200 rows each; features of a ResNet-20 and principal components stand for the paper's three networks.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _pictures import bandwidth, cifar, scores

from shiftmetrics_lab.baselines import feature_likelihood_divergence, manifold_scores, vendi_score

ANIMALS, VEHICLES = (2, 3, 4, 5, 7), (8, 0, 1)
ALPHAS = (0.0, 0.5, 1.0)
NAMES = ("network", "PCA")
SCORES = ("KEN", "recall", "coverage", "RKE", "FLD", "rarity")
FALLS = {"recall": "Recall", "coverage": "Coverage", "RKE": "RKE (effective number of modes)"}
RISES = {"KEN": "The novelty score", "FLD": "FLD", "rarity": "Rarity"}
CLAIMS = (
    {
        key: Claim(
            f"{name} falls as more of the sample is new, though new kinds come in.",
            "largest change from alpha = 0 to 1 over numbers of new kinds, features of the network",
            "<",
            0.0,
        )
        for key, name in FALLS.items()
    }
    | {
        key: Claim(
            f"{name} rises with the share that is new.",
            "smallest change from alpha = 0 to 1, over features and numbers of new kinds",
            ">",
            0.0,
        )
        for key, name in RISES.items()
    }
    | {
        "modes": Claim(
            "The novelty score grows with the number of new kinds.",
            "log of its ratio, 3 new kinds over 1 at alpha = 1, the smaller over features",
            ">",
            0.0,
        )
    }
    | {
        f"{key}_flat": Claim(
            f"{RISES[key]} does not change with their number.",
            "difference of 3 new kinds from 1 at alpha = 1, over its rise, mean over features; margin 0.1",
            "within",
            0.1,
        )
        for key in ("FLD", "rarity")
    }
    | {
        "FLD_falls": Claim(
            "FLD falls as the number of new kinds grows (our reading).",
            "difference of 3 new kinds from 1 at alpha = 1, over its rise, mean over features",
            "<",
            0.0,
        )
    }
)


def measured(name: str, count: int, alpha: float, n: int, seed: int, width: float) -> list[float]:
    """Return all scores of one sample."""
    pictures, rng = cifar(), np.random.default_rng(seed)
    features = pictures.features[name]
    known = features[pictures.rows(ANIMALS, 3 * n, rng)]
    known = known[rng.permutation(len(known))]
    reference, training, others = np.split(known, 3)
    new = features[pictures.rows(VEHICLES[:count], round(alpha * n), rng)]
    sample = np.concatenate([new, others[: n - len(new)]])
    parts = manifold_scores(sample, reference, n_neighbours=5).parts
    return [
        float(scores(sample, reference, [width])[0]),
        parts["recall"],
        parts["coverage"],
        vendi_score(sample, order=2, bandwidth=width).value,
        feature_likelihood_divergence(sample, reference, training=training).value,
        parts["mean_rarity"],
    ]


def measure(seed: int, quick: bool) -> dict:
    n = 60 if quick else 200
    widths = {name: bandwidth(cifar().features[name]) for name in NAMES}
    table = np.array(
        [
            [
                [measured(name, count, alpha, n, seed, widths[name]) for alpha in ALPHAS]
                for count in (1, 2, 3)
            ]
            for name in NAMES
        ]
    )  # features, number of new kinds, alpha, score
    change = table[:, :, -1] - table[:, :, 0]
    modes = np.log(table[:, 2, -1, 0] / table[:, 0, -1, 0])  # of KEN, which is positive
    parts = (table[:, 2, -1] - table[:, 0, -1]) / np.abs(change.mean(axis=1))
    place = SCORES.index
    return {
        **{key: change[NAMES.index("network"), :, place(key)].max() for key in FALLS},
        **{key: change[..., place(key)].min() for key in RISES},
        "modes": modes.min(),
        "FLD_flat": parts[:, place("FLD")].mean(),
        "rarity_flat": parts[:, place("rarity")].mean(),
        "table": table,
    }


def conclude(one: dict) -> dict:
    """Return the number behind both claims about FLD."""
    return {"FLD_falls": one["FLD_flat"]}


def draw(runs: list[dict]):
    from matplotlib import pyplot

    table = np.mean([one["table"] for one in runs], axis=0)
    figure, axes = pyplot.subplots(2, 6, figsize=(14, 5), layout="constrained", sharex=True)
    for row, (name, by_score) in enumerate(zip(NAMES, np.moveaxis(table, 3, 1), strict=True)):
        for ax, score, values in zip(axes[row], SCORES, by_score, strict=True):
            for count, line in enumerate(values, start=1):
                ax.plot(ALPHAS, line, marker="o", label=f"{count} new")
            ax.set_title(score if row == 0 else "", loc="left")
        axes[row, 0].set_ylabel(name)
    for ax in axes[1]:
        ax.set_xlabel("share that is new")
    axes[0, 0].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, conclude=conclude, seeds=10)
