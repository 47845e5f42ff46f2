"""Section 4.1: the novelty score as a conditional entropy, against brute force on mixtures.

The mode of a row of the sample is guessed by someone who has the reference: each row of it gives away the mode of eta
rows of the sample in the same mode, as far as there are so many. What is left is the entropy of the mode given that
knowledge, counted here row by row. Eight modes on a ring of radius 2, weights of both samples from a flat Dirichlet
distribution, 400 rows a side, four mixtures a seed, eta = 1 and 2.
"""

import math
from collections import Counter

import numpy as np
from _claims import Claim
from _experiment import run

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics_lab.datasets import make_mixtures

ETAS = (1, 2)
CLAIMS = {
    f"eta_{eta}": Claim(
        f"The score is the entropy of the mode given the reference, eta = {eta}.",
        "largest |score minus entropy| over four mixtures, in nats",
        "<",
        0.05,
    )
    for eta in ETAS
} | {
    "not_unconditional": Claim(
        "It is not the entropy of the mode alone (our check that the reference counts).",
        "smallest entropy of the mode minus the score over four mixtures, eta = 1, in nats",
        ">",
        0.05,
    ),
}


def entropy(values: list) -> float:
    """Return the Shannon entropy of what is counted."""
    counts = Counter(values).values()
    return -sum(n / len(values) * math.log(n / len(values)) for n in counts)


def conditional_entropy(modes: np.ndarray, reference: np.ndarray, eta: int) -> float:
    """Count H(mode | what the reference gives away): each of its rows names the mode of eta rows."""
    left = Counter({mode: eta * n for mode, n in Counter(reference.tolist()).items()})
    known: dict[object, list[int]] = {}
    for mode in modes.tolist():
        given_away = left[mode] > 0
        left[mode] -= given_away
        known.setdefault(mode if given_away else "nothing", []).append(mode)
    return sum(len(rows) / len(modes) * entropy(rows) for rows in known.values())


def measure(seed: int, quick: bool) -> dict:
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(1 if quick else 4):
        weights = rng.dirichlet(np.ones(8), size=2)
        drawn = make_mixtures(*weights, n_samples=100 if quick else 400, radius=2.0, rng=rng)
        of_mode = entropy(drawn.modes.tolist())
        for eta in ETAS:
            found = kernel_entropic_novelty(
                drawn.features, drawn.reference, bandwidth=0.5, eta=float(eta)
            )
            counted = conditional_entropy(drawn.modes, drawn.reference_modes, eta)
            pairs.append((eta, found.value, counted, of_mode))
    errors = {
        f"eta_{eta}": max(abs(score - counted) for one, score, counted, _ in pairs if one == eta)
        for eta in ETAS
    }
    more = min(of_mode - score for eta, score, _, of_mode in pairs if eta == 1)
    return {**errors, "not_unconditional": more, "pairs": pairs}


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(4.5, 4), layout="constrained")
    pairs = np.array([pair for one in runs for pair in one["pairs"]])
    for eta in ETAS:
        rows = pairs[:, 0] == eta
        ax.scatter(pairs[rows, 2], pairs[rows, 1], s=14, label=f"eta = {eta}")
    end = pairs[:, 1:3].max() * 1.05
    ax.plot([0, end], [0, end], color="0.6", linewidth=1)
    ax.set(xlabel="conditional entropy, counted (nats)", ylabel="novelty score (nats)")
    ax.legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=6)
