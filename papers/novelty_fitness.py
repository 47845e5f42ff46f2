"""Table 2: novelty of generators to the training set, beside the Frechet distance and other scores.

Ten generations of a network that draws digits, each trained on the last one's drawings, against real digits; features
of a small network in the place of Inception. 1,000 rows each (paper: 5,000).
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _pictures import GENERATIONS, bandwidth, digits, scores
from scipy.stats import kendalltau

from shiftmetrics.lab.baselines import manifold_scores
from shiftmetrics.lab.distances import feature_distance

COLUMNS = ("KEN", "FID", "precision", "recall", "density", "coverage")
CLAIMS = {
    "like_frechet": Claim(
        "Novelty to the training set orders generators as the Frechet distance does.",
        "Kendall's tau of the two over ten generations",
        ">",
        0.5,
    ),
    "worse": Claim(
        "Worse generators have more novelty to the training set.",
        "Kendall's tau of the score and the number of the generation",
        ">",
        0.5,
    ),
    "coverage": Claim(
        "They cover less of it.",
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
        "It is lower for real digits than for any generation.",
        "smallest score of a generation minus that of other real digits, in nats",
        ">",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    n, rng = 100 if quick else 1000, np.random.default_rng(seed)
    real, drawn = digits()
    rows = rng.permutation(len(real.labels))
    known, fresh = (real.features["network"][part] for part in (rows[:n], rows[n : 2 * n]))
    width = bandwidth(known)
    samples = [drawn[one].features["network"][rng.permutation(1000)[:n]] for one in GENERATIONS]
    table = []
    for sample in samples:
        parts = manifold_scores(sample, known, n_neighbours=5).parts
        own = [float(scores(sample, known, [width])[0]), feature_distance(sample, known).value]
        table.append(own + [parts[name] for name in COLUMNS[2:]])
    columns = dict(zip(COLUMNS, np.array(table).T, strict=True))
    same = float(scores(fresh, known, [width])[0])
    return {
        "like_frechet": kendalltau(columns["KEN"], columns["FID"]).statistic,
        "worse": kendalltau(columns["KEN"], GENERATIONS).statistic,
        "coverage": kendalltau(columns["coverage"], GENERATIONS).statistic,
        "real": same,
        "best": columns["KEN"].min() - same,
        "table": table,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    values = np.array([one["table"] for one in runs])
    figure, axes = pyplot.subplots(1, 6, figsize=(14, 3), layout="constrained")
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
