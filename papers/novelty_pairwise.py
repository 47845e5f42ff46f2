"""Tables 1 and 3 to 5: pairwise novelty of five generators, over features and bandwidths.

Generations of a network that draws digits stand for the paper's five generators of faces; pixels, principal
components and a small network for Inception, DINOv2 and CLIP. All 1,000 drawings of each (paper: 5,000); each seed
compares another five of the ten generations.
"""

import itertools

import numpy as np
from _claims import Claim
from _experiment import run
from _pictures import FEATURES, GENERATIONS, bandwidth, digits, pairwise_scores
from scipy.stats import kendalltau

N_COMPARED = 5
WIDTHS = (1.0, 1.5)
CLAIMS = {
    "bandwidths": Claim(
        "The order of the average scores is the same at both bandwidths, but for one pair of neighbours.",
        "smallest Kendall's tau between the two orders, over features",
        ">=",
        0.8,
    ),
    "features": Claim(
        "The order differs between features.",
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


def table(name: str, compared: list[int], n: int) -> np.ndarray:
    """Return the scores at both bandwidths: (test, reference, bandwidth), nan on the diagonal."""
    _, drawn = digits()
    samples = [drawn[one].features[name][:n] for one in compared]
    width = bandwidth(np.concatenate(samples))
    return np.stack([pairwise_scores(samples, width * factor) for factor in WIDTHS], axis=2)


def measure(seed: int, quick: bool) -> dict:
    rng = np.random.default_rng(seed)
    compared = sorted(int(one) for one in rng.choice(GENERATIONS, N_COMPARED, replace=False))
    found = {name: table(name, compared, 80 if quick else 1000) for name in FEATURES}
    means = {name: np.nanmean(one, axis=1) for name, one in found.items()}
    pairs = itertools.combinations(FEATURES, 2)
    return {
        "bandwidths": min(kendalltau(*one.T).statistic for one in means.values()),
        "features": min(kendalltau(means[a][:, 0], means[b][:, 0]).statistic for a, b in pairs),
        "lowers": max(np.nanmax(one[..., 1] / one[..., 0]) for one in found.values()),
        "compared": compared,
        "tables": {name: np.nan_to_num(one[..., 0], nan=-1.0) for name, one in found.items()},
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    names = [f"gen. {one:.0f}" for one in runs[0]["compared"]]
    for ax, feature in zip(axes, FEATURES, strict=True):
        values = np.array(runs[0]["tables"][feature])
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
    run(__file__, CLAIMS, measure, draw, seeds=6)
