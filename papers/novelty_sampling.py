"""Figure 7: new samples of one novel mode, from a Gaussian fitted to the codes of its members.

A reference of codes of digits lacks one digit, another one for each seed. Draws from the mode that is found are read
by the 5 nearest of 3,000 other codes. 1,000 rows on each side.
"""

import numpy as np
from _claims import Claim
from _experiment import data_folder, run
from _pictures import bandwidth
from sklearn.neighbors import KNeighborsClassifier

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics_lab.mode_sampling import sample_mode

CLAIMS = {
    "kind": Claim(
        "Draws from a Gaussian fitted to a mode's members are of the mode's kind.",
        "share of 200 draws that are read as the withheld digit",
        ">",
        0.8,
    ),
    "members": Claim(
        "The mode holds what the reference lacks.",
        "share of its members that are the digit",
        ">",
        0.8,
    ),
    "varied": Claim(
        "The draws are new, as far from the members as these are from each other.",
        "median distance to the nearest member, draws over members",
        ">",
        0.8,
    ),
}


def nearest(points: np.ndarray, others: np.ndarray, *, own: bool) -> float:
    distances = np.linalg.norm(points[:, None] - others[None], axis=2)
    return float(np.median(np.sort(distances, axis=1)[:, 1 if own else 0]))


def plane(sample: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return two directions to draw in: from the sample to the members, and across it where the sample is widest."""
    first = own.mean(axis=0) - sample.mean(axis=0)
    first /= np.linalg.norm(first)
    centred = sample - sample.mean(axis=0)
    across = np.linalg.svd(centred - np.outer(centred @ first, first), full_matrices=False)[2][0]
    return np.stack([first, across])


def measure(seed: int, quick: bool) -> dict:
    with np.load(data_folder("mnist_vae_codes") / "vae_codes.npz") as arrays:
        codes, labels = arrays["codes20"].astype(float), arrays["labels20"].astype(int)
    digit, rng = seed % 10, np.random.default_rng(seed)
    order = rng.permutation(len(codes))
    judge = KNeighborsClassifier(5).fit(codes[order[:3000]], labels[order[:3000]])
    n, others = 300 if quick else 1000, order[3000:]
    sample = others[:n]
    reference = others[n:][labels[others[n:]] != digit][:n]
    result = kernel_entropic_novelty(codes[sample], codes[reference], bandwidth=bandwidth(codes))
    if not result.new:  # nothing was found to draw from
        return {"kind": 0.0, "members": 0.0, "varied": 0.0, "digit": digit, "draws": []}
    mode = max(result.new, key=lambda one: len(one.members()))
    members = mode.members()
    draws = sample_mode(mode, codes[sample], 200, rng=seed)
    read = judge.predict(draws)
    own = codes[sample][members]
    axes = plane(codes[sample], own)
    return {
        "kind": float((read == digit).mean()),
        "members": float((labels[sample][members] == digit).mean()),
        "varied": nearest(draws, own, own=False) / nearest(own, own, own=True),
        "digit": digit,
        "draws": draws @ axes.T,
        "own": own @ axes.T,
        "sample": codes[sample] @ axes.T,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    shown = [one for one in runs if len(one["draws"])][:4]
    figure, axes = pyplot.subplots(
        1,
        max(1, len(shown)),
        figsize=(3.2 * max(1, len(shown)), 3.2),
        layout="constrained",
        squeeze=False,
    )
    for ax, one in zip(axes[0], shown, strict=False):
        for name, label, color in (
            ("sample", "sample", "0.8"),
            ("draws", "drawn", "C1"),
            ("own", "members", "C0"),
        ):
            ax.scatter(*np.transpose(one[name]), s=5, color=color, label=label)
        ax.set_title(f"{one['digit']:g} withheld: {one['kind']:.0%} of draws", loc="left")
        ax.set(xticks=[], yticks=[])
    axes[0, 0].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
