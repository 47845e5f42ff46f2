"""Samples of the environments, and how many factors each shifts (figure 13 and the tables that define them).

Environments 0 and 1 are the sources of training. All environments show the same digits, drawn at 32 pixels; the
papers' pictures have 128.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _factor_models import DIGITS
from scipy.stats import spearmanr

from shiftmetrics_lab.shifts.factors import ENVIRONMENTS, factor_environments
from shiftmetrics_lab.shifts.factors.environments import FactorSample

TABLES = ("discriminability", "hue test", "position test")
CLAIMS = {
    "counts": Claim(
        "Environment j differs from environment 0 in j factors (C.3 once its hue goes on, see the errors below).",
        "largest difference of the number of shifted factors from j, over j and three tables",
        "<=",
        0.0,
    ),
    "sources": Claim(
        "The two training domains differ in all factors (section 4.2 of the paper).",
        "factors that differ between environments 0 and 1",
        ">=",
        5.0,
    ),
    "pixels": Claim(
        "The more factors shift, the further the pictures are from environment 0 (our check of the drawings).",
        "Spearman correlation of the root-mean-square distance of pixels with the number of shifted factors",
        ">",
        0.8,
    ),
}


def environments(seed: int, n: int) -> list[FactorSample]:
    """Draw the same fours and nines in the six environments of experiment 5."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(DIGITS.y, (4, 9))))[:n]
    return factor_environments(
        DIGITS.X,
        DIGITS.y,
        ENVIRONMENTS["discriminability"],
        instances=rows,
        size=32,
        rng=seed,
        progress=False,
    )


def measure(seed: int, quick: bool) -> dict:
    shifted = [
        [len(one.differences(table[0])) for one in table] for table in map(ENVIRONMENTS.get, TABLES)
    ]
    first, *others = (one.images / 255 for one in environments(seed, 20 if quick else 100))
    distances = [float(np.sqrt(((other - first) ** 2).mean())) for other in others]
    return {
        "counts": int(np.abs(np.array(shifted) - range(6)).max()),
        "sources": shifted[0][1],
        "pixels": float(spearmanr(distances, range(1, 6)).statistic),
        "distances": distances,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    samples = environments(0, 10)
    figure, axes = pyplot.subplots(len(samples), 10, figsize=(8, 5.6), layout="constrained")
    parts = ("source 0", "source 1, hue", "lightness", "position", "scale", "texture")
    for row, sample, name in zip(axes, samples, parts, strict=True):
        for ax, image in zip(row, sample.images, strict=True):
            ax.imshow(image)
            ax.set_axis_off()
        row[0].set_title(
            name if name.startswith("source") else f"and {name}", loc="left", fontsize=9
        )
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
