"""Table 2: novelty of generators to the training set, beside the Frechet distance and other scores.

Ten generations of a network that draws digits, each trained on the last one's drawings, against real digits; features
of a small network in the place of Inception. 1,000 rows each (paper: 5,000). Beside it stand the orders in the
printed table, whose exceptions (GGAN, DCGAN and both WGAN) are among the worst generators.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _pictures import GENERATIONS, bandwidth, digits, pairwise_scores
from scipy.special import rel_entr
from scipy.stats import kendalltau

from shiftmetrics_lab.baselines import manifold_scores
from shiftmetrics_lab.distances import feature_distance

COLUMNS = ("KEN", "FID", "IS", "precision", "recall", "density", "coverage")
PRINTED = {
    "GGAN": (6.51, 40.22, 3.03),
    "DCGAN": (5.76, 51.98, 3.02),
    "WGAN-WC": (3.99, 95.69, 3.01),
    "WGAN-GP": (7.04, 26.42, 2.99),
    "ACGAN": (7.02, 35.42, 2.99),
    "LSGAN": (7.13, 31.31, 2.97),
    "LOGAN": (7.95, 17.86, 2.90),
    "SAGAN": (8.67, 9.58, 2.70),
    "SNGAN": (8.77, 8.50, 2.65),
    "BigGAN": (9.14, 6.80, 2.59),
    "ContraGAN": (9.40, 6.55, 2.57),
    "StyleGAN2-ADA": (10.14, 3.61, 2.50),
}
"""IS, FID and KEN of the printed table, CIFAR-10."""

EXCEPTIONS = ("GGAN", "DCGAN", "WGAN-WC", "WGAN-GP")
CLAIMS = {
    "like_frechet": Claim(
        "Novelty to the training set orders generators as the Frechet distance does.",
        "Kendall's tau of the two over ten generations",
        ">",
        0.5,
    ),
    "exceptions": Claim(
        "The two part among the worst generators (the exceptions GGAN, DCGAN and WGAN).",
        "the same tau over the five first generations minus that over the five last",
        ">",
        0.0,
    ),
    "inception": Claim(
        "A better inception score goes with less novelty to the training set (the column IS).",
        "Kendall's tau of the score and the inception score over ten generations",
        "<",
        0.0,
    ),
    "printed": Claim(
        "In the printed table, CIFAR-10, novelty follows the Frechet distance but for the exceptions.",
        "Kendall's tau of the two printed columns without GGAN, DCGAN, WGAN-WC and WGAN-GP",
        ">=",
        1.0,
    ),
    "printed_all": Claim(
        "With the exceptions it follows it less.",
        "the same tau over all twelve printed generators",
        "<",
        0.9,
    ),
    "printed_inception": Claim(
        "In the printed table novelty falls as the inception score rises.",
        "Kendall's tau of the printed columns KEN and IS, all twelve",
        "<",
        -0.5,
    ),
    "worse": Claim(
        "Worse generators have more novelty to the training set.",
        "Kendall's tau of the score and the number of the generation",
        ">",
        0.5,
    ),
    "coverage": Claim(
        "Worse generators cover less of the training set.",
        "Kendall's tau of coverage and the number of the generation",
        "<",
        0.0,
    ),
    "real": Claim(
        "The score is 0 where the two distributions are identical.",
        "score of other real digits, in nats",
        "<",
        0.01,
    ),
    "best": Claim(
        "The score is lower for real digits than for any generation.",
        "smallest score of a generation minus that of other real digits, in nats",
        ">",
        0.0,
    ),
}


def inception_score(classes: np.ndarray) -> float:
    """Return exp of the mean divergence of a row's class probabilities from their mean."""
    mean = classes.mean(axis=0)
    return float(np.exp(rel_entr(classes, mean).sum(axis=1).mean()))


def tau(one: np.ndarray, other: np.ndarray) -> float:
    return float(kendalltau(one, other).statistic)


def measure(seed: int, quick: bool) -> dict:
    n, rng = 100 if quick else 1000, np.random.default_rng(seed)
    real, drawn = digits()
    rows = rng.permutation(len(real.labels))
    known, fresh = (real.features["network"][part] for part in (rows[:n], rows[n : 2 * n]))
    width = bandwidth(known)
    table = []
    for generation in GENERATIONS:
        chosen = rng.permutation(1000)[:n]
        features = drawn[generation].features
        sample = features["network"][chosen]
        parts = manifold_scores(sample, known, n_neighbours=5).parts
        own = [pairwise_scores([sample, known], width)[0, 1]]
        own += [feature_distance(sample, known).value, inception_score(features["classes"][chosen])]
        table.append(own + [parts[name] for name in COLUMNS[3:]])
    columns = dict(zip(COLUMNS, np.array(table).T, strict=True))
    same = float(pairwise_scores([fresh, known], width)[0, 1])
    ken, frechet = columns["KEN"], columns["FID"]
    inception, printed_frechet, printed_ken = np.array(list(PRINTED.values())).T
    usual = [name not in EXCEPTIONS for name in PRINTED]
    return {
        "like_frechet": tau(ken, frechet),
        "exceptions": tau(ken[:5], frechet[:5]) - tau(ken[5:], frechet[5:]),
        "inception": tau(ken, columns["IS"]),
        "printed": tau(printed_ken[usual], printed_frechet[usual]),
        "printed_all": tau(printed_ken, printed_frechet),
        "printed_inception": tau(printed_ken, inception),
        "worse": tau(ken, np.array(GENERATIONS)),
        "coverage": tau(columns["coverage"], np.array(GENERATIONS)),
        "real": same,
        "best": ken.min() - same,
        "table": table,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    values = np.array([one["table"] for one in runs])
    figure, axes = pyplot.subplots(1, 7, figsize=(15, 3), layout="constrained")
    for ax, name, column in zip(axes, COLUMNS, np.moveaxis(values, 2, 0), strict=True):
        ax.errorbar(GENERATIONS, column.mean(axis=0), column.std(axis=0), marker="o", capsize=3)
        ax.set(title=name, xlabel="generation")
    axes[0].axhline(
        np.mean([one["real"] for one in runs]), color="0.5", linestyle=":", label="real digits"
    )
    axes[0].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
