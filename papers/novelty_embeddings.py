"""Figures 10 to 12: the modes that are found depend on the features.

Cats, deer, dogs and horses of CIFAR-10 against dogs, 240 rows each, seen by pixels, by their principal components and
by the scores of a ResNet-20, in the place of Inception, DINOv2 and CLIP.
"""

import itertools

import numpy as np
from _claims import Claim
from _experiment import run
from _pictures import FEATURES, bandwidth, cifar

from shiftmetrics import kernel_entropic_novelty

DOG, NEW = 5, (3, 4, 7)
CLAIMS = {
    "overlap": Claim(
        "The choice of features affects the modes that are found.",
        "overlap (Jaccard) of the members of all modes, between two kinds of features",
        "<",
        0.5,
    ),
    "top": Claim(
        "and which rows stand first.",
        "share of the first mode's top 25 rows that two kinds of features have in common",
        "<",
        0.5,
    ),
    "network": Claim(
        "A network's features show the new kinds that pixels miss (our reading).",
        "new classes that lead a mode, by the network minus by pixels",
        ">",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    n, rng, pictures = 120 if quick else 240, np.random.default_rng(seed), cifar()
    dogs = rng.permutation(np.flatnonzero(pictures.labels == DOG))
    sample = np.concatenate([pictures.rows(NEW, 3 * n // 4, rng), dogs[: n // 4]])
    reference = dogs[n // 4 :][:n]
    members, tops, kinds, shown = {}, {}, {}, {}
    for name in FEATURES:
        features = pictures.features[name]
        width = bandwidth(features)
        modes = kernel_entropic_novelty(features[sample], features[reference], bandwidth=width).new
        members[name] = {int(row) for mode in modes for row in mode.members()}
        tops[name] = {int(row) for mode in modes[:1] for row in mode.top(25)}
        leading = [
            np.bincount(pictures.labels[sample[mode.top(10)]], minlength=10) for mode in modes
        ]
        kinds[name] = len({int(one.argmax()) for one in leading if one.max() > 5} & set(NEW))
        shown[name] = [sample[mode.top(10)] for mode in modes[:2]]
    pairs = list(itertools.combinations(FEATURES, 2))
    return {
        "overlap": {
            f"{a} and {b}": len(members[a] & members[b]) / max(1, len(members[a] | members[b]))
            for a, b in pairs
        },
        "top": {f"{a} and {b}": len(tops[a] & tops[b]) / 25 for a, b in pairs},
        "network": kinds["network"] - kinds["pixels"],
        "kinds": kinds,
        "shown": shown,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    lines = [
        (f"{name}, mode {i}", top)
        for name in FEATURES
        for i, top in enumerate(runs[0]["shown"][name], 1)
    ]
    figure, axes = pyplot.subplots(
        len(lines), 10, figsize=(10, 1.15 * len(lines)), layout="constrained"
    )
    for row, (name, top) in zip(np.atleast_2d(axes), lines, strict=True):
        for ax in row:
            ax.set_axis_off()
        for ax, place in zip(row, top, strict=False):
            ax.imshow(cifar().images[int(place)])
        row[0].set_title(name, loc="left", fontsize=9)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
