"""Figure 6: what a generator misses, found with eta = 10 by real data and by another generator.

The generator is the first one that draws digits, without all drawings that a small network reads as one of two digits
(another pair for each seed). Real digits, and the next generation, are compared with it by the network's features,
750 rows each: so many drawings are left.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _pictures import bandwidth, digits

from shiftmetrics import kernel_entropic_novelty

SOURCES = ("real digits", "another generator")
ROWS = 24
CLAIMS = {
    f"{key}_{i}": Claim(sentence.format(source), statistic, ">", bound)
    for i, source in enumerate(SOURCES)
    for key, sentence, statistic, bound in (
        (
            "pure",
            "With eta = 10 {} show what the generator lacks.",
            f"share of the {ROWS} most novel rows that are a missing digit",
            0.8,
        ),
        (
            "both",
            "In {} both missing digits come up.",
            f"share of the rarer missing digit among the {ROWS} most novel rows",
            0.1,
        ),
    )
}


def measure(seed: int, quick: bool) -> dict:
    n, rng = 150 if quick else 750, np.random.default_rng(seed)
    missing = np.array([seed % 10, (seed + 5) % 10])
    real, drawn = digits()
    complete = np.flatnonzero(~np.isin(drawn[0].labels, missing))
    reference = drawn[0].features["network"][rng.choice(complete, n, replace=False)]
    found: dict = {"missing": missing, "tops": []}
    for i, source in enumerate((real, drawn[1])):
        rows = rng.choice(len(source.labels), n, replace=False)
        sample = source.features["network"][rows]
        width = bandwidth(np.concatenate([sample, reference]))
        result = kernel_entropic_novelty(sample, reference, eta=10.0, bandwidth=width)
        top = rows[np.argsort(-result.point_novelty(sample))[:ROWS]]
        shares = [float((source.labels[top] == digit).mean()) for digit in missing]
        found[f"pure_{i}"], found[f"both_{i}"] = sum(shares), min(shares)
        found["tops"].append(top)
    return found


def draw(runs: list[dict]):
    from matplotlib import pyplot

    real, drawn = digits()
    shown = runs[:2]
    figure = pyplot.figure(figsize=(10, 2.3 * len(shown)), layout="constrained")
    lines = [
        (
            f"{' and '.join(f'{digit:g}' for digit in one['missing'])} missing, in {name}",
            source.images,
            top,
        )
        for one in shown
        for name, source, top in zip(SOURCES, (real, drawn[1]), one["tops"], strict=True)
    ]
    for part, (name, images, top) in zip(figure.subfigures(len(lines), 1), lines, strict=True):
        part.suptitle(name, x=0.01, ha="left", fontsize=9)
        for ax, place in zip(part.subplots(1, 12), top, strict=False):
            ax.set_axis_off()
            ax.imshow(images[int(place)], cmap="gray_r")
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
