"""Tables 1 and 3 to 5: pairwise novelty of five generators, over features and bandwidths.

Generations of a network that draws digits stand for the paper's five generators of faces; pixels, principal
components and a small network for Inception, DINOv2 and CLIP. 250 rows each (paper: 5,000). The five lie far apart:
among five nearer ones (generations 2, 4, 6, 9 and 14, all 1,000 drawings, one run) the orders at the two bandwidths
agree less, with a tau of 0.4, and so do the orders by two kinds of features, with 0.6.
"""

import itertools

import numpy as np
from _claims import Claim
from _experiment import run
from _pictures import FEATURES, bandwidth, digits, scores
from scipy.stats import kendalltau

COMPARED = (0, 2, 6, 12, 19)
WIDTHS = (1.0, 1.5)
CLAIMS = {
    "bandwidths": Claim(
        "The order of the average scores is the same at both bandwidths, but for one pair of neighbours.",
        "smallest Kendall's tau between the two orders, over features",
        ">=",
        0.8,
    ),
    "features": Claim(
        "It differs between features.",
        "smallest Kendall's tau between two features, at the first bandwidth",
        "<",
        0.99,
    ),
    "lowers": Claim(
        "A wider kernel lowers all scores.",
        "largest score at 1.5 times the bandwidth over that at the bandwidth",
        "<",
        1.0,
    ),
}


def table(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the scores at both bandwidths: (test, reference, bandwidth), nan on the diagonal."""
    _, drawn = digits()
    samples = [drawn[one].features[name][rng.choice(1000, n, replace=False)] for one in COMPARED]
    width = bandwidth(np.concatenate(samples))
    found = np.full((len(COMPARED),) * 2 + (len(WIDTHS),), np.nan)
    for test, base in itertools.permutations(range(len(COMPARED)), 2):
        found[test, base] = scores(
            samples[test], samples[base], [width * factor for factor in WIDTHS]
        )
    return found


def measure(seed: int, quick: bool) -> dict:
    n, rng = 80 if quick else 250, np.random.default_rng(seed)
    found = {name: table(name, n, rng) for name in FEATURES}
    means = {name: np.nanmean(one, axis=1) for name, one in found.items()}
    pairs = itertools.combinations(FEATURES, 2)
    return {
        "bandwidths": min(kendalltau(*one.T).statistic for one in means.values()),
        "features": min(kendalltau(means[a][:, 0], means[b][:, 0]).statistic for a, b in pairs),
        "lowers": max(np.nanmax(one[..., 1] / one[..., 0]) for one in found.values()),
        "tables": {name: np.nan_to_num(one[..., 0], nan=-1.0) for name, one in found.items()},
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    names = [f"gen. {one}" for one in COMPARED]
    for ax, feature in zip(axes, FEATURES, strict=True):
        values = np.mean([one["tables"][feature] for one in runs], axis=0)
        shown = np.where(values < 0, np.nan, values)
        ax.imshow(shown, cmap="Blues")
        middle = (np.nanmin(shown) + np.nanmax(shown)) / 2
        for (row, column), value in np.ndenumerate(shown):
            if np.isfinite(value):
                color = "white" if value > middle else "black"
                ax.text(
                    column, row, f"{value:.2f}", ha="center", va="center", fontsize=9, color=color
                )
        labels = [
            f"{name} (mean {mean:.2f})"
            for name, mean in zip(names, np.nanmean(shown, axis=1), strict=True)
        ]
        ax.set_xticks(range(len(names)), names, fontsize=8)
        ax.set_yticks(range(len(names)), labels, fontsize=8)
        ax.set(xlabel="reference", title=feature)
        ax.grid(visible=False)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
