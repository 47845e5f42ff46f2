"""Figures 3, 4, 8 and 9: pictures of the novel modes between two data sets, and between two generators.

Cats, deer, dogs and horses of CIFAR-10 against dogs (features of a ResNet-20), and generations of a network that
draws digits against each other (features of a small network). 240 rows each. Beside the modes of the library stands
Algorithm 1 as printed, whose eigenvectors are coordinates of the Cholesky factor.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _pictures import bandwidth, cifar, digits

from shiftmetrics import kernel_entropic_novelty

DOG, NEW = 5, (3, 4, 7)
PAIRS = ((0, 19), (19, 0))
CLAIMS = {
    "pure": Claim(
        "The rows of a mode are of one kind that the reference lacks.",
        "share of the top ten rows that are of the most frequent new class, mean over the first three modes",
        ">",
        0.8,
    ),
    "kinds": Claim(
        "The first three modes show the three new kinds.",
        "new classes that hold most of the top ten rows of one of the first three modes",
        ">=",
        3.0,
    ),
    "generators": Claim(
        "The rows of the first mode between two generators look alike.",
        "share of its top ten rows that the network reads as the same digit, mean over both directions",
        ">",
        0.8,
    ),
    "printed": Claim(
        "The largest entries of the eigenvectors of Algorithm 1 are the rows of the mode.",
        "share of the 25 rows of the first eigenfunction that Algorithm 1 as printed finds",
        ">",
        0.9,
    ),
}


def printed_overlap(sample: np.ndarray, reference: np.ndarray, width: float) -> float:
    """Return how many of the right top 25 rows are among those of Algorithm 1 as printed."""
    rows, n = np.concatenate([sample, reference]), len(sample)
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    joint = np.exp(-squares / (2 * width**2)) / n  # both samples have n rows, and eta is 1
    factor = np.linalg.cholesky(joint + 1e-9 * np.eye(len(rows)))
    signs = np.repeat([1.0, -1.0], n)
    coordinates = np.linalg.eigh(factor.T @ (signs[:, None] * factor))[1][:, -1]
    function = factor @ coordinates
    right = np.argsort(-(function[:n] ** 2))[:25]
    as_printed = [np.argsort(-sign * coordinates[:n])[:25] for sign in (1, -1)]
    return max(len(np.intersect1d(right, one)) for one in as_printed) / 25


def measure(seed: int, quick: bool) -> dict:
    n, rng = 120 if quick else 240, np.random.default_rng(seed)
    pictures = cifar()
    features, width = pictures.features["network"], bandwidth(pictures.features["network"])
    dogs = rng.permutation(np.flatnonzero(pictures.labels == DOG))
    sample = np.concatenate([pictures.rows(NEW, 3 * n // 4, rng), dogs[: n // 4]])
    reference = dogs[n // 4 :][:n]
    found = kernel_entropic_novelty(features[sample], features[reference], bandwidth=width)
    tops = [sample[mode.top(10)] for mode in found.new[:3]]
    counts = np.array(
        [[(pictures.labels[top] == one).mean() for one in NEW] for top in tops] or [[0.0] * 3]
    )
    _, drawn = digits()
    alike, drawn_tops = [], []
    for test, base in PAIRS:
        chosen = [rng.choice(1000, n, replace=False) for _ in range(2)]
        known = (
            drawn[test].features["network"][chosen[0]],
            drawn[base].features["network"][chosen[1]],
        )
        modes = kernel_entropic_novelty(*known, bandwidth=bandwidth(np.concatenate(known))).new
        top = chosen[0][modes[0].top(10)] if modes else chosen[0][:0]
        alike.append(np.bincount(drawn[test].labels[top]).max() / 10 if modes else 0.0)
        drawn_tops.append(top)
    sizes = min(len(sample), len(reference))
    return {
        "pure": counts.max(axis=1).mean(),
        "kinds": len({int(row.argmax()) for row in counts if row.max() > 0.5}),
        "generators": np.mean(alike),
        "printed": printed_overlap(features[sample[:sizes]], features[reference[:sizes]], width),
        "tops": tops,
        "drawn_tops": drawn_tops,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    shown = max(runs, key=lambda one: len(one["tops"]))
    _, drawn = digits()
    lines = [
        (f"CIFAR-10, mode {i}", cifar().images, top) for i, top in enumerate(shown["tops"], start=1)
    ]
    lines += [
        (f"generation {test} to {base}", drawn[test].images, top)
        for (test, base), top in zip(PAIRS, shown["drawn_tops"], strict=True)
    ]
    figure, axes = pyplot.subplots(
        len(lines), 10, figsize=(10, 1.15 * len(lines)), layout="constrained"
    )
    for row, (name, images, top) in zip(axes, lines, strict=True):
        for ax in row:
            ax.set_axis_off()
        for ax, place in zip(row, top, strict=False):
            ax.imshow(images[int(place)], cmap="gray_r")
        row[0].set_title(name, loc="left", fontsize=9)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
